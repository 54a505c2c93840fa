#include "tools/custom_tool.h"

#include <gmock/gmock.h>

#include <utility>

#include "doubles/fake_command_runner.h"
#include "tools/tool_fixture.h"

namespace galley {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

CommandResult answered(std::string text) {
  CommandResult result;
  result.exit_code = 0;
  result.standard_output.head = std::move(text);
  return result;
}

class CustomTools : public ToolFixture {
 protected:
  CustomTools() {
    commands_ = &runner_;
    capabilities_ = {"fs:read", "fs:write", "exec:*", "net:host"};
  }

  /// Registers the tool `t` with these fields of its manifest.
  void add(json fields = json::object()) {
    json manifest = {{"name", "pack-t"},    {"version", "1.2.0"},
                     {"type", "tool"},      {"provides", {{"tool", "t"}}},
                     {"description", "T."}, {"executable", "bin/run"}};
    manifest.merge_patch(fields);
    auto parsed = CustomManifest::parse(manifest.dump(), "t");
    ASSERT_TRUE(parsed) << parsed.error().message;
    const auto added = registry_.add(
        make_custom_tool(*std::move(parsed), {"/tools/here", [this] { return check_; }}));
    ASSERT_TRUE(added) << added.error().message;
  }

  ToolError failed(const json& args = json::object()) {
    const ToolResult result = call("t", args);
    EXPECT_FALSE(result.ok);
    return result.error.value_or(ToolError());
  }
  std::string reason(const json& args = json::object()) {
    const ToolError error = failed(args);
    return std::string(to_string(error.code)) + " " + error.reason;
  }

