#include "staging/placing/damage.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <string>

#include "staging/formats/read_edits.h"
#include "staging/placing/place.h"

namespace galley {
namespace {

constexpr const char* kProgram =
    "#include <stdio.h>\n"
    "int f(int a, int b) {\n"
    "  if (a < b && b > 0) {\n"
    "    return a;\n"
    "  }\n"
    "  return b;\n"
    "}\n";

struct EscapedCase {
  const char* name;
  const char* path;
  const char* old_line;
  const char* new_line;  ///< as sent
  const char* made;      ///< as it gets into the file
  const char* file = kProgram;
};

/// The names in failures of the tests below.
void PrintTo(const EscapedCase& one, std::ostream* out) { *out << one.name; }

std::string block(const EscapedCase& one) {
  return std::string(one.path) + "\n<<<<<<< SEARCH\n" + one.old_line + "\n=======\n" +
         one.new_line + "\n>>>>>>> REPLACE\n";
}

std::string diff(const EscapedCase& one) {
  return std::string("--- a/") + one.path + "\n+++ b/" + one.path + "\n@@ ... @@\n-" +
         one.old_line + "\n+" + one.new_line + "\n";
}

std::string patch(const EscapedCase& one) {
  return std::string("*** Begin Patch\n*** Update File: ") + one.path + "\n@@\n-" + one.old_line +
         "\n+" + one.new_line + "\n*** End Patch\n";
}

class EscapedLine : public ::testing::TestWithParam<EscapedCase> {};

TEST_P(EscapedLine, IsReadAsSignsOnlyIfItCannotBeMeant) {
  const EscapedCase& one = GetParam();
  std::string after = one.file;
  after.replace(after.find(one.old_line), std::string(one.old_line).size(), one.made);
  const bool is_read = std::string(one.made) != one.new_line;
  for (const std::string& answer : {block(one), diff(one), patch(one)}) {
    const auto edits = read_edits(answer, EditFormat::kAuto, {});
    ASSERT_TRUE(edits) << answer;
    const PlacedEdits placed = place_edits(one.file, edits->files.at(0), {});
    ASSERT_TRUE(placed.failures.empty()) << answer;
    EXPECT_EQ(placed.splices.apply(one.file), after) << answer;
    const bool is_reported =
        std::any_of(placed.leniencies.begin(), placed.leniencies.end(),
                    [](const Leniency& leniency) { return leniency.rule == "escaped_markup"; });
    EXPECT_EQ(is_reported, is_read) << answer;
    MatchOptions strict;
    strict.strict = {"escaped_markup"};
    const PlacedEdits as_sent = place_edits(one.file, edits->files.at(0), strict);
    EXPECT_NE(as_sent.splices.apply(one.file).find(one.new_line), std::string::npos) << answer;
  }
}

constexpr const char* kPython =
    "def f(a, b):\n"
    "    \"\"\"Compares.\n"
    "\n"
    "    All of it.\n"
    "    \"\"\"\n"
    "    return a\n";

const EscapedCase kRead[] = {
    {"next_to_plain_signs", "f.c", "  if (a < b && b > 0) {",
     "  if (a &lt;= b &amp;&amp; b &gt; 0) {", "  if (a <= b && b > 0) {"},
    {"old_line_without_signs", "f.c", "  return b;", "  return b &lt; 3 ? b : 3;",
     "  return b < 3 ? b : 3;"},
    {"before_a_character", "f.c", "  return b;", "  return b &lt; 'a' ? b : 3;  // &c",
     "  return b < 'a' ? b : 3;  // &c"},
    {"an_include", "f.c", "#include <stdio.h>", "#include &lt;stdlib.h&gt;", "#include <stdlib.h>"},
    {"an_address", "f.c", "  return b;", "  return g(&amp;a, p-&gt;x);", "  return g(&a, p->x);"},
    {"in_python", "f.py", "    return a", "    if a &lt; b:", "    if a < b:", kPython},
    {"a_call", "f.py", "    return a", "    print(a &lt; b)", "    print(a < b)", kPython},
};
INSTANTIATE_TEST_SUITE_P(Read, EscapedLine, ::testing::ValuesIn(kRead),
                         [](const auto& one) { return std::string(one.param.name); });

const EscapedCase kKept[] = {
    {"in_a_string", "f.c", "  return b;", "  puts(\"a &lt; b\");", "  puts(\"a &lt; b\");"},
    {"in_a_comment", "f.c", "  return b;", "  return b;  // b &lt; 0;",
     "  return b;  // b &lt; 0;"},
    {"in_a_comment_of_several_lines", "f.c", "  return b;", " * a map&lt;int&gt; of b;",
     " * a map&lt;int&gt; of b;"},
    {"prose_of_a_docstring", "f.py", "    All of it.", "    If a &lt; b is true",
     "    If a &lt; b is true", kPython},
    {"an_address_of_lt", "f.c", "  return b;", "  int* p = &lt;", "  int* p = &lt;"},
    {"a_variable_lt", "f.c", "  return lt;", "  return b &lt; 3 ? b : 3;",
     "  return b &lt; 3 ? b : 3;", "int f(int lt) {\n  return lt;\n}\n"},
    {"a_page", "f.html", "<b>a</b>", "<b>a &lt; b;</b>", "<b>a &lt; b;</b>", "<b>a</b>\n"},
    {"a_document", "f.md", "text", "x = a &lt; b;", "x = a &lt; b;", "text\n"},
    {"markup_in_a_program", "f.js", "  a", "  b = a &lt; b;", "  b = a &lt; b;",
     "x = (\n<p>\n  a\n</p>);\n"},
    {"an_escaped_string", "f.c", "  s = \"<b>\";", "  s = \"&lt;b&gt;\";", "  s = \"&lt;b&gt;\";",
     "void f() {\n  s = \"<b>\";\n}\n"},
};
INSTANTIATE_TEST_SUITE_P(Kept, EscapedLine, ::testing::ValuesIn(kKept),
                         [](const auto& one) { return std::string(one.param.name); });

}  // namespace
}  // namespace galley
