// The options of a call reach the tool, its commands and the record, and are enforced.
#include <optional>
#include <stop_token>

#include "base/clock.h"
#include "doubles/fake_command_runner.h"
#include "support/json_equality.h"
#include "tests/engine/calls/executor_fixture.h"
#include "tools/tool_definition.h"

namespace galley {
namespace {

using std::chrono::milliseconds;

class CallContext : public ExecutorTest {
 protected:
  void put(const std::string& path, std::string text) {
    ASSERT_TRUE(overlay_.write(*RelPath::parse(path), std::move(text)));
  }
  /// Adds a tool that hands its context on.
  FunctionTool& add(const std::string& name, FunctionTool::Run run) {
    auto tool = std::make_unique<FunctionTool>(name, std::move(run));
    FunctionTool& kept = *tool;
    tools_.push_back(std::move(tool));
    return kept;
  }
  ToolResult call_own(const std::string& name) {
    for (auto& tool : tools_) {
      if (tool != nullptr) {
        EXPECT_TRUE(registry_.add(std::move(tool)));
      }
    }
    return call(name, json::object());
  }
  static ToolResult done() { return ToolResult::success(json::object()); }

  std::vector<std::unique_ptr<FunctionTool>> tools_;
  FakeCommandRunner runner_;
};

// --- definition -------------------------------------------------------------------------------

TEST_F(CallContext, TheDeclaredRiskIsRecorded) {
  FunctionTool& tool = add("Grave", [](const json&, ToolContext&) { return done(); });
  tool.definition().risk_level = ToolInfo::Risk::kCritical;
  tool.definition().annotations.read_only = true;
  EXPECT_TRUE(call_own("Grave").ok);
  EXPECT_EQ(records().back()["risk_level"], "critical");
}

TEST_F(CallContext, ADeprecatedToolIsCalledWithAWarning) {
  FunctionTool& tool = add("Old", [](const json&, ToolContext&) { return done(); });
  tool.definition().deprecated = "since 1.2.0, it is slow";
  tool.definition().successor = "New";
  const ToolResult result = call_own("Old");
  ASSERT_TRUE(result.ok);
  ASSERT_EQ(result.meta.warnings.size(), 1U);
  EXPECT_EQ(result.meta.warnings[0],
            "the tool 'Old' is deprecated: since 1.2.0, it is slow; use 'New'");
}

TEST_F(CallContext, DefaultsOfTheSchemaReachTheToolButNotTheRecord) {
  json seen;
  FunctionTool& tool = add("Ten", [&seen](const json& args, ToolContext&) {
    seen = args;
    return done();
  });
  tool.definition().input_schema =
      R"({"type":"object","properties":{"limit":{"type":"integer","default":10}}})";
  EXPECT_TRUE(call_own("Ten").ok);
  EXPECT_EQ(seen, json({{"limit", 10}}));
  EXPECT_EQ(records().back()["input"], json::object()) << "on record is what the caller said";
}

TEST_F(CallContext, IdsAmongTheArgumentsAreMovedToTheRecord) {
  json seen;
  std::string session;
  std::string id;
  const auto run = [&](const json& args, ToolContext& context) {
    seen = args;
    session = context.call.session_id;
    id = context.call.call_id;
    return done();
  };
  add("Closed", run).definition().input_schema =
      R"({"type":"object","additionalProperties":false,"properties":{"n":{"type":"integer"}}})";
  add("Named", run).definition().input_schema =
      R"({"type":"object","properties":{"callId":{"type":"string"}}})";
  EXPECT_TRUE(call_own("Closed").ok);
  const json ids = {{"sessionId", "s-1"}, {"callId", "c-1"}};
  EXPECT_EQ(said(call("Closed", ids)), "ok");
  EXPECT_EQ(seen, json::object());
  EXPECT_EQ(session + " " + id, "s-1 c-1");
  EXPECT_EQ(records().back()["session_id"], "s-1");
  EXPECT_EQ(records().back()["call_id"], "c-1");
  EXPECT_EQ(said(call("Closed", {{"sessionId", 1}})), "EVALIDATION args.schema");
  EXPECT_EQ(said(call("Named", ids)), "ok");
  EXPECT_EQ(seen, json({{"callId", "c-1"}})) << "the schema names it";
  options_.session_id = "own";
  EXPECT_EQ(said(call("Closed", ids)), "ok");
  EXPECT_EQ(records().back()["session_id"], "own") << "what the caller says itself counts first";
}

// --- time -------------------------------------------------------------------------------------

TEST_F(CallContext, TheCategoryDecidesTheTimeout) {
  for (const auto& [category, timeout] :
       std::vector<std::pair<ToolInfo::Category, int>>{{ToolInfo::Category::kDirect, 5'000},
                                                       {ToolInfo::Category::kApi, 10'000},
                                                       {ToolInfo::Category::kMcp, 10'000},
                                                       {ToolInfo::Category::kSystem, 30'000}}) {
    const std::string name = "Tool" + std::to_string(++ids_);
    milliseconds spent{timeout - 100};
    FunctionTool& tool = add(name, [&](const json&, ToolContext&) {
      clock_.pass(spent);
      return done();
    });
    tool.definition().category = category;
    EXPECT_EQ(said(call_own(name)), "ok") << timeout;
    spent += milliseconds(200);
    EXPECT_EQ(said(call(name, json::object())), "ETIMEOUT tool.timeout") << timeout;
    options_.timeout = 2 * spent;
    EXPECT_EQ(said(call(name, json::object())), "ok") << "the caller decides";
    options_.timeout.reset();
  }
  FunctionTool& quick = add("Quick", [&](const json&, ToolContext&) {
    clock_.pass(milliseconds(100));
    return done();
  });
  quick.definition().timeout = milliseconds(50);
  EXPECT_EQ(said(call_own("Quick")), "ETIMEOUT tool.timeout") << "the tool decides";
}

TEST_F(CallContext, ArgumentsCanRequestTheTimeoutOfACommand) {
  options_.commands = &runner_;
  EXPECT_TRUE(call("Bash", {{"command", "true"}}).ok);
  EXPECT_GT(*runner_.commands().back().limits.wall, milliseconds(500'000))
      << "sandbox.timeout_ms decides";
  EXPECT_TRUE(call("Bash", {{"command", "true"}, {"timeout", 30'000}}).ok);
  EXPECT_LE(*runner_.commands().back().limits.wall, milliseconds(30'000));
  options_.timeout = milliseconds(2'000);
  EXPECT_TRUE(call("Bash", {{"command", "true"}, {"timeout", 600'000}}).ok);
  EXPECT_LE(*runner_.commands().back().limits.wall, milliseconds(2'000));
}

TEST_F(CallContext, ASlowCallGetsAWarning) {
  for (const auto& [category, latency] :
       std::vector<std::pair<ToolInfo::Category, int>>{{ToolInfo::Category::kDirect, 1'000},
                                                       {ToolInfo::Category::kApi, 3'000},
                                                       {ToolInfo::Category::kMcp, 3'000},
                                                       {ToolInfo::Category::kSystem, 2'000}}) {
    const std::string name = "Tool" + std::to_string(++ids_);
    milliseconds spent{latency - 100};
    FunctionTool& tool = add(name, [&](const json&, ToolContext&) {
      clock_.pass(spent);
      return done();
    });
    tool.definition().category = category;
    EXPECT_TRUE(call_own(name).meta.warnings.empty()) << name;
    spent += milliseconds(200);
    const ToolResult slow = call(name, json::object());
    ASSERT_EQ(slow.meta.warnings.size(), 1U) << name;
    EXPECT_NE(slow.meta.warnings[0].find("at most " + std::to_string(latency)), std::string::npos)
        << slow.meta.warnings[0];
  }
}

// --- what a call took -------------------------------------------------------------------------

TEST_F(CallContext, TheResultListsTheResourcesOfTheCall) {
  const ToolResult written = call("Write", {{"file", "a.txt"}, {"content", "hello\n"}});
  EXPECT_EQ(written.meta.bytes_written, 6);
  EXPECT_EQ(written.meta.execution_id, records().back()["execution_id"]);
  EXPECT_EQ(written.meta.attempts, 1U);
  EXPECT_FALSE(written.meta.cached);
  EXPECT_EQ(call("Read", {{"file", "a.txt"}}).meta.bytes_written, 0);
}

TEST_F(CallContext, ResourcesOfCommandsAreAddedUp) {
  FakeCommandRunner heavy([](const Command&, Overlay&) -> Result<CommandResult> {
    CommandResult result;
    result.exit_code = 0;
    result.cpu = std::chrono::milliseconds(250);
    result.peak_memory_bytes = 77'000'000;
    return result;
  });
  options_.commands = &heavy;
  const ToolResult result = call("Bash", {{"command", "make"}});
  ASSERT_TRUE(result.ok) << result.error->message;
  EXPECT_GE(result.meta.cpu_ms, 250);
  EXPECT_EQ(result.meta.peak_memory, 77'000'000);
}

// Limit: kMaxToolCallBytes of tools/tool_definition.h
TEST_F(CallContext, CommandsOfAToolHaveItsMemoryLimit) {
  options_.commands = &runner_;
  FunctionTool& tool = add("Runs", [](const json&, ToolContext& context) {
    Command command;
    command.argv = {"true"};
    EXPECT_TRUE(context.commands->run(command, context.overlay));
    return done();
  });
  EXPECT_TRUE(call_own("Runs").ok);
  EXPECT_EQ(runner_.commands().back().limits.max_memory_bytes, kMaxToolCallBytes);
  EXPECT_TRUE(call("Bash", {{"command", "true"}}).ok);
  EXPECT_EQ(runner_.commands().back().limits.max_memory_bytes, kMaxAllToolsBytes);
  (void)tool;
}

/// Memory that raises the most that this process ever had by more than `bytes`.
std::vector<char> block_beyond(uint64_t bytes) {
  constexpr size_t kPage = 4096;
  std::vector<char> block(peak_resident_bytes() + bytes + kPage);
  for (size_t i = 0; i < block.size(); i += kPage) block[i] = 1;
  return block;
}

// Limit: kMaxToolInstanceBytes of tools/tool_definition.h
TEST_F(CallContext, ACallThatUsesTooMuchMemoryOfThisProcessGetsAWarning) {
  add("Heavy", [](const json&, ToolContext&) {
    const std::vector<char> block = block_beyond(kMaxToolCallBytes);
    return ToolResult::success({{"first", block.front()}});
  });
  const ToolResult result = call_own("Heavy");
  ASSERT_TRUE(result.ok);
  EXPECT_GT(result.meta.peak_memory, static_cast<int64_t>(kMaxToolCallBytes));
  ASSERT_FALSE(result.meta.warnings.empty());
  EXPECT_NE(result.meta.warnings[0].find("raised the memory"), std::string::npos);
}

/// A tool that makes itself ready, and large, when it is first asked about.
class LargeTool final : public Tool {
 public:
  LargeTool() {
    info_.name = "Large";
    info_.description = "Is large.";
    info_.input_schema = info_.output_schema = R"({"type":"object"})";
  }
  [[nodiscard]] const ToolInfo& info() const override {
    if (block_.empty()) block_ = block_beyond(kMaxToolInstanceBytes);
    return info_;
  }
  Result<Intent> intent(const json&, const PathOrigin&) const override { return Intent(); }
  ToolResult run(const json&, ToolContext&) const override {
    return ToolResult::success(json::object());
  }

 private:
  ToolInfo info_;
  mutable std::vector<char> block_;
};

TEST_F(CallContext, AToolThatIsItselfTooLargeGetsAWarning) {
  ASSERT_TRUE(registry_.add(std::make_unique<LargeTool>()));
  const ToolResult result = call("Large", json::object());
  ASSERT_TRUE(result.ok);
  ASSERT_FALSE(result.meta.warnings.empty());
  EXPECT_NE(result.meta.warnings[0].find("'Large' itself took"), std::string::npos);
}

// --- who asks, and where ----------------------------------------------------------------------

TEST_F(CallContext, OptionsOfTheCallerReachTheToolAndTheRecord) {
  options_.session_id = "session-1";
  options_.task_id = "task-1";
  options_.goal_id = "goal-1";
  options_.cwd = "src";
  options_.environment = {{"LANG", "C"}, {"API_KEY", "s3cret-thing"}};
  options_.only_capabilities = {"fs:read"};
  options_.only_programs = {"git"};
  options_.timeout = milliseconds(4'000);
  options_.deterministic = true;
  std::vector<uint64_t> steps;
  options_.progress = [&steps](uint64_t step, uint64_t) { steps.push_back(step); };
  put("src/a.txt", "a\n");
  FunctionTool& tool = add("Look", [](const json&, ToolContext& context) {
    EXPECT_EQ(context.call.session_id, "session-1");
    EXPECT_EQ(context.call.task_id, "task-1");
    EXPECT_EQ(context.call.goal_id, "goal-1");
    EXPECT_EQ(context.cwd.str(), "src");
    EXPECT_EQ(context.call.environment.at("LANG"), "C");
    EXPECT_EQ(context.capabilities, std::vector<std::string>{"fs:read"});
    EXPECT_EQ(context.call.only_programs, std::vector<std::string>{"git"});
    EXPECT_TRUE(context.deterministic);
    context.call.progress(1, 2);
    return done();
  });
  tool.definition().capabilities = {"fs:read"};
  EXPECT_EQ(said(call_own("Look")), "ok");
  EXPECT_EQ(steps, std::vector<uint64_t>{1});
  const json record = records().back();
  EXPECT_EQ(record["session_id"], "session-1");
  EXPECT_EQ(record["context"], json::parse(R"({"cwd":"src","deterministic":true,
    "environment":{"API_KEY":"[REDACTED:key]","LANG":"C"},"only_capabilities":["fs:read"],
    "only_programs":["git"],"timeout_ms":4000})"));
}

TEST_F(CallContext, NamesOfGivenSecretsAreRecorded) {
  options_.secrets = [](const std::string& name) -> std::optional<std::string> {
    if (name == "TOKEN") return "hunter2-secret";
    return {};
  };
  add("Asks", [](const json&, ToolContext& context) {
    EXPECT_TRUE(context.call.secrets("TOKEN"));
    EXPECT_FALSE(context.secrets("OTHER"));
    return done();
  });
  EXPECT_TRUE(call_own("Asks").ok);
  EXPECT_EQ(records().back()["secrets_used"], json::array({"TOKEN"}));
}

TEST_F(CallContext, RelativePathsStartFromTheFolderOfTheCall) {
  put("src/app/a.txt", "one\n");
  put("top.txt", "top\n");
  options_.cwd = "src/app";
  const auto read = [this](const std::string& path) {
    const ToolResult result = call("Read", {{"file", path}});
    return result.ok ? (*result.data)["content"].get<std::string>() : said(result);
  };
  EXPECT_EQ(read("a.txt"), "one\n");
  EXPECT_EQ(read("./a.txt"), "one\n");
  EXPECT_EQ(read("../../top.txt"), "top\n");
  EXPECT_EQ(read("/ws/top.txt"), "top\n");
  EXPECT_EQ(read("../../../top.txt"), "EPERMISSION path.outside");
  EXPECT_EQ(read("x/../a.txt"), "EVALIDATION path.invalid");
  EXPECT_EQ(read("x/../../../../top.txt"), "EPERMISSION path.outside");
  EXPECT_EQ((*call("Glob", {{"pattern", "*.txt"}}).data)["filenames"],
            json::array({"src/app/a.txt"}));
  EXPECT_EQ((*call("List", {{"path", ".."}}).data)["path"], "src");
  EXPECT_EQ((*call("List", {{"path", "/ws/../ws//."}}).data)["path"], ".");
  EXPECT_EQ(
      said(call("Edit", {{"file_path", "a.txt"}, {"old_string", "one"}, {"new_string", "two"}})),
      "ok");
  EXPECT_EQ(said(call("apply_patch", {{"input",
                                       "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n"
                                       "-two\n+three\n"}})),
            "ok");
  EXPECT_EQ(said(call("Edit", {{"file", "a.txt"}, {"patch", "@@ -1 +1 @@\n-three\n+four\n"}})),
            "ok");
  EXPECT_EQ(**overlay_.read(*RelPath::parse("src/app/a.txt")), "four\n");
  options_.commands = &runner_;
  EXPECT_EQ(said(call("Bash", {{"command", "ls"}})), "ok");
  EXPECT_EQ(runner_.commands().back().working_directory.str(), "src/app");
}

TEST_F(CallContext, AMissingOrOutsideWorkingDirectoryIsRefused) {
  put("file", "x");
  for (const auto& [cwd, reason] :
       std::vector<std::pair<std::string, std::string>>{{"none", "EVALIDATION call.cwd"},
                                                        {"file", "EVALIDATION call.cwd"},
                                                        {"/etc", "EPERMISSION path.outside"},
                                                        {"../up", "EPERMISSION path.outside"},
                                                        {".git", "EPERMISSION path.protected"}}) {
    options_.cwd = cwd;
    EXPECT_EQ(said(call("List", json::object())), reason) << cwd;
    EXPECT_EQ(records().back()["error"]["reason"], reason.substr(reason.find(' ') + 1)) << cwd;
  }
}

// Limit: kMaxEnvironmentBytes of engine/calls/call_scope.h
// Limit: kMaxEnvironmentNames of engine/calls/call_scope.h
TEST_F(CallContext, TheEnvironmentReachesCommandsButCannotChangeWhichProgramRuns) {
  options_.commands = &runner_;
  options_.environment = {{"CC", "clang"}};
  EXPECT_EQ(said(call("Bash", {{"command", "make"}})), "ok");
  EXPECT_EQ(runner_.commands().back().environment.at("CC"), "clang");
  for (const char* name : {"PATH", "LD_PRELOAD", "BASH_ENV", "GALLEY_TX", "A B", "", "1A"}) {
    options_.environment = {{name, "x"}};
    EXPECT_EQ(said(call("Bash", {{"command", "make"}})), "EVALIDATION call.environment") << name;
  }
  options_.environment = {{"A", std::string(kMaxEnvironmentBytes, 'x')}};
  EXPECT_EQ(said(call("Bash", {{"command", "make"}})), "EQUOTA limit.environment");
  EXPECT_EQ(runner_.commands().size(), 1U);
  options_.environment.clear();
  for (size_t i = 0; i < kMaxEnvironmentNames; ++i) {
    options_.environment["N" + std::to_string(i)] = "x";
  }
  EXPECT_EQ(said(call("Bash", {{"command", "make"}})), "ok");
  options_.environment["ONE_MORE"] = "x";
  EXPECT_EQ(said(call("Bash", {{"command", "make"}})), "EQUOTA limit.environment");
}

// --- narrowing --------------------------------------------------------------------------------

TEST_F(CallContext, CapabilitiesOfACallCanOnlyNarrow) {
  constexpr const char* kMissing = "EPERMISSION capability.missing";
  put("src/a.txt", "needle\n");
  put("b.txt", "needle\n");
  options_.only_capabilities = {"fs:read:src/**"};
  EXPECT_EQ(said(call("Read", {{"file", "src/a.txt"}})), "ok");
  EXPECT_EQ(said(call("Read", {{"file", "b.txt"}})), kMissing);
  EXPECT_EQ(said(call("Write", {{"file", "src/a.txt"}, {"content", ""}})), kMissing);
  EXPECT_EQ((*call("Grep", {{"pattern", "needle"}}).data)["filenames"], json::array({"src/a.txt"}));
  options_.capabilities = {"fs:read"};
  options_.only_capabilities = {"fs:read", "fs:write", "exec:*", "net:host"};
  EXPECT_EQ(said(call("Write", {{"file", "c.txt"}, {"content", ""}})), kMissing);
  EXPECT_EQ(said(call("Bash", {{"command", "true"}})), kMissing);
  options_.only_capabilities = {"nonsense:["};
  EXPECT_EQ(said(call("Read", {{"file", "b.txt"}})), "EVALIDATION capability.invalid");
}

TEST_F(CallContext, ChangesOfACommandAreCheckedAgainstTheCapabilitiesOfItsCall) {
  FakeCommandRunner writer([](const Command&, Overlay& overlay) -> Result<CommandResult> {
    EXPECT_TRUE(overlay.write(*RelPath::parse("out/made.txt"), "x"));
    CommandResult result;
    result.exit_code = 0;
    result.effects_staged = true;
    return result;
  });
  options_.commands = &writer;
  options_.only_capabilities = {"exec:*", "fs:write:src/**"};
  EXPECT_EQ(said(call("Bash", {{"command", "make"}})), "EPERMISSION capability.missing");
  EXPECT_TRUE(overlay_.changes().empty());
  options_.only_capabilities = {"exec:*", "fs:write:out/**"};
  EXPECT_EQ(said(call("Bash", {{"command", "make"}})), "ok");
}

TEST_F(CallContext, ProgramsOfACallCanOnlyNarrow) {
  constexpr const char* kMissing = "EPERMISSION capability.missing";
  options_.commands = &runner_;
  options_.only_programs = {"git"};
  EXPECT_EQ(said(call("Bash", {{"command", "git"}, {"args", {"status"}}})), "ok");
  EXPECT_EQ(runner_.commands().back().only_programs, std::vector<std::string>{"git"});
  EXPECT_EQ(said(call("Bash", {{"command", "make"}, {"args", json::array()}})), kMissing);
  EXPECT_EQ(said(call("Bash", {{"command", "git status"}})), kMissing) << "a line is run by sh";
  options_.capabilities = {"exec:make"};
  EXPECT_EQ(said(call("Bash", {{"command", "git"}, {"args", {"status"}}})), kMissing);
  options_.only_programs = {"!git"};
  EXPECT_EQ(said(call("Bash", {{"command", "make"}, {"args", json::array()}})),
            "EVALIDATION call.program");
}

// --- dry run ----------------------------------------------------------------------------------

TEST_F(CallContext, AToolThatActsOutsideOfTheTreeIsRefusedInADryRun) {
  constexpr const char* kOutside = "EPERMISSION call.dry_run_outside";
  int runs = 0;
  const auto counted = [&runs](const json&, ToolContext&) {
    ++runs;
    return done();
  };
  add("Api", counted).definition().category = ToolInfo::Category::kApi;
  add("Mcp", counted).definition().category = ToolInfo::Category::kMcp;
  add("Tier", counted).definition().security_tier = ToolInfo::Tier::kRestricted;
  options_.dry_run = true;
  EXPECT_EQ(said(call_own("Api")), kOutside);
  EXPECT_EQ(said(call("Mcp", json::object())), kOutside);
  EXPECT_EQ(said(call("Tier", json::object())), kOutside);
  EXPECT_EQ(runs, 0);
  options_.dry_run = false;
  EXPECT_EQ(said(call("Api", json::object())), "ok");
}

TEST_F(CallContext, ACommandOfADryRunHasNoNetwork) {
  options_.commands = &runner_;
  options_.capabilities = {"exec:*", "net:host"};
  EXPECT_EQ(said(call("Bash", {{"command", "curl"}})), "ok");
  EXPECT_EQ(runner_.commands().back().network, NetworkAccess::kHost);
  options_.dry_run = true;
  EXPECT_EQ(said(call("Bash", {{"command", "curl"}})), "ok");
  EXPECT_EQ(runner_.commands().back().network, NetworkAccess::kNone);
}

// --- stop -------------------------------------------------------------------------------------

TEST_F(CallContext, AStopEndsASearchBetweenFiles) {
  for (int i = 0; i < 10; ++i) put("f" + std::to_string(i), "needle\n");
  std::stop_source source;
  options_.stop = source.get_token();
  uint64_t searched = 0;
  options_.progress = [&](uint64_t files, uint64_t) {
    searched = files;
    if (files == 3) source.request_stop();
  };
  EXPECT_EQ(said(call("Grep", {{"pattern", "needle"}})), "ETIMEOUT call.cancelled");
  EXPECT_EQ(searched, 3U);
}

TEST_F(CallContext, AStopReachesAToolAndRevertsItsChanges) {
  std::stop_source source;
  options_.stop = source.get_token();
  add("Works", [&source](const json&, ToolContext& context) {
    EXPECT_TRUE(context.overlay.write(*RelPath::parse("half"), "x"));
    EXPECT_FALSE(context.is_over());
    source.request_stop();
    EXPECT_TRUE(context.is_over());
    return done();
  });
  EXPECT_EQ(said(call_own("Works")), "ETIMEOUT call.cancelled");
  EXPECT_TRUE(overlay_.changes().empty());
}

TEST_F(CallContext, AStopReachesEveryCommandOfATool) {
  std::stop_source source;
  options_.stop = source.get_token();
  FakeCommandRunner stops([&source](const Command& command, Overlay&) -> Result<CommandResult> {
    EXPECT_FALSE(command.stop.stop_requested());
    source.request_stop();
    EXPECT_TRUE(command.stop.stop_requested());
    CommandResult result;
    result.breach = LimitBreach{LimitKind::kCancelled, 0, 0};
    return result;
  });
  options_.commands = &stops;
  add("Runs", [](const json&, ToolContext& context) {
    Command command;  // it says nothing of a stop
    command.argv = {"sleep"};
    const auto result = context.commands->run(command, context.overlay);
    EXPECT_TRUE(result->breach);
    return done();
  });
  EXPECT_EQ(said(call_own("Runs")), "ETIMEOUT call.cancelled");
}

}  // namespace
}  // namespace galley
