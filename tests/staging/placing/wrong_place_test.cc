// An edit lands at its intended place or not at all.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstdio>
#include <map>
#include <random>

#include "base/hash.h"
#include "staging/formats/read_edits.h"
#include "staging/placing/place.h"

namespace galley {
namespace {

using TextLines = std::vector<std::string>;

std::string join(const TextLines& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

/// One generated file, the change meant for it, and the file as it has become meanwhile.
struct Case {
  TextLines base;
  size_t begin = 0;  ///< the changed lines [begin, end) of base
  size_t end = 0;
  TextLines added;
  TextLines now;         ///< the file that the edit is applied to
  size_t now_begin = 0;  ///< the place of the intended lines in it
  bool is_there = true;  ///< the intended lines are still there
  /// The place was copied, so it must not change from now on: a copy of a place that then changes
  /// is a move, and the only place that still has the lines would be the right one.
  bool is_copied = false;
};

class Generator {
 public:
  explicit Generator(unsigned seed) : random_(seed) {}

  size_t below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random_); }
  bool chance(double p) { return std::bernoulli_distribution(p)(random_); }

  /// `repeats`: functions whose bodies are the same or nearly; otherwise as source mostly is.
  Case make(bool repeats) {
    Case out;
    out.base = make_base();
    if (!repeats) {
      for (std::string& line : out.base) {
        if (line.starts_with("    ")) line += " // " + std::to_string(below(100000));
      }
    }
    out.begin = below(out.base.size());
    out.end = std::min(out.base.size(), out.begin + below(4));
    const size_t count = below(3) + (out.begin == out.end ? 1 : 0);
    for (size_t i = 0; i < count; ++i) out.added.push_back("    changed_" + word() + "();");
    if (TextLines(out.base.begin() + static_cast<long>(out.begin),
                  out.base.begin() + static_cast<long>(out.end)) == out.added) {
      out.added.push_back("    one_more();");
    }
    drift(out);
    return out;
  }

 private:
  std::string word() {
    return std::string(1, static_cast<char>('a' + below(6))) + std::to_string(below(4));
  }

  /// Functions whose bodies repeat exactly or nearly.
  TextLines make_base() {
    TextLines body;
    const size_t length = 2 + below(5);
    for (size_t i = 0; i < length; ++i) body.push_back("    step_" + word() + "();");
    TextLines base;
    const size_t count = 2 + below(8);
    for (size_t f = 0; f < count; ++f) {
      const bool is_named = !chance(0.3);
      base.push_back(is_named ? "void f" + std::to_string(f) + "() {" : "void again() {");
      for (const std::string& line : body) {
        base.push_back(chance(0.08) ? "    other_" + word() + "();" : line);
      }
      base.push_back("}");
      if (chance(0.8)) base.push_back("");
    }
    return base;
  }

  /// Changes the file elsewhere, near and inside the context of the intended place.
  void drift(Case& c) {
    c.now = c.base;
    c.now_begin = c.begin;
    const size_t changes = below(4);
    for (size_t i = 0; i < changes; ++i) change_once(c);
    if (chance(0.15)) overwrite_intended(c);
  }

  void change_once(Case& c) {
    const size_t length = c.end - c.begin;
    const size_t at = below(c.now.size() + 1);
    const bool is_before = at <= c.now_begin;
    const bool is_after = at >= c.now_begin + length;
    if (!is_before && !is_after) return;
    const bool is_near = at + 4 > c.now_begin && at < c.now_begin + length + 4;
    if (c.is_copied && is_near) return;
    switch (below(4)) {
      case 0: {  // lines put in
        const size_t count = 1 + below(9);
        for (size_t k = 0; k < count; ++k) {
          c.now.insert(c.now.begin() + static_cast<long>(at), "    new_" + word() + "();");
        }
        if (is_before) c.now_begin += count;
        break;
      }
      case 1: {  // a whole block copied: a new exact duplicate
        // Not into the context itself: nothing could tell which of its equal lines are the old
        // ones.
        if (is_near) return;
        const size_t from = below(c.now.size());
        const size_t count = std::min<size_t>(c.now.size() - from, 2 + below(9));
        if (from < c.now_begin + length + 4 && from + count + 4 > c.now_begin) c.is_copied = true;
        const TextLines block(c.now.begin() + static_cast<long>(from),
                              c.now.begin() + static_cast<long>(from + count));
        c.now.insert(c.now.begin() + static_cast<long>(at), block.begin(), block.end());
        if (is_before) c.now_begin += count;
        break;
      }
      case 2:  // a line taken out
        if (at < c.now_begin) {
          c.now.erase(c.now.begin() + static_cast<long>(at));
          --c.now_begin;
        } else if (at >= c.now_begin + length && at < c.now.size()) {
          c.now.erase(c.now.begin() + static_cast<long>(at));
        }
        break;
      default:  // a line changed
        if (at < c.now.size() && (at < c.now_begin || at >= c.now_begin + length)) {
          c.now[at] = "    edited_" + word() + "();";
        }
    }
  }