  FakeCommandRunner::Answer answer_ = [](const Command&, Overlay&) {
    return answered(R"({"ok": true, "data": {}})");
  };
  FakeCommandRunner runner_{
      [this](const Command& command, Overlay& overlay) { return answer_(command, overlay); }};
  Result<void> check_;
};

TEST_F(CustomTools, TheRequestHasTheDocumentedMembers) {
  add();
  done("t", {{"a", {1, "x"}}});
  ASSERT_EQ(runner_.commands().size(), 1U);
  const Command& command = runner_.commands()[0];
  EXPECT_THAT(command.argv, ElementsAre("/tools/here/bin/run"));
  EXPECT_THAT(command.readable, ElementsAre("/tools/here"));
  EXPECT_EQ(command.effects, EffectsRule::kDrop) << "its manifest speaks of no writing";
  EXPECT_EQ(command.network, NetworkAccess::kNone);
  const json request = json::parse(command.input);
  EXPECT_EQ(request["protocol"], "galley.tool/1");
  EXPECT_EQ(request["tool"], "t");
  EXPECT_EQ(request["version"], "1.2.0");
  EXPECT_EQ(request["arguments"], json({{"a", {1, "x"}}}));
  EXPECT_EQ(request["context"]["agent"], "tester");
  EXPECT_EQ(request["context"]["workspace"], "/ws");
  EXPECT_EQ(request["context"]["timeout_ms"], 30'000);
  EXPECT_EQ(request["context"]["dry_run"], false);
}

TEST_F(CustomTools, TheManifestLimitsTheRun) {
  add({{"timeout_ms", 2500},
       {"capabilities",
        {{"resources", {{"memory", "64MB"}, {"cpus", 1.0}}}, {"network", {{"egress", {"*"}}}}}}});
  done("t", json::object());
  const Command& command = runner_.commands()[0];
  EXPECT_EQ(command.limits.wall, std::chrono::milliseconds(2500));
  EXPECT_EQ(command.limits.max_memory_bytes, uint64_t{64} << 20U);
  EXPECT_EQ(command.limits.cpu, std::chrono::seconds(3)) << "whole seconds, upwards";
  EXPECT_EQ(command.network, NetworkAccess::kHost);
  const auto intent = (*registry_.get("t"))->tool->intent({}, {"/ws"});
  EXPECT_TRUE(intent->is_open_ended);
  EXPECT_THAT(intent->programs, ElementsAre("run"));
  EXPECT_THAT((*registry_.get("t"))->tool->info().capabilities,
              ElementsAre("fs:read", "exec", "net:host"));
}

TEST_F(CustomTools, AnAnswerBecomesTheResultWithItsWarnings) {
  add();
  answer_ = [](const Command&, Overlay&) {
    CommandResult result = answered(R"({"ok": true, "data": {"n": 1}, "warnings": ["old"]})");
    result.peak_memory_bytes = 4096;
    return result;
  };
  const ToolResult result = call("t", json::object());
  ASSERT_TRUE(result.ok) << result.error->message;
  EXPECT_EQ((*result.data)["n"], 1);
  EXPECT_THAT(result.meta.warnings, ElementsAre("old"));
  EXPECT_EQ(result.meta.peak_memory, 4096);
}

TEST_F(CustomTools, AnErrorOfTheToolKeepsItsCode) {
  add();
  answer_ = [](const Command&, Overlay&) {
    return answered(R"({"ok": false, "error": {"code": "EPERMISSION", "message": "not you"}})");
  };
  ToolError error = failed();
  EXPECT_EQ(error.code, ToolErrorCode::kPermission);
  EXPECT_EQ(error.reason, "tool.failed");
  EXPECT_THAT(error.message, HasSubstr("not you"));
  EXPECT_FALSE(is_tool_defect(error)) << "it works";
  answer_ = [](const Command&, Overlay&) {
    CommandResult result = answered(R"({"ok": false, "error": {"code": "E42", "message": "no"}})");
    result.exit_code = 1;
    return result;
  };
  error = failed();
  EXPECT_EQ(error.code, ToolErrorCode::kRuntime);
  EXPECT_EQ((*error.details)["code"], "E42");
}

TEST_F(CustomTools, CodesOfNachosAndTransientReasonsAreMapped) {
  add();
  std::string code;
  answer_ = [&](const Command&, Overlay&) {
    return answered(R"({"ok": false, "error": {"message": "no", "code": ")" + code + "\"}}");
  };
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"VALIDATION_ERROR", "EVALIDATION tool.failed"},
      {"POLICY_DENIED", "EPERMISSION tool.failed"},
      {"EXECUTION_ERROR", "ERUNTIME tool.failed"},
      {"service.unavailable", "ERUNTIME service.unavailable"},
      {"tool.busy", "ERUNTIME tool.busy"},
      {"service.else", "ERUNTIME tool.failed"}};
  for (const auto& [said, expected] : cases) {
    code = said;
    EXPECT_EQ(reason(), expected) << said;
  }
  EXPECT_EQ((*failed().details)["code"], "service.else");
}

TEST_F(CustomTools, AToolWithoutAProgramIsAnError) {
  add({{"executable", nullptr}});
  EXPECT_EQ(reason(), "ERUNTIME tool.no_program");
  EXPECT_THAT(runner_.commands(), IsEmpty());
}

TEST_F(CustomTools, TimeoutsFloodsCrashesAndBadAnswersAreFaultsOfTheTool) {
  add();
  const auto fault = [this](CommandResult result) {
    answer_ = [result](const Command&, Overlay&) { return result; };
    const ToolError error = failed();
    EXPECT_TRUE(is_tool_defect(error)) << error.reason;
    EXPECT_THAT(error.message, HasSubstr("the tool 't'"));
    return std::string(to_string(error.code)) + " " + error.reason;
  };
  CommandResult hung;
  hung.exit_signal = 9;
  hung.breach = LimitBreach{LimitKind::kWall, 30'000, 30'004};
  EXPECT_EQ(fault(hung), "ETIMEOUT tool.timeout");
  CommandResult greedy;
  greedy.exit_signal = 9;
  greedy.breach = LimitBreach{LimitKind::kMemory, 1 << 20, 1 << 21};
  EXPECT_EQ(fault(greedy), "EQUOTA sandbox.quota_memory");
  CommandResult flood = answered("{\"ok\": true");
  flood.standard_output.omitted_bytes = 1 << 20;
  EXPECT_EQ(fault(flood), "EQUOTA limit.tool_output");
  EXPECT_EQ(fault(answered("Segmentation fault")), "ERUNTIME tool.output");
  CommandResult crash;
  crash.exit_signal = 11;
  EXPECT_EQ(fault(crash), "ERUNTIME tool.exit");
  CommandResult late = answered(R"({"ok": true, "data": {}})");
  late.exit_code = 3;
  EXPECT_EQ(fault(late), "ERUNTIME tool.exit") << "an answer counts when the program ended well";
  CommandResult odd = answered(R"({"ok": true, "data": {}})");
  odd.refused = {{"pipe", "is a FIFO"}};
  EXPECT_EQ(fault(odd), "ERUNTIME tool.effects");
}

