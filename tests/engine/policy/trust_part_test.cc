#include "engine/policy/trust_part.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/policy/user_config.h"

namespace galley {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kAll = R"(
[commit]
before_apply = ["pause", "the watcher"]
after_apply = ["resume"]
[sandbox]
fallback = "copy"
network = true
environment = ["TOKEN"]
readable = ["~/.cargo"]
timeout_ms = 600000
max_memory_bytes = "100 GiB"
max_written_bytes = 0
[[validator]]
name = "t\u202Eests\n"
command = ["sh", "-c", "echo \"é\""]
paths = ["*.py", "!a.py"]
keep = ["build"]
network = true
[validator.environment]
CI = "1"
[policy]
mode = "permissive"
[secrets]
in_files = true
[agents."a b"]
capabilities = ["fs:read", "custom:*", "!custom:deploy", "git:commit"]
[tools.Api]
timeout_ms = 90000
max_concurrent = 20
calls_per_minute = 6
config = { url = "https://example.org" }
)";

Config config_of(std::string_view text) {
  auto config = parse_config(text, "galley.toml");
  EXPECT_TRUE(config) << config.error().message;
  return config ? *config : Config();
}

TEST(TrustPart, EntriesThatOnlyRestrictDoNotNeedTrust) {
  const Config config = config_of(R"(
[policy]
protected = ["LICENSE"]
mode = "strict"
[agents.bot]
capabilities = ["fs:read", "!custom:deploy"]
[[validator]]
builtin = "json"
[sandbox]
timeout_ms = 1000
deny = ["curl"]
[tools.Read]
enabled = false
timeout_ms = 1000
max_concurrent = 1
calls_per_minute = 1
cache = false
secrets = ["TOKEN"]
)");
  EXPECT_TRUE(trust_part_of(config).is_empty());
}

TEST(TrustPart, TheTextIsTomlWithTheSameTrustPart) {
  const TrustPart part = trust_part_of(config_of(kAll));
  const TrustPart again = trust_part_of(config_of(part.text()));
  EXPECT_EQ(again.text(), part.text());
  EXPECT_EQ(again.hash(), part.hash());
}

TEST(TrustPart, TheTextHasOnlyPrintableAscii) {
  const std::string text = trust_part_of(config_of(kAll)).text();
  EXPECT_TRUE(std::all_of(text.begin(), text.end(),
                          [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }));
  EXPECT_THAT(text, HasSubstr(R"("t\U0000202Eests\U0000000A")"));
}

TEST(TrustPart, TheHashChangesOnlyWithKeysThatNeedTrust) {
  // Another value of each key; a key that is missing here fails the test below.
  const std::map<std::string, std::string> others = {
      {"commit.before_apply", "[commit]\nbefore_apply = [\"x\"]"},
      {"commit.after_apply", "[commit]\nafter_apply = [\"x\"]"},
      {"sandbox.fallback", "[sandbox]\nfallback = \"copy\""},
      {"sandbox.network", "[sandbox]\nnetwork = true"},
      {"sandbox.environment", "[sandbox]\nenvironment = [\"X\"]"},
      {"sandbox.readable", "[sandbox]\nreadable = [\"~/.cargo\"]"},
      {"sandbox.timeout_ms", "[sandbox]\ntimeout_ms = 900000"},
      {"sandbox.grace_ms", "[sandbox]\ngrace_ms = 900000"},
      {"sandbox.max_memory_bytes", "[sandbox]\nmax_memory_bytes = \"1 TiB\""},
      {"sandbox.max_processes", "[sandbox]\nmax_processes = 9999"},
      {"sandbox.max_file_bytes", "[sandbox]\nmax_file_bytes = \"1 TiB\""},
      {"sandbox.max_written_bytes", "[sandbox]\nmax_written_bytes = 0"},
      {"sandbox.max_output_bytes", "[sandbox]\nmax_output_bytes = \"1 GiB\""},
      {"sandbox.max_open_files", "[sandbox]\nmax_open_files = 9999"},
      {"policy.mode", "[policy]\nmode = \"permissive\""},
      {"secrets.in_files", "[secrets]\nin_files = true"},
      {"agents.NAME.capabilities", "[agents.bot]\ncapabilities = [\"custom:deploy\"]"},
      {"tools.NAME.timeout_ms", "[tools.x]\ntimeout_ms = 5001"},
      {"tools.NAME.max_memory_bytes", "[tools.x]\nmax_memory_bytes = \"5 GiB\""},
      {"tools.NAME.max_concurrent", "[tools.x]\nmax_concurrent = 11"},
      {"tools.NAME.max_queued", "[tools.x]\nmax_queued = 101"},
      {"tools.NAME.config", "[tools.x]\nconfig = {a = \"b\"}"},
  };
  const std::string empty_hash = TrustPart().hash().hex();
  const std::string base = "[[validator]]\nname = \"n\"\ncommand = [\"c\"]\n";
  const std::map<std::string, std::string> of_command = {
      {"name", "name = \"m\"\ncommand = [\"c\"]"},
      {"command", "name = \"n\"\ncommand = [\"d\"]"},
      {"paths", base + "paths = [\"x\"]"},
      {"agents", base + "agents = [\"x\"]"},
      {"severity", base + "severity = \"note\""},
      {"per_file", "name = \"n\"\ncommand = [\"c\", \"{file}\"]\nper_file = true"},
      {"timeout_ms", base + "timeout_ms = 7"},
      {"max_output_bytes", base + "max_output_bytes = 7"},
      {"parser", base + "parser = \"gcc\""},
      {"parser_regex", base + "parser = \"regex\"\nparser_regex = \"(?P<message>x)\""},
      {"parser_file", base + "parser = \"sarif\"\nparser_file = \"x\""},
      {"only_new", base + "only_new = true"},
      {"fix", base + "fix = true"},
      {"ok_exit", base + "ok_exit = [0, 1]"},
      {"findings_exit", base + "findings_exit = [1]"},
      {"keep", base + "keep = [\"x\"]"},
      {"inputs", base + "inputs = [\"x\"]"},
      {"cache", base + "cache = false"},
      {"network", base + "network = true"},
      {"environment", base + "environment = {X = \"1\"}"},
  };
  const std::string base_hash = trust_part_of(config_of(base)).hash().hex();
  for (const ConfigKey& key : config_keys()) {
    constexpr std::string_view kValidator = "validator[].";
    const bool is_of_validator = key.key.starts_with(kValidator);
    const std::string name = is_of_validator ? key.key.substr(kValidator.size()) : key.key;
    const auto& table = is_of_validator ? of_command : others;
    const auto other = table.find(name);
    ASSERT_EQ(other != table.end(), !key.untrusted.empty()) << key.key;
    if (other == table.end()) continue;
    std::string text = other->second;
    if (is_of_validator && !text.starts_with("[[")) text = "[[validator]]\n" + text;
    const std::string hash = trust_part_of(config_of(text)).hash().hex();
    EXPECT_NE(hash, is_of_validator ? base_hash : empty_hash) << key.key;
  }
}