  void overwrite_intended(Case& c) {
    if (c.begin == c.end || c.is_copied) return;
    c.now[c.now_begin] = "    somebody_else_" + word() + "();";
    c.is_there = false;
  }

  std::mt19937 random_;
};

/// The patch that git would have printed for the case: with an index line, `context` lines around.
/// Or as a model writes it, without one.
std::string patch_of(const Case& c, size_t context, bool has_numbers, bool has_index = true) {
  const size_t low = c.begin - std::min(c.begin, context);
  const size_t high = std::min(c.base.size(), c.end + context);
  std::string body;
  for (size_t i = low; i < c.begin; ++i) body += " " + c.base[i] + "\n";
  for (size_t i = c.begin; i < c.end; ++i) body += "-" + c.base[i] + "\n";
  for (const std::string& line : c.added) body += "+" + line + "\n";
  for (size_t i = c.end; i < high; ++i) body += " " + c.base[i] + "\n";
  const size_t old_count = high - low;
  const size_t new_count = old_count - (c.end - c.begin) + c.added.size();
  std::string header = "@@ ... @@\n";
  if (has_numbers) {
    header = "@@ -" + std::to_string(old_count == 0 ? low : low + 1) + "," +
             std::to_string(old_count) + " +" + std::to_string(low + 1) + "," +
             std::to_string(new_count) + " @@\n";
  }
  if (!has_index) return "--- a/f.c\n+++ b/f.c\n" + header + body;
  return "diff --git a/f.c b/f.c\nindex " + GitOid::of_blob(join(c.base)).abbreviated() +
         "..1234567 100644\n--- a/f.c\n+++ b/f.c\n" + header + body;
}

std::string intended(const Case& c) {
  TextLines after = c.now;
  const auto at = after.begin() + static_cast<long>(c.now_begin);
  const auto next = after.erase(at, at + static_cast<long>(c.end - c.begin));
  after.insert(next, c.added.begin(), c.added.end());
  return join(after);
}

struct Tally {
  size_t right = 0;
  size_t refused = 0;
  size_t wrong = 0;
  size_t unneeded = 0;  ///< refused although the file was the one the edit was made on
};

void judge(const Case& c, bool has_numbers, size_t context, Tally& tally) {
  const auto set = read_unified(patch_of(c, context, has_numbers), {});
  ASSERT_TRUE(set) << set.error().message;
  const std::string content = join(c.now);
  MatchOptions options;
  options.base_is_proven = content == join(c.base);
  const PlacedEdits placed = place_edits(content, set->files.front(), options);
  if (!placed.failures.empty()) {
    ++tally.refused;
    if (*options.base_is_proven && has_numbers && context > 0) ++tally.unneeded;
    return;
  }
  if (c.is_there && placed.splices.apply(content) == intended(c)) {
    ++tally.right;
    return;
  }
  ++tally.wrong;
  if (tally.wrong <= 3) {
    ADD_FAILURE() << "step " << match_step_name(placed.placements[0].step) << " at line "
                  << placed.placements[0].line << ", meant " << c.now_begin + 1
                  << (c.is_there ? "" : " (which is gone)") << "\n--- patch\n"
                  << patch_of(c, context, has_numbers) << "--- file\n"
                  << content << "--- base\n"
                  << join(c.base);
  }
}

/// Whether a hunk with three leading context lines and one new line is applied.
bool applies(const std::string& file, const std::string& condition) {
  const auto set = read_unified("--- a/f\n+++ b/f\n@@ -1,3 +1,4 @@\n def run(user, req):\n     " +
                                    condition + "\n         log(user)\n+        grant(user)\n",
                                {});
  return set && place_edits(file, set->files.at(0), {}).failures.empty();
}

TEST(WrongPlace, NewLinesAreNotPutBelowTheOppositeCondition) {
  const auto file = [](const std::string& condition) {
    return "def run(user, req):\n    " + condition + "\n        log(user)\n        deny()\n";
  };
  EXPECT_TRUE(applies(file("if user.is_admin(req, True):"), "if user.is_admin(req):"));
  EXPECT_TRUE(applies(file("if (user->is_admin(req))"), "if (user.is_admin(req))"));
  EXPECT_FALSE(applies(file("if not user.is_admin(req):"), "if user.is_admin(req):"));
  EXPECT_FALSE(applies(file("if user.is_admin(req):"), "if not user.is_admin(req):"));
  EXPECT_FALSE(applies(file("unless user.is_admin(req)"), "if user.is_admin(req)"));
  EXPECT_FALSE(applies(file("if (!user.is_admin(req))"), "if (user.is_admin(req))"));
  EXPECT_FALSE(applies(file("if (a.size <= b.size)"), "if (a.size > b.size)"));
  EXPECT_FALSE(applies(file("if (a.size != b.size)"), "if (a.size == b.size)"));
  EXPECT_FALSE(applies(file("if (a.ok || b.ok)"), "if (a.ok && b.ok)"));
}

TEST(WrongPlace, NoneOfManyThousandEditsIsPlacedWrongly) {
  for (const bool repeats : {true, false}) {
    Tally numbered;
    Tally bare;
    Generator generator(20261121);
    for (int i = 0; i < 12000; ++i) {
      const Case c = generator.make(repeats);
      const bool has_numbers = i % 3 != 0;
      judge(c, has_numbers, i % 5 == 0 ? 1 : 3, has_numbers ? numbered : bare);
    }
    EXPECT_EQ(numbered.wrong + bare.wrong, 0U);
    EXPECT_EQ(numbered.unneeded, 0U) << "an unchanged file needs no refusal";
    std::printf("%s\n", repeats ? "functions that repeat each other" : "ordinary functions");
    std::printf("  with line numbers: %zu right, %zu refused, %zu wrong\n", numbered.right,
                numbered.refused, numbered.wrong);
    std::printf("  without:           %zu right, %zu refused, %zu wrong\n", bare.right,
                bare.refused, bare.wrong);
  }
}

/// A patch that does not say of which content it was made may be read with less than its context.
TEST(WrongPlace, NoRepairedPatchIsPlacedWrongly) {
  for (const bool repeats : {true, false}) {
    size_t mended = 0;
    size_t wrong = 0;
    Generator generator(20261126);
    for (int i = 0; i < 12000; ++i) {
      const Case c = generator.make(repeats);
      const std::string patch = patch_of(c, i % 5 == 0 ? 1 : 3, i % 3 != 0, false);
      const auto set = read_unified(patch, {});
      ASSERT_TRUE(set);
      const std::string content = join(c.now);
      const PlacedEdits placed = place_edits(content, set->files.front(), {});
      if (placed.placements.empty() || placed.placements[0].step != MatchStep::kMended) continue;
      ++mended;
      if (c.is_there && placed.splices.apply(content) == intended(c)) continue;
      if (++wrong > 3) continue;
      ADD_FAILURE() << "meant line " << c.now_begin + 1 << (c.is_there ? "" : " (which is gone)")
                    << "\n--- patch\n"
                    << patch << "--- file\n"
                    << content << "--- made\n"
                    << placed.splices.apply(content);
    }
    EXPECT_EQ(wrong, 0U);
    EXPECT_GE(mended, 15U);
    std::printf("  %zu mended, %zu wrong\n", mended, wrong);
  }
}

/// The file after the hunks, or the reason of the first refusal.
std::string after_hunks(const std::string& content, const std::string& hunks,
                        const MatchOptions& options = {}) {
  const auto set = read_unified("--- a/f.c\n+++ b/f.c\n" + hunks, {});
  EXPECT_TRUE(set.has_value());
  const PlacedEdits placed = place_edits(content, set->files.front(), options);
  return placed.failures.empty() ? placed.splices.apply(content) : placed.failures.front().reason;
}

TEST(WrongPlace, HunksInAnotherOrderStayAtTheirNumbers) {
  const std::string file = "a {\n  x\n}\n\nb {\n  y\n}\n\nc {\n  z\n}\n";
  const std::string later = "@@ -10,2 +10,2 @@\n-  z\n+  w\n }\n";
  const std::string twin = "@@ -3,2 +3,2 @@\n-}\n+} // a\n \n";  // also in line 7
  const std::string made = "a {\n  x\n} // a\n\nb {\n  y\n}\n\nc {\n  w\n}\n";
  EXPECT_EQ(after_hunks(file, later + twin), made);
  EXPECT_EQ(after_hunks(file, twin + later), made);
  MatchOptions strict;
  strict.strict = {"hunk_order"};
  EXPECT_EQ(after_hunks(file, later + twin, strict), "patch.out_of_order");
  // Both fit at their numbers, which overlap.
  EXPECT_EQ(after_hunks(file, "@@ -7,2 +7,2 @@\n-}\n+} // b\n \n@@ -6,2 +6,2 @@\n-  y\n+  v\n }\n"),
            "patch.doubtful_place");
}

TEST(WrongPlace, HunksInAnotherOrderMayDifferInBlanks) {
  const std::string file = "a {\n    x\n}\n\nb {\n    y\n}\n\nc {\n    z\n}\n";
  const std::string later = "@@\n   c {\n-      z\n+      w\n   }\n";
  const std::string earlier = "@@\n   a {\n-      x\n+      v\n   }\n";
  EXPECT_EQ(after_hunks(file, later + earlier),
            "a {\n    v\n}\n\nb {\n    y\n}\n\nc {\n    w\n}\n");
  // One of two such places is not the only one.
  EXPECT_EQ(after_hunks("a {\n    x\n}\n\n" + file, later + earlier), "patch.out_of_order");
}

TEST(WrongPlace, HunksInAnotherOrderMayBeMended) {
  const std::string file = "a {\n  x\n}\n\nb {\n  y\n}\n\nc {\n  z\n}\n";
  const std::string later = "@@\n c {\n-  z\n+  w\n }\n";
  const std::string earlier = "@@\n a {\n-  x\n+  v\n ...\n y\n";
  EXPECT_EQ(after_hunks(file, later + earlier), "a {\n  v\n}\n\nb {\n  y\n}\n\nc {\n  w\n}\n");
  EXPECT_EQ(after_hunks("a {\n  x\n}\n\n" + file, later + earlier), "patch.out_of_order");
}

TEST(WrongPlace, TheOrderOfHunksDoesNotMoveThemFromTheirNumbers) {
  // The place of the first hunk in this order leaves only the second `}` for the next one.
  const std::string file = "a {\n  x\n}\n\nb {\n  y\n}\n\nc {\n  z\n}\n\n";
  for (const std::string counts : {"2 +3,2", "5 +3,2"}) {
    EXPECT_EQ(after_hunks("// new\n" + file, "@@ -5,2 +5,2 @@\n b {\n-  y\n+  w\n@@ -4," + counts +
                                                 " @@\n-}\n+} // a\n \n"),
              "patch.doubtful_place");
  }
}

// --- two similar functions, one of which has changed since ------------------------------------

/// The file after the edit or after its correction, which an agent sends back as it is. Empty if
/// the edit is refused without one.
std::string made_of(const std::string& content, const Result<EditSet>& set) {
  EXPECT_TRUE(set.has_value());
  const PlacedEdits placed = place_edits(content, set->files.front(), {});
  if (placed.failures.empty()) return placed.splices.apply(content);
  const std::string& rebased = placed.failures.front().rebased;
  if (rebased.empty()) return {};
  const auto again = read_unified("--- a/f.c\n+++ b/f.c\n" + rebased, {});
  EXPECT_TRUE(again.has_value());
  return place_edits(content, again->files.front(), {}).splices.apply(content);
}

std::string made_of_hunk(const std::string& content, const std::string& hunk) {
  return made_of(content, read_unified("--- a/f.c\n+++ b/f.c\n" + hunk, {}));
}

const std::string kUpAndDown =
    "int up(int i, int n)\n{\n    if (i >= n)\n        return -1;\n    i++;\n    return i;\n}\n\n"
    "int down(int i, int n)\n{\n    if (i < n)\n        return -2;\n    i--;\n    return i;\n}\n";

TEST(WrongPlace, ContextWithTheSameWordsIsNotThatOfAnotherFunction) {
  const std::string body = "-    if (i >= n)\n-        return -1;\n+    check(i, n);\n     i--;\n";
  EXPECT_EQ(made_of_hunk(kUpAndDown, "@@ -11,3 +11,2 @@\n" + body), "");
  EXPECT_EQ(made_of_hunk(kUpAndDown, "@@ ... @@\n" + body), "");
}

TEST(WrongPlace, OneCharacterOfContextTellsTheMethod) {
  const std::string file =
      "class A {\n    void deposit(long amount) {\n        if (amount <= 0) {\n"
      "            throw new IllegalArgumentException(\"amount\");\n        }\n"
      "        balance += amount;\n    }\n\n    void withdraw(long amount) {\n"
      "        if (amount < 0) {\n            throw new IllegalArgumentException(\"negative\");\n"
      "        }\n        balance -= amount;\n    }\n}\n";
  EXPECT_EQ(made_of_hunk(file,
                         "@@ -10,4 +10,2 @@\n-        if (amount <= 0) {\n"
                         "-            throw new IllegalArgumentException(\"amount\");\n"
                         "-        }\n+        validate(amount);\n         balance -= amount;\n"),
            "");
}

TEST(WrongPlace, ContextInsideAnotherFunctionIsNotReplaced) {
  const std::string file =
      "def load(path):\n    with open(path) as f:\n        data = json.load(f)\n        "
      "check(data)\n"
      "    return data\n\n\ndef load_all(paths):\n    for path in paths:\n"
      "        with open(path, \"rb\") as f:\n            yield json.load(f)\n";
  EXPECT_EQ(made_of_hunk(file,
                         "@@ -9,4 +9,2 @@\n     for path in paths:\n-    with open(path) as f:\n"
                         "-        data = json.load(f)\n-        check(data)\n"
                         "+    data = read(path)\n"),
            "");
}

const std::string kBetaAndAlpha =
    "void beta() {\n    width[offset] = queue;\n    price[offset] = entry;\n"
    "    return_buffer(cache, color);\n    buffer[limit] = index;\n"
    "    owner (path > buffer) path = value;\n    cache.value(state);\n}\n\n"
    "void alpha() {\n    path[total] = entry;\n    color[path] = width;\n    offset.cache(limit);\n"
    "    buffer[color] = index;\n    if (path > buffer) path = value;\n"
    "    if (queue > path) queue = color;\n}\n";

TEST(WrongPlace, ContextWithItsBlankIsNotReadAsContextWithoutIt) {
  EXPECT_EQ(made_of_hunk(kBetaAndAlpha,
                         "@@ -4,3 +4,2 @@\n     return_buffer(cache, color);\n"
                         "-    buffer[color] = index;\n-    if (path > buffer) path = value;\n"
                         "+    height.width(stock); // new\n"),
            "");
}

TEST(WrongPlace, NoCorrectionOfABlockIsForAnotherFunction) {
  const std::string block =
      "f.c\n<<<<<<< SEARCH\n    return_buffer(cache, color);\n    buffer[color] = index;\n"
      "    if (path > buffer) path = value;\n=======\n    return_buffer(cache, color);\n"
      "    height.width(stock); // new\n>>>>>>> REPLACE\n";
  EXPECT_EQ(made_of(kBetaAndAlpha, read_search_replace(block, {})), "");
}

TEST(WrongPlace, ContextThatMovedInItsFunctionIsStillThere) {
  const std::string file =
      "int first(int a) {\n  one(a);\n  two(a);\n  three(a);\n  four(a);\n  five(a);\n  six(a);\n"
      "  return done(a);\n}\n";
  std::string after = file;
  after.replace(after.find("three(a)"), 8, "drei(a)");
  EXPECT_EQ(
      made_of_hunk(file, "@@ ... @@\n   two(a);\n-  three(a);\n+  drei(a);\n   return done(a);\n"),
      after);
}

/// Two functions with the same lines in the middle, apart from one or two that have changed in one
/// of them. The edit means `beta`.
struct Twins {
  TextLines file;
  TextLines before;  ///< the old lines of the edit
  size_t line = 0;   ///< of the first old line, 1-based
  size_t begin = 0;  ///< lines [begin, end) of `before` are replaced by `added`
  size_t end = 0;
  TextLines added;
};

class TwinGenerator {
 public:
  explicit TwinGenerator(unsigned seed) : random_(seed) {}

