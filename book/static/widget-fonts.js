// The widget bundle looks for its fonts at RequireJS's base address: let that be the bundle's folder.
(function () {
  const here = document.currentScript;
  const own = new URL("vendor/@jupyter-widgets/html-manager/dist/", here.src).href;
  require.config({ baseUrl: here.dataset.base || own });
})();
