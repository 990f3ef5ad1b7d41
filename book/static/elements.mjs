// What a page is made of: an element, with what it is given and what is in it, and numbers with their words.
export function make(tag, attributes = {}, ...children) {
  const made = Object.assign(document.createElement(tag), attributes);
  made.append(...children);
  return made;
}

export const said = (n) => n.toLocaleString("en", { maximumFractionDigits: 1 });
export const many = (n, what) => `${said(n)} ${what}${n === 1 ? "" : "s"}`;
