// An edit lands at its intended place or not at all.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <random>

#include "base/git_oid.h"
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
    EXPECT_GT(mended, 20U);
    std::printf("  %zu mended, %zu wrong\n", mended, wrong);
  }
}

}  // namespace
}  // namespace galley
