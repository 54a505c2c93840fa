// Where a hunk ends: wrong counts do not swallow the next file, and V4A's lines may lack a blank.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "staging/formats/read_edits.h"

namespace galley {
namespace {

/// The lines of the hunks by file: "a: -x+y; b: -1+2".
std::string read_as(const std::string& text, EditFormat format = EditFormat::kUnified) {
  const auto set = read_edits(text, format, {});
  if (!set) return set.error().reason;
  std::string out;
  for (const FileEdit& file : set->files) {
    out += (out.empty() ? "" : "; ") + file.path + ":";
    for (const Hunk& hunk : file.hunks) {
      out += " ";
      for (const HunkLine& line : hunk.lines) {
        out += line.role == LineRole::kAdded ? "+" : line.role == LineRole::kRemoved ? "-" : "=";
        out += line.text.substr(0, line.text.find('\n'));
      }
    }
  }
  return out;
}

std::string names(const std::string& path) { return "--- a/" + path + "\n+++ b/" + path + "\n"; }

TEST(HunkEnd, CountsThatAreTooHighDoNotIncludeTheNextFile) {
  const std::string body = " one\n-two\n+TWO\n three\n";
  const std::string second = names("b") + "@@ -1,3 +1,3 @@\n one\n-2\n+TWO\n three\n";
  const std::string wanted = "a: =one-two+TWO=three; b: =one-2+TWO=three";
  for (const std::string& text : {names("a") + "@@ -1,3 +1,3 @@\n" + body + second,
                                  names("a") + "@@ -1,4 +1,4 @@\n" + body + second,
                                  names("a") + "@@ -1,5 +1,5 @@\n" + body + "\n" + second,
                                  names("a") + "@@ -1,4 +1,3 @@\n" + body + second,
                                  names("a") + "@@ -1,3 +1,4 @@\n" + body + second,
                                  names("a") + "@@ -1,9 +1,9 @@\n" + body + second}) {
    EXPECT_EQ(read_as(text), wanted) << text;
  }
}

TEST(HunkEnd, NothingIsMissingBehindTheMarkOfALastLineWithoutNewline) {
  const std::string mark = "\\ No newline at end of file\n";
  const auto with = [&](const std::string& header, const std::string& body) {
    const auto set = read_unified(names("a") + header + body, {});
    return set && !set->files.front().doubt;
  };
  const std::string both = " one\n-two\n" + mark + "+TWO\n" + mark;
  EXPECT_TRUE(with("@@ -1,2 +1,3 @@\n", both));
  EXPECT_TRUE(with("@@ -1,3 +1,3 @@\n", both));
  EXPECT_TRUE(with("@@ -1,2 +1,3 @@\n", " one\n-two\n+TWO\n" + mark));
  EXPECT_TRUE(with("@@ -1,4 +1,4 @@\n", "-one\n+ONE\n two\n" + mark));
  // Only the new text ends there, or the last line may be cut off.
  EXPECT_FALSE(with("@@ -1,3 +1,3 @@\n", " one\n-two\n+TWO\n" + mark));
  EXPECT_FALSE(with("@@ -1,2 +1,3 @@\n", " one\n-two\n" + mark));
  EXPECT_FALSE(with("@@ -1,2 +1,3 @@\n", " one\n-two\n" + mark + "+TW"));
}

TEST(HunkEnd, ALastHunkWithoutAChangeWasCutOff) {
  const std::string one = names("a") + "@@\n one\n-two\n+TWO\n three\n";
  const std::string counted = names("a") + "@@ -1,6 +1,6 @@\n one\n-two\n+TWO\n three\n";
  EXPECT_EQ(read_as(one + "@@\n five\n"), "edit.truncated");
  EXPECT_EQ(read_as(counted + "@@ -5,3 +5,4 @@\n five\n"), "edit.truncated");
  const std::string whole_hunk = names("a") + "@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n";
  EXPECT_EQ(read_as(whole_hunk + "@"), "edit.truncated");
  EXPECT_EQ(read_as(one + "@@ -5 +5 @@\n five\n"), "a: =one-two+TWO=three =five");
  EXPECT_EQ(read_as(names("a") + "@@\n five\n"), "a: =five");
  ReadOptions whole;
  whole.end = DocumentEnd::kComplete;
  EXPECT_TRUE(read_edits(one + "@@\n five\n", EditFormat::kUnified, whole).has_value());
}

TEST(HunkEnd, BlocksThatEndWhereAnotherBlockBeginsWereCutOff) {
  const std::string one = "m.py\n```\n<<<<<<< SEARCH\ntwo\n=======\nTWO\n>>>>>>> REPLACE\n```\n\n";
  for (const char* end : {"m.py", "m.py\n", "src/n.py\n```", "m.py\n```python\n",
                          "m.py\n```\n<<<<<<<", "m.py\n```\n<<<<<<< SEA"}) {
    EXPECT_EQ(read_as(one + end, EditFormat::kSearchReplace), "edit.truncated") << end;
  }
  for (const char* end : {"", "Done.\n", "This changes m.py\n", "See https://a.example/b.py\n",
                          "Changed files:\nm.py\n", "```sh\nmake\n```\n"}) {
    EXPECT_EQ(read_as(one + end, EditFormat::kSearchReplace), "m.py:") << end;
  }
}

TEST(HunkEnd, LinesThatResembleFileLinesAreLinesOfAHunk) {
  // Without context, another hunk of the file may follow, and its numbers go on.
  const std::string plain = names("q") + "@@ -2 +2 @@\n--- a/q\n+++ b/q\n@@ -5 +5 @@\n-x\n+y\n";
  EXPECT_EQ(read_as(plain), "q: --- a/q+++ b/q -x+y");
  const std::string other =
      names("q") + "@@ -2,2 +2,2 @@\n-x\n+y\n--- a/r\n+++ b/r\n@@ -1 +1 @@\n-1\n+2\n";
  EXPECT_EQ(read_as(other), "q: -x+y; r: -1+2");
  // A patch of a patch puts a sign before each line of the inner patch.
  const std::string patch = names("p.diff") +
                            "@@ -1,4 +1,4 @@\n---- a/x\n-+++ b/x\n+--- a/y\n++++ b/y\n"
                            " @@ -1 +1 @@\n -1\n";
  EXPECT_EQ(read_as(patch), "p.diff: ---- a/x-+++ b/x+--- a/y++++ b/y=@@ -1 +1 @@=-1");
  // At the end of a file, no hunk follows.
  const std::string sql = names("q.sql") + "@@ -1,2 +1,2 @@\n one\n--- old\n+++ new\n" +
                          names("r") + "@@ -1 +1 @@\n-1\n+2\n";
  EXPECT_EQ(read_as(sql), "q.sql: =one--- old+++ new; r: -1+2");
}

TEST(HunkEnd, PropertiesOfSubversionAreNotOfAHunk) {
  const std::string hunk = "@@ -1,3 +1,3 @@\n 1\n-2\n+X\n 3\n";
  const std::string line(67, '_');
  const auto properties = [&](const std::string& name) {
    return "\nProperty changes on: " + name + "\n" + line +
           "\nAdded: svn:executable\n## -0,0 +1 ##\n+*\n\\ No newline at end of property\n";
  };
  const auto of_file = [&](const std::string& name) {
    return "Index: " + name + "\n" + std::string(67, '=') + "\n--- " + name +
           "\t(revision 1)\n+++ " + name + "\t(working copy)\n" + hunk + properties(name);
  };
  EXPECT_EQ(read_as(of_file("f")), "f: =1-2+X=3");
  EXPECT_EQ(read_as(of_file("f") + of_file("g")), "f: =1-2+X=3; g: =1-2+X=3");
  EXPECT_EQ(read_as(of_file("f") + names("g") + hunk), "f: =1-2+X=3; g: =1-2+X=3");
  const auto only = [&](const std::string& name) {
    return "Index: " + name + "\n" + std::string(67, '=') + "\n--- " + name +
           "\t(revision 1)\n+++ " + name + "\t(working copy)\n" + properties(name);
  };
  EXPECT_EQ(read_as(only(".") + of_file("f") + only("g")), "f: =1-2+X=3");
  const std::string added = "--- g\t(nonexistent)\n+++ g\t(working copy)\n" + properties("g");
  EXPECT_EQ(read_as(of_file("f") + added), "edit.bad_header");
  const auto of_git = [&](const std::string& name) {
    return "Index: " + name + "\ndiff --git a/" + name + " b/" + name + "\n";
  };
  EXPECT_EQ(read_as(of_git("g") + names("g") + properties("g") + of_git("f") +
                    "new file mode 10644\n--- a/f\t(nonexistent)\n+++ b/f\t(working copy)\n"
                    "@@ -0,0 +1 @@\n+1\n"),
            "f: +1");
  const auto deleted = read_edits("--- f\t(revision 1)\n+++ f\t(nonexistent)\n@@ -1 +0,0 @@\n-1\n",
                                  EditFormat::kUnified, {});
  ASSERT_TRUE(deleted) << deleted.error().message;
  EXPECT_EQ(deleted->files.at(0).op, FileOp::kDelete);
  // Without the line of underscores it is prose.
  EXPECT_EQ(read_as(names("f") + hunk + "\nProperty changes on: f\n" + hunk),
            "f: =1-2+X=3 =1-2+X=3");
}

TEST(HunkEnd, ChangesAfterContextWithoutItsBlankAreRead) {
  const std::string head = "```diff\n" + names("f") + "@@ ... @@\n";
  for (const char* context :
       {"#include <a.h>", "* one", "/// one", "[[nodiscard]] int f();", "}"}) {
    const std::string body = std::string(context) + "\n-#include <b.h>\n+#include <c.h>\n\n";
    EXPECT_EQ(read_as(head + body + "```\n", EditFormat::kAuto),
              "f: =" + std::string(context) + "-#include <b.h>+#include <c.h>")
        << context;
  }
  // A fence that a line of context closes ends the hunk.
  EXPECT_EQ(read_as(head + " one\n```\n-two\n+TWO\n", EditFormat::kAuto), "edit.unread");
}

TEST(HunkEnd, ContextOfV4AMayLackItsBlank) {
  const auto patch = [](const std::string& body) {
    return "*** Begin Patch\n*** Update File: f\n@@\n" + body + "*** End Patch\n";
  };
  const auto read = [&](const std::string& body) {
    return read_as(patch(body), EditFormat::kApplyPatch);
  };
  EXPECT_EQ(read("def f():\n-    one\n+    two\n"), "f: =def f():-    one+    two");
  EXPECT_EQ(read("def f():\n\n-    one\n+    two\n\nend\n"), "f: =def f():=-    one+    two==end");
  EXPECT_EQ(read("def f():\n-    one\n+    two\n\n"), "f: =def f():-    one+    two");
  // The word that ends a heredoc does not count as context.
  EXPECT_EQ(read_as("*** Begin Patch\n*** Update File: f\n@@\n-one\n+two\n\nEOF\n",
                    EditFormat::kApplyPatch),
            "f: -one+two");
  EXPECT_EQ(read("def f():\n---i;\n+i--;\n"), "edit.corrupt_hunk");
  EXPECT_EQ(read("only prose\n"), "edit.corrupt_hunk");
  // Without the first line of a patch, it may be prose.
  EXPECT_EQ(read_as("*** Update File: f\n@@\n-one\n+two\nthree\n", EditFormat::kApplyPatch),
            "edit.corrupt_hunk");
  const auto set = read_edits(patch("def f():\n-one\n+two\n"), EditFormat::kApplyPatch, {});
  ASSERT_TRUE(set);
  ASSERT_EQ(set->leniencies.size(), 1U);
  EXPECT_EQ(set->leniencies[0].rule, "bare_context");
  EXPECT_EQ(set->leniencies[0].path, "f");
}

}  // namespace
}  // namespace galley
