// A correction that a refusal offers makes the change that the edit states, at the place that was
// meant, or it is not offered.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "staging/formats/read_edits.h"
#include "staging/placing/file_index.h"
#include "staging/placing/place.h"

namespace galley {
namespace {

using LineList = std::vector<std::string>;

std::string joined(const LineList& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

PlacedEdits replace_in(const std::string& content, const std::string& old_text,
                       const std::string& new_text, bool whole_lines) {
  FileEdit edit;
  edit.path = "f.c";
  TextEdit text;
  text.old_text = old_text;
  text.new_text = new_text;
  text.whole_lines = whole_lines;
  edit.text_edits.push_back(text);
  return place_edits(content, edit, {});
}

/// The file after `document`, whose path is f.c; empty when it does not fit.
std::string applied(const std::string& content, const std::string& document, EditFormat format) {
  const auto set = read_edits(document, format, {});
  if (!set || set->files.size() != 1) return {};
  const PlacedEdits placed = place_edits(content, set->files[0], {});
  return placed.failures.empty() ? placed.splices.apply(content) : std::string();
}

/// The file after the correction is sent back unchanged.
std::string corrected(const std::string& content, const std::string& rebased) {
  return applied(content, "--- a/f.c\n+++ b/f.c\n" + rebased, EditFormat::kUnified);
}

/// The correction offered for a replacement that is refused.
std::string correction(const std::string& content, const std::string& old_text,
                       const std::string& new_text) {
  const PlacedEdits placed = replace_in(content, old_text, new_text, true);
  EXPECT_EQ(placed.failures.size(), 1U);
  const PlacedEdits by_text = replace_in(content, old_text, new_text, false);
  EXPECT_EQ(by_text.failures.size(), 1U);
  if (placed.failures.empty() || by_text.failures.empty()) return {};
  EXPECT_EQ(placed.failures[0].rebased, by_text.failures[0].rebased);
  return placed.failures[0].rebased;
}

TEST(Correction, PutsNewLinesInThePlaceOfTheOldLines) {
  const std::string file = "int f(int a) {\n  int s = a;\n  s += 1;\n  return s;\n}\n";
  const std::string offered = correction(file, "  int s = a;\n  s += 1;\n  return (s);\n",
                                         "  int s = a;\n  s += 2;\n  s += 3;\n  return (s);\n");
  EXPECT_EQ(corrected(file, offered),
            "int f(int a) {\n  int s = a;\n  s += 2;\n  s += 3;\n  return s;\n}\n");
}

TEST(Correction, KeepsALineThatTheEditQuotesWrongly) {
  const std::string file = "begin\n  x := 1;\n  y := 2;\n  z := 3;\nend\n";
  const std::string offered = correction(file, "begin\n  x := 1;\n  y := 99;\n  z := 3;\nend\n",
                                         "begin\n  x := 10;\n  y := 99;\n  z := 30;\nend\n");
  EXPECT_EQ(corrected(file, offered), "begin\n  x := 10;\n  y := 2;\n  z := 30;\nend\n");
}

TEST(Correction, DoesNotReplaceALineThatTheEditDoesNotState) {
  const std::string file = "begin\n  x := 1;\n  y := 2;\n  z := 3;\nend\n";
  EXPECT_EQ(
      correction(file, "  x := 1;\n  y := 99;\n  z := 3;\n", "  x := 1;\n  y := 100;\n  z := 3;\n"),
      "");
}

TEST(Correction, RemovesTheOnlyLineThatWasTypedAgain) {
  const std::string file = "f(x) {\n  if (!x) {\n    fail('bad', x )\n  }\n}\n";
  const std::string after = "f(x) {\n  if (!x) {\n    fail(\"worse\", x);\n  }\n}\n";
  const std::string offered = correction(file, "  if (!x) {\n    fail(\"bad\", x);\n  }\n",
                                         "  if (!x) {\n    fail(\"worse\", x);\n  }\n");
  EXPECT_EQ(corrected(file, offered), after);
  const std::string hunk =
      "--- a/f.c\n+++ b/f.c\n@@ -2,3 +2,3 @@\n   if (!x) {\n-    fail(\"bad\", x);\n"
      "+    fail(\"worse\", x);\n   }\n";
  EXPECT_EQ(applied(file, hunk, EditFormat::kUnified), "") << "only offered";
}

TEST(Correction, DoesNotRemoveALineThatSaysSomethingElse) {
  const auto offered = [](const std::string& own, const std::string& typed,
                          const std::string& added = "  x = last();") {
    const std::string file = "begin {\n  first();\n" + own + "\n  third();\n}\n";
    return correction(file, "  first();\n" + typed + "\n  third();\n",
                      "  first();\n" + added + "\n  third();\n");
  };
  EXPECT_NE(offered("  x = a+b;", "  x = a + b;", "  x = c;"), "");
  EXPECT_EQ(offered("  x = a == b;", "  x = a != b;"), "") << "another operator";
  EXPECT_EQ(offered("  x = a - -b;", "  x = a--b;"), "") << "blanks that separate signs";
  EXPECT_EQ(offered("  x = not a;", "  x = nota;"), "") << "blanks that separate words";
  EXPECT_EQ(offered("  x = '$a' b", "  x = \"$a\" b"), "") << "quotes with a meaning";
  EXPECT_EQ(offered("  int x; // its use", "  int x;"), "") << "a comment that would be lost";
  EXPECT_EQ(offered("  x = 0700;", "  x = 0o700;"), "") << "another number";
  EXPECT_EQ(offered("  x = a;\n  third();\n  x = a ;", "  x = a"), "") << "two lines are like it";
}

TEST(Correction, KeepsALineThatIsRemovedAndAddedAgain) {
  const std::string hunk =
      "--- a/f.c\n+++ b/f.c\n@@ -1,3 +1,3 @@\n first();\n-say(\"a b\");\n-x = a + 1;\n"
      "+say(\"a b\");\n+x = a + 2;\n";
  const auto set = read_unified(hunk, {});
  ASSERT_TRUE(set);
  const PlacedEdits placed = place_edits("first();\nsay('a b');\nx = a + 1;\n", set->files[0], {});
  ASSERT_EQ(placed.failures.size(), 1U);
  EXPECT_EQ(placed.failures[0].rebased, "");
}

/// The correction that the refusal of the only hunk of `patch` offers.
std::string offered_for(const std::string& file, const std::string& patch) {
  const auto set = read_unified("--- a/f.c\n+++ b/f.c\n" + patch, {});
  if (!set || set->files.size() != 1) return "not read";
  const PlacedEdits placed = place_edits(file, set->files[0], {});
  return placed.failures.size() == 1 ? placed.failures.front().rebased : "applied";
}

/// A line with another word may be about another thing, and only a person can tell.
TEST(Correction, IsAbsentIfAWordOfALineIsAnother) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"def load_user(id):\n    row = cache.lookup_user(id)\n    return None\n\n"
       "def load_order(id):\n    row = db.query(\"orders\", id)\n    return row\n",
       "-    row = db.query(\"users\", id)\n+    row = db.query(\"users\", id, timeout=5)\n"
       "     return row\n"},
      {"[prod]\nurl = postgres://prod.example.com:5432/main\nport = 1\n",
       "-url = postgres://staging.example.com:5432/main\n"
       "+url = postgres://staging.example.com:5433/main\n port = 1\n"},
      {"staging:\n  host: db.staging.example.com\n  port: 5432\n",
       "   host: db.production.example.com\n-  port: 5432\n+  port: 6432\n"},
      {"name,city,age,size\nCarol,Berlin,30,170\nDora,Paris,44,160\n",
       " name,city,age,size\n-Alice,Berlin,30,170\n+Alice,Berlin,31,170\n"},
      {"{\n  \"lodash-es\": \"^4.17.0\",\n  \"x\": \"1\"\n}\n",
       " {\n-  \"lodash\": \"^4.17.0\",\n+  \"lodash\": \"^4.17.21\",\n   \"x\": \"1\"\n"},
      {"import os\nfrom utils import bar\n",
       " import os\n-from utils import foo\n+from utils.core import foo\n"},
      {"switch (key) {\n  case KEY_UP: return move(0, 1, speed);\n}\n",
       " switch (key) {\n-  case KEY_DOWN: return move(0, 1, speed);\n"
       "+  case KEY_DOWN: return move(0, -1, speed);\n }\n"},
      {"def delete_user(db, id, force):\n    db.remove(id)\n",
       "-def create_user(db, id, force):\n+def create_user(db, id, force, name):\n"
       "     db.remove(id)\n"},
      {"def test_login_works(client, db):\n    client.login()\n",
       " def test_login_fails(client, db):\n+    client.set_password(\"wrong\")\n"
       "     client.login()\n"},
      {"class OrderForm(Form):\n    name = Field()\n",
       " class UserForm(Form):\n+    email = Field()\n     name = Field()\n"},
      {"def handle_create(req, db):\n    x = load(req)\n    save(x)\n\n"
       "def process(user, cfg):\n    x = load(req)\n    save(x)\n",
       " def handle_delete(req, db):\n     x = load(req)\n-    save(x)\n+    drop(x)\n"},
      {"total = price * int(count)\ndone()\n",
       "-total = price * count\n+total = round(price * count)\n done()\n"},
      {"rm -rf build/*\nmake all\n", "-rm -rf build\n+rm -rf build dist\n make all\n"},
  };
  for (const auto& [file, body] : cases) {
    EXPECT_EQ(offered_for(file, "@@ @@\n" + body), "") << file << body;
  }
}

