// The page: summary, tree of files, and the files themselves, which are built when they come into view.

const data = JSON.parse(document.getElementById("galley-data").textContent);
const byId = (id) => document.getElementById(id);
const rowsInChunk = 150;
const view = {isSide: false, wantsSide: false, files: [], stops: [], current: -1, findingAt: -1};

const letterNames = {A: "added", D: "deleted", M: "modified", R: "renamed", C: "copied", T: "type changed"};

function say(text) {
  byId("said").textContent = text;
}

// As review.css has it.
const rowHeight = 1.25 * parseFloat(getComputedStyle(document.documentElement).fontSize);

// --- findings -------------------------------------------------------------------------------

function findingBox(finding, withPlace) {
  const box = make("div", `finding ${finding.severity}`);
  const head = make("p");
  put(head, make("span", "severity", finding.severity), " ");
  if (withPlace) put(head, placeText(finding), " ");
  put(head, finding.message, " ", make("span", "rule", `[${finding.rule}]`));
  box.append(head);
  if (finding.remedy) box.append(make("p", "", finding.remedy));
  if (finding.replacement !== undefined) {
    put(box, make("p", "", "Suggested instead:"), make("pre", "suggestion", finding.replacement));
  }
  if (finding.suppression) box.append(make("p", "", `Allowed: ${finding.suppression}`));
  if (finding.output) box.append(make("pre", "", finding.output));
  return box;
}

function placeText(finding) {
  if (!finding.path) return "";
  return finding.path + (finding.line ? `:${finding.line}` : "") + (finding.column ? `:${finding.column}` : "");
}

// --- one file -------------------------------------------------------------------------------

function textCell(cell, entry) {
  cell.classList.add("text");
  if (!entry) {
    cell.classList.add("void");
    return cell;
  }
  if (entry.sign === "+") cell.classList.add("added");
  if (entry.sign === "-") cell.classList.add("removed");
  paint(cell, entry.text, [entry.tokens, wordsOfEntry(entry), entry.hidden]);
  if (entry.lacksNewline) cell.append(make("span", "hidden-character", "no newline at the end"));
  return cell;
}

function numberCell(number, entry) {
  const cell = make("td", "line-number", number ? String(number) : "");
  if (entry && entry.sign === "+") cell.classList.add("added");
  if (entry && entry.sign === "-") cell.classList.add("removed");
  return cell;
}

function signCell(entry) {
  const cell = make("td", "sign", entry.sign === "-" ? "−" : entry.sign.trim());
  if (entry.sign === "+") cell.classList.add("added");
  if (entry.sign === "-") cell.classList.add("removed");
  return cell;
}

function inlineRow(entry) {
  return put(make("tr"), numberCell(entry.old, entry), numberCell(entry.new, entry), signCell(entry),
             textCell(make("td"), entry));
}

function sideRow([left, right]) {
  return put(make("tr"), numberCell(left ? left.old : 0, left), textCell(make("td"), left),
             numberCell(right ? right.new : 0, right), textCell(make("td"), right));
}

function tableHead(isSide) {
  const columns = make("colgroup");
  const names = isSide ? ["Old line", "Before", "New line", "After"] : ["Old line", "New line", "Change", "Text"];
  const classes = isSide ? ["c-number", "", "c-number", ""] : ["c-number", "c-number", "c-sign", ""];
  const row = make("tr");
  names.forEach((name, i) => {
    columns.append(make("col", classes[i]));
    const cell = make("th");
    cell.scope = "col";
    row.append(put(cell, make("span", "unseen", name)));
  });
  return [columns, put(make("thead"), row)];
}

function findingRow(findings) {
  const cell = make("td");
  cell.colSpan = 4;
  for (const finding of findings) {
    const box = findingBox(finding, false);
    box.dataset.finding = String(finding.index);
    cell.append(box);
  }
  return put(make("tr"), cell);
}

