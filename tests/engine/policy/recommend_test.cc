#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/policy/config.h"
#include "engine/policy/recommend.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

std::string uncommented(const std::string& text) {
  std::string out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    const bool is_switch =
        line.starts_with("# ") && (line.find(" = ") != line.npos || line.starts_with("# ["));
    const bool is_prose = line.starts_with("# ---");
    out += (is_switch && !is_prose ? line.substr(2) : line) + "\n";
  }
  return out;
}

TEST(RecommendedConfig, ConfigurationForAnEmptyWorkspaceParses) {
  const TempDirectory tree;
  const auto text = recommended_config(tree.directory());
  ASSERT_TRUE(text);
  const auto config = parse_config(*text, "galley.toml");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_FALSE(config->policy.protected_paths.selects(rel("galley.toml")))
      << "it is protected without, and with `edits_configuration` on purpose not";
  EXPECT_THAT(*text, Not(HasSubstr("builtin = \"json\"")));
}

TEST(RecommendedConfig, SyntaxIsOnIfItsProgramAndALanguageAreFound) {
  const TempDirectory tree;
  FoundPrograms programs;
  programs.has_grammars = true;
  constexpr const char* kOn = "\n[[validator]]\nbuiltin = \"syntax\"";
  EXPECT_THAT(*recommended_config(tree.directory(), programs), Not(HasSubstr("syntax")));
  tree.write("a.cs", "class A {}\n");
  EXPECT_THAT(*recommended_config(tree.directory(), programs), HasSubstr(kOn));
  const auto without = recommended_config(tree.directory());
  EXPECT_THAT(*without, Not(HasSubstr(kOn)));
  EXPECT_THAT(*without, HasSubstr("# builtin = \"syntax\""));
  EXPECT_THAT(*without, HasSubstr("galley-syntax"));
  EXPECT_TRUE(parse_config(uncommented(*without), "galley.toml"));
}

void write_one_of_each_kind(const TempDirectory& tree) {
  tree.write("package.json", "{\"scripts\":{\"test\":\"x\",\"lint\":\"y\",\"build\":\"z\"}}");
  tree.write("node_modules/.bin/prettier", "");
  tree.write(".prettierrc", "{}");
  tree.write("pyproject.toml", "[tool.ruff]\n");
  tree.write("tests/test_a.py", "def f():\n  pass\ndef test_a():\n  pass\n");
  tree.write("Cargo.toml", "");
  tree.write("go.mod", "");
  tree.write("CMakeLists.txt", "project(x)\nadd_test(NAME x COMMAND x)\n");
  tree.write(".clang-format", "");
  tree.write(".github/workflows/ci.yml", "");
  tree.write("deep/er/icon.svg", "<svg/>");
  tree.write("node_modules/x/a.plist", "");
}

TEST(RecommendedConfig, FindsLanguagesFormattersAndTests) {
  const TempDirectory tree;
  write_one_of_each_kind(tree);
  const auto text = recommended_config(tree.directory());
  ASSERT_TRUE(text);
  for (const char* expected :
       {"\n[[validator]]\nbuiltin = \"json\"", "\n[[validator]]\nbuiltin = \"toml\"",
        "\n[[validator]]\nbuiltin = \"yaml\"", "\n[[validator]]\nbuiltin = \"xml\"",
        "# name = \"clang-format\"", "# name = \"prettier\"", "# name = \"ruff\"",
        "# name = \"ruff format\"", "# name = \"cargo fmt\"", "# name = \"gofmt\"",
        "# name = \"npm lint\"", "# name = \"npm test\"", "# name = \"cargo clippy\"",
        "# name = \"cargo test\"", "# name = \"go vet\"", "# name = \"go test\"",
        "# name = \"pytest\"", "# name = \"build and test\""}) {
    EXPECT_THAT(*text, HasSubstr(expected));
  }
  EXPECT_THAT(*text, Not(HasSubstr("npm build")));
  EXPECT_THAT(*text, Not(HasSubstr("cargo check"))) << "clippy reports the same";
  EXPECT_THAT(*text, HasSubstr("# --- galley run --layer ~/.npm --layer ~/.cache/pip --layer "
                               "~/.cargo --layer ~/.rustup --layer ~/go/pkg/mod -- COMMAND\n"));
}

