// Names the handles of the sliders in the box around it, which ipywidgets leaves without, and says what a move came to.
const UNSEEN =
  "position:absolute;width:1px;height:1px;margin:0;overflow:hidden;clip-path:inset(50%);white-space:nowrap";
const MILLISECONDS_TO_SETTLE = 250;

function set(element, attribute, value) {
  if (value && element.getAttribute(attribute) !== value) element.setAttribute(attribute, value);
}

function nameHandles(box) {
  for (const handle of box.querySelectorAll(".noUi-handle")) {
    const slider = handle.closest(".widget-hslider");
    set(handle, "aria-label", slider.querySelector(".widget-label").textContent);
    set(handle, "aria-valuetext", slider.querySelector(".widget-readout").textContent);
  }
}

function outcomeOf(box) {
  const shown = [...box.querySelectorAll(".widget-html-content")].filter((one) => one.checkVisibility());
  const last = shown.filter((one) => one.childElementCount).at(-1);
  const said = last?.querySelector(".worklog-note, p");
  return said?.textContent || last?.querySelector("img")?.alt || last?.textContent || "";
}

function render({ el }) {
  const said = document.createElement("p");
  said.setAttribute("role", "status");
  said.style.cssText = UNSEEN;
  el.append(said);

  let frame, saying, box;
  const moves = new MutationObserver((seen) => {
    nameHandles(box);
    if (!seen.some((one) => one.attributeName === "aria-valuenow" && one.oldValue !== null)) return;
    clearTimeout(saying);
    saying = setTimeout(() => {
      nameHandles(box);
      said.textContent = outcomeOf(box).slice(0, 240);
    }, MILLISECONDS_TO_SETTLE);
  });

  function begin() {
    box = el.closest(".worklog-widget");
    if (!box) return void (frame = requestAnimationFrame(begin)); // not in the page yet
    const attributeFilter = ["aria-valuenow", "aria-valuetext"];
    moves.observe(box, { subtree: true, childList: true, attributeFilter, attributeOldValue: true });
    nameHandles(box);
  }
  begin();
  return () => {
    cancelAnimationFrame(frame);
    clearTimeout(saying);
    moves.disconnect();
  };
}

export default { render };