/// Limit: kMostCompared of file_index.h
TEST(Correction, ComparesALimitedNumberOfLinesOfAFile) {
  const auto line = [](size_t i, char quote) {
    return "say(" + (quote + std::to_string(i)) + quote + ", x);\n";
  };
  std::string file;
  std::string patch = "--- a/f\n+++ b/f\n";
  for (size_t i = 0; i < FileIndex::kMostCompared / 2; ++i) file += line(i, '\'');
  for (const size_t i : {100, 200, 300}) {
    patch += "@@ -" + std::to_string(i) + ",3 +" + std::to_string(i) + ",3 @@\n " +
             line(i - 1, '\'') + "-" + line(i, '"') + "+other();\n " + line(i + 1, '\'');
  }
  const auto set = read_unified(patch, {});
  ASSERT_TRUE(set && set->files.size() == 1);
  const PlacedEdits placed = place_edits(file, set->files[0], {});
  ASSERT_EQ(placed.failures.size(), 3U);
  EXPECT_NE(placed.failures[0].rebased.find("-" + line(100, '\'')), std::string::npos);
  EXPECT_NE(placed.failures[1].rebased.find("-" + line(200, '\'')), std::string::npos);
  EXPECT_EQ(placed.failures[2].rebased, "");
}

TEST(Correction, IsAbsentIfTheHunkMayBeCutOff) {
  const std::string file = "  first(a, b);\n  call('a b', c);\n  last();\n";
  const std::string body = "   first(a, b);\n-  call(\"a b\", c);\n+  call(\"a c\", c);\n   las";
  EXPECT_EQ(offered_for(file, "@@ -1,5 +1,5 @@\n" + body), "");
  EXPECT_EQ(offered_for(file, "@@ -1,7 +1,9 @@\n" + body + "t();\n"), "");
  EXPECT_NE(offered_for(file, "@@ -1,3 +1,3 @@\n" + body + "t();\n"), "");
}

