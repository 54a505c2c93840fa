// Edits that were pasted from a listing, sent twice, or shifted into a text: what the report says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "staging/formats/dialect_marks.h"
#include "staging/formats/read_edits.h"
#include "staging/placing/long_text.h"
#include "staging/placing/place.h"
#include "staging/placing/search_help.h"

namespace galley {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct MadeText {
  std::string text;  ///< the file after the edit, or the reason of the refusal
  std::vector<std::string> rules;
};

MadeText made_by(const std::string& file, Result<EditSet> set,
                 const std::vector<std::string>& strict = {}) {
  EXPECT_TRUE(set.has_value()) << set.error().message;
  if (!set) return {};
  MatchOptions options;
  options.strict = strict;
  const PlacedEdits made = place_edits(file, set->files.front(), options);
  if (!made.failures.empty()) return {made.failures.front().reason, {}};
  MadeText out{made.splices.apply(file), {}};
  for (const Leniency& leniency : made.leniencies) out.rules.push_back(leniency.rule);
  return out;
}

MadeText made_by_hunk(const std::string& file, const std::string& hunk) {
  return made_by(file, read_unified("--- a/f\n+++ b/f\n" + hunk, {}));
}

MadeText made_by_block(const std::string& file, const std::string& old_text,
                       const std::string& new_text, const std::vector<std::string>& strict = {}) {
  return made_by(
      file,
      read_search_replace(
          "f\n<<<<<<< SEARCH\n" + old_text + "=======\n" + new_text + ">>>>>>> REPLACE\n", {}),
      strict);
}

// --- overlapping places ------------------------------------------------------------------------

MadeText made_by_text(const std::string& file, TextEdit edit) {
  EditSet set;
  set.files.emplace_back().text_edits = {edit};
  return made_by(file, std::move(set));
}

TEST(LineNumbers, TheLastLineKeepsItsNewline) {
  TextEdit edit;
  edit.kind = TextEdit::Kind::kReplaceLines;
  edit.new_text = "new";
  for (const auto& [file, wanted] :
       {std::pair("a\nb\nc\n", "a\nb\nnew\n"), std::pair("a\nb\nc", "a\nb\nnew"),
        std::pair("a\r\nb\r\nc\r\n", "a\r\nb\r\nnew\r\n")}) {
    edit.first_line = edit.last_line = 3;
    EXPECT_EQ(made_by_text(file, edit).text, wanted);
  }
}

TEST(OverlappingPlaces, ATextThatOverlapsItselfIsAmbiguous) {
  const std::string file = "begin\ncheck()\ncheck()\ncheck()\nend\n";
  EXPECT_EQ(made_by_block(file, "check()\ncheck()\n", "check()\nlog()\n").text, "patch.ambiguous");
  TextEdit edit;
  edit.old_text = "aba";
  edit.new_text = "x";
  EXPECT_EQ(made_by_text("ababa\n", edit).text, "patch.ambiguous");
  edit.replace_all = true;
  EXPECT_EQ(made_by_text("ababa\n", edit).text, "xba\n");
}

TEST(OverlappingPlaces, EqualResultsAreNotAmbiguous) {
  TextEdit edit;
  edit.old_text = "\n\n";
  edit.new_text = "\n";
  EXPECT_EQ(made_by_text("a\n\n\n\nb\n", edit).text, "a\n\n\nb\n");
  edit.new_text = "c\n";
  EXPECT_EQ(made_by_text("a\n\n\n\nb\n", edit).text, "patch.ambiguous");
}

// --- sent twice ---------------------------------------------------------------------------------

TEST(RepeatedEdits, LinesThatAHunkRemovesAndAddsAgainAreContext) {
  const std::string file = "a = 1\nb = 2\n";
  for (const std::string hunk : {"@@ -1,2 +1,3 @@\n a = 1\n-b = 2\n+b = 2\n+c = 3\n",
                                 "@@ ... @@\n a = 1\n-b = 2\n+b = 2\n+c = 3\n",
                                 "@@ ... @@\n-a = 1\n+a = 1\n b = 2\n+c = 3\n"}) {
    const MadeText first = made_by_hunk(file, hunk);
    EXPECT_EQ(first.text, "a = 1\nb = 2\nc = 3\n") << hunk;
    EXPECT_THAT(first.rules, IsEmpty());
    EXPECT_EQ(made_by_hunk(first.text, hunk).text, "patch.already_applied") << hunk;
  }
}

TEST(RepeatedEdits, WithoutProofTheNoteNamesTheEqualLines) {
  const std::string hunk = "@@ ... @@\n-}\n+}\n+next();\n";
  const MadeText first = made_by_hunk("{\n}\n", hunk);
  EXPECT_EQ(first.text, "{\n}\nnext();\n");
  const MadeText second = made_by_hunk(first.text, hunk);
  EXPECT_EQ(second.text, "{\n}\nnext();\nnext();\n");
  EXPECT_THAT(second.rules, ElementsAre("repeated_lines"));
}

TEST(RepeatedEdits, AMessageNamesTheNewLinesElsewhereBeforeTheWayOut) {
  const std::string file = "int f() {\nreturn the_answer;\n}\n";
  const auto set = read_unified(
      "--- a/f\n+++ b/f\n@@ ... @@\n-entirely different words\n+return the_answer;\n", {});
  ASSERT_TRUE(set.has_value()) << set.error().message;
  PlacedEdits made = place_edits(file, set->files.front(), MatchOptions());
  SearchHelp().explain(file, made.failures);
  ASSERT_EQ(made.failures.size(), 1U);
  EXPECT_THAT(made.failures[0].message,
              EndsWith("its lines are not there; the lines that it writes instead are already at "
                       "line 2: leave it out only if that is this change; no similar lines were "
                       "found: read the file again and make the edit anew"));
}

TEST(RepeatedEdits, ALineNumberAloneProvesNothing) {
  const std::string file = "int f() {\n  x();\n}\nint g() {\n  y();\n}\n";
  for (const char* hunk :
       {"@@ -2,1 +2,1 @@\n-something that never was here\n+  x();\n",
        "@@ -4,2 +4,2 @@\n-int old() {\n-  gone();\n+int g() {\n+  y();\n",
        "@@ -3,2 +3,3 @@\n }\n-int removed_long_ago(void);\n+int g() {\n+  y();\n"}) {
    EXPECT_EQ(made_by_hunk(file, hunk).text, "patch.context_not_found") << hunk;
  }
}

TEST(RepeatedEdits, AHunkWithoutNumbersThatIsSentTwiceIsMadeOnce) {
  const std::string file = "def a():\n    x = 1\n";
  const std::string body = "@@\n     x = 1\n+    z = 3\n";
  const auto set = read_apply_patch(
      "*** Begin Patch\n*** Update File: f\n" + body + body + "*** End Patch\n", {});
  ASSERT_TRUE(set.has_value()) << set.error().message;
  MatchOptions options;
  options.choices = {"at-f5ce22fef", "at-18088e8cb"};
  const PlacedEdits made = place_edits(file, set->files.front(), options);
  ASSERT_EQ(made.failures.size(), 1U);
  EXPECT_EQ(made.failures[0].edit, 1U);
  EXPECT_EQ(made.failures[0].reason, "patch.already_applied");
  EXPECT_THAT(made.failures[0].message, HasSubstr("hunk 2 (line 6 of the patch)"));
  EXPECT_EQ(made.splices.apply(file), "def a():\n    x = 1\n    z = 3\n");
  // Two places: each hunk is for one.
  EXPECT_EQ(made_by(file + file, *set).text,
            "def a():\n    x = 1\n    z = 3\n"
            "def a():\n    x = 1\n    z = 3\n");
}

TEST(BlankLines, AtTheEndOfABlockNeedNotBeInTheFile) {
  const std::string file = "f() {\n  a();\n}\ng() {\n  b();\n}\n";
  const MadeText made = made_by_block(file, "  b();\n\n", "  c();\n\n");
  EXPECT_EQ(made.text, "f() {\n  a();\n}\ng() {\n  c();\n}\n");
  EXPECT_THAT(made.rules, ElementsAre("blank_lines"));
  EXPECT_EQ(made_by_block(file, "  b();\n\n", "  c();\n").text, "patch.context_not_found");
  EXPECT_EQ(made_by_block(file, "}\n\n\n", "};\n\n\n").text, "patch.context_not_found");
  EXPECT_EQ(made_by_block(file, "  b();\n\n", "  c();\n\n", {"blank_lines"}).text,
            "patch.context_not_found");
}

// --- pasted from a listing ----------------------------------------------------------------------

const std::string kListing =
    "def f(a):\n    x = 1\n    return x\n\n\ndef g(a):\n    x = 2\n    return x\n";

TEST(NumberedTexts, AreReadWithoutTheirNumbers) {
  const std::string want =
      "def f(a):\n    x = 1\n    return x\n\n\ndef g(a):\n    x = 3\n    return x\n";
  for (const char* mark : {" | ", "|", "\t", "\u2192"}) {
    const auto numbered = [&](const std::string& value) {
      return "7" + std::string(mark) + "    x = " + value + "\n8" + mark + "    return x\n";
    };
    const MadeText both = made_by_block(kListing, numbered("2"), numbered("3"));
    EXPECT_EQ(both.text, want) << mark;
    EXPECT_THAT(both.rules, ElementsAre("numbered_lines"));
    EXPECT_EQ(made_by_block(kListing, numbered("2"), "    x = 3\n    return x\n").text, want)
        << mark;
    EXPECT_EQ(made_by_block(kListing, numbered("2"), numbered("3"), {"numbered_lines"}).text,
              "patch.context_not_found");
  }
}

TEST(NumberedTexts, OfContextAloneAreTakenOff) {
  const std::string file = "int f() {\n  return 1;\n}\nint g() {\n  return 2;\n}\n";
  const std::string want = "int f() {\n  return 1;\n}\nint g() {\n  return 3;\n}\n";
  for (const std::string mark : {": ", "|", "| ", " | ", "\t", "\u2192"}) {
    for (const bool has_removed : {false, true}) {
      const std::string removed = has_removed ? "5" + mark : "";
      EXPECT_EQ(made_by_hunk(file, "@@ ... @@\n 4" + mark + "int g() {\n-" + removed +
                                       "  return 2;\n+  return 3;\n 6" + mark + "}\n")
                    .text,
                want)
          << mark << has_removed;
    }
  }
}

TEST(NumberedTexts, ANumberThatBelongsToANewLineStays) {
  const std::string file = "a:\n  1: x\n  2: y\n  3: z\nb:\n";
  const std::string want = "a:\n  1: x\n  2: w\n  3: z\nb:\n";
  EXPECT_EQ(
      made_by_hunk(file, "@@ ... @@\n 1: a:\n 2:   1: x\n-3:   2: y\n+  2: w\n 4:   3: z\n").text,
      want);
  EXPECT_EQ(
      made_by_hunk(file, "@@ ... @@\n 1: a:\n 2:   1: x\n-3:   2: y\n+3:   2: w\n 4:   3: z\n")
          .text,
      want);
  EXPECT_EQ(made_by_block(file, "1: a:\n2:   1: x\n3:   2: y\n", "a:\n  1: x\n  2: w\n").text,
            want);
  EXPECT_EQ(
      made_by_block(file, "1: a:\n2:   1: x\n3:   2: y\n", "1: a:\n2:   1: x\n3:   2: w\n").text,
      want);
  const std::string keys = "1: x\n2: y\n3: z\n";
  EXPECT_EQ(made_by_block(keys, "1: 1: x\n2: 2: y\n", "1: x\n2: w\n").text, "1: x\n2: w\n3: z\n");
  // Nothing tells whether the number is of the listing.
  EXPECT_EQ(made_by_hunk(keys, "@@ ... @@\n 1: 1: x\n-2: 2: y\n+2: w\n 3: 3: z\n").text,
            "patch.context_not_found");
}

TEST(NumberedTexts, KeepTheIndentationThatGrepPrints) {
  EXPECT_EQ(made_by_block("def main():\n", "1:def main():\n", "1:def main():\n2:    run()\n").text,
            "def main():\n    run()\n");
  EXPECT_EQ(made_by_block("a:\n\n    b\n", "1: a:\n2:\n3:     b\n", "1: a:\n2:\n3:     c\n").text,
            "a:\n\n    c\n");
  EXPECT_EQ(made_by_block("a b\nc d\n", "1|a b\n2:c d\n", "1|a\n2:c\n").text,
            "patch.context_not_found");
}

TEST(NumberedTexts, OfAHunkHaveOneSeparator) {
  const std::string file = "a:\n    b\n\nend\n";
  const std::string hunk = "@@ ... @@\n 1 |a:\n-2 |    b\n+2 |    c\n+3 |  d\n 4 |\n 5 |end\n";
  EXPECT_EQ(made_by_hunk(file, hunk).text, "a:\n    c\n  d\n\nend\n");
  const std::string mixed = "@@ ... @@\n 1|a:\n-2|    b\n+2:    c\n 3|\n 4|end\n";
  EXPECT_EQ(made_by_hunk(file, mixed).text, "patch.context_not_found");
}

TEST(NumberedTexts, OfAHunkCountTheOldAndTheNewFile) {
  const std::string file = "a:\n    b\n    c\nend\nlast\n";
  const std::string made = "a:\n    x\nend\nlast\n";
  const std::string removed = "@@ ... @@\n 1|a:\n-2|    b\n-3|    c\n+2|    x\n";
  EXPECT_EQ(made_by_hunk(file, removed + " 3|end\n 4|last\n").text, made);
  EXPECT_EQ(made_by_hunk(file, removed + " 4|end\n 5|last\n").text, made);
  EXPECT_EQ(made_by_hunk(file, removed + " 1|end\n 2|last\n").text, "patch.context_not_found");
}

TEST(NumberedTexts, AreRefusedWhereANumberMayBeText) {
  // Less than three lines prove their numbers only at those lines.
  EXPECT_EQ(made_by_block(kListing, "6|    x = 2\n7|    return x\n", "6|    x = 3\n").text,
            "patch.context_not_found");
  // One line proves its number only at that line.
  EXPECT_EQ(made_by_block(kListing, "7|    x = 2\n", "7|    x = 3\n").text.substr(0, 9),
            "def f(a):");
  EXPECT_EQ(made_by_block(kListing, "3|    x = 2\n", "3|    x = 3\n").text,
            "patch.context_not_found");
  // Some new lines have numbers.
  EXPECT_EQ(
      made_by_block(kListing, "7|    x = 2\n8|    return x\n", "7|    x = 3\n    return x\n").text,
      "patch.context_not_found");
  // Two places.
  EXPECT_EQ(made_by_block("a b\nc d\na b\nc d\n", "1|a b\n2|c d\n", "1|a\n2|c\n").text,
            "patch.context_not_found");
  // The file has the numbers.
  EXPECT_EQ(made_by_block("1|a b\n2|c d\n", "1|a b\n2|c d\n", "1|a\n2|c\n").text, "1|a\n2|c\n");
}

// --- escaped as in HTML -------------------------------------------------------------------------

TEST(EscapedBlocks, AreReadIfAllOfThemIsEscaped) {
  const std::string head = "f\n&lt;&lt;&lt;&lt;&lt;&lt;&lt; SEARCH\n";
  const std::string end = "&gt;&gt;&gt;&gt;&gt;&gt;&gt; REPLACE\n";
  auto set =
      read_edits(head + "if (a &lt; b &amp;&amp; c)\n=======\nif (a &lt;= b &amp;&amp; c)\n" + end,
                 EditFormat::kAuto, {});
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_EQ(set->leniencies.back().rule, "escaped_markup");
  EXPECT_EQ(made_by("if (a < b && c)\n", std::move(set)).text, "if (a <= b && c)\n");
  EXPECT_FALSE(
      read_edits(head + "if (a < b)\n=======\nif (a &lt;= b)\n" + end, EditFormat::kAuto, {}));
  EXPECT_FALSE(read_edits(head + "a && b\n=======\na\n" + end, EditFormat::kAuto, {}));
  EXPECT_FALSE(read_edits(head + "a\n=======\nb\n", EditFormat::kAuto, {}));
}

TEST(EscapedBlocks, ATextOfABlockMayBeEscapedIfNothingOfTheFileIs) {
  const std::string file = "if (a < b) {\n  x();\n}\n";
  const MadeText read = made_by_block(file, "if (a &lt; b) {\n", "if (a &lt;= b) {\n");
  EXPECT_EQ(read.text, "if (a <= b) {\n  x();\n}\n");
  EXPECT_THAT(read.rules, ElementsAre("escaped_markup"));
  EXPECT_EQ(made_by_block(file, "if (a &lt; b) {\n", "if (a <= b) {\n").text,
            "patch.context_not_found");
  EXPECT_EQ(made_by_block("<b>\n&lt;i&gt;\n", "&lt;b&gt;\n", "&lt;u&gt;\n").text,
            "patch.context_not_found");
}

TEST(EscapedBlocks, RoosBackslashBeforeAMarkerIsNoText) {
  const MadeText read = made_by_block("one\n=======\ntwo\n", "one\n\\=======\ntwo\n", "one\ntwo\n");
  EXPECT_EQ(read.text, "one\ntwo\n");
  EXPECT_THAT(read.rules, ElementsAre("block_header"));
  EXPECT_EQ(made_by_block("\\=======\n", "\\=======\n", "x\n").text, "x\n");
  EXPECT_EQ(made_by_block("one\ntwo\n", ":start_line=2\n-------\ntwo\n", "2\n").text, "one\n2\n");
}

TEST(BlockNames, ATagMayNameTheFile) {
  const std::string block = "<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n";
  const auto second = [&](const std::string& before) {
    const auto set = read_search_replace("a.py\n" + block + before + block, {});
    return set ? set->files.back().path : set.error().reason;
  };
  for (const std::string before :
       {"<path>b.py</path>\n", "<apply_diff><path>b.py</path>\n", "<file path=\"b.py\">\n",
        "<apply_diff>\n<path>b.py</path>\n<diff>\n<content>\n<start_line>3</start_line>\n",
        "<path>\nb.py\n</path>\n<diff>\n", "b.py\n<diff>\n```\n", "File: b.py\n",
        "**File:** `b.py`\n", "### file: `b.py`\n\n```python\n"}) {
    EXPECT_EQ(second(before), "b.py") << before;
  }
  for (const std::string before : {"<b.py>\n", "<apply_diff>\n<diff>\n", "<file name=b.py>\n"}) {
    EXPECT_EQ(second(before), "edit.no_file_name") << before;
  }
  EXPECT_EQ(second("</diff>\n<diff>\n"), "a.py");
}

TEST(BlockNames, AnotherFileThatIsMentionedIsNotTheLastOne) {
  const std::string block = "<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n";
  const auto second = [&](const std::string& before) {
    const std::string answer = "src/a.py\n```\n" + block + "```\n\n" + before + block + "```\n";
    const auto set = read_edits(answer, EditFormat::kAuto, {});
    return set ? set->files.back().path : set.error().reason;
  };
  for (const std::string before : {"Now in `src/b.py`:\n```\n", "And b.yaml:\n```\n",
                                   "Next, the file src/b.py needs it:\n\n```python\n",
                                   "In b.py, too.\n\nThis is why.\n\nNow:\n\nI do it so:\n```\n",
                                   "Now in `/repo/src/b.py`:\n```\n"}) {
    EXPECT_EQ(second(before), "edit.no_file_name") << before;
  }
  for (const std::string before :
       {"And then the import.\n\n```python:src/b.py\n", "Update:\n```python title=src/b.py\n",
        "Now in `src/c.py`.\n\nsrc/b.py\n```\n", "src/b.py\n```vb.net\n"}) {
    EXPECT_EQ(second(before), "src/b.py") << before;
  }
  for (const std::string before :
       {"In `a.py`, use os.path.join, e.g. here:\n```\n", "```\n",
        "And also this one:\n```vb.net\n", "Now the Node.js handler:\n```\n"}) {
    EXPECT_EQ(second(before), "src/a.py") << before;
  }
  const auto first =
      read_edits("So:\n\n```python:src/b.py\n" + block + "```\n", EditFormat::kAuto, {});
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ(first->files.front().path, "src/b.py");
}

TEST(BlockNames, AWordOfProseMakesNoFile) {
  const auto made = [&](const std::string& before) {
    const auto set = read_edits(before + "```\n<<<<<<< SEARCH\n=======\ny\n>>>>>>> REPLACE\n```\n",
                                EditFormat::kAuto, {});
    return set ? set->files.back().path : set.error().reason;
  };
  for (const std::string word : {"Change:\n\n", "Solution:\n", "**Update**\n", "## Fix\n"}) {
    EXPECT_EQ(made(word), "edit.no_file_name") << word;
  }
  for (const std::string name :
       {"Makefile", "Caddyfile", "LICENSE", "BUILD", "pre-commit", "new.py", "src/tool"}) {
    EXPECT_EQ(made(name + ":\n"), name);
  }
  EXPECT_EQ(made("`tool`:\n"), "tool");
  EXPECT_EQ(made(block_name_line("tool") + "\n"), "tool");
}

// --- texts of several lines ---------------------------------------------------------------------

TEST(ShiftedTexts, AreReported) {
  const std::string shell = "run() {\n    cat <<EOF\n    one\n    two\nEOF\n}\n";
  const MadeText in_text = made_by_hunk(shell, "@@ ... @@\n one\n+more\n two\n");
  EXPECT_EQ(in_text.text, "run() {\n    cat <<EOF\n    one\n    more\n    two\nEOF\n}\n");
  EXPECT_THAT(in_text.rules, ::testing::Contains("shifted_text"));
  const MadeText code =
      made_by_hunk("run() {\n    one\n    two\n}\n", "@@ ... @@\n one\n+more\n two\n");
  EXPECT_THAT(code.rules, ::testing::Not(::testing::Contains("shifted_text")));
}

TEST(ShiftedTexts, BeginWithAHeredocOrThreeQuotes) {
  const Hunk hunk{.lines = {{LineRole::kAdded, "new\n"}}, .anchors = {}, .section = {}};
  const auto adds = [&](const std::string& file, int64_t line) {
    return LongTexts(Lines(file)).is_added_to(hunk, line);
  };
  EXPECT_TRUE(adds("x = \"\"\"\ntext\n\"\"\"\n", 1));
  EXPECT_FALSE(adds("x = \"\"\"text\"\"\"\ncode\n", 1));
  EXPECT_FALSE(adds("x = \"\"\"\ntext\n\"\"\"\ncode\n", 3));
  EXPECT_TRUE(adds("cat <<-'END'\ntext\n\tEND\n", 1));
  EXPECT_FALSE(adds("std::cout <<endl;\ncode\n", 1)) << "no line ends it";
  EXPECT_FALSE(adds("puts '\"\"\"'\ncode\n", 1));
  EXPECT_TRUE(adds("it\\'s isn\\'t \"\"\"\ntext\n\"\"\"\n", 1)) << "escaped quotes end nothing";
}

}  // namespace
}  // namespace galley
