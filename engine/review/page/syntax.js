// Keywords, strings, comments and numbers of families of languages: enough to read by, no grammar.

const wordSet = (text) => new Set(text.split(" "));
const cWords = "auto bool break case catch char class const constexpr continue default delete do double else " +
  "enum explicit extern false float for friend goto if inline int long mutable namespace new noexcept nullptr " +
  "operator override private protected public return short signed sizeof static struct switch template this " +
  "throw true try typedef typename union unsigned using virtual void volatile while co_await co_return concept requires";
const scriptWords = "abstract any as async await boolean break case catch class const continue debugger declare " +
  "default delete do else enum export extends false finally for from function get if implements import in " +
  "instanceof interface keyof let new null number of private protected public readonly return set static string " +
  "super switch this throw true try type typeof undefined unknown var void while with yield";
const javaWords = "abstract as assert async await base bool boolean break byte case catch char class const continue " +
  "default defer delegate do double else enum event extends extern false final finally fixed float for foreach fun " +
  "func go goto if implements implicit import in instanceof int interface internal is let lock long map match mod " +
  "mut namespace native new nil null object operator out override package params private protected pub public " +
  "range readonly ref return sbyte sealed select self short sizeof static strictfp string struct super switch " +
  "synchronized this throw throws trait transient true try type typeof uint ulong unsafe use ushort using val var " +
  "virtual void volatile when where while yield impl dyn move loop crate chan fallthrough interface";
const pythonWords = "and as assert async await break case class continue def del elif else except False finally for " +
  "from global if import in is lambda match None nonlocal not or pass raise return self True try while with yield";
const shellWords = "case do done elif else esac exit export fi for function if in local return set shift then true " +
  "false unset until while begin end def module require unless FROM RUN COPY CMD ENTRYPOINT ENV WORKDIR";
const sqlWords = "select from where insert into values update set delete create table index view drop alter add join " +
  "left right inner outer on as and or not null primary key foreign references group by order having limit union " +
  "distinct case when then else end begin commit rollback";

const families = {
  c: {words: wordSet(cWords), line: "//", open: "/*", close: "*/", quotes: "\"'", directive: /^\s*#\s*\w+/},
  script: {words: wordSet(scriptWords), line: "//", open: "/*", close: "*/", quotes: "\"'`", multi: "`"},
  java: {words: wordSet(javaWords), line: "//", open: "/*", close: "*/", quotes: "\"'`", multi: "`"},
  python: {words: wordSet(pythonWords), line: "#", quotes: "\"'", triple: true},
  shell: {words: wordSet(shellWords), line: "#", quotes: "\"'"},
  data: {words: wordSet("true false null yes no on off"), line: "#", quotes: "\"'"},
  json: {words: wordSet("true false null"), quotes: "\""},
  css: {words: wordSet("important media supports import from to and not"), open: "/*", close: "*/", quotes: "\"'"},
  markup: {words: wordSet(""), open: "<!--", close: "-->", quotes: "\"", tags: true},
  sql: {words: wordSet(sqlWords), line: "--", open: "/*", close: "*/", quotes: "'\"", ignoresCase: true},
  lua: {words: wordSet("and break do else elseif end false for function if in local nil not or repeat return then " +
    "true until while"), line: "--", quotes: "\"'"},
};

const familyOfEnding = new Map(Object.entries({
  c: "c h cc cpp cxx hh hpp hxx inl m mm cu",
  script: "js mjs cjs jsx ts tsx mts cts vue svelte",
  java: "java kt kts scala cs go rs swift dart php groovy gradle zig proto",
  python: "py pyi pyx bzl",
  shell: "sh bash zsh fish mk cmake rb pl pm tcl dockerfile makefile gitignore awk r jl nix",
  data: "yaml yml toml ini cfg conf properties env lock",
  json: "json jsonc json5 ipynb",
  css: "css scss less",
  markup: "html htm xml svg xhtml xsl csproj md",
  sql: "sql",
  lua: "lua hs elm",
}).flatMap(([family, endings]) => endings.split(" ").map((ending) => [ending, family])));

function familyOf(path) {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase();
  return families[familyOfEnding.get(name.slice(name.lastIndexOf(".") + 1))] || null;
}

function endOfString(text, at, quote) {
  for (let i = at; i < text.length; ++i) {
    if (text[i] === "\\") {
      ++i;
    } else if (text.startsWith(quote, i)) {
      return i + quote.length;
    }
  }
  return -1;
}

const wordPattern = /[A-Za-z_$][\w$]*/y;
const numberPattern = /(?:0[xXbBoO][\da-fA-F_']+|\d[\d_']*(?:\.\d+)?(?:[eE][+-]?\d+)?)\w*/y;

// Ranges of one line, and the state in which the next one begins: what still has to be closed, or "".
function lexLine(family, text, state) {
  const ranges = [];
  let at = 0;
  const take = (end, className) => {
    if (end > at) ranges.push([at, end, className]);
    at = end;
  };
  if (state !== "") {
    const isComment = state === family.close;
    const found = isComment ? text.indexOf(state) : endOfString(text, 0, state);
    const end = found < 0 ? -1 : (isComment ? found + state.length : found);
    take(end < 0 ? text.length : end, isComment ? "comment" : "string");
    if (end < 0) return {ranges, state};
  }
  const directive = family.directive && at === 0 ? family.directive.exec(text) : null;
  if (directive) take(directive[0].length, "keyword");
  while (at < text.length) {
    const letter = text[at];
    if (family.open && text.startsWith(family.open, at)) {
      const end = text.indexOf(family.close, at + family.open.length);
      take(end < 0 ? text.length : end + family.close.length, "comment");
      if (end < 0) return {ranges, state: family.close};
    } else if (family.line && text.startsWith(family.line, at)) {
      take(text.length, "comment");
    } else if (family.quotes.includes(letter)) {
      const triple = family.triple && text.startsWith(letter.repeat(3), at);
      const quote = triple ? letter.repeat(3) : letter;
      const end = endOfString(text, at + quote.length, quote);
      const goesOn = end < 0 && (triple || quote === family.multi);
      // A quote without an end is an apostrophe more often than a string.
      if (end < 0 && !goesOn) {
        ++at;
      } else {
        take(end < 0 ? text.length : end, "string");
        if (goesOn) return {ranges, state: quote};
      }
    } else if (/[A-Za-z_$]/.test(letter)) {
      wordPattern.lastIndex = at;
      const word = wordPattern.exec(text)[0];
      const isTag = family.tags && /[</]/.test(text[at - 1] || "");
      const isKeyword = family.words.has(family.ignoresCase ? word.toLowerCase() : word);
      if (isTag || isKeyword) take(at + word.length, "keyword");
      else at += word.length;
    } else if (/\d/.test(letter)) {
      numberPattern.lastIndex = at;
      take(at + numberPattern.exec(text)[0].length, "number");
    } else {
      ++at;
    }
  }
  return {ranges, state: ""};
}
