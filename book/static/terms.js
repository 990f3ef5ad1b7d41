// What the glossary says of a word, on hover, on focus, and on the first tap; a second tap follows the link.
(function () {
  const bubble = document.createElement("div");
  bubble.id = "worklog-term";
  bubble.setAttribute("role", "tooltip");
  bubble.hidden = true;
  let shown = null;
  let pointer = "mouse";

  function place(link) {
    const margin = 8;
    const word = link.getClientRects()[0];
    const room = document.documentElement.clientWidth - bubble.offsetWidth - margin;
    const above = word.top - bubble.offsetHeight - margin;
    bubble.style.left = `${scrollX + Math.max(margin, Math.min(word.left, room))}px`;
    bubble.style.top = `${scrollY + (above > 80 ? above : word.bottom + margin)}px`;
  }

  function show(link) {
    if (shown === link) return;
    hide();
    shown = link;
    bubble.textContent = link.dataset.term;
    bubble.hidden = false;
    link.setAttribute("aria-describedby", bubble.id);
    place(link);
  }

  function hide() {
    shown?.removeAttribute("aria-describedby");
    shown = null;
    bubble.hidden = true;
  }

  const term = ({ target }) => target.closest?.("a[data-term]");

  document.addEventListener("DOMContentLoaded", () => {
    document.body.append(bubble);
    for (const link of document.querySelectorAll("a[title]:has(.std-term)")) {
      link.dataset.term = link.title;
      link.removeAttribute("title"); // or the browser would show it a second time
    }
  });
  document.addEventListener("pointerdown", (event) => {
    pointer = event.pointerType;
    if (shown && !term(event)) hide();
  });
  document.addEventListener("click", (event) => {
    const link = term(event);
    if (!link || pointer !== "touch" || link.dataset.tapped) return;
    event.preventDefault();
    document.querySelectorAll("a[data-tapped]").forEach((other) => delete other.dataset.tapped);
    link.dataset.tapped = "yes";
    show(link);
  });
  document.addEventListener("pointerover", (event) => {
    const link = term(event);
    if (link && event.pointerType !== "touch") show(link);
  });
  document.addEventListener("pointerout", (event) => {
    if (term(event) && event.pointerType !== "touch" && !event.relatedTarget?.closest?.("#worklog-term")) hide();
  });
  bubble.addEventListener("pointerleave", hide);
  document.addEventListener("focusin", (event) => {
    const link = term(event);
    if (link) show(link);
  });
  document.addEventListener("focusout", (event) => {
    if (term(event)) hide();
  });
  document.addEventListener("keydown", ({ key }) => {
    if (key === "Escape") hide();
  });
})();