TEST(RecommendedConfig, NoCommandWithoutAParserHasOnlyNew) {
  const TempDirectory tree;
  write_one_of_each_kind(tree);
  const auto config =
      parse_config(uncommented(*recommended_config(tree.directory())), "galley.toml");
  ASSERT_TRUE(config) << config.error().message;
  size_t commands = 0;
  for (const ValidatorConfig& one : config->validators) {
    commands += one.command.empty() ? 0 : 1;
    EXPECT_FALSE(one.only_new && one.parser == OutputParser::kNone) << one.name;
  }
  EXPECT_EQ(commands, 14U);
}

TEST(RecommendedConfig, NamesMissingProgramsAndTheFoldersOfFoundPrograms) {
  const TempDirectory tree;
  write_one_of_each_kind(tree);
  FoundPrograms programs;
  programs.has = [](std::string_view name) { return name != "go" && name != "cargo-clippy"; };
  programs.folders = [](std::string_view name) {
    return name == "cargo" ? std::vector<std::string>{"~/.cargo", "~/.rustup"}
                           : std::vector<std::string>();
  };
  const auto text = recommended_config(tree.directory(), programs);
  ASSERT_TRUE(text);
  EXPECT_THAT(*text, HasSubstr("not found here: cargo clippy, go vet, go test\n"));
  EXPECT_THAT(*text, HasSubstr("name = \"cargo check\""));
  EXPECT_THAT(*text, HasSubstr("# readable = [\"~/.cargo\", \"~/.rustup\"]"));
  EXPECT_THAT(*text, Not(HasSubstr("name = \"go vet\"")));
  EXPECT_THAT(*text, HasSubstr("name = \"gofmt\""));
  const auto config = parse_config(uncommented(*text), "galley.toml");
  ASSERT_TRUE(config) << config.error().message;
}

TEST(RecommendedConfig, CommandsAreSwitchedOnOnRequest) {
  const TempDirectory tree;
  write_one_of_each_kind(tree);
  FoundPrograms programs;
  programs.folders = [](std::string_view name) {
    return name == "cargo" ? std::vector<std::string>{"~/.cargo"} : std::vector<std::string>();
  };
  const auto commands_of = [&](FoundCommands commands) {
    const auto config =
        parse_config(*recommended_config(tree.directory(), programs, commands), "galley.toml");
    EXPECT_TRUE(config) << config.error().message;
    std::vector<std::string> names;
    for (const ValidatorConfig& one : config->validators) {
      if (one.builtin.empty()) names.push_back(one.name);
    }
    EXPECT_EQ(config->sandbox.readable.size(), names.empty() ? 0U : 1U);
    return names;
  };
  EXPECT_THAT(commands_of(FoundCommands::kAsComments), IsEmpty());
  EXPECT_THAT(commands_of(FoundCommands::kSwitchedOn), IsSupersetOf({"cargo clippy", "go vet"}));
}

TEST(RecommendedConfig, CommandsThatJudgeNothingAreNotRecommended) {
  const TempDirectory tree;
  tree.write("package.json",
             "{\"scripts\":{\"test\":\"echo \\\"Error: no test specified\\\" && exit 1\"},"
             "\"devDependencies\":{\"prettier\":\"3\",\"eslint\":\"9\"}}");
  tree.write("setup.py", "");
  tree.write("Makefile", "test := 1\n.PHONY: all\n");
  tree.write("build/x", "");
  const auto text = recommended_config(tree.directory());
  ASSERT_TRUE(text);
  for (const char* none : {"npm", "prettier", "eslint", "pytest", "unittest", "make"}) {
    EXPECT_THAT(*text, Not(HasSubstr(std::string("name = \"") + none)));
  }
}

TEST(RecommendedConfig, ConfigurationWithEverythingUncommentedParses) {
  const TempDirectory tree;
  tree.write("package.json", "{\"scripts\":{\"test\":\"x\"}}");
  tree.write("pyproject.toml", "[tool.black]\n");
  tree.write("a.py", "");
  tree.write("Cargo.toml", "");
  tree.write("Makefile", "all:\n\ntest: all\n");
  const auto text = recommended_config(tree.directory());
  ASSERT_TRUE(text);
  const std::string all = uncommented(*text);
  EXPECT_THAT(all, HasSubstr("\nname = \"make test\""));
  const auto config = parse_config(all, "galley.toml");
  ASSERT_TRUE(config) << config.error().message << "\n" << all;
  EXPECT_GE(config->validators.size(), 15U);
  EXPECT_EQ(config->policy.rules.size(), 2U);
}

}  // namespace
}  // namespace galley
