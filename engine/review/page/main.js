// Builds the page.

function start() {
  document.title = `${data.title} — Galley`;
  byId("title").textContent = data.title;
  view.files = data.files;
  if (data.session) prepareDecisions();
  const nodes = view.files.map(addFile);
  const added = view.files.reduce((sum, file) => sum + file.added, 0);
  const removed = view.files.reduce((sum, file) => sum + file.removed, 0);
  const errors = data.findings.filter((finding) => finding.severity === "error").length;
  byId("totals").textContent = `${plural(view.files.length, "file")}, ${plural(added, "line")} added, ` +
    `${grouped(removed)} removed, ${plural(data.findings.length, "finding")}` +
    (errors > 0 ? ` (${plural(errors, "error")})` : "");
  showSummary();
  for (const file of view.files) {
    const hunks = file.parts.filter((part) => part.kind === "hunk");
    if (hunks.length === 0) view.stops.push({file, part: null});
    for (const part of hunks) view.stops.push({file, part});
  }
  showTree("");
  byId("files").append(...nodes);
  for (const node of nodes) nearby.observe(node);
  const list = byId("help-list");
  for (const [key, what] of keys) {
    put(list, put(make("dt"), make("kbd", "", key)), make("dd", "", what));
  }
  byId("side").addEventListener("click", () => setSide(!view.wantsSide));
  narrow.addEventListener("change", fitSide);
  byId("fold-all").addEventListener("click", () => foldAll(byId("fold-all").getAttribute("aria-pressed") !== "true"));
  byId("theme").addEventListener("change", (event) => setTheme(event.target.value));
  byId("help-open").addEventListener("click", () => byId("help").showModal());
  byId("filter").addEventListener("input", (event) => showTree(event.target.value));
  document.addEventListener("keydown", onKey);
  window.addEventListener("beforeprint", fillAll);
  if (remembered("side") === "1") setSide(true);
  if (["light", "dark"].includes(remembered("theme"))) setTheme(remembered("theme"));
  findViewed();
  if (data.session) startDecisions();
}

start();
