// What the saved widgets lack without a kernel: names for screen readers, and buttons that step.
(function () {
  // The theme's icon script replaces <i> elements, and the play widget needs to find its own again:
  // let it leave alone what appears later.
  window.FontAwesomeConfig = { observeMutations: false };

  // Widgets hand their text to MathJax 2's queue, and this page has MathJax 3.
  const Hub = { Queue: ([, , element]) => window.MathJax.typesetPromise?.([element]) };
  const ready = () => {
    MathJax.startup.defaultReady();
    MathJax.Hub = Hub;
  };
  window.MathJax = { ...window.MathJax, Hub, startup: { ready } };

  // A slider is named after its label, and its value is read as it is written beside it.
  function nameSlider(slider) {
    const handle = slider.querySelector(".noUi-handle");
    const label = slider.querySelector(".widget-label");
    const readout = slider.querySelector(".widget-readout");
    if (!handle || !label || !readout) return;
    handle.setAttribute("aria-label", label.textContent);
    const readValue = () => {
      if (handle.getAttribute("aria-valuetext") !== readout.textContent)
        handle.setAttribute("aria-valuetext", readout.textContent);
    };
    readValue();
    const watch = new MutationObserver(readValue);
    watch.observe(readout, { childList: true, characterData: true, subtree: true });
    watch.observe(handle, { attributeFilter: ["aria-valuetext"] });
  }

  // The buttons beside a stepper press an arrow key on its slider.
  document.addEventListener("click", ({ target }) => {
    const button = target.closest(".worklog-backward, .worklog-forward");
    if (!button) return;
    const key = button.matches(".worklog-forward") ? "ArrowRight" : "ArrowLeft";
    const handle = button.closest(".worklog-stepper").querySelector(".noUi-handle");
    handle.dispatchEvent(new KeyboardEvent("keydown", { key }));
  });

  function nameButtons(play) {
    ["play or pause", "stop", "repeat"].forEach((name, place) => {
      play.children[place].setAttribute("aria-label", name);
      play.children[place].title = name;
    });
  }

  function nameRadios(question) {
    const group = question.querySelector(".widget-radio-box");
    const asked = question.querySelector(".worklog-question");
    group?.setAttribute("role", "radiogroup");
    group?.setAttribute("aria-label", asked ? asked.textContent : "Your guess");
  }

  // What answers a question is folded until the reader has picked: then the next fold behind it opens.
  document.addEventListener("change", ({ target }) => {
    const cell = target.closest(".worklog-predict")?.closest(".cell");
    if (!cell) return;
    for (let next = cell.nextElementSibling; next; next = next.nextElementSibling) {
      const fold = next.matches(".tag_hide-output") && next.querySelector("details.below-input");
      if (fold) {
        fold.open = true;
        return;
      }
    }
  });

  const done = new WeakSet();
  function each(selector, act) {
    for (const element of document.querySelectorAll(selector)) {
      if (done.has(element)) continue;
      done.add(element);
      act(element);
    }
  }

  // Widgets appear some time after the page has loaded.
  new MutationObserver(() => {
    each(".widget-slider:has(.noUi-handle)", nameSlider);
    each(".widget-play:has(button)", nameButtons);
    each(":is(.worklog-predict, .worklog-exercise):has(input)", nameRadios);
  }).observe(document.documentElement, { childList: true, subtree: true });
})();