  Twins make() {
    Twins out;
    layout_ = static_cast<Layout>(below(3));
    const TextLines body = statements(1 + below(4));
    const TextLines above = statements(1 + below(3));
    const TextLines behind = statements(1 + below(3));
    TextLines changed = body;
    for (size_t i = 0; i < 1 + below(2); ++i) change_a_word(changed[below(changed.size())]);
    const bool is_there = below(4) == 0;
    const TextLines alpha = function("alpha", statements(1 + below(3)), is_there ? changed : body,
                                     statements(1 + below(3)));
    const TextLines beta = function("beta", above, is_there ? body : changed, behind);
    const bool is_first = below(2) == 0;
    out.file = is_first ? alpha : beta;
    const size_t between = std::array<size_t, 4>{0, 0, 2, 8}[below(4)];
    for (size_t i = 0; i < between; ++i) {
      const TextLines filler = function("fill" + std::to_string(i), {}, statements(1), {});
      out.file.insert(out.file.end(), filler.begin(), filler.end());
    }
    const size_t begin_of_beta = is_first ? out.file.size() : 0;
    const TextLines& second = is_first ? beta : alpha;
    out.file.insert(out.file.end(), second.begin(), second.end());
    const size_t leading = below(above.size() + 1);
    const size_t trailing = leading == 0 ? 1 + below(behind.size()) : below(behind.size() + 1);
    out.before.assign(above.end() - static_cast<long>(leading), above.end());
    out.before.insert(out.before.end(), body.begin(), body.end());
    out.before.insert(out.before.end(), behind.begin(),
                      behind.begin() + static_cast<long>(trailing));
    out.line = begin_of_beta + 2 + above.size() - leading;
    const bool inserts = below(4) == 0;
    out.begin = leading + (inserts ? below(body.size() + 1) : 0);
    out.end = inserts ? out.begin : out.begin + body.size();
    if (inserts || below(3) > 0) out.added.push_back(statements(1)[0] + " // new");
    return out;
  }