TEST(Correction, ChangesOnlyTheIntendedFunction) {
  const std::string file =
      "int first() {\n  open();\n  read();\n  close();\n  return 1;\n}\n\n"
      "int second() {\n  open();\n\n  read();\n  close();\n  return 1;\n}\n";
  const std::string offered =
      correction(file, "int first() {\n  open();\n\n  read();\n  close();\n  return 1;\n",
                 "int first() {\n  open();\n\n  read();\n  close();\n  return 2;\n");
  if (offered.empty()) return;
  EXPECT_EQ(corrected(file, offered),
            "int first() {\n  open();\n  read();\n  close();\n  return 2;\n}\n\n"
            "int second() {\n  open();\n\n  read();\n  close();\n  return 1;\n}\n");
}

TEST(Correction, IsAbsentWhenALineNumberHeaderWouldRemoveALine) {
  const std::string file =
      "int one() {\n  return 1;\n}\n\nint two() {\n  int t = 2;\n  return t;\n}\n";
  const std::string offered = correction(
      file, ":start_line:5\n-------\nint two() {\n  int t = 2;\n", "int two() {\n  int t = 3;\n");
  EXPECT_EQ(offered, "");
}

TEST(Correction, ACorrectedHunkRemovesOnlyItsLines) {
  const std::string file = "a1\na2\na3\nb1\nb2\nc1\nc2\nc3\nd1\n";
  const std::string hunk =
      "--- a/f.c\n+++ b/f.c\n@@ -1,8 +1,8 @@\n a1\n x2\n x3\n b1\n-b2\n+b3\n x1\n x2\n c3\n";
  const auto set = read_unified(hunk, {});
  ASSERT_TRUE(set);
  const PlacedEdits placed = place_edits(file, set->files[0], {});
  ASSERT_EQ(placed.failures.size(), 1U);
  EXPECT_EQ(corrected(file, placed.failures[0].rebased), "a1\na2\na3\nb1\nb3\nc1\nc2\nc3\nd1\n");
}

