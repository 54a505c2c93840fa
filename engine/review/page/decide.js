// On a page that `galley review` serves: what is accepted, rejected, commented, edited and committed.
// A choice is remembered by what it is about, so that it outlives an edit of another change.

const choices = new Map();  // of a piece: "yes" or "no"
const remarks = new Map();  // of a piece: text
const lineRemarks = new Map();  // of a line, by its name: text
const pieces = [];          // {piece, name, about, key, show}

const message = make("input");  // of the commit

function storageName() {
  return `galley-review-${data.title}`;
}

function keepChoices() {
  const kept = pieces.filter(({piece}) => choices.has(piece) || remarks.has(piece))
    .map(({piece, key}) => [key, choices.get(piece) || "", remarks.get(piece) || ""]);
  try {
    sessionStorage.setItem(storageName(), JSON.stringify(kept));
    sessionStorage.setItem(`${storageName()}-lines`, JSON.stringify([...lineRemarks]));
  } catch { /* they are gone when the page is loaded again */ }
}

function findChoices() {
  try {
    const kept = new Map(JSON.parse(sessionStorage.getItem(storageName()) || "[]").map(([key, ...rest]) => [key, rest]));
    for (const {piece, key} of pieces) {
      const [choice, remark] = kept.get(key) || [];
      if (choice) choices.set(piece, choice);
      if (remark) remarks.set(piece, remark);
    }
    const lines = JSON.parse(sessionStorage.getItem(`${storageName()}-lines`) || "[]");
    for (const [name, text] of lines) lineRemarks.set(name, text);
  } catch { /* nothing was kept */ }
}

function piecesOf(file) {
  const found = [];
  const add = (piece, name, ...about) => found.push({piece, name, about: JSON.stringify([file.path, ...about])});
  const lines = file.parts.flatMap((part) => part.lines || []);
  if (file.piece !== undefined) add(file.piece, file.path, "file", file.status, lines);
  if (file.mode_piece !== undefined) add(file.mode_piece, `${file.path}, mode`, "mode");
  for (const part of file.parts) {
    if (part.piece === undefined) continue;
    add(part.piece, `${file.path}:${part.new}`, "part", part.lines.filter((line) => line[0] !== " "));
  }
  return found;
}

// Equal changes of one file differ by their number. It is given with their count: without one of
// them, the others would have other numbers.
function giveKeys(rows) {
  const counts = new Map();
  const numbers = new Map();
  const count = (map, about) => map.set(about, (map.get(about) || 0) + 1).get(about);
  for (const {about} of rows) count(counts, about);
  for (const row of rows) row.key = JSON.stringify([row.about, count(numbers, row.about), counts.get(row.about)]);
}

async function ask(target, body) {
  const comments = pieces.filter(({piece}) => remarks.has(piece)).map(({piece, name}) => ({on: name, text: remarks.get(piece)}));
  for (const [name, text] of lineRemarks) comments.push({on: name, text});
  const answer = await fetch(`.${target}`, {
    method: "POST",
    headers: {"Content-Type": "application/json", "X-Galley-Token": data.session.token},
    body: JSON.stringify({proposal: data.proposal, comments, ...body}),
  });
  const said = await answer.json();
  if (answer.status === 409) {
    remember("note", `${said.message}: the page was loaded again.`);
    location.reload();
    return null;
  }
  if (!said.ok) {
    tell(`${said.message} [${said.reason}]`);
    return null;
  }
  return said;
}

function tell(text) {
  byId("decision-text").textContent = text;
}

// Buttons for one piece; `host` is the element that shows whether it is rejected.
function choiceButtons(piece, name, host, canEdit) {
  const group = make("div", "choices");
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", `Decide on ${name}`);
  const yes = button("Accept", () => choose(piece, "yes"));
  const no = button("Reject", () => choose(piece, "no"));
  const comment = button("Comment", () => openRemark(piece, name, host));
  put(group, yes, no, comment);
  if (canEdit) group.append(button("Edit", () => openEditor(piece, name, host)));
  const said = make("p", "said-of");
  group.append(said);
  const show = () => {
    const choice = choices.get(piece);
    yes.setAttribute("aria-pressed", String(choice === "yes"));
    no.setAttribute("aria-pressed", String(choice === "no"));
    comment.textContent = remarks.has(piece) ? "Comment ✓" : "Comment";
    said.textContent = remarks.get(piece) || "";
    said.hidden = !remarks.has(piece);
    host.classList.toggle("rejected", choice === "no");
  };
  const row = pieces.find((one) => one.piece === piece);
  if (row) row.show = show;
  show();
  return group;
}

function addChoices(head, box, file, part) {
  if (part.piece === undefined) return;
  head.append(choiceButtons(part.piece, `${file.path} line ${part.new}`, box, true));
}

function addFileChoices(head, file) {
  if (file.piece !== undefined) head.append(choiceButtons(file.piece, file.path, file.node, false));
  if (file.mode_piece !== undefined) head.append(choiceButtons(file.mode_piece, `${file.path}, mode`, file.node, false));
}

function choose(piece, choice) {
  if (choices.get(piece) === choice) choices.delete(piece);
  else choices.set(piece, choice);
  keepChoices();
  showDecision();
}

// A box below the head of a change with a text to fill in.
function openBox(host, name, label, text, onDone, onClose = () => {}) {
  host.querySelectorAll(":scope > .remark").forEach((old) => old.remove());
  const box = make("div", "remark");
  const field = make("textarea");
  field.value = text;
  field.rows = Math.min(Math.max(text.split("\n").length + 1, 3), 30);
  const title = put(make("label"), `${label} ${name}`, field);
  const close = () => {
    box.remove();
    onClose();
  };
  put(box, title, put(make("div", "choices"), button("Save", () => { onDone(field.value); close(); }), button("Cancel", close)));
  const head = host.firstElementChild;
  head.after(box);
  field.focus();
}