 private:
  enum class Layout : uint8_t { kBraces, kIndented, kFlat };

  size_t below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random_); }

  std::string word() {
    static const std::array<const char*, 24> kWords = {
        "count", "total",  "user",  "item",   "path",  "name",  "value", "index",
        "size",  "limit",  "state", "token",  "node",  "list",  "cache", "entry",
        "key",   "result", "width", "height", "color", "owner", "price", "queue"};
    return kWords[below(kWords.size())];
  }

  TextLines statements(size_t count) {
    TextLines out;
    for (size_t i = 0; i < count; ++i) {
      const std::string a = word();
      const std::string b = word();
      const std::string c = word();
      const std::array<std::string, 6> forms = {
          a + " = " + b + " + " + std::to_string(below(9)) + ";",
          "if (" + a + " > " + b + ") " + a + " = " + c + ";",
          a + "." + b + "(" + c + ");",
          "return_" + a + "(" + b + ", " + c + ");",
          a + "[" + b + "] = " + c + ";",
          a + (below(2) == 0 ? " += " : " -= ") + b + ";"};
      out.push_back((layout_ == Layout::kFlat ? "" : "    ") + forms[below(forms.size())]);
    }
    return out;
  }

  void change_a_word(std::string& line) {
    std::vector<size_t> begins;
    for (size_t i = 1; i < line.size(); ++i) {
      if (std::isalpha(line[i]) != 0 && std::isalpha(line[i - 1]) == 0) begins.push_back(i);
    }
    const size_t begin = begins[below(begins.size())];
    size_t end = begin;
    while (end < line.size() && std::isalpha(line[end]) != 0) ++end;
    line.replace(begin, end - begin, word() + "s");
  }

  TextLines function(const std::string& name, const TextLines& above, const TextLines& body,
                     const TextLines& behind) {
    static const std::array<std::string, 3> kKinds = {"void ", "def ", "function "};
    static const std::array<std::string, 3> kEnds = {"() {", "():", "()"};
    const auto layout = static_cast<size_t>(layout_);
    TextLines out = {kKinds[layout] + name + kEnds[layout]};
    for (const TextLines* lines : {&above, &body, &behind}) {
      out.insert(out.end(), lines->begin(), lines->end());
    }
    if (layout_ != Layout::kIndented) out.emplace_back(layout_ == Layout::kFlat ? "end" : "}");
    if (below(2) == 0) out.emplace_back("");
    return out;
  }

  std::mt19937 random_;
  Layout layout_ = Layout::kBraces;
};

