// The edit means a place that was changed meanwhile, and the file has a twin of it. The edit is
// refused: its name, its number or its order say that the twin is not meant.
#include <gtest/gtest.h>

#include "staging/formats/read_edits.h"
#include "staging/placing/place.h"

namespace galley {
namespace {

struct TwinCase {
  const char* name;
  const char* file;
  const char* edit;
};

void PrintTo(const TwinCase& one, std::ostream* out) { *out << one.name; }

const TwinCase kTwins[] = {
    {"order_excludes_a_place",
     "def a():\n    open()\n    n = 1\n    close_a()\n\n\ndef b():\n    open()\n    n = 5\n"
     "    close_b()\n\n\ndef c():\n    open()\n    n = 1\n    close_c()\n",
     "*** Begin Patch\n*** Update File: f\n@@\n def a():\n-    open()\n+    open(1)\n     n = 1\n"
     "@@\n     open()\n-    n = 1\n+    n = 2\n     close_b()\n*** End Patch\n"},
    {"order_excludes_a_place_with_numbers",
     "web:\n  restart: always\napi:\n  restart: on-failure\nadmin:\n  restart: always\n",
     "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n web:\n-  restart: always\n+  restart: never\n"
     "@@ -3,2 +3,2 @@\n api:\n-  restart: always\n+  restart: never\n"},
    {"dots_below_another_head",
     "def load():\n    open()\n\n\ndef save():\n    submit()\n    return data\n",
     "f\n<<<<<<< SEARCH\ndef load():\n    ...\n    submit()\n    return data\n=======\n"
     "def load():\n    ...\n    submit()\n    return data or 0\n>>>>>>> REPLACE\n"},
    {"dots_below_a_head_that_is_not_there", "def load():\n    a()\n    b()\n    return 1\n",
     "--- a/f\n+++ b/f\n@@\n def save():\n...\n     b()\n-    return 1\n+    return 2\n"},
    {"dots_in_another_section", "[main]\nhost = a\n\n[test]\nhost = b\ntimeout = 30\n",
     "f\n<<<<<<< SEARCH\n[main]\n...\ntimeout = 30\n=======\n[main]\n...\ntimeout = 60\n"
     ">>>>>>> REPLACE\n"},
    {"anchor_of_another_section", "[main]\nhost = a\n\n[test]\nhost = b\ntimeout = 30\n",
     "*** Begin Patch\n*** Update File: f\n@@ [main]\n-timeout = 30\n+timeout = 60\n"
     "*** End Patch\n"},
    {"done_at_the_number",
     "def a():\n    n = new()\n    use(n)\n\n\ndef b():\n    n = old()\n    use(n)\n",
     "--- a/f\n+++ b/f\n@@ -2,2 +2,2 @@ def a():\n-    n = old()\n+    n = new()\n     use(n)\n"},
    {"done_next_to_the_number",
     "import x\n\ndef a():\n    n = new()\n    use(n)\n\n\ndef b():\n    n = old()\n    use(n)\n",
     "--- a/f\n+++ b/f\n@@ -3,2 +3,2 @@\n-    n = old()\n+    n = new()\n     use(n)\n"},
    {"changed_at_the_number",
     "it(\"a\", () => {\n  fill(\"ann\");\n  fill(\"secret\");\n  submit();\n"
     "  check(\"Welcome back\");\n});\n\nit(\"b\", () => {\n  fill(\"ann\");\n  fill(\"secret\");\n"
     "  submit();\n  check(\"Welcome\");\n});\n",
     "--- a/f\n+++ b/f\n@@ -3,4 +3,4 @@\n   fill(\"ann\");\n-  fill(\"secret\");\n"
     "+  fill(\"hunter2\");\n   submit();\n   check(\"Welcome\");\n"},
    {"inserted_already",
     "function left(n) {\n  n.count += 1;\n  n.dirty = true;\n}\n\nfunction right(n) {\n"
     "  n.count += 1;\n}\n",
     "--- a/f\n+++ b/f\n@@ -2,1 +2,2 @@ function left(n) {\n   n.count += 1;\n+  n.dirty = "
     "true;\n"},
    {"header_of_another_block",
     "def load(path):\n    check(path)\n    a = 1\n\n\ndef save(path):\n    open(path)\n"
     "    return 1\n",
     "--- a/f\n+++ b/f\n@@ -70,2 +70,2 @@ def load(path):\n     open(path)\n-    return 1\n"
     "+    return 2\n"},
    {"header_between_two_signs",
     "def load(path):\n    check(path)\n\n\ndef save(path):\n    open(path)\n    return 1\n",
     "--- a/f\n+++ b/f\n@@ def load(path): @@\n     open(path)\n-    return 1\n+    return 2\n"},
    {"block_of_another_name", ".badge {\n  margin: 0;\n  color: red;\n  border: 1px;\n}\n",
     "--- a/f\n+++ b/f\n@@\n .button {\n   margin: 0;\n-  color: red;\n+  color: blue;\n"
     "   border: 1px;\n }\n"},
    {"section_of_another_name", "[replica]\nhost = db2\ntimeout = 30\npool = 5\nname = x\n",
     "--- a/f\n+++ b/f\n@@\n [main]\n host = db2\n-timeout = 30\n+timeout = 60\n pool = 5\n"
     " name = x\n"},
    {"mirrored_context",
     "function insertLeft(node, x) {\n  const n = make(x);\n  n.parent = node;\n  node.left = n;\n"
     "  update(node);\n  return n;\n}\n",
     "--- a/f\n+++ b/f\n@@\n   const n = make(x);\n   n.parent = node;\n   node.right = n;\n"
     "-  update(node);\n+  updateAll(node);\n   return n;\n"},
    {"a_longer_name_in_quotes",
     "it(\"accepts a user again\", () => {\n  open(\"ann\");\n  fill(\"secret\");\n  "
     "check();\n});\n",
     "*** Begin Patch\n*** Update File: f\n@@\n it(\"accepts a user\", () => {\n   open(\"ann\");\n"
     "-  fill(\"secret\");\n+  fill(\"hunter2\");\n   check();\n*** End Patch\n"},
    {"a_section_below_the_named_one", "[db.test]\nhost = a\ntimeout = 30\npool = 5\n",
     "*** Begin Patch\n*** Update File: f\n@@\n [db]\n host = a\n-timeout = 30\n+timeout = 60\n"
     " pool = 5\n*** End Patch\n"},
    {"an_item_of_another_image", "web:\n  image: web\n  restart: always\n  ports: 80\n",
     "--- a/f\n+++ b/f\n@@ -12,3 +12,3 @@\n   image: api\n-  restart: always\n"
     "+  restart: never\n   ports: 80\n"},
    {"a_row_of_another_name",
     "\t{\n\t\tname: \"two\",\n\t\tinput: 2,\n\t\twant: 3,\n\t\tfail: false,\n\t},\n\t{\n"
     "\t\tname: \"dup\",\n\t\tinput: 1,\n\t\twant: 1,\n\t\tfail: false,\n\t},\n",
     "f\n<<<<<<< SEARCH\n\t{\n\t\tname: \"one\",\n\t\tinput: 1,\n\t\twant: 1,\n\t},\n=======\n"
     "\t{\n\t\tname: \"one\",\n\t\tinput: 1,\n\t\twant: 2,\n\t},\n>>>>>>> REPLACE\n"},
    {"a_key_that_is_not_there",
     "  \"city\": {\n    \"type\": \"string\",\n    \"min\": 1,\n    \"max\": 80\n  }\n",
     "f\n<<<<<<< SEARCH\n  \"zip\": {\n    \"type\": \"string\",\n    \"min\": 1,\n    \"max\": "
     "80\n"
     "=======\n  \"zip\": {\n    \"type\": \"string\",\n    \"min\": 2,\n    \"max\": 80\n"
     ">>>>>>> REPLACE\n"},
    {"below_another_heading", "## Build\n\nlevel: 3\n\n## Check\n\nlevel: 2\n",
     "*** Begin Patch\n*** Update File: f\n@@ ## Build\n-level: 2\n+level: 4\n*** End Patch\n"},
    {"quotes_of_another_kind", "{\n  \"name\": \"x\",\n  \"size\": 1\n}\n",
     "--- a/f\n+++ b/f\n@@\n   \xe2\x80\x9cname\xe2\x80\x9d: \xe2\x80\x9cx\xe2\x80\x9d,\n"
     "+  \xe2\x80\x9ctrim\xe2\x80\x9d: true,\n   \xe2\x80\x9csize\xe2\x80\x9d: 1\n"},
    {"dots_below_another_heading", "## Build\n\n| color | no |\n\n## Check\n\n| color | auto |\n",
     "f\n<<<<<<< SEARCH\n## Build\n...\n| color | auto |\n=======\n## Build\n...\n"
     "| color | always |\n>>>>>>> REPLACE\n"},
    {"dots_in_the_block_of_another_head",
     "def load():\n    open()\n\n\ndef save():\n    submit()\n    return data\n",
     "f\n<<<<<<< SEARCH\ndef load():\n    open()\n    ...\n    submit()\n    return data\n=======\n"
     "def load():\n    open()\n    ...\n    submit()\n    return data or 0\n>>>>>>> REPLACE\n"},
    {"dots_of_a_hunk_in_the_block_of_another_head",
     "func load() {\n\topen()\n}\n\nfunc save() {\n\tsubmit()\n\treturn\n}\n",
     "--- a/f\n+++ b/f\n@@\n func load() {\n \topen()\n \t// ...\n \tsubmit()\n-\treturn\n"
     "+\treturn nil\n }\n"},
    {"below_another_comment", "-- users\nGRANT a TO x;\n-- teams\nGRANT b TO x;\n",
     "*** Begin Patch\n*** Update File: f\n@@ -- users\n-GRANT b TO x;\n+GRANT b TO y;\n"
     "*** End Patch\n"},
    {"below_a_comment_of_another_function",
     "// Loads.\nint load() {\n  return a;\n}\n\n// Saves.\nint save() {\n  return b;\n}\n",
     "*** Begin Patch\n*** Update File: f\n@@ // Loads.\n-  return b;\n+  return c;\n"
     "*** End Patch\n"},
    {"inserted_below_another_comment", "# one\na = 1\n\n# two\nb = 2\n",
     "*** Begin Patch\n*** Update File: f\n@@ # one\n b = 2\n+c = 3\n*** End Patch\n"},
    {"number_of_a_changed_twin_of_an_insertion",
     "  case 1:\n    log(1);\n    break;\n  case 2:\n    warn(2);\n    break;\n  case 3:\n"
     "    log(2);\n    break;\n",
     "--- a/f\n+++ b/f\n@@ -5,2 +5,3 @@\n     log(2);\n+    mark();\n     break;\n"},
    {"number_of_a_place_below_another_header", "a {\n  x: 1\n}\nb {\n  x: 2\n}\nc {\n  x: 1\n}\n",
     "--- a/f\n+++ b/f\n@@ -2 +2 @@ c {\n-  x: 1\n+  x: 4\n"},
    {"number_of_a_place_below_a_later_header", "a {\n  x: 1\n}\nb {\n  x: 2\n}\nc {\n  x: 1\n}\n",
     "--- a/f\n+++ b/f\n@@ -8 +8 @@ a {\n-  x: 1\n+  x: 4\n"},
    {"last_line_of_the_file", "[a]\nport = 1\n\n[b]\nport = 3\n",
     "*** Begin Patch\n*** Update File: f\n@@\n-port = 1\n+port = 2\n*** End of File\n"
     "*** End Patch\n"},
    {"last_lines_with_more_context",
     "[a]\nhost = 1\nuser = 2\nport = 3\nname = 4\n\n[b]\nport = 5\n",
     "*** Begin Patch\n*** Update File: f\n@@\n host = 1\n user = 5\n-port = 3\n+port = 2\n"
     " name = 4\n*** End of File\n*** End Patch\n"},
    {"last_lines_by_fuzz", "[a]\nhost = 1\nuser = 2\nport = 3\nname = 4 5\n\n[b]\nport = 5\n",
     "*** Begin Patch\n*** Update File: f\n@@\n [a]\n host = 1\n user = 2\n-port = 3\n"
     "+port = 2\n name = 4\n*** End of File\n*** End Patch\n"},
    {"last_line_without_newline",
     "def load():\n    path = 1\n    return open(path)\n\n\ndef save():\n    path = 1\n"
     "    return open(path, 2)",
     "--- a/f\n+++ b/f\n@@ -8 +8 @@ def save():\n-    return open(path)\n"
     "\\ No newline at end of file\n+    return open(path, 3)\n\\ No newline at end of file\n"},
    {"last_lines_that_changed", "[a]\nhost = 1\nport = 1\n\n[b]\nhost = 1\nport = 3",
     "--- a/f\n+++ b/f\n@@ -6,2 +6,2 @@ [b]\n host = 1\n-port = 1\n"
     "\\ No newline at end of file\n+port = 2\n\\ No newline at end of file\n"},
    {"pasted_numbers_of_another_function",
     "def load():\n    path = 1\n    return open(path)\n\n\ndef save():\n    path = 1\n"
     "    return open(path, 2)\n",
     "*** Begin Patch\n*** Update File: f\n@@\n 7|    path = 1\n-8|    return open(path)\n"
     "+8|    return open(path, 3)\n*** End Patch\n"},
    {"pasted_numbers_of_another_place_without_header",
     "def load():\n    path = 1\n    return open(path)\n\n\ndef save():\n    path = 1\n"
     "    return open(path, 2)\n",
     "--- a/f\n+++ b/f\n@@ ... @@\n 7:     path = 1\n-8:     return open(path)\n"
     "+8:     return open(path, 3)\n"},
    {"pasted_numbers_before_the_signs",
     "def load():\n    path = 1\n    return open(path)\n\n\ndef save():\n    path = 1\n"
     "    return open(path, 2)\n",
     "*** Begin Patch\n*** Update File: f\n@@\n 7      path = 1\n 8 -    return open(path)\n"
     " 8 +    return open(path, 3)\n*** End Patch\n"},
    {"added_before_a_blank_line_that_is_not_next",
     "int load(int a) {\n    x();\n    y();\n\n    z();\n}\n",
     "f\n<<<<<<< SEARCH\nint load(int a) {\n    x();\n\n=======\nint load(int a) {\n    x();\n"
     "    fresh();\n\n>>>>>>> REPLACE\n"},
};

/// Edits next to such places that are not in doubt.
const TwinCase kClear[] = {
    {"number_of_a_line_that_is_not_the_last_one", "[a]\nport = 1\nhost = 2\n\n[b]\nport = 3\n",
     "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n [a]\n-port = 1\n+port = 2\n host = 2\n"
     "\\ No newline at end of file\n"},
    {"last_lines_before_blank_lines", "[a]\nport = 1\n\n[b]\nport = 3\n\n",
     "*** Begin Patch\n*** Update File: f\n@@\n-port = 3\n+port = 2\n*** End of File\n"
     "*** End Patch\n"},
    {"last_lines_with_other_context", "[a]\nhost = 1\nuser = 2\nport = 3\nname = 4\n",
     "*** Begin Patch\n*** Update File: f\n@@\n host = 1\n user = 5\n-port = 3\n+port = 2\n"
     " name = 4\n*** End of File\n*** End Patch\n"},
    {"pasted_numbers_of_the_place", "a {\n  x: 1\n}\nb {\n  y: 1\n}\n",
     "*** Begin Patch\n*** Update File: f\n@@\n 4|b {\n-5|  y: 1\n+5|  y: 2\n 6|}\n"
     "*** End Patch\n"},
    {"pasted_numbers_of_three_lines_that_moved", "a {\n  x: 1\n}\nb {\n  y: 1\n  z: 1\n}\n",
     "--- a/f\n+++ b/f\n@@ ... @@\n 2|b {\n-3|  y: 1\n+3|  y: 2\n 4|  z: 1\n"},
    {"pasted_numbers_off_by_one", "a {\n  x: 1\n}\nb {\n  y: 1\n}\n",
     "--- a/f\n+++ b/f\n@@ ... @@\n 5|b {\n-6|  y: 1\n+6|  y: 2\n"},
    {"added_before_fewer_blank_lines", "a();\nlast();\n\nmore();\n",
     "f\n<<<<<<< SEARCH\nlast();\n\n\n=======\nlast();\nnew();\n\n\n>>>>>>> REPLACE\n"},
    {"added_at_the_end_before_a_blank_line", "f() {\n  a();\n}\nlast();\n",
     "f\n<<<<<<< SEARCH\nlast();\n\n=======\nlast();\nmore();\n\n>>>>>>> REPLACE\n"},
    {"inserted_before_the_next_comment", "# one\na = 1\n# two\nb = 2\n",
     "*** Begin Patch\n*** Update File: f\n@@ # one\n+c = 3\n # two\n*** End Patch\n"},
    {"inserted_before_the_next_heading", "## One\na\n## Two\nb\n",
     "*** Begin Patch\n*** Update File: f\n@@ ## One\n+c\n ## Two\n*** End Patch\n"},
    {"below_preprocessor_lines", "#define A 1\n#define B 2\n#define C 3\n",
     "*** Begin Patch\n*** Update File: f\n@@ #define A 1\n-#define C 3\n+#define C 4\n"
     "*** End Patch\n"},
    {"below_a_comment_of_several_lines",
     "// Copyright\n// All rights reserved.\n#pragma once\n\n// Loads.\nint load();\n",
     "*** Begin Patch\n*** Update File: f\n@@ // Copyright\n-int load();\n+int load(int);\n"
     "*** End Patch\n"},
    {"number_of_a_place_below_its_header",
     "int f()\n{\n  a();\nout:\n  b();\n}\n\nint g()\n{\n  b();\n}\n",
     "--- a/f\n+++ b/f\n@@ -5 +5 @@ int f()\n-  b();\n+  c();\n"},
    {"number_of_a_place_below_a_line_that_is_no_header", "b\n++ a\n  x\n}\n  x\n}\n",
     "--- a/f\n+++ b/f\n@@ -4 +4 @@ b\n-}\n+);\n"},
    {"header_of_the_function_before", "int f()\n{\n  b();\n}\n\nint g()\n{\n  b();\n}\n",
     "--- a/f\n+++ b/f\n@@ -5,4 +5,4 @@ int f()\n \n int g()\n {\n-  b();\n+  c();\n"},
    {"header_that_is_not_there", "a {\n  x: 1\n}\nb {\n  x: 1\n}\n",
     "--- a/f\n+++ b/f\n@@ -5 +5 @@ c {\n-  x: 1\n+  x: 4\n"},
    {"dots_at_the_margin", "def a():\n    b()\n\n\ndef c():\n    d()\n    return 1\n",
     "f\n<<<<<<< SEARCH\ndef a():\n    b()\n...\n    d()\n    return 1\n=======\ndef a():\n    "
     "b()\n"
     "...\n    d()\n    return 2\n>>>>>>> REPLACE\n"},
};

Result<EditSet> read(const std::string& text) {
  if (text.starts_with("***")) return read_apply_patch(text, {});
  return text.starts_with("---") ? read_unified(text, {}) : read_search_replace(text, {});
}

class TwinPlace : public testing::TestWithParam<TwinCase> {};
INSTANTIATE_TEST_SUITE_P(Of, TwinPlace, testing::ValuesIn(kTwins),
                         [](const auto& one) { return std::string(one.param.name); });

TEST_P(TwinPlace, IsNotChanged) {
  const auto set = read(GetParam().edit);
  ASSERT_TRUE(set.has_value()) << set.error().message;
  ASSERT_EQ(set->files.size(), 1U);
  const PlacedEdits placed = place_edits(GetParam().file, set->files.front(), {});
  ASSERT_FALSE(placed.failures.empty()) << placed.splices.apply(GetParam().file);
  for (const EditFailure& failure : placed.failures) {
    EXPECT_EQ(failure.rebased, "") << "a correction for the twin";
  }
}

class ClearPlace : public testing::TestWithParam<TwinCase> {};
INSTANTIATE_TEST_SUITE_P(Of, ClearPlace, testing::ValuesIn(kClear),
                         [](const auto& one) { return std::string(one.param.name); });

TEST_P(ClearPlace, IsChanged) {
  const auto set = read(GetParam().edit);
  ASSERT_TRUE(set.has_value()) << set.error().message;
  const PlacedEdits placed = place_edits(GetParam().file, set->files.front(), {});
  ASSERT_TRUE(placed.failures.empty()) << placed.failures.front().message;
  EXPECT_NE(placed.splices.apply(GetParam().file), GetParam().file);
}

TEST(MendedHunk, NewLinesAreNotMovedPastABlankLineOfTheFile) {
  const std::string file = "/* a */\n\nstruct b {\n  int c;\n};\n\nstruct d {\n";
  const auto made = [&](const std::string& hunk) {
    const auto set = read("--- a/f\n+++ b/f\n@@ -1,6 +1,6 @@\n" + hunk);
    EXPECT_TRUE(set.has_value()) << set.error().message;
    const PlacedEdits placed = place_edits(file, set->files.front(), {});
    return placed.failures.empty() ? placed.splices.apply(file) : placed.failures.front().reason;
  };
  EXPECT_EQ(made("-/* a */\n-struct b {\n-  int c;\n-};\n+/* a */\n+struct b {\n+  int e;\n+};\n"
                 " \n struct d {\n"),
            "/* a */\n\nstruct b {\n  int e;\n};\n\nstruct d {\n");
  // Nothing tells on which side of the blank line the new lines are.
  EXPECT_EQ(made("-/* a */\n-struct b {\n+/* f */\n+struct g {\n   int c;\n };\n"),
            "patch.context_not_found");
}

TEST(ReversedHunk, TheHeadingOfTheOtherSideIsNoEvidence) {
  const std::string file = "}\na\na\n}\n";
  ReadOptions options;
  options.reverse = true;
  options.unidiff_zero = true;
  const auto set =
      read_unified("--- a/f\n+++ b/f\n@@ -1 +0,0 @@\n-a\n@@ -3 +2 @@ a\n-c\n+a\n", options);
  ASSERT_TRUE(set.has_value()) << set.error().message;
  const PlacedEdits placed = place_edits(file, set->files.front(), {});
  ASSERT_TRUE(placed.failures.empty()) << placed.failures.front().message;
  EXPECT_EQ(placed.splices.apply(file), "a\n}\nc\na\n}\n");
}

TEST(AlreadyApplied, IsNotProvedByATwin) {
  const std::string file =
      "def load():\n    open(1)\n    limit = 5\n    run()\n\n\ndef save():\n    open(1)\n"
      "    limit = 9\n    run()\n";
  const auto set = read(
      "--- a/f\n+++ b/f\n@@ -2,3 +2,3 @@ def load():\n     open(1)\n-    limit = 3\n"
      "+    limit = 9\n     run()\n");
  ASSERT_TRUE(set.has_value()) << set.error().message;
  const PlacedEdits placed = place_edits(file, set->files.front(), {});
  ASSERT_EQ(placed.failures.size(), 1U);
  EXPECT_EQ(placed.failures.front().reason, "patch.context_not_found");
}

}  // namespace
}  // namespace galley
