#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/policy/config.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

using ::testing::HasSubstr;
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

TEST(RecommendedConfig, EmptyWorkspaceGetsOneThatParses) {
  const TempDirectory tree;
  const auto text = recommended_config(tree.directory());
  ASSERT_TRUE(text);
  const auto config = parse_config(*text, "galley.toml");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_FALSE(config->policy.protected_paths.selects(rel("galley.toml")))
      << "it is protected without, and with `edits_configuration` on purpose not";
  EXPECT_THAT(*text, Not(HasSubstr("builtin = \"json\"")));
}

TEST(RecommendedConfig, FindsLanguagesFormattersAndTests) {
  const TempDirectory tree;
  tree.write("package.json",
             "{\"scripts\":{\"test\":\"x\"},\"devDependencies\":{\"prettier\":\"3\"}}");
  tree.write("pyproject.toml", "[tool.ruff]\n");
  tree.write("tests/test_a.py", "");
  tree.write("Cargo.toml", "");
  tree.write("go.mod", "");
  tree.write("CMakeLists.txt", "");
  tree.write(".clang-format", "");
  tree.write(".github/workflows/ci.yml", "");
  tree.write("deep/er/icon.svg", "<svg/>");
  tree.write("node_modules/x/a.plist", "");
  const auto text = recommended_config(tree.directory());
  ASSERT_TRUE(text);
  for (const char* expected :
       {"\n[[validator]]\nbuiltin = \"json\"", "\n[[validator]]\nbuiltin = \"toml\"",
        "\n[[validator]]\nbuiltin = \"yaml\"", "\n[[validator]]\nbuiltin = \"xml\"",
        "# name = \"clang-format\"", "# name = \"prettier\"", "# name = \"ruff\"",
        "# name = \"rustfmt\"", "# name = \"gofmt\"", "# name = \"npm test\"",
        "# name = \"cargo test\"", "# name = \"go test\"", "# name = \"pytest\"",
        "# name = \"build and test\""}) {
    EXPECT_THAT(*text, HasSubstr(expected));
  }
}

TEST(RecommendedConfig, ParsesWithEverySwitchOn) {
  const TempDirectory tree;
  tree.write("package.json",
             "{\"scripts\":{\"test\":\"x\"},\"devDependencies\":{\"prettier\":\"3\"}}");
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