std::string hunk_of(const Twins& twins, bool has_numbers) {
  const size_t count = twins.before.size();
  std::string out = "@@ ... @@\n";
  if (has_numbers) {
    out = "@@ -" + std::to_string(twins.line) + "," + std::to_string(count) + " +" +
          std::to_string(twins.line) + "," +
          std::to_string(count - (twins.end - twins.begin) + twins.added.size()) + " @@\n";
  }
  for (size_t i = 0; i <= count; ++i) {
    if (i == twins.end) {
      for (const std::string& line : twins.added) out += "+" + line + "\n";
    }
    if (i == count) break;
    out += (i >= twins.begin && i < twins.end ? "-" : " ") + twins.before[i] + "\n";
  }
  return out;
}

std::string block_of(const Twins& twins) {
  TextLines after = twins.before;
  const auto at = after.erase(after.begin() + static_cast<long>(twins.begin),
                              after.begin() + static_cast<long>(twins.end));
  after.insert(at, twins.added.begin(), twins.added.end());
  return "f.c\n<<<<<<< SEARCH\n" + join(twins.before) + "=======\n" + join(after) +
         ">>>>>>> REPLACE\n";
}

/// The lines of a function. Only its first line has "()".
std::string function_of(const std::string& file, const std::string& name) {
  const size_t begin = file.find(name + "()");
  const size_t next = file.find("()", file.find('\n', begin));
  return file.substr(begin, file.rfind('\n', next) - begin);
}

