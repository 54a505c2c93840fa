#include <gtest/gtest.h>

#include <random>
#include <string>

#include "staging/printing/diff_moved.h"
#include "staging/printing/git_diff.h"
#include "staging/printing/readable_diff.h"
#include "staging/printing/rename.h"
#include "support/git_oracle.h"
#include "support/scratch_directory.h"

namespace galley {
namespace {

using testing::git_prints;
using testing::plain_functions;
using testing::Tree;

std::string diff_with_moves(const Tree& before, const Tree& after, DiffOptions options) {
  MovedMarks marks;
  MovedLineFinder finder(options.moved);
  const auto pairs = testing::pairs_of(before, after);
  for (const auto& pair : pairs) {
    finder.add(diff_file(pair, options), Lines(pair.old_content), Lines(pair.new_content));
  }
  marks = finder.find();
  if (options.moved != MovedLines::kNone) options.marks = &marks;
  std::string out;
  for (const auto& pair : pairs) append_git_diff(pair, options, out);
  return out;
}

std::vector<FileDiff> diffs_of(const Tree& before, const Tree& after) {
  std::vector<FileDiff> diffs;
  for (const auto& pair : testing::pairs_of(before, after)) diffs.push_back(diff_file(pair));
  return diffs;
}

std::string random_words(std::mt19937& random, int lines) {
  static const std::vector<std::string> kWords = {"alpha", "beta", "gamma(x,", "y);",   "int",
                                                  "=",     "{",    "}",        "value", "if"};
  std::string text;
  for (int i = 0; i < lines; ++i) {
    text += std::string(random() % 3, ' ');
    const size_t words = random() % 7;
    for (size_t k = 0; k < words; ++k) text += kWords[random() % kWords.size()] + " ";
    text += "\n";
  }
  return text;
}

// Takes blocks of lines out of the text and puts them back somewhere else.
std::string shuffled(std::mt19937& random, const std::string& text) {
  const Lines lines(text);
  std::string out;
  std::string held;
  for (size_t i = 0; i < lines.size();) {
    const size_t end = std::min(lines.size(), i + 1 + random() % 8);
    switch (random() % 5) {
      case 0:
        held += lines.span(i, end);
        break;
      case 1:
        out += held;
        held.clear();
        [[fallthrough]];
      default:
        out += lines.span(i, end);
    }
    i = end;
  }
  return out + held;
}

Tree tree_of(std::mt19937& random) {
  Tree tree;
  for (const char* name : {"a.txt", "b.txt", "c/d.txt"}) {
    tree[name] = {git_mode::kRegular, random_words(random, 40)};
  }
  return tree;
}

TEST(WordDiff, MarksWordsAsGitDoes) {
  std::string out;
  append_word_diff("foo(a, b);\n", "foo(a, bee, c);\n", {true, false}, out);
  EXPECT_EQ(out, "foo(a, [-b);-]{+bee, c);+}\n");
}

TEST(WordDiff, EqualsGitOnChangedLines) {
  const Tree before{{"f",
                     {git_mode::kRegular,
                      "int main() {\n  foo(a, b);\n  same line\n  c;\n  gone now\n}\nx y z"}}};
  const Tree after{{"f",
                    {git_mode::kRegular,
                     "int main() {\n  foo(a, bee, c);\n  same line\n  d e f;\n}\nx z\nnew\n"}}};
  DiffOptions options = plain_functions();
  options.word_diff = WordDiff::kPlain;
  EXPECT_EQ(diff_with_moves(before, after, options), git_prints(before, after, "--word-diff"));
  options.word_diff = WordDiff::kColor;
  options.color = true;
  EXPECT_EQ(diff_with_moves(before, after, options),
            git_prints(before, after, "--word-diff=color"));
}

TEST(MovedLines, PlainMarksEqualThoseOfGit) {
  std::mt19937 random(31);
  DiffOptions options = plain_functions();
  options.color = true;
  options.moved = MovedLines::kPlain;
  for (int round = 0; round < 10; ++round) {
    const Tree before = tree_of(random);
    Tree after = before;
    for (auto& [name, file] : after) file.content = shuffled(random, file.content);
    ASSERT_EQ(diff_with_moves(before, after, options),
              git_prints(before, after, "--color --color-moved=plain --ws-error-highlight=none"));
  }
}

TEST(MovedLines, ZebraMarksEqualThoseOfGit) {
  std::mt19937 random(37);
  DiffOptions options = plain_functions();
  options.color = true;
  options.moved = MovedLines::kZebra;
  for (int round = 0; round < 10; ++round) {
    const Tree before = tree_of(random);
    Tree after = before;
    for (auto& [name, file] : after) file.content = shuffled(random, file.content);
    ASSERT_EQ(diff_with_moves(before, after, options),
              git_prints(before, after, "--color --color-moved=zebra --ws-error-highlight=none"));
  }
}

TEST(DiffModes, WhiteSpaceOptionsPrintTheDiffOfGit) {
  std::mt19937 random(41);
  const std::vector<std::pair<WhiteSpace, std::string>> kModes = {
      {WhiteSpace::kIgnoreAll, "-w"},
      {WhiteSpace::kIgnoreChange, "-b"},
      {WhiteSpace::kIgnoreAtEol, "--ignore-space-at-eol"},
      {WhiteSpace::kIgnoreCrAtEol, "--ignore-cr-at-eol"}};
  for (int round = 0; round < 8; ++round) {
    const Tree before = tree_of(random);
    Tree after = before;
    for (auto& [name, file] : after) {
      std::string text;
      for (const char c : file.content) {
        if (c == ' ' && random() % 9 == 0) text += random() % 2 == 0 ? "" : "\t ";
        if (c == '\n' && random() % 9 == 0) text += random() % 2 == 0 ? "\r" : "  ";
        text.push_back(c);
      }
      file.content = random() % 2 == 0 ? text : shuffled(random, text);
    }
    for (const auto& [mode, option] : kModes) {
      DiffOptions options = plain_functions();
      options.lines.white_space = mode;
      ASSERT_EQ(diff_with_moves(before, after, options), git_prints(before, after, option))
          << option;
    }
  }
}

TEST(DiffModes, ContextOptionsPrintTheDiffOfGit) {
  std::mt19937 random(43);
  const Tree before = tree_of(random);
  Tree after = before;
  for (auto& [name, file] : after) file.content = shuffled(random, file.content);
  for (const uint32_t context : {0u, 1u, 7u, 1000u}) {
    DiffOptions options = plain_functions();
    options.context = context;
    options.between_hunks = context == 1 ? 4 : 0;
    const auto words = "-U" + std::to_string(context) +
                       " --inter-hunk-context=" + std::to_string(options.between_hunks);
    EXPECT_EQ(diff_with_moves(before, after, options), git_prints(before, after, words));
  }
  DiffOptions full = plain_functions();
  full.full_index = true;
  EXPECT_EQ(diff_with_moves(before, after, full), git_prints(before, after, "--full-index"));
}

TEST(DiffStat, EqualsTheSummariesOfGit) {
  std::mt19937 random(47);
  for (int round = 0; round < 6; ++round) {
    Tree before = tree_of(random);
    before["gone \xc3\xa9"] = {git_mode::kRegular, random_words(random, 3)};
    before["bin"] = {git_mode::kRegular, std::string("\0a", 2)};
    before["mode.sh"] = {git_mode::kRegular, "x\n"};
    Tree after = before;
    after.erase("gone \xc3\xa9");
    after["bin"].content += "more";
    after["mode.sh"].mode = git_mode::kExecutable;
    after["a/very/long/path/to/some/file/that/does/not/fit/into/the/columns/of/a/line.txt"] = {
        git_mode::kRegular, random_words(random, static_cast<int>(random() % 200))};
    for (const char* name : {"a.txt", "b.txt"}) {
      after[name].content = shuffled(random, after[name].content);
    }
    const auto diffs = diffs_of(before, after);
    EXPECT_EQ(name_status(diffs), git_prints(before, after, "--name-status"));
    EXPECT_EQ(numstat(diffs), git_prints(before, after, "--numstat"));
    EXPECT_EQ(shortstat(diffs), git_prints(before, after, "--shortstat"));
    EXPECT_EQ(diffstat(diffs), git_prints(before, after, "--stat=80"));
    DiffStatOptions narrow;
    narrow.width = 40;
    EXPECT_EQ(diffstat(diffs, narrow), git_prints(before, after, "--stat=40"));
  }
}

TEST(Rename, NotationEqualsThatOfGit) {
  EXPECT_EQ(rename_notation("a/b/c", "a/x/c"), "a/{b => x}/c");
  EXPECT_EQ(rename_notation("a/b/c", "a/c"), "a/{b => }/c");
  EXPECT_EQ(rename_notation("a/c", "a/b/c"), "a/{ => b}/c");
  EXPECT_EQ(rename_notation("old", "new"), "old => new");
  EXPECT_EQ(rename_notation("old.c", "dir/old.c"), "old.c => dir/old.c");
}

TEST(Rename, SimilarityEqualsThatOfGit) {
  EXPECT_EQ(similarity("a\nb\n", "a\nb\n"), 100);
  EXPECT_EQ(similarity("1234\n5678\n", "1234\nabcd\n"), 50);
  EXPECT_EQ(similarity("abc\n", ""), 0);
}

// Which files git pairs, and how similar it finds them, over trees with moved and edited files.
TEST(Rename, PairsAndPercentagesEqualThoseOfGit) {
  std::mt19937 random(53);
  for (int round = 0; round < 10; ++round) {
    Tree before;
    Tree after;
    for (int i = 0; i < 8; ++i) {
      const auto name = "old/" + std::to_string(i) + ".txt";
      before[name] = {git_mode::kRegular, random_words(random, 30) + name + "\n"};
      std::string text;
      const Lines lines(before[name].content);
      const unsigned rate = 2 + random() % 12;
      for (size_t k = 0; k < lines.size(); ++k) {
        text += random() % rate == 0 ? "rewritten " + std::to_string(random()) + "\n"
                                     : std::string(lines[k]);
      }
      after["new/" + std::to_string(random() % 1000) + ".txt"] = {git_mode::kRegular, text};
    }
    const auto pairs = testing::pairs_of(before, after);
    std::vector<RenameEnd> gone;
    std::vector<RenameEnd> made;
    for (const auto& pair : pairs) {
      const auto& content = pair.is_delete() ? pair.old_content : pair.new_content;
      (pair.is_delete() ? gone : made)
          .push_back({pair.is_delete() ? pair.old_path : pair.new_path, git_mode::kRegular,
                      content.size(), ContentId::of(content)});
    }
    const auto renames =
        find_renames(gone, made, {}, [&](const RenameEnd& end) -> Result<std::string_view> {
          for (const auto* tree : {&before, &after}) {
            const auto found = tree->find(std::string(end.path));
            if (found != tree->end()) return std::string_view(found->second.content);
          }
          return std::string_view();
        });
    ASSERT_TRUE(renames);
    std::string ours;
    for (const auto& rename : *renames) {
      std::string number = std::to_string(rename.similarity);
      number.insert(0, 3 - number.size(), '0');
      ours += "R" + number + "\t" + std::string(gone[rename.from].path) + "\t" +
              std::string(made[rename.to].path) + "\n";
    }
    EXPECT_EQ(ours, git_prints(before, after, "-M --diff-filter=R --name-status"));
  }
}

}  // namespace
}  // namespace galley