function fillChunk(chunk) {
  if (chunk.isFilled) return;
  chunk.isFilled = true;
  const {file, part, begin, end} = chunk;
  const table = put(make("table", "diff"), ...tableHead(view.isSide));
  const body = make("tbody");
  const rows = rowsOf(part, view.isSide).slice(begin, end);
  lexPart(part, file, entriesOf(part).length);
  for (const row of rows) {
    const node = view.isSide ? sideRow(row) : inlineRow(row[0]);
    body.append(node);
    const after = view.isSide ? row[1] : row[0];
    if (data.session) addLineRemark(node, file, after || row[0]);
    const findings = after && after.sign !== "-" ? file.findingsAt.get(after.new) : undefined;
    if (findings) body.append(findingRow(findings));
  }
  table.append(body);
  chunk.node.replaceChildren(table);
  chunk.node.style.minHeight = "";
}

function addChunks(file, part, place) {
  const rows = rowsOf(part, view.isSide).length;
  for (let begin = 0; begin < rows; begin += rowsInChunk) {
    const end = Math.min(begin + rowsInChunk, rows);
    const chunk = {file, part, begin, end, node: make("div", "chunk"), isFilled: false};
    chunk.node.style.minHeight = `${(end - begin) * rowHeight}px`;
    chunk.node.chunk = chunk;
    file.chunks.push(chunk);
    place.append(chunk.node);
    nearby.observe(chunk.node);
  }
}

function addHunk(file, part) {
  const box = make("div", "hunk");
  const head = make("div", "hunk-head");
  head.tabIndex = -1;
  const removed = part.lines.filter((line) => line[0] === "-").length;
  const added = part.lines.filter((line) => line[0] === "+").length;
  const title = make("h3", "", `Line ${part.new}: +${added} −${removed} ${part.heading}`.trim());
  put(head, title);
  part.box = box;
  part.head = head;
  part.file = file;
  head.addEventListener("focusin", () => { view.current = view.stops.findIndex((stop) => stop.part === part); });
  file.body.append(put(box, head));
  if (data.session) addChoices(head, box, file, part);
  addChunks(file, part, box);
}

function addGap(file, part) {
  const text = `${plural(part.count, "unchanged line")}`;
  if (!part.lines) {
    file.body.append(make("p", "gap", `${text} from line ${part.new}, not in this page`));
    const inside = file.findings.filter((one) => one.line >= part.new && one.line < part.new + part.count);
    for (const finding of inside) file.body.append(findingBox(finding, true));
    return;
  }
  const place = make("div");
  const open = () => {
    place.replaceChildren();
    addChunks(file, part, place);
  };
  file.body.append(place);
  if (file.findings.some((one) => one.line >= part.new && one.line < part.new + part.count)) {
    open();
  } else {
    place.append(button(`Show ${text} from line ${part.new}`, open, "gap"));
  }
}

function aboutFile(file) {
  const said = [];
  if (file.from) said.push(`${letterNames[file.status]} from ${file.from}` +
                           (file.similarity ? `, ${file.similarity}% the same` : ""));
  if (file.modes) said.push(`mode ${file.modes[0]} → ${file.modes[1]}`);
  if (file.binary) said.push(`binary, ${file.bytes[0]} → ${file.bytes[1]} bytes`);
  if (file.too_long) said.push("too many lines for this page: only counted");
  if (!file.parts.length && said.length === 0) said.push("no lines differ");
  return said.join("; ");
}

// What stands in a file before it comes into view is only its head.
function fillFile(file) {
  if (file.isFilled || file.isFolded) return;
  file.isFilled = true;
  file.chunks = [];
  file.body.replaceChildren();
  file.body.style.minHeight = "";
  const about = aboutFile(file);
  if (about) file.body.append(make("p", "about", about));
  const shown = (finding) => file.parts.some((part) => finding.line >= part.new &&
    finding.line < part.new + (part.count || entriesOf(part).length));
  for (const finding of file.findings) {
    if (finding.line && shown(finding)) continue;
    const box = findingBox(finding, true);
    box.dataset.finding = String(finding.index);
    file.body.append(box);
  }
  for (const part of file.parts) {
    if (part.kind === "hunk") addHunk(file, part);
    else addGap(file, part);
  }
}

function rowsInFile(file) {
  return file.parts.reduce((sum, part) => sum + (part.kind === "hunk" ? part.lines.length + 1 : 1), 1);
}

