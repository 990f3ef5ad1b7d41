// A browser that keeps nothing, or has no more room, throws where it is asked to; a page keeps it for itself then.
for (const name of ["localStorage", "sessionStorage"]) {
  const tried = (ask) => {
    try {
      return ask();
    } catch {
      return undefined;
    }
  };
  const kept = tried(() => window[name]);
  const here = new Map();
  const value = {
    getItem: (key) => here.get(key) ?? tried(() => kept.getItem(key)) ?? null,
    setItem(key, text) {
      here.set(key, String(text));
      tried(() => (kept.setItem(key, text), here.delete(key)));
    },
    removeItem(key) {
      here.delete(key);
      tried(() => kept.removeItem(key));
    },
  };
  Object.defineProperty(window, name, { value });
}
