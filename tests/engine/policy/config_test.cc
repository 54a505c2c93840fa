#include "engine/policy/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "base/limits.h"
#include "doubles/memory_directory.h"
#include "engine/policy/config_table.h"
#include "engine/policy/toml_document.h"
#include "engine/policy/user_config.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAreArray;

std::string error_of(std::string_view text) {
  const auto config = parse_config(text, "galley.toml");
  return config ? "accepted" : config.error().message;
}
std::string config_reason(std::string_view text) {
  const auto config = parse_config(text, "galley.toml");
  return config ? "accepted" : config.error().reason;
}

TEST(Config, AbsentFileGivesTheDefaults) {
  const auto root = make_memory_directory();
  const auto config = load_config(*root);
  ASSERT_TRUE(config);
  EXPECT_TRUE(config->file.empty());
  EXPECT_TRUE(config->validators.empty());
  EXPECT_EQ(config->policy.default_decision, Decision::kAllow);
}

TEST(Config, EmptyFileGivesTheDefaults) {
  const auto config = parse_config("", "galley.toml");
  ASSERT_TRUE(config);
  EXPECT_TRUE(config->policy.rules.empty());
  EXPECT_TRUE(config->validators.empty());
}

TEST(Config, EverySectionIsRead) {
  const auto config = parse_config(R"(
[policy]
default = "ask"
protected = ["LICENSE", "galley.toml"]

[[policy.rule]]
name = "generated"
paths = ["gen/**", "!gen/README"]
agents = ["bot*"]
operations = ["modify", "delete"]
decision = "deny"
reason = "edit the schema"

[policy.effects]
max_files = 20
max_changed_bytes = "2 MiB"
over_limit = "ask"
binaries = "deny"

[agents.bot]
capabilities = ["fs:read", "fs:write:src/**", "!fs:write:src/gen/", "exec:git", "net:none"]
tools = ["Read", "Edit"]

[[validator]]
builtin = "size"
max_bytes = "64 kB"
severity = "warning"

[[validator]]
name = "lint"
command = ["lint", "{files}"]
paths = ["*.c"]
parser = "gcc"
only_new = true
ok_exit = [0, 3]
environment = { LANG = "C" }

[history]
keep_transactions = 5
[commit]
durability = "group"
isolation = "serializable"
hard_links = "refuse"
[sandbox]
fallback = "copy"
max_memory_bytes = "1 GiB"
deny = ["curl"]
[edits]
max_step = "offset"
[hook]
mode = "stage"
[tools.Bash]
timeout_ms = 3000
max_memory_bytes = "64 MiB"
calls_per_minute = 30
secrets = ["TOKEN"]
config = { shell = "sh" }
)",
                                   "galley.toml");
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->policy.default_decision, Decision::kAsk);
  ASSERT_EQ(config->policy.rules.size(), 1U);
  const PathRule& rule = config->policy.rules[0];
  EXPECT_EQ(rule.line, 6U);
  EXPECT_EQ(rule.operations, (std::vector{PathOperation::kModify, PathOperation::kDelete}));
  EXPECT_TRUE(rule.paths.selects(rel("gen/x")));
  EXPECT_FALSE(rule.paths.selects(rel("gen/README")));
  EXPECT_EQ(config->policy.effects.max_files.value, 20U);
  EXPECT_EQ(config->policy.effects.max_files.line, 15U);
  EXPECT_EQ(config->policy.effects.max_changed_bytes.value, 2U << 20U);
  EXPECT_EQ(config->agents.at("bot").capabilities.size(), 5U);
  ASSERT_EQ(config->validators.size(), 2U);
  EXPECT_EQ(config->validators[0].max_bytes, 64'000U);
  EXPECT_EQ(config->validators[0].name, "size");
  EXPECT_EQ(config->validators[0].severity, Severity::kWarning);
  EXPECT_EQ(config->validators[1].ok_exit, (std::vector{0, 3}));
  EXPECT_EQ(config->validators[1].environment.at("LANG"), "C");
  EXPECT_EQ(config->commit.isolation, Isolation::kSerializable);
  EXPECT_EQ(config->commit.hard_links, HardLinks::kRefuse);
  EXPECT_EQ(config->sandbox.fallback, SandboxFallback::kCopy);
  EXPECT_EQ(config->sandbox.max_memory_bytes, uint64_t{1} << 30U);
  EXPECT_EQ(config->edits.max_step, MatchStep::kOffset);
  EXPECT_EQ(Config().hook.mode, HookMode::kCommit);
  EXPECT_EQ(config->hook.mode, HookMode::kStage);
  const ToolConfig& tool = config->tools.at("Bash");
  EXPECT_TRUE(tool.is_enabled);
  EXPECT_EQ(tool.timeout_ms, 3'000U);
  EXPECT_EQ(tool.max_memory_bytes, 64U << 20U);
  EXPECT_EQ(tool.calls_per_minute, 30U);
  EXPECT_EQ(tool.config.at("shell"), "sh");
}

TEST(Config, SyntaxErrorHasLineAndColumn) {
  EXPECT_THAT(error_of("[policy]\ndefault = \n"), StartsWith("galley.toml:2:"));
  EXPECT_EQ(config_reason("[policy\n"), "config.syntax");
  EXPECT_EQ(config_reason("a = 1\na = 2\n"), "config.syntax");
}

TEST(Config, DocumentsThatBreakTheParserAreSyntaxErrors) {
  for (const auto* header : {"[[[a]]]", "[\x0f", "[=", "[[=", "[[[]]", "\ufef1"}) {
    EXPECT_THAT(error_of(header), StartsWith("galley.toml:1:")) << header;
    EXPECT_EQ(config_reason(header), "config.syntax") << header;
  }
}

TEST(Config, UnknownKeyIsRefusedWithASuggestion) {
  const std::string error = error_of("[policy]\ndefualt = \"deny\"\n");
  EXPECT_THAT(error, StartsWith("galley.toml:2:1: unknown key `policy.defualt`"));
  EXPECT_THAT(error, HasSubstr("did you mean 'default'?"));
  EXPECT_EQ(config_reason("[polic]\n"), "config.unknown_key");
  EXPECT_THAT(error_of("[zzz]\n"), HasSubstr("known here: policy, agents"));
  EXPECT_THAT(error_of("[[validator]]\nbuiltin = \"json\"\nsevrity = \"note\"\n"),
              HasSubstr("did you mean 'severity'"));
  EXPECT_THAT(error_of("[agents.bot]\ncapability = []\n"), HasSubstr("'capabilities'"));
  EXPECT_THAT(error_of("[[policy.rule]]\npath = [\"docs/\"]\ndecision = \"deny\"\n"),
              StartsWith("galley.toml:2:1: unknown key `policy.rule.path`; did you mean 'paths'?"));
  EXPECT_THAT(error_of("[tools.Read]\nmax_concurent = 1\n"),
              HasSubstr("did you mean 'max_concurrent'?"));
}

TEST(Config, WrongTypesAreNamed) {
  EXPECT_THAT(error_of("[policy]\ndefault = 3\n"),
              HasSubstr("`policy.default` must be a string, not an integer"));
  EXPECT_THAT(error_of("policy = 3\n"), HasSubstr("must be a table, written [policy]"));
  EXPECT_THAT(error_of("[policy]\nrule = 3\n"), HasSubstr("each written [[policy.rule]]"));
  EXPECT_THAT(error_of("[policy]\nprotected = [1]\n"), HasSubstr("array of strings"));
  EXPECT_THAT(error_of("[history]\nkeep_days = 1.5\n"), HasSubstr("an integer"));
  EXPECT_THAT(error_of("[sandbox]\nnetwork = \"no\"\n"), HasSubstr("true or false"));
  EXPECT_EQ(config_reason("[history]\nkeep_days = -1\n"), "config.value");
  EXPECT_EQ(config_reason("[sandbox]\ntimeout_ms = 99999999999\n"), "config.value");
}

// Limit: kMaxCallsPerMinute of engine/policy/tool_config.h
// Limit: kMaxToolTables of engine/policy/tool_config.h
TEST(Config, BadValuesAreRefusedWithASuggestion) {
  EXPECT_THAT(error_of("[policy]\ndefault = \"alow\"\n"), HasSubstr("did you mean 'allow'?"));
  EXPECT_THAT(error_of("[limits]\nmax_file_bytes = \"3 parsecs\"\n"), HasSubstr("KiB"));
  EXPECT_THAT(error_of("[policy]\nprotected = [\"ok\", \"a[b\"]\n"), HasSubstr("pattern `a[b`"));
  EXPECT_THAT(error_of("[[validator]]\nbuiltin = \"jsn\"\n"), HasSubstr("did you mean 'json'?"));
  EXPECT_THAT(error_of("[[validator]]\nname = \"x\"\n"), HasSubstr("`command` is needed"));
  EXPECT_THAT(error_of("[[validator]]\n"), HasSubstr("`command` is needed"));
  EXPECT_THAT(error_of("[[validator]]\nbuiltin = \"json\"\nfix = true\n"),
              HasSubstr("command validators only"));
  EXPECT_THAT(error_of("[[validator]]\nbuiltin = \"secrets\"\npatterns = [\"a\"]\n"),
              HasSubstr("only for the built-in validator `forbidden_text`"));
  EXPECT_THAT(error_of("[[validator]]\ncommand = [\"a\"]\nstyle = \"lf\"\n"),
              HasSubstr("only for the built-in validator `line_endings`"));
  EXPECT_THAT(error_of("[[validator]]\ncommand = [\"a\"]\nparser_file = \"b\"\n"),
              HasSubstr("needs `parser`"));
  EXPECT_THAT(error_of("[[validator]]\ncommand = [\"a\"]\nkeep = [\"../b\"]\n"),
              HasSubstr("workspace-relative"));
  EXPECT_THAT(error_of("[[validator]]\ncommand = [\"a\"]\nparser = \"regex\"\n"),
              HasSubstr("parser_regex"));
  EXPECT_THAT(error_of("[[validator]]\nbuiltin=\"json\"\n[[validator]]\nbuiltin=\"json\"\n"),
              HasSubstr("is taken"));
  EXPECT_THAT(error_of("[agents.x]\ncapabilities = [\"fs:fly\"]\n"), HasSubstr("fs takes read"));
  EXPECT_THAT(error_of("[[policy.rule]]\npaths = [\"a\"]\n"),
              HasSubstr("`policy.rule.decision` is missing"));
  EXPECT_THAT(error_of("[tools.x]\nmax_concurrent = 0\n"), HasSubstr("must be at least 1"));
  EXPECT_THAT(error_of("[tools.x]\ncalls_per_minute = 100001\n"), HasSubstr("100000"));
  std::string many;
  for (size_t i = 0; i <= kMaxToolTables; ++i) many += "[tools.t" + std::to_string(i) + "]\n";
  EXPECT_THAT(error_of(many), HasSubstr("more than 1000 tables"));
}

// Limit: kMaxConfigBytes of base/limits.h
TEST(Config, HugeAndDeepFilesAreRefused) {
  EXPECT_EQ(config_reason(std::string(limits::kMaxConfigBytes + 1, '#')), "limit.config_size");
  EXPECT_EQ(config_reason("a = " + std::string(100'000, '[')), "config.syntax");
}

std::string repeated(std::string_view text, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += text;
  return out;
}

// Limit: kMaxTomlDepth of engine/policy/toml_document.h
TEST(Config, DeepKeysAreAnErrorWithItsPlace) {
  const std::string parts = repeated("a.", 30'000) + "a";
  for (const std::string& text :
       {parts + " = 1\n", "[" + parts + "]\n", "[[" + parts + "]]\n", "x = {" + parts + " = 1}\n",
        repeated("\"a.b\".", 30'000) + "a = 1\n", "x = [{" + parts + " = 1}]\n",
        "x = " + repeated("{a.a.a = ", 60) + "1" + repeated("}", 60) + "\n",
        "[" + repeated("a.", 100) + "a]\n" + repeated("b.", 100) + "b = 1\n"}) {
    EXPECT_THAT(error_of(text), HasSubstr("nested deeper than 128 levels"));
    EXPECT_EQ(config_reason(text), "config.syntax");
  }
  EXPECT_THAT(error_of("\n\n[" + parts + "]\n"), StartsWith("galley.toml:3:255: "));
}

TEST(Config, StringsCommentsAndNumbersDoNotCountAsDepth) {
  const std::string deep = repeated("a.", 500) + repeated("[{", 500);
  std::string many;
  for (int i = 0; i < 500; ++i) many += "[a.b" + std::to_string(i) + "]\nc.d = 1.5\n";
  for (const std::string& text :
       {"x = '" + deep + "'\n", "x = \"" + deep + "\\\"" + deep + "\"\n", "# " + deep + "\n",
        "x = \"\"\"\n" + deep + "\n\\\"\"\" '\n" + deep + "\"\"\"\"\"\n",
        "x = '''\n" + deep + "'' '''\n", "x = [" + repeated("1.5, ", 500) + "]\n",
        "x = [\n" + repeated("[1.5],\n", 500) + "]\n", std::string("x = {a.b = 1, c.d = [1.5]}\n"),
        "[" + repeated("a.", 60) + "a]\n" + repeated("b.", 60) + "b = 1\n", many}) {
    const auto problem = find_toml_problem(text);
    EXPECT_FALSE(problem.has_value()) << problem->text << "\n" << text.substr(0, 60);
  }
}

TEST(Config, ASymlinkInsteadOfTheFileIsRefused) {
  const auto root = make_memory_directory();
  ASSERT_TRUE(root->make_symlink(rel("galley.toml"), "other.toml"));
  const auto config = load_config(*root);
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().reason, "config.not_a_file");
}

std::vector<std::string> names_of(std::span<const ConfigKeyText> texts) {
  std::vector<std::string> names;
  for (const ConfigKeyText& text : texts) names.emplace_back(text.key);
  return names;
}

std::vector<std::string> names_of(const std::vector<ConfigKey>& keys) {
  std::vector<std::string> names;
  for (const ConfigKey& key : keys) {
    names.push_back(key.key);
    EXPECT_THAT(key.meaning, EndsWith(".")) << key.key;
  }
  return names;
}

TEST(Config, EveryKeyHasATextAndEveryTextHasAKey) {
  EXPECT_THAT(names_of(config_keys()), UnorderedElementsAreArray(names_of(config_key_texts())));
  EXPECT_THAT(names_of(user_config_keys()),
              UnorderedElementsAreArray(names_of(user_config_key_texts())));
}

}  // namespace
}  // namespace galley