TEST(TrustPart, RemovingItKeepsEntriesThatOnlyRestrict) {
  Config config = config_of(kAll);
  config.sandbox.deny = {"curl"};
  remove_untrusted(config);
  EXPECT_THAT(config.commit.before_apply, IsEmpty());
  EXPECT_THAT(config.commit.after_apply, IsEmpty());
  EXPECT_FALSE(config.sandbox.allows_network);
  EXPECT_EQ(config.sandbox.fallback, SandboxFallback::kRefuse);
  EXPECT_THAT(config.sandbox.environment, IsEmpty());
  EXPECT_THAT(config.sandbox.readable, IsEmpty());
  EXPECT_EQ(config.sandbox.timeout_ms, SandboxConfig().timeout_ms);
  EXPECT_EQ(config.sandbox.max_written_bytes, SandboxConfig().max_written_bytes);
  EXPECT_FALSE(config.validators.front().is_trusted);
  EXPECT_THAT(config.sandbox.deny, ElementsAre("curl"));
  EXPECT_TRUE(trust_part_of(config_of("")).is_empty());
  EXPECT_EQ(config.policy.mode, SecurityMode::kStandard);
  EXPECT_FALSE(config.secrets.in_files);
  std::vector<std::string> left;
  for (const Capability& one : config.agents.at("a b").capabilities) left.push_back(one.text);
  EXPECT_THAT(left, ElementsAre("fs:read", "!custom:deploy"));
  const ToolConfig& tool = config.tools.at("Api");
  EXPECT_TRUE(tool.only_narrows);
  EXPECT_EQ(tool.timeout_ms, 90'000U) << "it may be less than the tool has";
  EXPECT_EQ(tool.max_concurrent, 10U);
  EXPECT_EQ(tool.calls_per_minute, 6U);
  EXPECT_THAT(tool.config, IsEmpty());
  EXPECT_EQ(config.not_trusted.size(), 16U);
}

TEST(UserConfig, AHookMayHaveNoTimeLimit) {
  const auto config = parse_user_config("[commit]\nhook_timeout_ms = 0", "c");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->hook_timeout_ms, 0U);
  EXPECT_GE(UserConfig().hook_timeout_ms, 1'800'000U);
}

TEST(UserConfig, OnlyAbsoluteFoldersAndProgramsAreAccepted) {
  EXPECT_TRUE(parse_user_config("trusted_folders = [\"/src\"]\nsafe_directories = [\"*\"]", "c"));
  for (const char* bad : {"trusted_folders = [\"src\"]", "safe_directories = [\"src\"]",
                          "[commit]\nbefore_apply = [\"sh\"]", "trusted_folder = []"}) {
    EXPECT_FALSE(parse_user_config(bad, "c")) << bad;
  }
}

TEST(UserConfig, FoldersMayBeWrittenWithSpareSlashesAndDots) {
  const auto config = parse_user_config(
      "trusted_folders = [\"/a/./b//c/\", \"/a/../b\", \"/\"]\n"
      "safe_directories = [\"/srv//x/\", \"/srv/./y/*\", \"*\"]",
      "c");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_THAT(config->trusted_folders, ElementsAre("/a/b/c", "/a/../b", "/"));
  EXPECT_THAT(config->safe_directories, ElementsAre("/srv/x", "/srv/y/*", "*"));
}

TEST(UserConfig, ASpareSlashOrDotDoesNotSelectMore) {
  for (const char* bad :
       {"trusted_folders = [\"//\"]", "trusted_folders = [\"/.\"]", "safe_directories = [\"/.\"]",
        "safe_directories = [\"//*\"]", "safe_directories = [\"/srv/*/\"]",
        "safe_directories = [\"/srv/*/.\"]"}) {
    EXPECT_FALSE(parse_user_config(bad, "c")) << bad;
  }
}

}  // namespace
}  // namespace galley
