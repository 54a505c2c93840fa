// Which words of a changed line are others than those of the line that it was.

const maxWords = 400;
const fewestEqualWords = 0.3;

function wordsOf(text) {
  return text.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) || [];
}

// Longest common subsequence: for each word of a and b whether the other line has it, too.
function commonWords(a, b) {
  const width = b.length + 1;
  const table = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; --i) {
    for (let j = b.length - 1; j >= 0; --j) {
      table[i * width + j] = a[i] === b[j] ? table[(i + 1) * width + j + 1] + 1
        : Math.max(table[(i + 1) * width + j], table[i * width + j + 1]);
    }
  }
  const [inA, inB] = [new Array(a.length).fill(false), new Array(b.length).fill(false)];
  for (let i = 0, j = 0; i < a.length && j < b.length;) {
    if (a[i] === b[j]) {
      inA[i++] = inB[j++] = true;
    } else if (table[(i + 1) * width + j] >= table[i * width + j + 1]) {
      ++i;
    } else {
      ++j;
    }
  }
  return [inA, inB];
}

function changedRanges(words, isCommon, offset) {
  const ranges = [];
  let at = offset;
  words.forEach((word, i) => {
    const last = ranges[ranges.length - 1];
    if (!isCommon[i]) {
      if (last && last[1] === at) {
        last[1] += word.length;
      } else {
        ranges.push([at, at + word.length, "word"]);
      }
    }
    at += word.length;
  });
  return ranges;
}

// The changed ranges of both lines; none where too little is equal to speak of the same line.
function wordChanges(before, after) {
  const [a, b] = [wordsOf(before), wordsOf(after)];
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) ++head;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head &&
         a[a.length - 1 - tail] === b[b.length - 1 - tail]) ++tail;
  const [midA, midB] = [a.slice(head, a.length - tail), b.slice(head, b.length - tail)];
  if (midA.length > maxWords || midB.length > maxWords) return [[], []];
  const [inA, inB] = commonWords(midA, midB);
  const spaces = (words) => words.filter((word) => word.trim() !== "").length;
  const equal = spaces(a.slice(0, head)) + spaces(a.slice(a.length - tail)) +
    midA.filter((word, i) => inA[i] && word.trim() !== "").length;
  if (equal < fewestEqualWords * Math.max(spaces(a), spaces(b))) return [[], []];
  const offset = a.slice(0, head).join("").length;
  return [changedRanges(midA, inA, offset), changedRanges(midB, inB, offset)];
}
