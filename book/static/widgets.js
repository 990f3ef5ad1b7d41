// Sliders, choices and steppers of the page: what they show at each position comes from a file that is loaded when one
// of them is near the screen; where they stand is in the address.
(function () {
  // For the curious, in the browser's console: `await worklog.xray("fusion", { rows: 64, cols: 4096 })`.
  const here = document.currentScript.src, isFile = location.protocol === "file:";
  const SERVED = "Kernels run where the book is served, not in a file.";
  window.worklog = {
    async xray(...words) {
      if (isFile) throw new Error(SERVED);
      return (await import(new URL("xray.mjs", here))).xray(...words);
    },
  };

  if (isFile) for (const place of document.querySelectorAll(".worklog-run")) place.textContent = SERVED;

  const positions = {}; // by the number of a place in the page, the HTML of each position
  let loading = null;

  function load() {
    const from = document.querySelector('link[rel="worklog-positions"]');
    loading ??= new Promise((resolve) => {
      window.worklogPositions = (given) => resolve(Object.assign(positions, given));
      const script = document.createElement("script"); // a page that is opened as a file may not fetch
      script.src = from.href;
      document.head.append(script);
    });
    return loading;
  }

  // ---- where a control stands

  const isSlider = (control) => control.matches("input");

  function indexOf(control) {
    if (isSlider(control)) return control.value;
    return control.querySelector("input:checked")?.value ?? "";
  }

  const labelsOf = (control) =>
    isSlider(control)
      ? JSON.parse(control.dataset.options)
      : [...control.querySelectorAll("label")].map((label) => label.textContent);

  const nameOf = (control) => (isSlider(control) ? control : control.querySelector("input")).name;
  const slug = (label) => label.toLowerCase().replace(/[^a-z0-9.]+/g, "-").replace(/^-+|-+$/g, "") || "x";

  // What an address calls each position; one that reads like an earlier one is told by its number.
  function valuesOf(control) {
    const seen = [];
    for (const value of labelsOf(control).map(slug)) seen.push(seen.includes(value) ? `${value}-${seen.length + 1}` : value);
    return seen;
  }

  const controlsIn = (widget) => [...widget.querySelectorAll("input[type=range], .worklog-choices")];

  function tell(slider) {
    const label = labelsOf(slider)[slider.value];
    slider.setAttribute("aria-valuetext", label);
    slider.nextElementSibling.textContent = label;
  }

  function setIndex(control, index) {
    if (isSlider(control)) {
      control.value = index;
      tell(control);
    } else {
      const answer = control.querySelector(`input[value="${index}"]`);
      if (answer) answer.checked = true;
    }
    return show(control.closest(".worklog-widget"));
  }

  // ---- what a widget shows

  async function show(widget) {
    await load();
    let place;
    while ((place = [...widget.querySelectorAll(".worklog-place")].find(isStale))) {
      const index = indexOf(document.getElementById(place.dataset.of));
      place.dataset.at = index;
      place.innerHTML = index === "" ? "" : positions[place.id][index];
    }
  }

  const isStale = (place) => place.dataset.at !== indexOf(document.getElementById(place.dataset.of));

  // What has come of a move, in one sentence, for who does not see it; that a link is copied is seen by everybody.
  function outcomeOf(widget) {
    const places = widget.querySelectorAll(".worklog-place");
    const inner = places[places.length - 1];
    const said = inner?.querySelector(".worklog-verdict, .worklog-note, p");
    const drawn = inner?.querySelector("img[alt], svg[aria-label]");
    return said?.textContent || drawn?.alt || drawn?.getAttribute("aria-label") || inner?.textContent || "";
  }

  let gestures = 0; // what one came to is not said after a later one, however late its positions come
  let saying;
  function announce(widget, sentence) {
    clearTimeout(saying);
    saying = setTimeout(() => {
      widget.querySelector(".worklog-outcome").textContent = sentence ?? outcomeOf(widget).slice(0, 240);
    }, 250);
  }

  async function moved(control) {
    const widget = control.closest(".worklog-widget");
    const gesture = ++gestures;
    if (isSlider(control)) tell(control);
    await show(widget);
    remember(control);
    tried(widget, control);
    if (gesture === gestures) announce(widget);
  }

  // ---- exercises: which were solved and how often an attempt was wrong is kept in the browser, and opens hints

  const KEPT = "worklog-exercises";

  function readTries() {
    try {
      return JSON.parse(localStorage.getItem(KEPT)) ?? {};
    } catch {
      return {}; // what is kept is none of ours
    }
  }

  function tried(widget, control) {
    const name = widget.querySelector(".worklog-help")?.dataset.exercise;
    const grade = widget.querySelector(".worklog-grade");
    if (!name || !grade) return;
    const kept = readTries();
    const wrong = new Set(kept[name]?.wrong);
    if (!grade.dataset.solved) wrong.add(indexOf(control));
    const chapter = location.pathname.match(/\/0?(\d+)_/)?.[1];
    kept[name] = { chapter, wrong: [...wrong], solved: Boolean(kept[name]?.solved || grade.dataset.solved) };
    localStorage.setItem(KEPT, JSON.stringify(kept));
    help(widget, kept[name]);
  }

  function help(widget, { wrong = [], solved = false } = {}) {
    const hints = [...widget.querySelectorAll(".worklog-hint")];
    hints.forEach((hint, at) => (hint.hidden = at >= wrong.length));
    widget.querySelector(".worklog-solution").hidden = !solved && wrong.length < hints.length;
  }

  function tellProgress() {
    const place = document.querySelector(".worklog-progress");
    const solved = Object.values(readTries()).filter((one) => one.solved);
    if (!place || !solved.length) return;
    const chapters = [...new Set(solved.map((one) => +one.chapter))].sort((a, b) => a - b);
    const where = `chapter${chapters.length > 1 ? "s" : ""} ${chapters.join(", ")}`;
    place.textContent = `You’ve solved ${solved.length} of ${place.dataset.of} exercises in this browser: ${where}.`;
    place.hidden = false;
  }

  // ---- steppers

  function step(widget, distance) {
    const slider = widget.querySelector("input[type=range]");
    const index = Math.min(Math.max(+slider.value + distance, 0), +slider.max);
    if (index === +slider.value) return false;
    setIndex(slider, index);
    moved(slider);
    return true;
  }

  function play(button) {
    const widget = button.closest(".worklog-widget");
    const stop = () => {
      clearInterval(button.timer);
      button.timer = null;
      button.setAttribute("aria-pressed", "false");
    };
    if (button.timer) return stop();
    const slider = widget.querySelector("input[type=range]");
    if (slider.value === slider.max) setIndex(slider, 0);
    else step(widget, 1);
    button.setAttribute("aria-pressed", "true");
    button.timer = setInterval(() => step(widget, 1) || stop(), +button.dataset.every);
  }

  // ---- the address

  const settings = () => new URLSearchParams(location.hash.includes("=") ? location.hash.slice(1) : "");

  function settingOf(control) {
    const index = indexOf(control);
    return index === "" ? null : [nameOf(control), valuesOf(control)[index]];
  }

  function remember(control) {
    const kept = settings();
    const setting = settingOf(control);
    if (setting) kept.set(...setting);
    history.replaceState(history.state, "", `#${kept}`);
  }

  function restore() {
    let first = null;
    for (const [name, value] of settings()) {
      const named = document.getElementsByName(name)[0];
      const control = named?.closest(".worklog-choices") ?? named;
      const index = control?.closest(".worklog-widget") ? valuesOf(control).indexOf(value) : -1;
      if (index < 0) continue;
      setIndex(control, index);
      first ??= control.closest(".worklog-widget");
    }
    first?.scrollIntoView({ block: "center" });
  }

  async function copyLink(widget) {
    gestures += 1;
    const kept = new URLSearchParams(controlsIn(widget).map(settingOf).filter(Boolean));
    const address = `${location.href.split("#")[0]}#${kept}`;
    try {
      await navigator.clipboard.writeText(address);
      announce(widget, "The link is copied.");
    } catch {
      history.replaceState(history.state, "", `#${kept}`);
      announce(widget, "The address of this page is the link now.");
    }
    widget.querySelector(".worklog-outcome").classList.remove("visually-hidden");
  }

  // ---- connected

  document.addEventListener("input", ({ target }) => {
    const control = target.closest(".worklog-choices") ?? target;
    if (control.closest(".worklog-widget") && nameOf(control)) moved(control);
  });
  document.addEventListener("click", ({ target }) => {
    const button = target.closest(".worklog-widget button");
    const widget = button?.closest(".worklog-widget");
    if (button?.matches(".worklog-forward")) step(widget, 1);
    if (button?.matches(".worklog-backward")) step(widget, -1);
    if (button?.matches(".worklog-play")) play(button);
    if (button?.matches(".worklog-copy")) copyLink(widget);
  });
  window.addEventListener("hashchange", restore);
  // Nobody opens a fold on paper.
  let folded = [];
  window.addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("article details:not([open])")];
    for (const fold of folded) fold.open = true;
  });
  window.addEventListener("afterprint", () => folded.forEach((fold) => (fold.open = false)));

  const near = new IntersectionObserver((seen) => seen.some((one) => one.isIntersecting) && load(), {
    rootMargin: "400px",
  });
  for (const widget of document.querySelectorAll(".worklog-widget:has(.worklog-copy)")) {
    near.observe(widget);
    const group = widget.querySelector(".worklog-choices");
    group?.setAttribute("aria-label", widget.querySelector(".worklog-question")?.textContent ?? "Your guess");
    const name = widget.querySelector(".worklog-help")?.dataset.exercise;
    if (name) help(widget, readTries()[name]);
  }
  tellProgress();
  restore();
})();