TEST(Correction, KeepsTheLineEndsOfTheFile) {
  const std::string file = "int f(int a) {\r\n  int s = a;\r\n  s += 1;\r\n  return s;\r\n}\r\n";
  const std::string offered = correction(file, "  int s = a;\n  s += 1;\n  return (s);\n",
                                         "  int s = a;\n  s += 2;\n  s += 3;\n  return (s);\n");
  EXPECT_EQ(corrected(file, offered),
            "int f(int a) {\r\n  int s = a;\r\n  s += 2;\r\n  s += 3;\r\n  return s;\r\n}\r\n");
}

TEST(Correction, CanBeSentTogetherWithAnEditThatFits) {
  const std::string file = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";
  FileEdit edit;
  edit.path = "f.c";
  TextEdit first;
  first.old_text = "one\n";
  first.new_text = "zero\none\none\n";
  TextEdit second;
  second.old_text = "FIVE\nsix\nseven\n";
  second.new_text = "FIVE\nsix\n7\n";
  edit.text_edits = {first, second};
  const PlacedEdits placed = place_edits(file, edit, {});
  ASSERT_EQ(placed.failures.size(), 1U);
  EXPECT_EQ(corrected(file, placed.failures[0].rebased), "one\ntwo\nthree\nfour\nfive\nsix\n7\n");
}

// ------------------------------------------------------------------------------------ property

/// A file, a change of it, and what the edit holds for its context.
struct DriftCase {
  LineList file;
  size_t begin = 0;  ///< the lines that go: [begin, end)
  size_t end = 0;
  LineList added;
  LineList before;  ///< context as the edit has it
  LineList after;
  LineList inner;  ///< kept lines between two changes, as the edit has them; none: one change
  size_t inner_begin = 0;
  size_t inner_end = 0;
};

class DriftGenerator {
 public:
  explicit DriftGenerator(unsigned seed) : random_(seed) {}

