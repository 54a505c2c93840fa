// Which file the names of a git header mean.
#include <gtest/gtest.h>

#include <string>

#include "staging/formats/patch_path.h"
#include "staging/formats/read_edits.h"

namespace galley {
namespace {

/// The paths of the edits and the rules of the leniencies: "create d/n no_prefix".
std::string git_names(const std::string& patch, const ReadOptions& options = {}) {
  const auto set = read_edits(patch, EditFormat::kUnified, options);
  if (!set) return set.error().reason;
  std::string out;
  for (const FileEdit& file : set->files) {
    out += std::string(file_op_name(file.op)) + " " + file.path;
    if (!file.other_path.empty()) out += " or " + file.other_path;
  }
  for (const Leniency& leniency : set->leniencies) out += " " + leniency.rule;
  return out;
}

std::string new_file(const std::string& names, const std::string& name) {
  return "diff --git " + names + "\nnew file mode 100644\n" +
         (name.empty()
              ? "index 0000000..e69de29\n"
              : "index 0000000..257cc56\n--- /dev/null\n+++ " + name + "\n@@ -0,0 +1 @@\n+foo\n");
}

std::string deleted_file(const std::string& names, const std::string& name) {
  return "diff --git " + names + "\ndeleted file mode 100644\nindex 257cc56..0000000\n--- " + name +
         "\n+++ /dev/null\n@@ -1 +0,0 @@\n-foo\n";
}

TEST(GitNames, NewAndDeletedFilesMayHaveAnyPrefix) {
  EXPECT_EQ(git_names(new_file("i/n w/n", "w/n")), "create n");
  EXPECT_EQ(git_names(new_file("c/d/n i/d/n", "i/d/n")), "create d/n");
  EXPECT_EQ(git_names(new_file("b/n a/n", "a/n")), "create n");
  EXPECT_EQ(git_names(new_file("i/n w/n", "")), "create n");
  EXPECT_EQ(git_names(new_file("i/a b w/a b", "w/a b\t")), "create a b");
  EXPECT_EQ(git_names(deleted_file("i/f w/f", "i/f")), "delete f");
  EXPECT_EQ(git_names(deleted_file("b/f a/f", "b/f")), "delete f");
  EXPECT_EQ(git_names(new_file("a/b/n b/b/n", "b/b/n")), "create b/n");
  EXPECT_EQ(git_names(new_file("d/n d/n", "d/n")), "create d/n") << "made with --no-prefix";
  ReadOptions plain;
  plain.strip = 0;
  EXPECT_EQ(git_names(new_file("i/n w/n", "w/n"), plain), "create w/n");
}

TEST(GitNames, NamesWithBlanksMayHaveDeepPrefixes) {
  ReadOptions two;
  two.strip = 2;
  EXPECT_EQ(git_names("diff --git x/y/a b x/z/a b\nold mode 100644\nnew mode 100755\n", two),
            "modify a b");
  EXPECT_EQ(
      git_names("diff --git x/y/d/a b c x/z/d/a b c\nold mode 100644\nnew mode 100755\n", two),
      "modify d/a b c");
}

TEST(GitNames, ALineThatIsTooLongForTwoNamesIsNotSplit) {
  std::string blanks = "x";
  for (int i = 0; i < 600000; ++i) blanks += " y";
  EXPECT_FALSE(split_git_names(blanks, {}));
  EXPECT_EQ(git_names("diff --git " + blanks + "\nold mode 100644\nnew mode 100755\n"),
            "edit.bad_header");
}

}  // namespace
}  // namespace galley
