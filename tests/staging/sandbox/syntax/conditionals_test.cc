#include "staging/sandbox/syntax/source_text.h"

#include <gtest/gtest.h>

namespace galley {
namespace {

/// The lines that are left, joined by |.
std::string shown(std::string_view text, Conditionals which) {
  const std::string blanked = blank_conditionals(text, which);
  EXPECT_EQ(blanked.size(), text.size());
  std::string out;
  for (size_t begin = 0; begin < blanked.size();) {
    const size_t end = std::min(blanked.find('\n', begin), blanked.size());
    const std::string line = blanked.substr(begin, end - begin);
    if (line.find_first_not_of(" \r") != line.npos) out += (out.empty() ? "" : "|") + line;
    begin = end + 1;
  }
  return out;
}

constexpr auto kAll = Conditionals::kAllDefined;
constexpr auto kNone = Conditionals::kNoneDefined;

TEST(Conditionals, EachReadingHasOneBranch) {
  const char* text = "#ifdef A\nif (a) {\n#else\nif (b) {\n#endif\n}\n";
  EXPECT_EQ(shown(text, kAll), "if (a) {|}");
  EXPECT_EQ(shown(text, kNone), "if (b) {|}");
}

TEST(Conditionals, EqualConditionsHaveTheSameAnswer) {
  const char* text = "#ifdef A\n{\n#endif\nx\n#ifdef A\n}\n#endif\n#ifndef A\ny\n#endif\n";
  EXPECT_EQ(shown(text, kAll), "{|x|}");
  EXPECT_EQ(shown(text, kNone), "x|y");
}

TEST(Conditionals, AnIncludeGuardHidesNothing) {
  EXPECT_EQ(shown("#ifndef H\n#define H\nx\n#endif\n", kAll), "x");
  EXPECT_EQ(shown("#if !defined(H)\n#define H\nx\n#endif\n", kAll), "x");
}

TEST(Conditionals, TheBranchOfZeroIsHiddenAndThatOfOneIsShown) {
  for (const auto which : {kAll, kNone}) {
    EXPECT_EQ(shown("#if 0\nx\n#else\ny\n#endif\n", which), "y");
    EXPECT_EQ(shown("#if 1\nx\n#elif A\ny\n#endif\n", which), "x");
  }
}

TEST(Conditionals, ADirectiveContinuesAfterABackslashAndInAComment) {
  EXPECT_EQ(shown("#define F(x) \\\n  { x\ny\n", kAll), "y");
  EXPECT_EQ(shown("#define F /* {\n { */\ny\n", kAll), "y");
  EXPECT_EQ(shown("/*\n#if 0\n*/\ny\n", kAll), "/*|#if 0|*/|y");
  EXPECT_EQ(shown("s = \"/*\";\n#if 0\nx\n#endif\ny", kAll), "s = \"/*\";|y");
}

TEST(Conditionals, UnbalancedDirectivesAreAccepted) {
  EXPECT_EQ(shown("#endif\n#else\n#elif X\nx\n#if A", kAll), "x");
}

TEST(KnownTypes, UnknownTypesAreReplacedWithoutMovingOtherText) {
  EXPECT_EQ(with_known_types("let a: import(\"x\").B<C>;"), "let a: import_____.B<C>;");
  EXPECT_EQ(with_known_types("export type * from 'a'"), "export      * from 'a'");
  EXPECT_EQ(with_known_types("export type { A }"), "export type { A }");
  EXPECT_EQ(with_known_types("keyof readonly T[]"), "keyof          T[]");
  EXPECT_EQ(with_known_types("  global {\n"), "         {\n");
  EXPECT_EQ(with_known_types("import(\"x"), "import(\"x");
}

}  // namespace
}  // namespace galley
