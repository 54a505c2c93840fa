// Lines that a patch of V4A adds below an anchor, without context.
#include <gtest/gtest.h>

#include <string>

#include "staging/formats/read_edits.h"
#include "staging/placing/place.h"

namespace galley {
namespace {

constexpr const char* kClass =
    "import os\n"
    "\n"
    "class A:\n"
    "    def run(self):\n"
    "        x = 1\n"
    "        return x\n"
    "\n"
    "class B:\n"
    "    def run(self):\n"
    "        \n"
    "        return 2\n"
    "\n"
    "def main():\n"
    "    \"\"\"Runs.\"\"\"\n"
    "    A().run()\n"
    "\n"
    "def both(a,\n"
    "         b):\n"
    "    return a\n";

/// The file with `added` after `after`, or the reason of a refusal.
std::string made(const std::string& anchors, const std::string& added) {
  const auto edits = read_apply_patch(
      "*** Begin Patch\n*** Update File: f.py\n" + anchors + added + "*** End Patch\n", {});
  MatchOptions options;
  options.indentation_is_syntax = true;
  const PlacedEdits placed = place_edits(kClass, edits.value().files.at(0), options);
  if (!placed.failures.empty()) return placed.failures[0].reason;
  return placed.splices.apply(kClass);
}

std::string with(const std::string& after, const std::string& added) {
  std::string out = kClass;
  return out.insert(out.find(after) + after.size(), added);
}

TEST(BelowAnchor, LinesAreTheFirstOnesOfItsBlock) {
  EXPECT_EQ(
      made("@@ class B:\n@@ def run(self):\n",
           "+        y = 2\n+        if y:\n+            z()\n"),
      with("class B:\n    def run(self):\n", "        y = 2\n        if y:\n            z()\n"));
  EXPECT_EQ(made("@@ class A:\n@@     def run(self):\n", "+        y = 2\n"),
            with("class A:\n    def run(self):\n", "        y = 2\n"));
  EXPECT_EQ(made("@@ class A:\n", "+    y = 2\n+\n"), with("class A:\n", "    y = 2\n\n"));
  EXPECT_EQ(made("@@ import os\n", "+import sys\n"), with("import os\n", "import sys\n"));
}

TEST(BelowAnchor, LinesThatMayBelongElsewhereAreRefused) {
  const std::string reason = "patch.no_context";
  EXPECT_EQ(made("@@ def run(self):\n", "+        y = 2\n"), reason);   // two functions
  EXPECT_EQ(made("@@ def main():\n", "+    y = 2\n"), reason);          // above a docstring
  EXPECT_EQ(made("@@ def both(a,\n", "+    y = 2\n"), reason);          // in its head
  EXPECT_EQ(made("@@ class A:\n", "+def g():\n+    pass\n"), reason);   // not in its block
  EXPECT_EQ(made("@@ class A:\n", "+        y = 2\n"), reason);         // deeper than its lines
  EXPECT_EQ(made("@@ class A:\n", "+    y = 2\n+class C:\n"), reason);  // leaves its block
  EXPECT_EQ(made("@@ class Missing:\n", "+    y = 2\n"), reason);
}

}  // namespace
}  // namespace galley
