// Tells RequireJS in which folder the widget bundle lies: its modules look for their fonts there.
(function () {
  const here = document.currentScript;
  const own = new URL("vendor/@jupyter-widgets/html-manager/dist/", here.src).href;
  const folder = here.dataset.folder || own;
  require.config({
    paths: {
      "@jupyter-widgets/base": folder + "base",
      "@jupyter-widgets/controls": folder + "controls",
      "@jupyter-widgets/html-manager": folder + "index",
      "@jupyter-widgets/html-manager/dist": folder.replace(/\/$/, ""),
    },
  });
})();