TEST(WrongPlace, NoEditIsPlacedInTheTwinOfItsFunction) {
  std::map<std::string, std::array<size_t, 3>> tallies;  // in beta, refused, in alpha
  size_t shown = 0;
  TwinGenerator generator(20261128);
  for (int i = 0; i < 6000; ++i) {
    const Twins twins = generator.make();
    const std::string file = join(twins.file);
    const std::string names = "--- a/f.c\n+++ b/f.c\n";
    const std::array<std::pair<std::string, std::string>, 3> edits = {
        {{"with line numbers", names + hunk_of(twins, true)},
         {"without", names + hunk_of(twins, false)},
         {"blocks", block_of(twins)}}};
    for (const auto& [form, edit] : edits) {
      const auto set = form == "blocks" ? read_search_replace(edit, {}) : read_unified(edit, {});
      const std::string made = made_of(file, set);
      const bool is_alpha =
          !made.empty() && function_of(made, "alpha") != function_of(file, "alpha");
      ++tallies[form][made.empty() ? 1 : is_alpha ? 2 : 0];
      if (!is_alpha || ++shown > 3) continue;
      ADD_FAILURE() << form << ", meant line " << twins.line << "\n--- edit\n"
                    << edit << "--- file\n"
                    << file << "--- made\n"
                    << made;
    }
  }
  for (const auto& [form, tally] : tallies) {
    std::printf("  %-18s %zu right, %zu refused, %zu in the other function\n", form.c_str(),
                tally[0], tally[1], tally[2]);
    EXPECT_EQ(tally[2], 0U) << form;
    EXPECT_GT(tally[0], 1400U) << form;
  }
}

}  // namespace
}  // namespace galley
