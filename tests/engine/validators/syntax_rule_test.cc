#include "engine/validators/syntax_rule.h"

#include "engine/validators/validator_fixture.h"
#include "support/syntax_component.h"

namespace galley {
namespace {

using Kind = SyntaxError::Kind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

SyntaxAnswer unexpected_at(uint32_t offset) {
  return {false, {{Kind::kUnexpected, offset, offset + 1, offset, {}}}};
}

TEST(SyntaxRule, TheLanguageIsKnownByNameExceptForQtTranslations) {
  EXPECT_EQ(syntax_language("a/b.h", ""), SyntaxLanguage::kCHeader);
  EXPECT_EQ(syntax_language("b.tsx", ""), SyntaxLanguage::kTsx);
  EXPECT_EQ(syntax_language("b.d.mts", ""), SyntaxLanguage::kTypeScript);
  EXPECT_EQ(syntax_language("b.ts", "<?xml version"), std::nullopt);
  EXPECT_EQ(syntax_language("b.rs", ""), std::nullopt);
}

TEST(SyntaxRule, AnExistingErrorThatMovedIsNotReported) {
  const std::string before = "a\n@ b\n";
  const std::string after = "new\nnew\na\n  @ b\n";
  const SyntaxAnswer old_errors = unexpected_at(2);
  const SyntaxAnswer errors = unexpected_at(12);
  const ParsedText old{before, old_errors};
  EXPECT_EQ(broken_syntax(SyntaxLanguage::kPython, &old, {after, errors}), std::nullopt);
  EXPECT_NE(broken_syntax(SyntaxLanguage::kPython, nullptr, {after, errors}), std::nullopt);
}

TEST(SyntaxRule, AnAdditionalErrorIsReportedAtItsPlace) {
  const std::string before = "@ b\n";
  const std::string after = "@ b\nx\n@ b\n";
  const SyntaxAnswer old_errors = unexpected_at(0);
  SyntaxAnswer errors = unexpected_at(0);
  errors.errors.push_back({Kind::kUnexpected, 6, 7, 6, {}});
  const ParsedText old{before, old_errors};
  const auto complaint = broken_syntax(SyntaxLanguage::kPython, &old, {after, errors});
  ASSERT_TRUE(complaint);
  EXPECT_EQ(complaint->offset, 6U);
  EXPECT_EQ(complaint->message, "unexpected `@`");
}

TEST(SyntaxRule, InCAMacroExplainsAllErrorsExceptBracketsAndQuotes) {
  const std::string text = "API int f(void);\n(\n";
  EXPECT_EQ(broken_syntax(SyntaxLanguage::kC, nullptr, {text, unexpected_at(4)}), std::nullopt);
  const SyntaxAnswer bracket{false, {{Kind::kUnclosed, 17, 18, 17, {}}}};
  EXPECT_NE(broken_syntax(SyntaxLanguage::kC, nullptr, {text, bracket}), std::nullopt);
  const SyntaxAnswer quote{false, {{Kind::kUnexpected, 4, 5, 4, "\""}}};
  EXPECT_NE(broken_syntax(SyntaxLanguage::kC, nullptr, {text, quote}), std::nullopt);
}

TEST(SyntaxRule, InJavaScriptWithTypesOnlyBracketsAreReported) {
  const std::string text = "// @flow\nlet a: ?b = 1;\n(\n";
  EXPECT_EQ(broken_syntax(SyntaxLanguage::kJavaScript, nullptr, {text, unexpected_at(14)}),
            std::nullopt);
  const SyntaxAnswer bracket{false, {{Kind::kUnclosed, 24, 25, 24, {}}}};
  EXPECT_NE(broken_syntax(SyntaxLanguage::kJavaScript, nullptr, {text, bracket}), std::nullopt);
}

TEST(SyntaxRule, AnErrorOfOneBranchIsReportedOnlyWithABase) {
  SyntaxAnswer errors{false, {{Kind::kUnclosed, 0, 1, 0, {}}}};
  errors.errors[0].in_one_reading = true;
  const SyntaxAnswer none;
  const ParsedText before{"x\n", none};
  EXPECT_EQ(broken_syntax(SyntaxLanguage::kC, nullptr, {"(\n", errors}), std::nullopt);
  EXPECT_NE(broken_syntax(SyntaxLanguage::kC, &before, {"(\n", errors}), std::nullopt);
}

TEST(SyntaxRule, TemplatesOfACodeGeneratorAreNotReported) {
  const std::string text = "namespace <%=name%> {}\n";
  EXPECT_EQ(broken_syntax(SyntaxLanguage::kCSharp, nullptr, {text, unexpected_at(10)}),
            std::nullopt);
}

class BuiltinSyntax : public ValidatorFixture {};

TEST_F(BuiltinSyntax, WithoutItsProgramTheErrorNamesThePackage) {
  if (has_syntax_component()) GTEST_SKIP() << "galley-syntax is here";
  use("syntax");
  propose("a.rs", "fn (\n");
  EXPECT_TRUE(try_run()) << "no grammar is needed";
  propose("a.c", "int x;\n");
  const auto report = try_run();
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().reason, "syntax.not_installed");
  EXPECT_THAT(report.error().message, HasSubstr("install the package galley-syntax"));
}

class BuiltinSyntaxComponent : public ValidatorFixture {
 protected:
  void SetUp() override {
    if (!has_syntax_component()) GTEST_SKIP() << "galley-syntax is not built (GALLEY_SYNTAX)";
    use("syntax");
  }
};

TEST_F(BuiltinSyntaxComponent, ABrokenEditIsReportedWithBeginningAndEnd) {
  base("a.py", "def f():\n  return g(1)\n");
  propose("a.py", "def f():\n  return g(1\n\ndef h():\n  pass\n");
  const auto report = run();
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].rule, "syntax.error");
  EXPECT_GT(report.findings[0].end_line, 0U);
  EXPECT_GT(report.findings[0].end_column, 0U);
}