function fold(file, isFolded) {
  file.isFolded = isFolded;
  file.body.hidden = isFolded;
  file.foldButton.setAttribute("aria-expanded", String(!isFolded));
  file.foldButton.textContent = isFolded ? "▸" : "▾";
  reserve(file);
  if (!isFolded && file.isNear) fillFile(file);
}

// The room that a file takes before it is built.
function reserve(file) {
  const height = file.isFolded ? 0 : rowsInFile(file) * rowHeight;
  if (!file.isFilled) file.body.style.minHeight = `${height}px`;
  file.node.style.containIntrinsicSize = `auto ${height + 40}px`;
}

function addFile(file, index) {
  file.index = index;
  file.family = familyOf(file.path);
  file.findings = [];
  file.findingsAt = new Map();
  file.chunks = [];
  const node = make("section", "file");
  node.id = `file-${index}`;
  node.setAttribute("aria-labelledby", `file-name-${index}`);
  const head = make("div", "file-head");
  head.tabIndex = -1;
  file.foldButton = button("▾", () => fold(file, !file.isFolded), "fold");
  file.foldButton.setAttribute("aria-expanded", "true");
  file.foldButton.setAttribute("aria-label", `Fold ${file.path}`);
  const name = make("h2", "", file.path);
  name.id = `file-name-${index}`;
  put(head, file.foldButton, name, make("span", "letter", letterNames[file.status] || file.status),
      counts(file));
  file.body = make("div", "file-body");
  Object.assign(file, {node, head});
  node.file = file;
  file.viewedButton = button("Viewed", () => setViewed(file, !file.isViewed), "viewed");
  file.viewedButton.setAttribute("aria-pressed", "false");
  file.viewedButton.setAttribute("aria-label", `Viewed ${file.path}`);
  head.append(file.viewedButton);
  if (data.session) addFileChoices(head, file);
  put(node, head, file.body);
  reserve(file);
  return node;
}

// A file that was looked at is folded; as long as it has the same lines a page that is loaded again knows it.
function viewedKey(file) {
  let hash = 0;
  for (const part of file.parts) {
    for (const line of part.lines || []) {
      for (let i = 0; i < line.length; ++i) hash = (hash * 31 + line.charCodeAt(i)) | 0;
    }
  }
  return `${file.path} ${file.status} ${file.added} ${file.removed} ${hash}`;
}

function showViewed(file, isViewed) {
  file.viewedButton.setAttribute("aria-pressed", String(isViewed));
  fold(file, isViewed);
}

function setViewed(file, isViewed) {
  file.isViewed = isViewed;
  showViewed(file, isViewed);
  try {
    sessionStorage.setItem("galley-viewed", JSON.stringify(view.files.filter((one) => one.isViewed).map(viewedKey)));
  } catch { /* it is gone when the page is loaded again */ }
  const count = view.files.filter((one) => one.isViewed).length;
  say(`${grouped(count)} of ${plural(view.files.length, "file")} viewed`);
}

function findViewed() {
  let known = [];
  try {
    known = JSON.parse(sessionStorage.getItem("galley-viewed") || "[]");
  } catch { /* nothing was kept */ }
  if (known.length === 0) return;
  const viewed = new Set(known);
  for (const file of view.files) {
    file.isViewed = viewed.has(viewedKey(file));
    if (file.isViewed) showViewed(file, true);
  }
}

function counts(file) {
  return put(make("span", "counts"), make("span", "plus", `+${file.added}`), " ",
             make("span", "minus", `−${file.removed}`));
}

// --- what comes into view -------------------------------------------------------------------

const nearby = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    const {file, chunk} = entry.target;
    if (file) file.isNear = entry.isIntersecting;
    if (!entry.isIntersecting) continue;
    if (chunk) {
      fillChunk(chunk);
      nearby.unobserve(entry.target);
    } else if (file) {
      fillFile(file);
    }
  }
}, {rootMargin: "800px 0px"});

function fillAll() {
  for (const file of view.files) {
    fillFile(file);
    file.chunks.forEach(fillChunk);
  }
}

