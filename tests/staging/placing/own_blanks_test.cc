// Blanks that old and new lines of an edit share stay as the file has them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <utility>

#include "staging/formats/read_edits.h"
#include "staging/placing/place.h"

namespace galley {
namespace {

using ::testing::HasSubstr;

const std::string kNoBreak = "\xC2\xA0";        // U+00A0
const std::string kNarrow = "\xE2\x80\xAF";     // U+202F
const std::string kFullWidth = "\xE3\x80\x80";  // U+3000

std::string times(size_t count, const std::string& text) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += text;
  return out;
}

/// The file after the edit, or the reason and message of the refusal.
std::string made(const std::string& file, const Result<EditSet>& set, bool is_syntax) {
  EXPECT_TRUE(set.has_value()) << set.error().message;
  if (!set) return {};
  MatchOptions options;
  options.indentation_is_syntax = is_syntax;
  const PlacedEdits placed = place_edits(file, set->files.front(), options);
  if (placed.failures.empty()) return placed.splices.apply(file);
  return placed.failures.front().reason + "\n" + placed.failures.front().message;
}

/// The result of a block; that of a patch of V4A must be the same.
std::string replaced(const std::string& file, const std::string& old_lines,
                     const std::string& new_lines, bool is_syntax = false) {
  const auto by_block = made(
      file,
      read_search_replace(
          "f\n<<<<<<< SEARCH\n" + old_lines + "=======\n" + new_lines + ">>>>>>> REPLACE\n", {}),
      is_syntax);
  const auto signed_lines = [](const std::string& text, char sign) {
    std::string out;
    for (size_t at = 0; at < text.size();) {
      const size_t end = text.find('\n', at) + 1;
      out += sign + text.substr(at, end - at);
      at = end;
    }
    return out;
  };
  const auto by_patch = made(
      file,
      read_apply_patch("*** Begin Patch\n*** Update File: f\n@@\n" + signed_lines(old_lines, '-') +
                           signed_lines(new_lines, '+') + "*** End Patch\n",
                       {}),
      is_syntax);
  EXPECT_EQ(by_block.substr(0, by_block.find('\n')), by_patch.substr(0, by_patch.find('\n')));
  return by_block;
}

TEST(OwnBlanks, IndentationOfTheEditIsWrittenWithTheBlanksOfTheFile) {
  for (const std::string& sign : {kNoBreak, kNarrow, kFullWidth}) {
    for (const bool is_syntax : {true, false}) {
      const std::string wide = times(4, sign);
      EXPECT_EQ(replaced("a:\n    x: 1\n", wide + "x: 1\n", wide + "x: 3\n", is_syntax),
                "a:\n    x: 3\n");
      EXPECT_EQ(replaced("a:\n    x: 1\n", wide + "x: 1\n",
                         wide + "x: 1\n" + wide + "y:\n" + wide + wide + "z: 2\n", is_syntax),
                "a:\n    x: 1\n    y:\n        z: 2\n");
      EXPECT_EQ(replaced("a:\n\tx: 1\n", sign + "x: 1\n", sign + "x: 3\n" + sign + sign + "y\n",
                         is_syntax),
                "a:\n\tx: 3\n\t\ty\n");
    }
  }
}

TEST(OwnBlanks, IndentationOfTheFileStays) {
  for (const std::string& sign : {kNoBreak, kNarrow, kFullWidth}) {
    const std::string wide = times(4, sign);
    EXPECT_EQ(replaced("{\n" + wide + "x = 1;\n}\n", "    x = 1;\n", "    x = 2;\n        y();\n"),
              "{\n" + wide + "x = 2;\n" + wide + wide + "y();\n}\n");
  }
}

TEST(OwnBlanks, IndentationThatNoOldLineExplainsIsRefused) {
  const std::string wide = times(4, kNoBreak);
  EXPECT_THAT(replaced("a:\n  x: \xE2\x80\x9C"
                       "1\xE2\x80\x9D\n",
                       "  x: \"1\"\n", "  x: \"1\"\n" + wide + "y: 2\n"),
              HasSubstr("patch.typography"));
  // Four of them stand for two blanks; it is open what six stand for.
  EXPECT_THAT(replaced("a:\n  x: 1\n", wide + "x: 1\n",
                       wide + "x: 1\n" + wide + kNoBreak + kNoBreak + "y: 2\n"),
              HasSubstr("line 2 is '  x: 1'"));
}

TEST(OwnBlanks, BlanksAtTheEndOfALineStay) {
  EXPECT_EQ(replaced("x = 1\n", "x = 1" + kNoBreak + "\n", "x = 2" + kNoBreak + "\n"), "x = 2\n");
  EXPECT_EQ(replaced("x = 1\n", "x = 1" + kNoBreak + "\n",
                     "x = 2" + kNoBreak + "\ny = 3" + kNoBreak + "\nz = 4" + kNoBreak + "\n"),
            "x = 2\ny = 3\nz = 4\n");
  EXPECT_EQ(replaced("one line  \nnext\n", "one line\nnext\n", "a line\nnext\n"),
            "a line  \nnext\n");
  EXPECT_EQ(replaced("one line  \nnext\n", "one line \nnext\n", "one line\nnext\n"),
            "one line\nnext\n");
  EXPECT_EQ(replaced("name: one  \nnext\n", "name: one\nnext\n", "name: two\nnew\nnext\n"),
            "name: two  \nnew\nnext\n");
  EXPECT_EQ(replaced("one line  \nnext\n", "one line\nnext\n", "other(43)\nnext\n"),
            "other(43)\nnext\n");
}

TEST(OwnBlanks, BlanksInsideALineStay) {
  EXPECT_EQ(replaced("puts(\"Name    Size\");\n", "puts(\"Name Size\");\n",
                     "puts(\"Name Size\"); flush();\n"),
            "puts(\"Name    Size\"); flush();\n");
  EXPECT_EQ(replaced("k: a   b\n", "k: a b\n", "key: a b\n", true), "key: a   b\n");
  EXPECT_EQ(replaced("q = 'a\tb'\n", "q = 'a b'\n", "q = 'a b c'\n"), "q = 'a\tb c'\n");
  EXPECT_EQ(replaced("puts(\"A    B\");\n", "puts(\"A B\");\n", "puts(\"C D\");\n"),
            "puts(\"C    D\");\n");
  EXPECT_EQ(replaced("int   a = f(x);\n", "int a = f(x);\n", "return g(y);\n"), "return g(y);\n");
  EXPECT_EQ(replaced("int   a = 1;\n", "int a = 1;\n", "int a = 2;\n"), "int   a = 2;\n");
}

TEST(OwnBlanks, AnInsertedLineIsShiftedAsTheOldLinesOfItsIndentation) {
  const auto inserted = [](const std::string& file, const std::string& hunk) {
    return made(file,
                read_apply_patch(
                    "*** Begin Patch\n*** Update File: f\n@@\n" + hunk + "*** End Patch\n", {}),
                false);
  };
  EXPECT_EQ(inserted("  it(() => {\n    open();\n    submit();\n  });\n",
                     "   it(() => {\n \topen();\n+\twait();\n \tsubmit();\n   });\n"),
            "  it(() => {\n    open();\n    wait();\n    submit();\n  });\n");
  EXPECT_EQ(inserted("if (a) {\n\t\tb();\n\t\tc();\n   }\n",
                     " if (a) {\n     b();\n+    x();\n     c();\n   }\n"),
            "if (a) {\n\t\tb();\n\t\tx();\n\t\tc();\n   }\n");
  // The old lines with its indentation disagree.
  EXPECT_THAT(
      inserted("if (a) {\n\tb();\n    c();\n}\n", " if (a) {\n   b();\n+  x();\n   c();\n }\n"),
      HasSubstr("patch.doubtful_lines"));
}

/// The result of a hunk in a file whose indentation is syntax.
std::string patched(const std::string& file, const std::string& hunk, bool is_syntax = true) {
  return made(file, read_unified("--- a/f\n+++ b/f\n@@ ... @@\n" + hunk, {}), is_syntax);
}

TEST(OwnBlanks, ALineWithAnotherIndentationDoesNotShiftNewLines) {
  const std::string file =
      "class A:\n    def f(self, name):\n        self.first(name)\n        self.second(name)\n"
      "        self.third(name)\n        return name\n";
  const std::string made_of_it =
      "class A:\n    def f(self, name):\n        self.first(name)\n        self.new(name)\n"
      "        self.third(name)\n        return name\n";
  EXPECT_EQ(patched(file,
                    "     def f(self, name):\n       self.first(name)\n-        self.second(name)\n"
                    "+        self.new(name)\n         self.third(name)\n         return name\n"),
            made_of_it);
}

TEST(OwnBlanks, NewLinesWithOneBlankLessAreLikeTheContext) {
  const std::string file =
      "class A:\n    def f(self):\n        self.first()\n        return self.name\n";
  const std::string after =
      "class A:\n    def f(self):\n        self.new()\n        self.first()\n"
      "        return self.name\n";
  EXPECT_EQ(patched(file, "    def f(self):\n+       self.new()\n        self.first()\n"), after);
  EXPECT_EQ(patched(file, "    def f(self):\n+        self.new()\n        self.first()\n"), after);
  EXPECT_THAT(patched(file, "    def f(self):\n+      self.new()\n        self.first()\n"),
              HasSubstr("may lack it, too"));
}

TEST(OwnBlanks, NewLinesKeepTheIndentationThatOnlyTheReplacedLineLost) {
  const std::string file = "f() {\n    first();\n    second();\n    if (x) {\n        y();\n";
  EXPECT_EQ(
      patched(file, "-second();\n+    second(2);\n+    new();\n     if (x) {\n         y();\n",
              false),
      "f() {\n    first();\n    second(2);\n    new();\n    if (x) {\n        y();\n");
}

TEST(OwnBlanks, NewQuotesAreRefusedIfTheEditTypedThoseOfTheFile) {
  const std::string edit =
      "say(\xE2\x80\x9C"
      "a\xE2\x80\x9D)";
  EXPECT_EQ(replaced("say(\"a\")\n", edit + "\n", edit + "\nnew()\n"), "say(\"a\")\nnew()\n");
  EXPECT_THAT(replaced("say(\"a\")\n", edit + "\n",
                       edit + "\nnew(\xE2\x80\x9C"
                              "b\xE2\x80\x9D)\n"),
              HasSubstr("patch.typography"));
}

TEST(OwnBlanks, NewLinesAreNotShiftedToAnIndentationThatTheFileLacks) {
  const std::string file =
      "class A:\n    def f(self):\n        self.first()\n        self.second()\n";
  EXPECT_THAT(patched(file, "          self.first()\n-         self.second()\n+    x = 1\n"),
              HasSubstr("may have that of the file"));
}

TEST(OwnBlanks, NewLinesThatHaveTheIndentationOfTheFileAreNotShifted) {
  const std::string file = "a:\n    first: 1\n    second: 2\nb:\n    first: 3\n";
  for (const bool is_syntax : {true, false}) {
    EXPECT_THAT(patched(file, "-second: 2\n+    second: 4\n", is_syntax),
                HasSubstr("may have that of the file"));
    EXPECT_EQ(patched(file, "-second: 2\n+second: 4\n+    third: 5\n", is_syntax),
              "a:\n    first: 1\n    second: 4\n        third: 5\nb:\n    first: 3\n");
  }
}

TEST(OwnBlanks, TheNewTextCountsWhereTheEditChangesBlanks) {
  EXPECT_EQ(replaced("\tputs(\"a  b\");\n", "puts(\"a b\");\n", "puts(\"a   b\");\n"),
            "\tputs(\"a   b\");\n");
}

TEST(OwnBlanks, StayInAHunkThatIsMended) {
  const auto mended = [](const std::string& file, const std::string& hunk) {
    return made(file, read_unified("--- a/f\n+++ b/f\n@@ ... @@\n" + hunk, {}), false);
  };
  const std::string file =
      "enum e {\n\tALPHA\t= 0,\n\tBETA\t= 1,\n\tGAMMA\t= 2,\n\tDELTA\t= 3,\n\tLAST\t= 4,\n};\n";
  EXPECT_EQ(
      mended(file,
             " enum e {\n     ALPHA    = 0,\n     OTHER    = 1,\n-    GAMMA    = 2,\n"
             "+    FIRST    = 2,\n     DELTA    = 3,\n     LAST    = 4,\n };\n"),
      "enum e {\n\tALPHA\t= 0,\n\tBETA\t= 1,\n\tFIRST\t= 2,\n\tDELTA\t= 3,\n\tLAST\t= 4,\n};\n");
  // The blank of a context line was taken for its sign, so the lines are shifted unevenly.
  EXPECT_EQ(mended("import (\n\t\"b\"\n\t\"f\"\n\t\"i\"\n\t\"u\"\n\t\"l\"\n)\n",
                   "import (\n    \"b\"\n...\n-    \"u\"\n+    \"v\"\n    \"l\"\n)\n"),
            "import (\n\t\"b\"\n\t\"f\"\n\t\"i\"\n\t\"v\"\n\t\"l\"\n)\n");
}

TEST(OwnBlanks, BlanksWithoutACertainPlaceAreRefused) {
  EXPECT_THAT(replaced("a\nputs(\"Name    Size\");\n", "puts(\"Name Size\");\n",
                       "puts(\"Name Width Size\");\n"),
              HasSubstr("line 2 is 'puts(\"Name    Size\");'"));
  EXPECT_THAT(replaced("f(\"a  b\"); g(1, 2, 3, 4);\n", "f(\"a b\"); g(1, 2, 3, 4);\n",
                       "g(1, 2, 3, 4); f(\"a b\");\n"),
              HasSubstr("patch.typography"));
}

/// The result of replacing a text, as the tool Edit does.
std::string edited(const std::string& file, const std::string& old_text,
                   const std::string& new_text, bool is_everywhere = false) {
  EditSet set;
  set.files.emplace_back().path = "f";
  TextEdit& edit = set.files.front().text_edits.emplace_back();
  edit.old_text = old_text;
  edit.new_text = new_text;
  edit.replace_all = is_everywhere;
  return made(file, std::move(set), true);
}

TEST(OwnBlanks, ATextWithAPartOfTheIndentationDoesNotShiftItsLinesTwice) {
  const std::string file = "def f():\n        a = 1\n        b = 2\n";
  for (const auto& [old_text, new_text] :
       {std::pair("    a = 1\n", "        a = 3\n"),
        {"    a = 1", "        a = 3\n        c"},
        {"    a = 1", "    a = 3\n    c"},
        {"    a = 1", "    a = 3\n        c"},
        {"    a = 1\n", ""},
        {"    a = 1\n", "    a = 3"},
        {"    a =", "        a = 3\n  +"},
        {"    a = 1\n        b = 2\n", "    a = 3\n    c = 5\n        b = 2\n"},
        {"    a = 1\n        b = 2\n", "        a = 3\n        b = 4\n"}}) {
    for (const bool is_everywhere : {false, true}) {
      EXPECT_THAT(edited(file, old_text, new_text, is_everywhere),
                  ::testing::AllOf(::testing::StartsWith("patch.doubtful_lines"),
                                   HasSubstr("less indentation than line 2")))
          << old_text << new_text;
    }
  }
  for (const char* end : {"  \n", "  # why\n"}) {
    EXPECT_THAT(edited(std::string("def f():\n        a = 1") + end, "    a = 1", "        a = 3"),
                ::testing::StartsWith("patch.doubtful_lines"));
  }
  EXPECT_THAT(edited("x\n    a = 1\n        b = 2\r\n    c = 2\r\n", "    b = 2\n    c = 2\n",
                     "        b = 3\n    c = 3\n", true),
              ::testing::StartsWith("patch.doubtful_lines"));
  EXPECT_THAT(edited("a:\r\n    b: 1\r\nc: 2\r\n", "  b: 1\n", "    b: 2\n    d: 3\n"),
              ::testing::StartsWith("patch.doubtful_lines"));
}

TEST(OwnBlanks, APartOfALineIsReplacedAsItIs) {
  const std::string file = "def f():\n        a = 1\n        b = 2\n";
  const std::string tail = "        b = 2\n";
  for (const auto& [old_text, new_text, wanted] :
       {std::tuple("    a = 1", "    a = 3", "        a = 3\n" + tail),
        {"    a = 1\n", "    a = 3\n\n", "        a = 3\n\n" + tail},
        {"    a = 1\n        b", "    a = 3\n        c = 4\n        b",
         "        a = 3\n        c = 4\n" + tail},
        {"a = 1", "a = 3\n        c = 4", "        a = 3\n        c = 4\n" + tail},
        {"a = 1\n", "if x:\n            a = 1\n", "        if x:\n            a = 1\n" + tail}}) {
    EXPECT_EQ(edited(file, old_text, new_text), "def f():\n" + wanted) << old_text << new_text;
  }
}

}  // namespace
}  // namespace galley