TEST_F(CustomTools, StandardErrorOfTheProgramIsInTheError) {
  add();
  answer_ = [](const Command&, Overlay&) {
    CommandResult result;
    result.exit_code = 2;
    result.standard_error.head = "no module \x1b[31mfoo";
    return result;
  };
  EXPECT_EQ((*failed().details)["stderr"], "no module \\x1b[31mfoo");
}

TEST_F(CustomTools, ARetryTimeOfAServiceIsPassedOn) {
  add();
  answer_ = [](const Command&, Overlay&) {
    return answered(
        R"({"ok": false, "error": {"message": "too many", "retry_after_ms": 3600000}})");
  };
  const ToolError error = failed();
  EXPECT_EQ(error.code, ToolErrorCode::kQuota);
  EXPECT_EQ(error.reason, "service.rate_limited");
  EXPECT_EQ((*error.details)["retry_after_ms"], 3'600'000);
  EXPECT_FALSE(is_tool_defect(error));
}

TEST_F(CustomTools, WritesOutsideTheManifestAreRefused) {
  add({{"required_capabilities", {"fs:write:docs/**"}}});
  std::string path = "docs/a.md";
  answer_ = [&](const Command& command, Overlay& overlay) -> Result<CommandResult> {
    EXPECT_EQ(command.effects, EffectsRule::kStageOnSuccess);
    GALLEY_TRY(overlay.write(rel(path), "x\n"));
    CommandResult result = answered(R"({"ok": true, "data": {}})");
    result.effects_staged = true;
    return result;
  };
  done("t", json::object());
  EXPECT_EQ(staged("docs/a.md"), "x\n");
  path = "src/a.cc";
  const ToolError error = failed();
  EXPECT_EQ(error.code, ToolErrorCode::kPermission);
  EXPECT_EQ(error.reason, "tool.effects");
  EXPECT_THAT(error.message, HasSubstr("src/a.cc"));
}

TEST_F(CustomTools, AChangedToolDoesNotRun) {
  add();
  check_ = Result<void>(Error{ErrorKind::kRefused, "tool.changed", "changed", "", 0});
  EXPECT_EQ(reason(), "EPERMISSION tool.changed");
  EXPECT_THAT(runner_.commands(), IsEmpty());
}

TEST_F(CustomTools, SecretsAreOnlyInTheEnvironment) {
  add({{"secrets", {"API_KEY"}}});
  EXPECT_EQ(reason(), "EPERMISSION secret.unavailable");
  secrets_ = [](const std::string& key) -> std::optional<std::string> {
    if (key == "API_KEY") return "s3cret-value";
    return {};
  };
  done("t", json::object());
  const Command& command = runner_.commands().back();
  EXPECT_EQ(command.environment.at("API_KEY"), "s3cret-value");
  EXPECT_EQ(command.input.find("s3cret"), std::string::npos);
  EXPECT_THAT(command.argv, ElementsAre("/tools/here/bin/run"));
}

TEST_F(CustomTools, WithoutASandboxNothingRuns) {
  add();
  commands_ = nullptr;
  EXPECT_EQ(reason(), "EPERMISSION sandbox.unavailable");
}

}  // namespace
}  // namespace galley