// Once more from the start, inline or side by side.
function rebuild() {
  for (const file of view.files) {
    for (const chunk of file.chunks) nearby.unobserve(chunk.node);
    file.isFilled = false;
    reserve(file);
    if (file.isNear) fillFile(file);
    else file.body.replaceChildren();
  }
}

// --- tree and summary -----------------------------------------------------------------------

// Folders and files in the order in which the page shows them.
function treeOf(files) {
  const root = {entries: new Map()};
  for (const file of files) {
    const names = file.path.split("/");
    const last = names.pop();
    let at = root;
    for (const name of names) {
      if (!at.entries.has(`${name}/`)) at.entries.set(`${name}/`, {entries: new Map()});
      at = at.entries.get(`${name}/`);
    }
    at.entries.set(last, file);
  }
  return root;
}

function treeList(folder) {
  const list = make("ul");
  for (let [name, inner] of folder.entries) {
    if (!inner.entries) {
      list.append(treeLeaf(name, inner));
      continue;
    }
    // A folder that holds nothing but a folder takes no line of its own.
    for (let [[next, deeper]] = inner.entries; inner.entries.size === 1 && deeper.entries; [[next, deeper]] = inner.entries) {
      [name, inner] = [name + next, deeper];
    }
    const details = make("details");
    details.open = true;
    put(details, make("summary", "", name), treeList(inner));
    list.append(put(make("li"), details));
  }
  return list;
}

function treeLeaf(name, file) {
  const link = make("a");
  link.href = `#file-${file.index}`;
  put(link, make("span", "letter", file.status), make("span", "file-name", name), counts(file));
  link.addEventListener("click", (event) => {
    event.preventDefault();
    goToFile(file);
  });
  file.link = link;
  return put(make("li", "leaf"), link);
}

function showTree(wanted) {
  const text = wanted.trim().toLowerCase();
  const shown = text === "" ? view.files : view.files.filter((file) => file.path.toLowerCase().includes(text));
  byId("tree-list").replaceChildren(treeList(treeOf(shown)));
  for (const file of view.files) file.node.hidden = !shown.includes(file);
  if (text !== "") say(`${plural(shown.length, "file")} shown`);
}

function showVerdict(place) {
  const {verdict} = data;
  if (!verdict) return;
  const box = make("div", `verdict ${verdict.approved ? "yes" : "no"}`);
  const by = verdict.by ? `, approved by ${verdict.by}` : "";
  box.append(make("p", "", verdict.approved ? `The gate approves${by}.` : `The gate refuses: ${verdict.message} [${verdict.reason}]`));
  if (verdict.runs.length > 0) {
    const said = verdict.runs.map((run) => `${run.name}: ${run.message || run.outcome} (${run.ms} ms)`);
    box.append(make("p", "", said.join(" · ")));
  }
  place.append(box);
}

function showSummary() {
  const place = byId("summary");
  const facts = make("dl");
  for (const [name, value] of data.facts) put(facts, make("dt", "", name), make("dd", "", value));
  put(facts, make("dt", "", "Proposal"), make("dd", "", data.proposal));
  place.append(facts);
  showVerdict(place);
  const lists = [...data.directories, ...(data.left_out || []).map((path) => `left out, it may not be shown: ${path}`)];
  if (lists.length > 0) place.append(put(make("ul"), ...lists.map((text) => make("li", "", text))));
  data.findings.forEach((finding, index) => {
    finding.index = index;
    const file = finding.file === undefined ? null : view.files[finding.file];
    const box = findingBox(finding, !file);
    if (file) {
      file.findings.push(finding);
      if (finding.line) file.findingsAt.set(finding.line, [...(file.findingsAt.get(finding.line) || []), finding]);
      const link = make("a", "", placeText(finding));
      link.href = `#file-${file.index}`;
      link.addEventListener("click", (event) => {
        event.preventDefault();
        goToFinding(index);
      });
      box.firstChild.insertBefore(link, box.firstChild.children[0].nextSibling);
      link.before(" ");
    }
    if (!file || data.findings.length <= 200) place.append(box);
  });
  if (data.findings.length > 200) place.append(make("p", "", `${plural(data.findings.length, "finding")}, shown at their lines`));
}