function openRemark(piece, name, host) {
  openBox(host, name, "Comment on", remarks.get(piece) || "", (text) => {
    keepRemark(remarks, piece, text);
  });
}

// Galley tells the agent at its next call, also while the review goes on.
function keepRemark(map, key, text) {
  if (text.trim()) map.set(key, text.trim());
  else map.delete(key);
  keepChoices();
  showDecision();
  ask("/comments", {});
}

// The number of a line is a button that comments the line.
function addLineRemark(row, file, entry) {
  const name = entry.new ? `${file.path}:${entry.new}` : `${file.path}:${entry.old} before the change`;
  const cells = [...row.querySelectorAll(".line-number")].filter((cell) => cell.textContent);
  const cell = cells[cells.length - 1];
  if (!cell) return;
  const place = make("td");
  place.colSpan = 4;
  const said = make("p", "said-of");
  const below = put(make("tr", "line-said"), put(place, put(make("div"), said)));
  const show = () => {
    said.textContent = lineRemarks.get(name) || "";
    if (lineRemarks.has(name) || place.querySelector(".remark")) row.after(below);
    else below.remove();
  };
  const number = button(cell.textContent, () => {
    row.after(below);
    openBox(place.firstElementChild, name, "Comment on", lineRemarks.get(name) || "", (text) => {
      keepRemark(lineRemarks, name, text);
      said.textContent = text.trim();
    }, show);
  });
  number.setAttribute("aria-label", `Comment on ${name}`);
  number.tabIndex = -1;
  cell.replaceChildren(number);
  show();
}

// A text area has only LF, also for lines that end with CR LF.
async function openEditor(piece, name, host) {
  const said = await ask("/lines", {piece});
  if (!said) return;
  const isCrlf = said.text.includes("\r");
  openBox(host, name, "Proposed lines of", said.text, async (shown) => {
    const text = isCrlf ? shown.replace(/\n/g, "\r\n") : shown;
    if (text === said.text) return;
    if (await ask("/edit", {piece, text})) location.reload();
  });
}

async function leaveOut() {
  const rejected = pieces.filter(({piece}) => choices.get(piece) === "no").map(({piece}) => piece);
  if (!await ask("/keep", {left_out: rejected})) return;
  const kept = pieces.filter(({piece}) => choices.get(piece) !== "no");
  giveKeys(kept);
  pieces.splice(0, pieces.length, ...kept);
  keepChoices();
  location.reload();
}

async function commitShown() {
  const said = await ask("/commit", {message: message.value.trim()});
  if (said) over(`Committed as transaction ${said.committed}. This page can be closed.`);
}

async function endReview() {
  if (await ask("/end", {})) over("The review has ended; nothing was committed. This page can be closed.");
}

function over(text) {
  byId("decision-buttons").replaceChildren();
  document.querySelectorAll(".choices, .remark").forEach((node) => node.remove());
  document.querySelectorAll(".line-number button").forEach((one) => { one.disabled = true; });
  document.body.dataset.over = "true";
  tell(text);
}

function acceptRest() {
  for (const {piece} of pieces) {
    if (!choices.has(piece)) choices.set(piece, "yes");
  }
  keepChoices();
  showDecision();
}

// What can be done next: leave out what is rejected, and only then commit exactly what is shown.
function showDecision() {
  const count = (choice) => pieces.filter(({piece}) => choices.get(piece) === choice).length;
  const [yes, no] = [count("yes"), count("no")];
  const open = pieces.length - yes - no;
  tell(`${yes} accepted, ${no} rejected, ${open} undecided, ${plural(remarks.size + lineRemarks.size, "comment")}`);
  const place = byId("decision-buttons");
  const rest = button("Accept the rest", acceptRest);
  rest.disabled = open === 0;
  const out = button(`Leave out ${plural(no, "rejected change")}`, leaveOut);
  out.disabled = no === 0;
  const commit = button("Commit what is shown", commitShown);
  commit.disabled = no > 0 || open > 0 || pieces.length === 0;
  const focused = document.activeElement ? document.activeElement.textContent : "";
  place.replaceChildren(rest, out, put(make("label"), "Why ", message), commit, button("End without a commit", endReview));
  for (const one of place.children) {
    if (one.textContent === focused) one.focus();
  }
  for (const row of pieces) {
    if (row.show) row.show();
  }
}

function decideOnCurrent(choice) {
  const stop = view.stops[view.current];
  if (!stop || !data.session) return;
  const piece = stop.part && stop.part.piece !== undefined ? stop.part.piece : stop.file.piece;
  if (piece === undefined) return;
  choose(piece, choice);
  say(choices.has(piece) ? (choice === "yes" ? "accepted" : "rejected") : "undecided");
}

// Before the files are built, so that their buttons find their pieces.
function prepareDecisions() {
  for (const file of data.files) pieces.push(...piecesOf(file));
  giveKeys(pieces);
  findChoices();
  keys.splice(keys.length - 1, 0,
              ["a", "accept the change", () => decideOnCurrent("yes")],
              ["r", "reject the change", () => decideOnCurrent("no")]);
}

function startDecisions() {
  byId("decision").hidden = false;
  showDecision();
  const note = remembered("note");
  if (note) tell(`${note} ${byId("decision-text").textContent}`);
  remember("note", "");
}
