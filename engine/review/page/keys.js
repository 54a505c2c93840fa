// Going from place to place, by keys and by links.

function show(node) {
  node.scrollIntoView({block: "start"});
  node.focus({preventScroll: true});
}

function mark(file) {
  for (const link of document.querySelectorAll('nav a[aria-current="true"]')) link.removeAttribute("aria-current");
  if (file.link) file.link.setAttribute("aria-current", "true");
}

function goToFile(file) {
  if (file.isFolded) fold(file, false);
  fillFile(file);
  view.current = view.stops.findIndex((stop) => stop.file === file);
  mark(file);
  show(file.head);
  say(file.path);
}

function goToStop(index) {
  if (index < 0 || index >= view.stops.length) {
    say("no more changes");
    return;
  }
  const {file, part} = view.stops[index];
  if (file.isFolded) fold(file, false);
  fillFile(file);
  document.querySelectorAll(".hunk-head.current").forEach((head) => head.classList.remove("current"));
  view.current = index;
  mark(file);
  if (part) {
    for (const chunk of file.chunks) {
      if (chunk.part === part && chunk.begin === 0) fillChunk(chunk);
    }
    part.head.classList.add("current");
    show(part.head);
  } else {
    show(file.head);
  }
}

function goToFinding(index) {
  const finding = data.findings[index];
  if (!finding) {
    say("no more findings");
    return;
  }
  view.findingAt = index;
  const file = finding.file === undefined ? null : view.files[finding.file];
  if (!file) {
    show(byId("changes"));
    return;
  }
  if (file.isFolded) fold(file, false);
  fillFile(file);
  let part;
  for (const chunk of file.chunks) {
    const rows = rowsOf(chunk.part, view.isSide).slice(chunk.begin, chunk.end);
    if (!rows.some(([left, right]) => (right || left).new === finding.line)) continue;
    fillChunk(chunk);
    part = chunk.part;
  }
  // What is decided next is about the change at the finding, or the first of its file.
  const stop = view.stops.findIndex((one) => one.part !== null && one.part === part);
  view.current = stop >= 0 ? stop : view.stops.findIndex((one) => one.file === file);
  mark(file);
  const box = file.body.querySelector(`[data-finding="${index}"]`) || file.head;
  box.tabIndex = -1;
  show(box);
}

function currentFile() {
  const stop = view.stops[view.current];
  return stop ? stop.file : null;
}

function stepFile(by) {
  const files = view.files.filter((file) => !file.node.hidden);
  const at = files.indexOf(currentFile());
  const next = files[at < 0 ? (by > 0 ? 0 : files.length - 1) : at + by];
  if (next) goToFile(next);
  else say("no more files");
}

function stepStop(by) {
  let index = view.current + by;
  while (view.stops[index] && view.stops[index].file.node.hidden) index += by;
  goToStop(index);
}

const narrow = matchMedia("(max-width: 60rem)");

function viewCurrent() {
  const file = currentFile();
  if (!file) return;
  setViewed(file, !file.isViewed);
  if (file.isViewed) stepFile(1);
}

function setSide(wantsSide) {
  view.wantsSide = wantsSide;
  byId("side").setAttribute("aria-pressed", String(wantsSide));
  remember("side", wantsSide ? "1" : "0");
  if (wantsSide && narrow.matches) say("the window is too narrow for two sides");
  fitSide();
}

// Two sides need room: without it the lines are inline until there is.
function fitSide() {
  const isSide = view.wantsSide && !narrow.matches;
  if (isSide === view.isSide) return;
  view.isSide = isSide;
  rebuild();
  if (view.current >= 0) goToStop(view.current);
}

function foldAll(isFolded) {
  byId("fold-all").setAttribute("aria-pressed", String(isFolded));
  for (const file of view.files) fold(file, isFolded);
}

function setTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  byId("theme").value = theme;
  remember("theme", theme);
}

function stepTheme() {
  const themes = ["auto", "light", "dark"];
  setTheme(themes[(themes.indexOf(byId("theme").value) + 1) % themes.length]);
}

// A page from a file may have no storage.
function remember(name, value) {
  try {
    localStorage.setItem(`galley-${name}`, value);
  } catch { /* the next page begins with the defaults */ }
}

function remembered(name) {
  try {
    return localStorage.getItem(`galley-${name}`);
  } catch {
    return null;
  }
}

const keys = [
  ["j", "next change", () => stepStop(1)],
  ["k", "previous change", () => stepStop(-1)],
  ["n", "next file", () => stepFile(1)],
  ["p", "previous file", () => stepFile(-1)],
  ["f", "next finding", () => goToFinding(view.findingAt + 1)],
  ["F", "previous finding", () => goToFinding(view.findingAt - 1)],
  ["v", "the file was viewed: fold it, and go to the next", () => viewCurrent()],
  ["x", "fold or unfold the file", () => { const file = currentFile(); if (file) fold(file, !file.isFolded); }],
  ["X", "fold or unfold all files", () => foldAll(byId("fold-all").getAttribute("aria-pressed") !== "true")],
  ["s", "side by side or inline", () => setSide(!view.wantsSide)],
  ["t", "theme: as the system, light, dark", stepTheme],
  ["/", "filter the files", () => byId("filter").focus()],
  ["?", "this list", () => byId("help").showModal()],
];

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || byId("help").open) return;
  const {target} = event;
  const isTyping = target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
  if (isTyping) {
    if (event.key === "Escape") target.blur();
    return;
  }
  const row = keys.find(([key]) => key === event.key);
  if (!row) return;
  event.preventDefault();
  row[2]();
}