TEST_F(BuiltinSyntaxComponent, EachBrokenFileHasOneFinding) {
  propose("a.c", "int f(void) {\n  return g(1;\n}\nint h(void) { ( }\n");
  propose("b.ts", "export const a = {\n  b: 1,\n  c: [1, 2\n};\n");
  propose("c.cs", "class A { int B => 1; }\n");
  EXPECT_THAT(findings(), ElementsAre(HasSubstr("syntax.error a.c:2:"), HasSubstr("b.ts:")));
}

TEST_F(BuiltinSyntaxComponent, ErrorsOfTheBaseAreNotReported) {
  base("a.js", "let a = (;\nlet b = 1;\n");
  propose("a.js", "let a = (;\nlet b = 2;\n");
  EXPECT_THAT(findings(), IsEmpty());
  propose("a.js", "let a = (;\nlet b = [;\n");
  EXPECT_THAT(findings(), ElementsAre(HasSubstr("a.js:2:")));
}

// Limit: kMaxSyntaxBytes of staging/sandbox/syntax/wire.h
TEST_F(BuiltinSyntaxComponent, AFileOverTheLimitIsAFinding) {
  propose("a.c", std::string(kMaxSyntaxBytes + 1, '\n'));
  EXPECT_THAT(findings(), ElementsAre(HasSubstr("validator.too_large a.c")));
}

TEST_F(BuiltinSyntaxComponent, LargeBatchesAreJudgedAndCached) {
  MemoryValidatorCache cache;
  cache_ = &cache;
  use("syntax");
  const std::string wrong = "int (;\n";
  const std::string big = std::string(kMaxSyntaxBytes - wrong.size(), ' ') + wrong;
  propose("a.c", big);
  propose("b.c", big);
  propose("c.c", wrong);  // in another batch
  EXPECT_EQ(run().findings.size(), 3U);
  EXPECT_TRUE(run().was_cached);
}

}  // namespace
}  // namespace galley