  size_t below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random_); }
  bool chance(double p) { return std::bernoulli_distribution(p)(random_); }

  DriftCase make() {
    DriftCase c;
    c.file = chance(0.5) ? functions() : plain();
    c.begin = below(c.file.size());
    c.end = std::min(c.file.size(), c.begin + below(5));
    if (c.end - c.begin >= 3 && chance(0.6)) {
      c.inner_begin = c.begin + 1;
      c.inner_end = c.end - 1;
      c.inner = part(c.file, c.inner_begin, c.inner_end);
    }
    const size_t count = below(3) + (c.begin == c.end ? 1 : 0);
    for (size_t i = 0; i < count; ++i) c.added.push_back(chance(0.2) ? line() : fresh());
    const size_t context = 1 + below(5);
    c.before = part(c.file, c.begin - std::min(c.begin, context), c.begin);
    c.after = part(c.file, c.end, std::min(c.file.size(), c.end + context));
    const size_t drifts = 1 + below(4);
    for (size_t i = 0; i < drifts; ++i) drift(c, pick(c));
    // Without its kept lines, the edit states the change of two adjacent lines.
    if (c.inner.empty() && c.inner_begin != c.inner_end) return make();
    // A text edit that removes and adds an equal line does not change that line.
    const LineList gone = part(c.file, c.begin, c.end);
    for (std::string& line : c.added) {
      if (std::find(gone.begin(), gone.end(), line) != gone.end()) line = fresh();
    }
    return c;
  }

 private:
  static LineList part(const LineList& lines, size_t begin, size_t end) {
    return {lines.begin() + static_cast<long>(begin), lines.begin() + static_cast<long>(end)};
  }

  std::string line() {
    static const LineList kLines = {"}", "", "  }", "  {", "  return 1;", "  break;", "  x = y;"};
    if (chance(0.3)) return kLines[below(kLines.size())];
    return "  step_" + std::string(1, static_cast<char>('a' + below(6))) +
           std::to_string(below(3)) + "();";
  }

  std::string fresh() { return "  fresh_" + std::to_string(below(100000)) + "();"; }

  LineList plain() {
    LineList out;
    const size_t count = 5 + below(40);
    const bool is_telling = chance(0.5);
    for (size_t i = 0; i < count; ++i) {
      out.push_back(is_telling && chance(0.8) ? "  line " + std::to_string(below(1000)) : line());
    }
    return out;
  }

  /// Functions whose bodies are nearly the same.
  LineList functions() {
    LineList body;
    const size_t length = 2 + below(6);
    for (size_t i = 0; i < length; ++i) body.push_back(line());
    LineList out;
    const size_t count = 2 + below(5);
    for (size_t f = 0; f < count; ++f) {
      out.push_back(chance(0.2) ? "void again() {" : "void f" + std::to_string(f) + "() {");
      for (const std::string& text : body) {
        if (chance(0.9)) out.push_back(chance(0.2) ? line() : text);
      }
      out.push_back("}");
      if (chance(0.8)) out.push_back("");
    }
    return out;
  }

  LineList& pick(DriftCase& c) {
    const size_t which = below(3);
    if (which == 2 && !c.inner.empty()) return c.inner;
    return which == 0 ? c.before : c.after;
  }

  /// A line that the file does not have: with one of its lines the edit could mean another place.
  std::string made_up(const LineList& file) {
    const std::string out = line();
    const bool is_there = std::find(file.begin(), file.end(), out) != file.end();
    return is_there ? "  made_up_" + std::to_string(below(100)) + "();" : out;
  }

  void drift(DriftCase& c, LineList& context) {
    if (context.empty()) return;
    const size_t at = below(context.size());
    switch (below(4)) {
      case 0:
        context[at] =
            chance(0.5) ? made_up(c.file) : context[at] + " // " + std::to_string(below(9));
        break;
      case 1:
        erase_line(context, &context == &c.before, &context == &c.after);
        break;
      case 2:
        context.insert(context.begin() + static_cast<long>(at), made_up(c.file));
        break;
      default:
        swap_lines(context, &context == &c.before, &context == &c.after);
    }
  }

  /// The line next to the change stays: with another one there the edit states another place.
  void erase_line(LineList& context, bool keeps_last, bool keeps_first) {
    const size_t count = context.size() - (keeps_last || keeps_first ? 1 : 0);
    if (count == 0) return;
    context.erase(context.begin() + static_cast<long>((keeps_first ? 1 : 0) + below(count)));
  }

  /// As erase_line().
  void swap_lines(LineList& context, bool keeps_last, bool keeps_first) {
    const size_t count = context.size() - (keeps_last || keeps_first ? 1 : 0);
    if (count < 2) return;
    const size_t first = keeps_first ? 1 : 0;
    std::swap(context[first + below(count)], context[first + below(count)]);
  }

  std::mt19937 random_;
};

void append_all(LineList& out, const LineList& more) {
  out.insert(out.end(), more.begin(), more.end());
}

LineList removed_lines(const DriftCase& c) {
  LineList out;
  for (size_t i = c.begin; i < c.end; ++i) {
    if (i < c.inner_begin || i >= c.inner_end) out.push_back(c.file[i]);
  }
  return out;
}

/// The edit's old lines and its new ones; the added ones are before the inner lines.
LineList old_lines(const DriftCase& c) {
  LineList out = c.before;
  if (c.inner_begin == c.inner_end) {
    append_all(out, removed_lines(c));
  } else {
    out.push_back(c.file[c.begin]);
    append_all(out, c.inner);
    out.push_back(c.file[c.end - 1]);
  }
  append_all(out, c.after);
  return out;
}

LineList new_lines(const DriftCase& c) {
  LineList out = c.before;
  append_all(out, c.added);
  append_all(out, c.inner);
  append_all(out, c.after);
  return out;
}

std::string intended_text(const DriftCase& c) {
  LineList out(c.file.begin(), c.file.begin() + static_cast<long>(c.begin));
  append_all(out, c.added);
  for (size_t i = c.inner_begin; i < c.inner_end; ++i) out.push_back(c.file[i]);
  out.insert(out.end(), c.file.begin() + static_cast<long>(c.end), c.file.end());
  return joined(out);
}

std::string body_of(const DriftCase& c) {
  std::string out;
  const auto put = [&](char mark, const LineList& lines) {
    for (const std::string& line : lines) out += mark + line + "\n";
  };
  put(' ', c.before);
  if (c.inner_begin == c.inner_end) {
    put('-', removed_lines(c));
    put('+', c.added);
  } else {
    put('-', {c.file[c.begin]});
    put('+', c.added);
    put(' ', c.inner);
    put('-', {c.file[c.end - 1]});
  }
  put(' ', c.after);
  return out;
}

