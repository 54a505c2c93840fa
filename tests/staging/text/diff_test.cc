#include "staging/text/diff.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

namespace galley {
namespace {

// The independent judge: builds the new text from the old one and the script alone.
std::string apply_script(const Lines& before, const Lines& after, const EditScript& script) {
  std::string out;
  size_t at = 0;
  for (const auto& range : script) {
    out += before.span(at, range.old_begin);
    out += after.span(range.new_begin, range.new_end);
    at = range.old_end;
  }
  out += before.span(at, before.size());
  return out;
}

void expect_well_formed(const EditScript& script, const Lines& before, const Lines& after) {
  size_t old_at = 0;
  size_t new_at = 0;
  bool first = true;
  for (const auto& range : script) {
    EXPECT_EQ(range.old_begin - old_at, range.new_begin - new_at);
    EXPECT_TRUE(first || range.old_begin > old_at);
    EXPECT_GT(range.removed() + range.added(), 0u);
    first = false;
    old_at = range.old_end;
    new_at = range.new_end;
  }
  EXPECT_EQ(before.size() - old_at, after.size() - new_at);
}

size_t longest_common_subsequence(const Lines& a, const Lines& b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = 0;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t above = row[j + 1];
      row[j + 1] = a[i] == b[j] ? diagonal + 1 : std::max(above, row[j]);
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string random_text(std::mt19937& random, size_t lines, unsigned distinct) {
  std::string text;
  for (size_t i = 0; i < lines; ++i) {
    text += std::string(random() % 3, ' ');
    text += static_cast<char>('a' + random() % distinct);
    if (random() % 4 == 0) text.clear();
    text += '\n';
  }
  if (!text.empty() && random() % 4 == 0) text.pop_back();
  return text;
}

TEST(Diff, EqualTextsHaveNoChanges) {
  EXPECT_TRUE(diff_lines(Lines("a\nb\n"), Lines("a\nb\n")).empty());
  EXPECT_TRUE(diff_lines(Lines(""), Lines("")).empty());
}

TEST(Diff, AMissingLastNewlineIsAChangeOfThatLine) {
  const EditScript expected{{1, 2, 1, 2}};
  EXPECT_EQ(diff_lines(Lines("a\nb\n"), Lines("a\nb")), expected);
  EXPECT_EQ(diff_lines(Lines("a\nb"), Lines("a\nb\n")), expected);
  EXPECT_EQ(diff_lines(Lines("a"), Lines("a\nb")), (EditScript{{0, 1, 0, 2}}));
}

TEST(Diff, OneChangedByteIsOneChangedLineAtEachOffset) {
  std::string before;
  for (int i = 0; before.size() < 9000; ++i) before += "line " + std::to_string(i) + "\n";
  const Lines old_lines(before);
  for (size_t at = 0; at < before.size(); ++at) {
    if (before[at] == '\n') continue;
    std::string after = before;
    after[at] = '#';
    const auto line = static_cast<uint32_t>(old_lines.line_at(at));
    ASSERT_EQ(diff_lines(old_lines, Lines(after)), (EditScript{{line, line + 1, line, line + 1}}))
        << at;
  }
}

TEST(Diff, OneSideEmptyIsOneRange) {
  EXPECT_EQ(diff_lines(Lines(""), Lines("a\nb\n")), (EditScript{{0, 0, 0, 2}}));
  EXPECT_EQ(diff_lines(Lines("a\nb\n"), Lines("")), (EditScript{{0, 2, 0, 0}}));
}

TEST(Diff, AnInsertedBlockBeginsAtItsOwnIndentation) {
  const std::string before = "def a():\n    return 1\n\ndef c():\n    return 1\n";
  const std::string after =
      "def a():\n    return 1\n\ndef b():\n    return 1\n\ndef c():\n    return 1\n";
  EXPECT_EQ(diff_lines(Lines(before), Lines(after)), (EditScript{{3, 3, 3, 6}}));
}

TEST(Diff, IgnoredWhiteSpaceIsNotAChange) {
  const Lines before("a b\nc\n");
  const Lines after("a   b\n\tc \nd\n");
  EXPECT_EQ(diff_lines(before, after, {WhiteSpace::kIgnoreAll, true}), (EditScript{{2, 2, 2, 3}}));
  EXPECT_EQ(diff_lines(before, after, {WhiteSpace::kIgnoreChange, true}),
            (EditScript{{1, 2, 1, 3}}));
}

TEST(Diff, ScriptsRebuildTheNewTextOverRandomPairs) {
  std::mt19937 random(7);
  for (int round = 0; round < 4000; ++round) {
    const unsigned distinct = 1 + random() % 8;
    const auto old_text = random_text(random, random() % 40, distinct);
    const auto new_text = random_text(random, random() % 40, distinct);
    const Lines before(old_text);
    const Lines after(new_text);
    const auto script = diff_lines(before, after);
    ASSERT_EQ(apply_script(before, after, script), new_text) << old_text << "----\n" << new_text;
    expect_well_formed(script, before, after);
  }
}

TEST(Diff, ScriptsAreMinimalOverRandomPairsWithoutFrequentLines) {
  std::mt19937 random(11);
  for (int round = 0; round < 1500; ++round) {
    // Every line at most a few times: none is frequent enough to be passed over on purpose.
    std::vector<std::string> pool;
    for (int i = 0; i < 60; ++i) pool.push_back(std::to_string(i % 45) + "\n");
    const auto draw = [&] {
      std::shuffle(pool.begin(), pool.end(), random);
      std::string text;
      for (size_t i = 0; i < 40; ++i) text += pool[i];
      return text;
    };
    const auto old_text = draw();
    const auto new_text = draw();
    const Lines before(old_text);
    const Lines after(new_text);
    const auto script = diff_lines(before, after);
    ASSERT_EQ(apply_script(before, after, script), new_text);
    const auto counts = count_lines(script);
    EXPECT_EQ(before.size() - counts.removed, longest_common_subsequence(before, after));
  }
}

TEST(Diff, LargeRewritesStayCorrectBeyondTheSearchBudget) {
  std::mt19937 random(13);
  for (const unsigned distinct : {3u, 50u, 1000u, 100000u}) {
    std::string old_text;
    std::string new_text;
    for (int i = 0; i < 6000; ++i) {
      old_text += std::to_string(random() % distinct) + "\n";
      new_text += std::to_string(random() % distinct) + "\n";
    }
    const Lines before(old_text);
    const Lines after(new_text);
    const auto script = diff_lines(before, after);
    ASSERT_EQ(apply_script(before, after, script), new_text) << distinct;
    expect_well_formed(script, before, after);
  }
}

// A run that can slide over the whole text once took time with the square of its length.
TEST(Diff, ABlockThatFitsAnywhereIsPlacedInLinearTime) {
  const std::string old_text(1'000'000, '\n');
  const std::string new_text = std::string(900'000, '\n') + "x\n" + std::string(50'000, '\n');
  const auto counts = count_lines(diff_lines(Lines(old_text), Lines(new_text)));
  EXPECT_EQ(counts, (LineCounts{50'000, 1}));
}

TEST(Diff, IdsAreComparedByNumber) {
  EXPECT_EQ(diff_ids({1, 2, 3}, {1, 3, 4}), (EditScript{{1, 2, 1, 1}, {3, 3, 2, 3}}));
  EXPECT_TRUE(diff_ids({}, {}).empty());
}

}  // namespace
}  // namespace galley
