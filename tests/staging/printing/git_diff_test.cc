#include "staging/printing/git_diff.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "base/hash.h"
#include "support/git_oracle.h"
#include "support/scratch_directory.h"

namespace galley {
namespace {

using testing::git_prints;
using testing::pairs_of;
using testing::plain_functions;
using testing::read_tree;
using testing::run_in;
using testing::Tree;
using testing::write_bytes;
using testing::write_tree;

std::string diff_of(const Tree& before, const Tree& after, const DiffOptions& options = {}) {
  std::string out;
  for (const auto& pair : pairs_of(before, after)) append_git_diff(pair, options, out);
  return out;
}

// Applies the printed diff to the base with the real git and compares what stands then.
void expect_git_takes_it(const Tree& before, const Tree& after) {
  const ScratchDirectory scratch;
  write_tree(scratch.path() + "/w", before);
  const std::string patch = diff_of(before, after);
  write_bytes(scratch.path() + "/p.diff", patch);
  const auto run =
      run_in(scratch.path() + "/w", "git apply --whitespace=nowarn --allow-empty ../p.diff");
  ASSERT_EQ(run.status, 0) << run.output << "\n" << patch;
  EXPECT_EQ(read_tree(scratch.path() + "/w"), after) << patch;
}

std::string random_bytes(std::mt19937& random) {
  static const std::vector<std::string> kEnds = {"\n", "\n", "\n", "\n", "\r\n", "\n\n", " \n"};
  std::string text;
  const size_t lines = random() % 30;
  for (size_t i = 0; i < lines; ++i) {
    const char blank = random() % 9 == 0 ? '\t' : ' ';  // first, so that compilers draw the same
    text += std::string(random() % 4 * 2, blank);
    text += static_cast<char>('a' + random() % 6);
    if (random() % 50 == 0) text += "\xc3\xa9\xff";
    if (random() % 200 == 0) text.push_back('\0');
    text += kEnds[random() % kEnds.size()];
  }
  if (random() % 3 == 0 && !text.empty()) text.pop_back();
  return text;
}

std::string edited(std::mt19937& random, const std::string& base) {
  if (random() % 6 == 0) return random_bytes(random);
  const Lines lines(base);
  std::string text;
  for (size_t i = 0; i < lines.size(); ++i) {
    switch (random() % 12) {
      case 0:
        break;
      case 1:
        text += "new " + std::to_string(random() % 5) + "\n";
        text += lines[i];
        break;
      case 2:
        text += lines[i];
        text += lines[i];
        break;
      default:
        text += lines[i];
    }
  }
  if (random() % 5 == 0 && !text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

Tree random_tree(std::mt19937& random) {
  static const std::vector<std::string> kNames = {
      "a.txt",     "b b.txt",     "dir/c.c", "dir/sub/\xc3\xa9.py", "q\"uote",
      "tab\tname", "back\\slash", "x.sh",    "deep/er/y.js",        "z"};
  Tree tree;
  for (const auto& name : kNames) {
    if (random() % 4 == 0) continue;
    auto& file = tree[name];
    file.mode = random() % 5 == 0   ? git_mode::kSymlink
                : random() % 3 == 0 ? git_mode::kExecutable
                                    : git_mode::kRegular;
    file.content = file.mode == git_mode::kSymlink ? "target" + std::to_string(random() % 3)
                                                   : random_bytes(random);
  }
  return tree;
}

Tree edited_tree(std::mt19937& random, const Tree& base) {
  Tree tree = random_tree(random);
  for (const auto& [name, file] : base) {
    if (random() % 5 == 0) continue;
    if (file.mode == git_mode::kSymlink) {
      if (random() % 2 == 0) tree[name] = file;
      continue;
    }
    tree[name] = {random() % 6 == 0 ? git_mode::kExecutable : file.mode,
                  edited(random, file.content)};
  }
  return tree;
}

TEST(GitOid, EqualsTheResultOfGitHashObject) {
  EXPECT_EQ(GitOid::of_blob("").hex(), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
  EXPECT_EQ(GitOid::of_blob("hello\n").hex(), "ce013625030ba8dba906f756967f9e9ca394464a");
}

TEST(GitDiff, PrintsAModificationAsGitDoes) {
  const Tree before{{"f.c", {git_mode::kRegular, "int main() {\n  a;\n  b;\n  c;\n  d;\n}\n"}}};
  const Tree after{{"f.c", {git_mode::kExecutable, "int main() {\n  a;\n  b;\n  c;\n  D;\n}"}}};
  EXPECT_EQ(diff_of(before, after),
            "diff --git a/f.c b/f.c\n"
            "old mode 100644\n"
            "new mode 100755\n"
            "index 88fddaf..f9cc827\n"
            "--- a/f.c\n"
            "+++ b/f.c\n"
            "@@ -2,5 +2,5 @@ int main() {\n"
            "   a;\n"
            "   b;\n"
            "   c;\n"
            "-  d;\n"
            "-}\n"
            "+  D;\n"
            "+}\n"
            "\\ No newline at end of file\n");
}

TEST(GitDiff, AnEqualPairPrintsNothing) {
  const FilePair pair{"a", "a", git_mode::kRegular, git_mode::kRegular, "x\n", "x\n"};
  EXPECT_EQ(git_diff(pair), "");
}

TEST(GitDiff, RenameAndCopyHeadersNameBothPaths) {
  FilePair pair{"old name", "new", git_mode::kRegular, git_mode::kRegular, "x\n", "x\n"};
  pair.kind = PairKind::kRename;
  pair.similarity = 100;
  EXPECT_EQ(git_diff(pair),
            "diff --git a/old name b/new\nsimilarity index 100%\nrename from old name\n"
            "rename to new\n");
  pair.kind = PairKind::kCopy;
  EXPECT_EQ(git_diff(pair),
            "diff --git a/old name b/new\nsimilarity index 100%\ncopy from old name\n"
            "copy to new\n");
}

TEST(GitDiff, QuotesNamesAsCStrings) {
  EXPECT_EQ(quote_path("plain name"), "plain name");
  EXPECT_EQ(quote_path("t\tn\"\\\xc3\xa9\x01"), "\"t\\tn\\\"\\\\\\303\\251\\001\"");
}

TEST(GitDiff, AFileWithANulInTheFirst8000BytesIsBinary) {
  EXPECT_TRUE(looks_binary(std::string(7999, 'a') + '\0'));
  EXPECT_FALSE(looks_binary(std::string(8000, 'a') + '\0'));
}

TEST(GitDiff, IsAppliedByGitOverRandomTrees) {
  std::mt19937 random(3);
  for (int round = 0; round < 60; ++round) {
    const Tree before = random_tree(random);
    expect_git_takes_it(before, edited_tree(random, before));
    if (HasFatalFailure()) return;
  }
}

TEST(GitDiff, IsAppliedByGitForTypeChangesEmptyFilesAndBinaries) {
  const std::string binary("\0\1\2\xff", 4);
  const Tree before{
      {"link", {git_mode::kSymlink, "a"}},         {"file", {git_mode::kRegular, "a"}},
      {"empty", {git_mode::kRegular, ""}},         {"bin", {git_mode::kRegular, binary}},
      {"gone", {git_mode::kRegular, ""}},          {"dir/x", {git_mode::kRegular, "x\n"}},
      {"crlf", {git_mode::kRegular, "a\r\nb\r\n"}}};
  const Tree after{{"link", {git_mode::kRegular, "a"}},
                   {"file", {git_mode::kSymlink, "a"}},
                   {"empty", {git_mode::kExecutable, "now\n"}},
                   {"bin", {git_mode::kRegular, binary + std::string(300, '\0')}},
                   {"new", {git_mode::kRegular, ""}},
                   {"newbin", {git_mode::kRegular, binary}},
                   {"dir", {git_mode::kRegular, "was a directory"}},
                   {"crlf", {git_mode::kRegular, "a\nb\r\n"}}};
  expect_git_takes_it(before, after);
  expect_git_takes_it(after, before);
}

TEST(GitDiff, EqualsGitByteForByteOverRandomTrees) {
  std::mt19937 random(5);
  DiffOptions options = plain_functions();
  options.binary = false;
  for (int round = 0; round < 60; ++round) {
    const Tree before = random_tree(random);
    const Tree after = edited_tree(random, before);
    ASSERT_EQ(diff_of(before, after, options), git_prints(before, after, ""));
  }
}

TEST(GitDiff, ColorsEqualThoseOfGit) {
  const Tree before{{"f.c", {git_mode::kRegular, "int main() {\n  a;\n\n  b;\r\n  c;\n  d;\n}\n"}},
                    {"g", {git_mode::kRegular, "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"}}};
  const Tree after{{"f.c", {git_mode::kRegular, "int main() {\n  a;\n\n\n  b;\r\n  c;\n  D;\r\n}"}},
                   {"g", {git_mode::kRegular, "1\n3\n4\n5\n6\n7\n8\n9\n10"}}};
  DiffOptions options = plain_functions();
  options.color = true;
  EXPECT_EQ(diff_of(before, after, options),
            git_prints(before, after, "--color --ws-error-highlight=none"));
}

}  // namespace
}  // namespace galley
