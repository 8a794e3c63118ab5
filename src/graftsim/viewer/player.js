// Puts a recording between the two halves of the viewer and shows it in a frame.
// `host`: element that receives the frame; `select`: list of recordings, or null.
function graftsimPlayer(host, data, select) {
  const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
  const frame = document.createElement("iframe");
  frame.title = "3-D replay";
  frame.setAttribute("allowfullscreen", "");
  host.replaceChildren(frame);
  function show(i) {
    frame.srcdoc = data.head + "<script>window.__VISER_EMBED_DATA__=\"" + data.scenes[i].data +
      "\";window.__VISER_EMBED_CONFIG__={darkMode:" + dark + "};</" + "script>" + data.tail;
  }
  if (select) select.addEventListener("change", () => show(select.selectedIndex));
  show(select ? select.selectedIndex : 0);
}