struct OfferTally {
  size_t applied = 0;
  size_t offered = 0;
  size_t refused = 0;
  size_t wrong = 0;
};

void judge_offers(const DriftCase& c, const std::string& what, const PlacedEdits& placed,
                  OfferTally& tally) {
  const std::string content = joined(c.file);
  if (placed.failures.empty() && placed.placements.front().step == MatchStep::kMended) {
    ++tally.applied;
    if (placed.splices.apply(content) == intended_text(c) || ++tally.wrong > 3) return;
    ADD_FAILURE() << what << "\n--- edit\n"
                  << body_of(c) << "--- file\n"
                  << content << "--- made\n"
                  << placed.splices.apply(content);
  }
  for (const EditFailure& failure : placed.failures) {
    ++tally.refused;
    if (failure.rebased.empty()) continue;
    ++tally.offered;
    const std::string v4a =
        "*** Begin Patch\n*** Update File: f.c\n" + failure.rebased + "*** End Patch\n";
    const std::string by_v4a = applied(content, v4a, EditFormat::kApplyPatch);
    const bool is_right = corrected(content, failure.rebased) == intended_text(c) &&
                          (by_v4a.empty() || by_v4a == intended_text(c));
    if (is_right) continue;
    if (++tally.wrong > 3) continue;
    ADD_FAILURE() << what << "\n--- edit\n"
                  << body_of(c) << "--- file\n"
                  << content << "--- correction\n"
                  << failure.rebased << "--- intended\n"
                  << intended_text(c);
  }
}

size_t correction_cases() {
  const char* asked = std::getenv("GALLEY_CORRECTION_CASES");
  return asked == nullptr ? 2000 : std::strtoul(asked, nullptr, 10);
}

TEST(Correction, IsAbsentIfNewLinesMayBeOnEitherSideOfALineThatOnlyTheFileHas) {
  const std::string body = "  one();\n  two();\n";
  const std::string end = "  five();\n}\n";
  const auto offered = [&](const std::string& between) {
    const std::string file = "f() {\n" + body + "  three();\n" + between + "  four();\n" + end;
    const std::string stated = "f(int x) {\n" + body;
    const PlacedEdits placed = replace_in(file, stated + "  three();\n  four();\n" + end,
                                          stated + "  fresh();\n" + end, false);
    return placed.failures.empty() ? "none" : placed.failures.front().rebased;
  };
  EXPECT_NE(offered(""), "");
  EXPECT_EQ(offered("\n"), "");
}

TEST(Correction, MakesTheIntendedChangeOrIsAbsent) {
  DriftGenerator generator(20261125);
  OfferTally texts;
  OfferTally hunks;
  const size_t count = correction_cases();
  for (size_t i = 0; i < count; ++i) {
    const DriftCase c = generator.make();
    const std::string content = joined(c.file);
    const std::string old_text = joined(old_lines(c));
    const std::string new_text = joined(new_lines(c));
    if (!old_text.empty() && old_text != new_text) {
      judge_offers(c, "text", replace_in(content, old_text, new_text, i % 2 == 0), texts);
    }
    const std::string header =
        i % 3 == 0 ? "@@ ... @@\n"
                   : "@@ -" + std::to_string(c.begin - std::min(c.begin, c.before.size()) + 1) +
                         "," + std::to_string(old_lines(c).size()) + " +1," +
                         std::to_string(new_lines(c).size()) + " @@\n";
    const auto set = read_unified("--- a/f.c\n+++ b/f.c\n" + header + body_of(c), {});
    if (set && set->files.size() == 1) {
      judge_offers(c, "hunk", place_edits(content, set->files[0], {}), hunks);
    }
  }
  std::printf("  text: %zu refused, %zu corrections, %zu wrong\n", texts.refused, texts.offered,
              texts.wrong);
  std::printf("  hunk: %zu mended, %zu refused, %zu corrections, %zu wrong\n", hunks.applied,
              hunks.refused, hunks.offered, hunks.wrong);
  EXPECT_EQ(texts.wrong + hunks.wrong, 0U);
  EXPECT_GT(texts.offered, texts.refused / 20);
  EXPECT_GT(hunks.applied, hunks.refused / 20);
}

}  // namespace
}  // namespace galley
