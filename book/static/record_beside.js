// A reader's record beside the book's: its file is chosen, dropped or pasted, read in the page, and drawn with the book's.
(function () {
  const { rules, rungs, book } = window.worklogRecord;
  const { make, recordOf, ladder, times, firsts, counters, origins, bandwidth, blockSizes } = window.worklogFigures;
  const place = document.querySelector(".worklog-beside");
  const LARGEST_BYTES = 64 << 20;
  const WIDEST = 640;
  let reader = null;

  const ofBook = recordOf(
    book,
    book.rows.map((row) => Object.fromEntries(book.fields.map((field, index) => [field, row[index]]))),
  );

  const ofFile = (content) =>
    recordOf(
      content,
      content.rows.filter(
        ({ dtype, l2, data, step }) => dtype === "float32" && l2 === "cold" && data === "normal" && step === "",
      ),
    );

  // ---- the controls

  const outcome = make("p", { role: "status" });
  const input = make("input", { type: "file", id: "worklog-record-file", accept: ".json,application/json" });
  const pasted = make("textarea", { id: "worklog-record-text", rows: 4, spellcheck: "false" });
  const paste = make("button", { type: "button" }, "Show it");
  const matrices = make("select", { id: "worklog-record-matrix" });
  const kernels = make("select", { id: "worklog-record-kernel" });
  const ofMatrix = make("div");
  const ofKernel = make("div");
  const ofAll = make("div");
  const shown = make(
    "div",
    { hidden: "" },
    make("p", {}, make("label", { for: matrices.id }, "Matrix "), matrices),
    ofMatrix,
    make("p", {}, make("label", { for: kernels.id }, "Kernel "), kernels),
    ofKernel,
    ofAll,
  );

  function draw() {
    if (!reader) return;
    const both = [ofBook, reader];
    const [matrix, kernel] = [matrices.value, kernels.value];
    const width = Math.min(WIDEST, ofMatrix.clientWidth);
    const stale = rungs.some((name) => both.some((record) => record.has.has(name) && record.stale(name)));
    const note = stale ? [make("p", {}, "* before this kernel changed")] : [];
    ofMatrix.replaceChildren(ladder(both, matrix, width), times(both, matrix), ...note, counters(both, matrix));
    ofKernel.replaceChildren(bandwidth(both, kernel, width), blockSizes(both, kernel, width));
  }

  function drawAll() {
    const both = [ofBook, reader];
    const timed = [...matrices.options].map((option) => option.value);
    const how = make("details", {}, make("summary", {}, "How each was recorded"), origins(both));
    ofAll.replaceChildren(...firsts(both, timed), how);
  }

  function offer() {
    const timed = [...reader.best].filter(([matrix, of]) => ofBook.best.has(matrix) && rungs.some((name) => of[name]));
    if (timed.length === 0) throw new Error(`The record of ${reader.where} has no time of a rung on a matrix of this book.`);
    const wanted = matrices.value || "1024 × 32768";
    matrices.replaceChildren(...timed.map(([matrix]) => make("option", {}, matrix)));
    if (timed.some(([matrix]) => matrix === wanted)) matrices.value = wanted;
    kernels.replaceChildren(...rungs.map((name) => make("option", {}, name)));
    kernels.value = "fusion";
  }

  function take(words, name) {
    const before = reader;
    try {
      reader = ofFile(window.worklogRecords.read(words, name, rules));
      offer();
    } catch (error) {
      reader = before;
      outcome.textContent = `${error.message}${before ? ` What is shown is still ${before.where}.` : ""}`;
      return;
    }
    shown.hidden = false;
    draw();
    drawAll();
    outcome.textContent = `${reader.where} is shown beside ${ofBook.where}: ${reader.rows.length} times.`;
  }

  async function takeFile(file) {
    if (!file) return;
    if (file.size > LARGEST_BYTES) outcome.textContent = `${file.name} is no record: it is larger than any.`;
    else take(await file.text().catch(() => ""), file.name);
  }

  input.addEventListener("change", async () => {
    await takeFile(input.files[0]);
    input.value = ""; // so that the same file can be chosen again
  });
  paste.addEventListener("click", () => take(pasted.value, "What was pasted"));
  shown.addEventListener("change", draw);
  window.addEventListener("resize", draw);
  document.addEventListener("dragover", (event) => {
    if (event.dataTransfer.types.includes("Files")) event.preventDefault();
  });
  document.addEventListener("drop", (event) => {
    if (event.dataTransfer.files.length === 0) return;
    event.preventDefault();
    takeFile(event.dataTransfer.files[0]);
    place.scrollIntoView({ block: "start" });
  });

  place.replaceChildren(
    make("p", {}, make("label", { for: input.id }, "The file of your GPU's record, chosen here or dropped on this page"), input),
    make(
      "details",
      {},
      make("summary", {}, "Paste it"),
      make("label", { for: pasted.id }, "The text of the file"),
      pasted,
      paste,
    ),
    make("p", {}, "The file is read in this page, and nothing is sent anywhere."),
    outcome,
    shown,
  );
})();
