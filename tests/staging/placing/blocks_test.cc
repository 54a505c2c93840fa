// Edits whose lines are in another function than the one that they show: no such place is taken.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "staging/formats/read_edits.h"
#include "staging/placing/place.h"

namespace galley {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// The file after the edit, or the reason of the first refusal with the correction that it offers.
std::string placed(const std::string& file, const Result<EditSet>& set, bool is_python = false) {
  EXPECT_TRUE(set.has_value()) << set.error().message;
  if (!set) return {};
  MatchOptions options;
  options.indentation_is_syntax = is_python;
  const PlacedEdits made = place_edits(file, set->files.front(), options);
  if (made.failures.empty()) return made.splices.apply(file);
  return made.failures.front().reason + "\n" + made.failures.front().rebased;
}

std::string after_hunk(const std::string& file, const std::string& hunk, bool is_python = false) {
  return placed(file, read_unified("--- a/f\n+++ b/f\n" + hunk, {}), is_python);
}

bool is_refused(const std::string& result) { return result.starts_with("patch."); }

const std::string kTwo = "function a() {\n  return 7;\n}\n\nfunction b() {\n  return 5;\n}\n";

TEST(Blocks, APartBehindAnElisionIsInTheFunctionThatIsShown) {
  const std::string hunk = " function a() {\n   // ...\n-  return 5;\n+  return 6;\n }\n";
  EXPECT_TRUE(is_refused(after_hunk(kTwo, "@@ -1,4 +1,4 @@\n" + hunk)));
  EXPECT_TRUE(is_refused(after_hunk(kTwo, "@@ ... @@\n" + hunk)));
  EXPECT_EQ(after_hunk("function a() {\n  one();\n  two();\n  return 5;\n}\n",
                       "@@ -1,4 +1,4 @@\n" + hunk),
            "function a() {\n  one();\n  two();\n  return 6;\n}\n");
}

TEST(Blocks, ABlockWithDotsIsInTheFunctionThatIsShown) {
  const std::string block =
      "f\n<<<<<<< SEARCH\nfunction a() {\n...\n  return 5;\n=======\nfunction a() {\n...\n"
      "  return 6;\n>>>>>>> REPLACE\n";
  EXPECT_TRUE(is_refused(placed(kTwo, read_search_replace(block, {}))));
}

TEST(Blocks, ContextThatDiffersDoesNotMoveTheEditToAnotherFunction) {
  EXPECT_TRUE(is_refused(after_hunk(
      "function a() {\n  one();\n  two();\n  return 7;\n}\n\nfunction b() {\n  four();\n"
      "  return 5;\n}\n",
      "@@ -1,6 +1,6 @@\n function a() {\n   one();\n   two();\n   four();\n-  return 5;\n"
      "+  return 6;\n }\n")));
}

TEST(Blocks, TheStatedPlaceWithAnInsertedLineIsARivalOfACopy) {
  const std::string body = "    w = 1\n    h = 2\n    return w * h\n";
  EXPECT_TRUE(is_refused(after_hunk(
      "def area():\n" + body +
          "\n\ndef volume():\n    w = 1\n    w = max(w, 1)\n    h = 2\n"
          "    return w * h\n",
      "@@ -8,3 +8,3 @@\n     w = 1\n     h = 2\n-    return w * h\n+    return w * h * 3\n",
      true)));
}

TEST(Blocks, FuzzTakesNoOtherFunctionIfAPlaceHasAllLinesAndOneMore) {
  const std::string result = placed(
      "function one() {\n  if (a) {\n    x = next(left);\n\n    done(left);\n  }\n}\n\n"
      "function again() {\n  x = next(left);\n  done(left);\n  more(left);\n}\n",
      read_apply_patch(
          "*** Begin Patch\n*** Update File: f\n@@\n-x = next(left);\n+x = first(left);\n"
          " done(left);\n }\n }\n*** End Patch\n",
          {}));
  EXPECT_THAT(result, Not(HasSubstr("again() {\n  x = first")));
}

TEST(Blocks, APlaceWithAllLinesWinsOverOneWithoutContext) {
  const std::string body = "first();\n@second();\n@third();\n@fourth();\n";
  const auto indented = [](std::string text, const std::string& by) {
    for (size_t at = 0; (at = text.find('@', at)) != std::string::npos;) text.replace(at, 1, by);
    return text;
  };
  const std::string file = indented("void a() {\n@" + body + "}\n\n", "  ") +
                           indented("void b() {\n@" + body + "@last();\n}\n", "    ");
  const std::string hunk =
      " void b() {\n   first();\n-  second();\n+  other();\n   third();\n   fourth();\n   "
      "last();\n";
  for (const std::string header : {"@@ ... @@\n", "@@ -1,6 +1,6 @@\n"}) {
    const auto set = read_unified("--- a/f\n+++ b/f\n" + header + hunk, {});
    ASSERT_TRUE(set.has_value());
    const PlacedEdits made = place_edits(file, set->files.front(), {});
    ASSERT_EQ(made.failures.size(), 1U) << made.splices.apply(file);
    ASSERT_EQ(made.failures.front().candidates.size(), 1U);
    EXPECT_EQ(made.failures.front().candidates.front().line, 8U);
  }
}

TEST(Blocks, ACorrectionStaysInTheFunctionThatIsShown) {
  const std::string file =
      "def load(p):\n    f = open(p)\n    d = f.read()\n    return d\n\n"
      "def save(p, d):\n    f = open(p, \"w\")\n    f.write(d)\n    f.close()\n    return d\n";
  const std::string result =
      after_hunk(file,
                 "@@ -1,5 +1,5 @@\n def load(p):\n     f = open(p)\n     d = f.read()\n"
                 "-    f.close()\n+    close(f)\n     return d\n",
                 true);
  EXPECT_THAT(result, AnyOf("patch.context_not_found\n", "patch.doubtful_place\n"));
}

TEST(Blocks, AnAnchorMayHaveOtherBlanksThanItsLine) {
  const auto after = [](const std::string& file, const std::string& anchor) {
    return placed(file, read_apply_patch("*** Begin Patch\n*** Update File: f\n@@ " + anchor +
                                             "\n-  x();\n+  y();\n*** End Patch\n",
                                         {}));
  };
  const std::string file = "int other(void) {\n  x();\n}\nint main( void ) {\n  x();\n}\n";
  const std::string made = "int other(void) {\n  x();\n}\nint main( void ) {\n  y();\n}\n";
  EXPECT_EQ(after(file, "int main(void) {"), made);
  EXPECT_EQ(after(file, "int  main( void ){"), made);
  EXPECT_TRUE(is_refused(after(file, "int main(int) {")));
  EXPECT_EQ(after("class A :\n  x();\nclass B :\n  x();\n", "class B:"),
            "class A :\n  x();\nclass B :\n  y();\n");
}

TEST(Damage, ABlankTooManyInOldLinesOnlyIsDoubtful) {
  EXPECT_TRUE(is_refused(
      after_hunk("def f():\n    a = 1\n    b = 2\n",
                 "@@ -1,3 +1,3 @@\n  def f():\n      a = 1\n-     b = 2\n+    b = 3\n", true)));
  EXPECT_EQ(
      after_hunk("def f():\n    a = 1\n    b = 2\n",
                 "@@ -1,3 +1,3 @@\n  def f():\n      a = 1\n-     b = 2\n+     b = 3\n", true),
      "def f():\n    a = 1\n    b = 3\n");
}

TEST(Damage, ContextThatShowsItIsNotLeftOut) {
  EXPECT_TRUE(is_refused(after_hunk("a = 1\nb = 2\nc = 3\n",
                                    "@@ -1,3 +1,3 @@\n 1: a = 1\n-b = 2\n+2: b = 5\n c = 3\n")));
  EXPECT_THAT(
      after_hunk("if a < b:\n    r = 1\n    go()\n",
                 "@@ -1,3 +1,3 @@\n if a &lt; b:\n-    r = 1\n+    r = a &lt; 5\n     go()\n",
                 true),
      Not(HasSubstr("&lt;")));
}

TEST(Damage, AnOldTextWithOneMistakeInAllLinesIsCorrected) {
  const std::string file = "if (a < b) {\n  say(\"x\");\n}\n";
  const auto correction = [&](const std::string& before, const std::string& after) {
    const std::string block =
        "f\n<<<<<<< SEARCH\n" + before + "=======\n" + after + ">>>>>>> REPLACE\n";
    const std::string result = placed(file, read_search_replace(block, {}));
    EXPECT_TRUE(result.starts_with("patch.context_not_found\n")) << result;
    return result.substr(result.find('\n') + 1);
  };
  const std::string changed = "-  say(\"x\");\n+  say(\"y\");\n";
  for (const auto& [before, after] : std::vector<std::pair<std::string, std::string>>{
           {"> if (a < b) {\n>   say(\"x\");\n", "> if (a < b) {\n>   say(\"y\");\n"},
           {"> if (a < b) {\n>   say(\"x\");\n", "if (a < b) {\n  say(\"y\");\n"},
           {"+if (a < b) {\n+  say(\"x\");\n", "+if (a < b) {\n+  say(\"y\");\n"},
           {"-  say(\"x\");\n-}\n", "+  say(\"y\");\n+}\n"},
           {"if (a &lt; b) {\n  say(\"x\");\n", "if (a < b) {\n  say(\"y\");\n"},
           {"  say(\\\"x\\\");\n", "  say(\\\"y\\\");\n"}}) {
    EXPECT_THAT(correction(before, after), HasSubstr(changed)) << before << after;
  }
  EXPECT_THAT(correction("  say(\\\"x\\\");\n", "  say(\"k\");\\n  b();\n"),
              HasSubstr("+  b();\n"));
  // The new text may be damaged, or may mean what it says.
  for (const std::string after :
       {"  say(\"y\\n\");\n", "  say('y\\n');\n", "  say(\\\"y\\\\n\\\");\n",
        "  say(\"y\");\n  say(\\\"x\\\");\n"}) {
    EXPECT_EQ(correction("  say(\\\"x\\\");\n", after), "") << after;
  }
  EXPECT_EQ(correction("-  say(\"x\");\n-}\n", "-  say(\"y\");\n-}\n"), "");
  EXPECT_EQ(correction("> if (a < b) {\n>   say(\"x\");\n", "> if (a < b) {\n  say(\"y\");\n"), "");
  EXPECT_EQ(correction("if (a &lt; b) {\n", "if (a &lt; c && b) {\n"), "");
}

TEST(Damage, APrefixThatTheFileHasAsWellIsNotLeftOut) {
  EXPECT_EQ(placed("+ plus 3\nx plus\n",
                   read_search_replace("f\n<<<<<<< SEARCH\n++ plus 3\n+x plus\n=======\n"
                                       "+ plus 4\n+x plus\n>>>>>>> REPLACE\n",
                                       {})),
            "patch.context_not_found\n");
}

TEST(Blocks, ABlankTooManyIsNotTakenForAMissingSign) {
  const std::string file =
      "int f() {\n  for (;;) {\n    one();\n  }\n}\n\nint g() {\n  for (;;) {\n    if (a) {\n"
      "      two();\n    }\n  }\n}\n";
  // With a sign before each line this is the end of f, with a blank too many. Without signs it
  // would be the end of the loop in g.
  EXPECT_TRUE(is_refused(after_hunk(file, "@@ -4,2 +4,3 @@\n    }\n+  return 1;\n  }\n")));
  EXPECT_TRUE(is_refused(after_hunk(file, "@@ -4,2 +4,3 @@\n    }\n+   return 1;\n  }\n")));
  EXPECT_EQ(after_hunk("a {\n    one\n  two\n}\n", "@@ -2,2 +2,3 @@\n    one\n+    half\n  two\n"),
            "a {\n    one\n    half\n  two\n}\n");
}

}  // namespace
}  // namespace galley
