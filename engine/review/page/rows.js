// From the parts of a file, hunks and unchanged runs, to the rows of a table.

// The entries of a part: sign, number on each side, text, and for a changed line the one beside it.
function entriesOf(part) {
  if (part.entries) return part.entries;
  let [before, after] = [part.old, part.new];
  const entries = [];
  for (const line of part.lines) {
    const sign = line[0];
    if (sign === "\\") {
      if (entries.length > 0) entries[entries.length - 1].lacksNewline = true;
      continue;
    }
    const entry = {sign, raw: line.slice(1), old: 0, new: 0, mate: null};
    if (sign !== "+") entry.old = before++;
    if (sign !== "-") entry.new = after++;
    entries.push(entry);
  }
  pairLines(entries);
  part.entries = entries;
  return entries;
}

// The first removed line of a block stands beside the first added one, and so on.
function pairLines(entries) {
  for (let at = 0; at < entries.length;) {
    if (entries[at].sign === " ") {
      ++at;
      continue;
    }
    const removed = [];
    const added = [];
    while (at < entries.length && entries[at].sign === "-") removed.push(entries[at++]);
    while (at < entries.length && entries[at].sign === "+") added.push(entries[at++]);
    for (let i = 0; i < removed.length && i < added.length; ++i) {
      removed[i].mate = added[i];
      added[i].mate = removed[i];
    }
  }
}

// Rows of the view side by side: [left, right], either may be null.
function sideRows(part) {
  const rows = [];
  for (const entry of entriesOf(part)) {
    if (entry.sign === " ") {
      rows.push([entry, entry]);
    } else if (entry.sign === "-") {
      rows.push([entry, entry.mate]);
    } else if (!entry.mate) {
      rows.push([null, entry]);
    }
  }
  return rows;
}

function rowsOf(part, isSide) {
  const kept = isSide ? "asSide" : "asInline";
  if (!part[kept]) part[kept] = isSide ? sideRows(part) : entriesOf(part).map((entry) => [entry, entry]);
  return part[kept];
}

// The state in which each side of a part begins: that in which the part before it ends, if its lines are here.
function stateBefore(part, file) {
  const before = file.parts[file.parts.indexOf(part) - 1];
  if (!before || !before.lines || !file.family) return {old: "", new: ""};
  lexPart(before, file, entriesOf(before).length);
  return before.lexed;
}

// Reads and colours the lines of a part up to `count` entries; each side goes on from its own state.
function lexPart(part, file, count) {
  const {family} = file;
  if (!part.lexed) {
    const {old, new: now} = stateBefore(part, file);
    part.lexed = {count: 0, old, new: now};
  }
  const entries = entriesOf(part);
  const done = part.lexed;
  for (; done.count < count; ++done.count) {
    const entry = entries[done.count];
    const line = readLine(entry.raw);
    entry.text = line.text;
    entry.hidden = line.hidden.map(([begin, end]) => [begin, end, "hidden-character"]);
    entry.tokens = [];
    if (!family) continue;
    const side = entry.sign === "-" ? "old" : "new";
    const lexed = lexLine(family, line.text, done[side]);
    const isHidden = ([begin, end]) => entry.hidden.some((range) => begin < range[1] && end > range[0]);
    entry.tokens = lexed.ranges.filter((range) => !isHidden(range));
    done[side] = lexed.state;
    if (entry.sign === " ") done.old = lexed.state;
  }
}

function wordsOfEntry(entry) {
  if (!entry.mate || entry.text === undefined || entry.mate.text === undefined) return [];
  if (!entry.words) {
    const removed = entry.sign === "-" ? entry : entry.mate;
    [removed.words, removed.mate.words] = wordChanges(removed.text, removed.mate.text);
  }
  return entry.words;
}
