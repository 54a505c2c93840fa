// Corrections of hunks whose context has mistakes: they make the stated change at the place that is
// meant, or they are not offered.
#include <gtest/gtest.h>

#include "staging/formats/read_edits.h"
#include "staging/placing/place.h"

namespace galley {
namespace {

/// The file after the correction of the hunk; "none" if the refusal offers none.
std::string after_second_try(std::string_view file, const std::string& hunk) {
  const auto once = read_unified("--- a/f\n+++ b/f\n@@ @@\n" + hunk, {});
  EXPECT_TRUE(once.has_value());
  if (!once) return {};
  const PlacedEdits refused = place_edits(file, once->files.front(), {});
  if (refused.failures.empty()) return "placed at once";
  const std::string& correction = refused.failures.front().rebased;
  if (correction.empty()) return "none";
  const auto again = read_unified("--- a/f\n+++ b/f\n" + correction, {});
  EXPECT_TRUE(again.has_value());
  const PlacedEdits made = place_edits(file, again->files.front(), {});
  EXPECT_TRUE(made.failures.empty());
  return made.splices.apply(file);
}

constexpr std::string_view kQueue =
    "class Queue {\n"
    "  constructor(limit) {\n"
    "    this.limit = limit;\n"
    "    this.items = [];\n"
    "  }\n"
    "\n"
    "  take() {\n"
    "    if (this.isEmpty()) {\n"
    "      return undefined;\n"
    "    }\n"
    "    return this.items.shift()\n"
    "  };\n"
    "\n"
    "  get size() {\n"
    "    return this.items.length;\n"
    "  }\n"
    "}\n";

const std::string kTakes =
    "       return undefined;\n     }\n-    return this.items.shift()\n-  };\n"
    "+    return this.items.shift();\n+  }\n \n   get size() {\n";

std::string replaced_in_queue(std::string_view old_text, std::string_view new_text) {
  std::string out(kQueue);
  return out.replace(out.find(old_text), old_text.size(), new_text);
}

TEST(Reread, PartsThatAreElidedMayBeOfAnotherBlock) {
  const std::string wanted = replaced_in_queue("shift()\n  };\n", "shift();\n  }\n");
  const std::string head = " class Queue {\n   constructor(limit) {\n";
  EXPECT_EQ(after_second_try(kQueue, head + " ...\n" + kTakes), wanted);
  EXPECT_EQ(after_second_try(kQueue, head + "     // ... rest unchanged ...\n" + kTakes), wanted);
  EXPECT_EQ(after_second_try(kQueue, head + " // ... rest unchanged ...\n" + kTakes), wanted);
  EXPECT_EQ(after_second_try(kQueue, head + kTakes), "none")
      << "nothing says that lines are left out";
}

TEST(Reread, APartWithoutALineBelowItsBlockMayBeOfTheBlockAbove) {
  EXPECT_EQ(after_second_try(kQueue,
                             " class Queue {\n   constructor(limit) {\n ...\n"
                             "       return undefined;\n     }\n"
                             "-    return this.items.shift()\n-  };\n"
                             "+    return this.items.shift();\n+  }\n \n"),
            "none");
}

TEST(Reread, ElidedPartsMustBeInTheFileInOrder) {
  EXPECT_EQ(after_second_try(kQueue, " class Other {\n   constructor(limit) {\n ...\n" + kTakes),
            "none");
  EXPECT_EQ(
      after_second_try(kQueue, "   get size() {\n     return this.items.length;\n ...\n" + kTakes),
      "none");
}

TEST(Reread, AllLinesNextToTheElidedOnesMustBeThere) {
  EXPECT_EQ(after_second_try(kQueue,
                             " class Queue {\n   constructor(limit) {\n ...\n"
                             "       return null;\n     }\n-    return this.items.shift()\n"
                             "-  };\n+    return this.items.shift();\n+  }\n"),
            "none");
}

constexpr std::string_view kImports =
    "import (\n\t\"bufio\"\n\t\"fmt\"\n\t\"os\"\n)\n\ntype counter struct {\n\ttotal int\n}\n";

TEST(Reread, EscapedLinesWithCommentsAreRead) {
  const std::string wanted =
      "import (\n\t\"bufio\"\n\t\"fmt\"\n\t\"os\"\n\t\"strings\"\n)\n\ntype counter struct {\n"
      "\ttotal int\n}\n";
  const std::string lines =
      " \t&quot;bufio&quot; // see\n \t&quot;fmt&quot; // see\n \t&quot;os&quot; // "
      "see\n+\t&quot;strings&quot;\n )\n \n"
      " type counter struct {\n";
  EXPECT_EQ(after_second_try(kImports, lines), wanted);
  EXPECT_EQ(after_second_try(std::string(kImports) + "\t\"os\"\n", lines), "none")
      << "two lines may be meant";
  EXPECT_EQ(after_second_try(kImports,
                             " \t&quot;net&quot; // see\n \t&quot;os&quot; // see\n"
                             "+\t&quot;strings&quot;\n )\n \n type counter struct {\n"),
            "none")
      << "one line alone does not show the escapes";
}

TEST(Reread, ContextWithAnotherWordIsTheOnlySimilarLine) {
  constexpr std::string_view kFile =
      "void f() {\n  open the file;\n  read all of it;\n}  // namespace\n}  // namespace own\n";
  const std::string hunk =
      "   read all of it;\n+  close();\n }  // namespace the\n }  // namespace own\n";
  EXPECT_EQ(after_second_try(kFile, "   open a file;\n" + hunk), "none");
}

}  // namespace
}  // namespace galley
