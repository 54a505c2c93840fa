#include "engine/calls/executor.h"

#include <string>
#include <vector>

#include "engine/calls/seen_contents.h"
#include "tests/engine/calls/executor_fixture.h"

namespace galley {
namespace {

using nlohmann::json;

TEST_F(ExecutorTest, ACallIsPerformedAndRecorded) {
  const ToolResult result = call("Write", {{"file", "a.txt"}, {"content", "hello\n"}});
  ASSERT_TRUE(result.ok);
  EXPECT_FALSE(result.meta.started_at.empty());
  EXPECT_GT(result.meta.duration_ms, 0);
  EXPECT_EQ(overlay_.changes().size(), 1U);
  const auto all = records();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0]["kind"], "call");
  EXPECT_FALSE(all[0]["timestamp"].get<std::string>().empty());
  EXPECT_EQ(all[0]["tool"], "Write");
  EXPECT_EQ(all[0]["agent"], "bot");
  EXPECT_EQ(all[0]["reason"], "a test");
  EXPECT_EQ(all[0]["tx"], "t1");
  EXPECT_EQ(all[0]["risk_level"], "medium");
  EXPECT_EQ(all[0]["execution_id"], result.meta.execution_id);
  EXPECT_EQ(all[0]["input"]["file"], "a.txt");
  EXPECT_EQ(all[0]["output"]["written"], true);
  EXPECT_EQ(all[0]["capabilities_used"], json{"fs:write"});
}

TEST_F(ExecutorTest, BadArgumentsNeverReachTheTool) {
  const ToolResult result = call("Write", {{"file", "a.txt"}});
  EXPECT_EQ(said(result), "EVALIDATION args.schema");
  EXPECT_EQ((*result.error->details)["violations"][0]["message"],
            "the property 'content' is missing");
  EXPECT_EQ(records()[0]["error"]["code"], "EVALIDATION");
}

TEST_F(ExecutorTest, TwoNamesOfOneArgumentMustHaveTheSameValue) {
  const json content = {{"content", "x\n"}};
  const json patch = {{"patch", "@@ -0,0 +1 @@\n+x\n"}};
  using Names = std::vector<std::string>;
  for (const auto& [tool, more, names] :
       {std::tuple("Write", content, Names{"file", "file_path"}),
        std::tuple("write_file", content, Names{"path", "file_path"}),
        std::tuple("Edit", patch, Names{"file", "file_path"}),
        std::tuple("Read", json::object(), Names{"file", "file_path"})}) {
    json args = more;
    for (const std::string& name : names) args[name] = "a.txt";
    EXPECT_NE(said(call(tool, args)), "EVALIDATION args.mixed") << tool;
    args[names.back()] = "b.txt";
    EXPECT_EQ(said(call(tool, args)), "EVALIDATION args.mixed") << tool;
  }
}

TEST_F(ExecutorTest, AnUnknownToolIsRefusedWithASuggestionAndRecorded) {
  const ToolResult result = call("Wriet", json::object());
  EXPECT_EQ(said(result), "EVALIDATION tool.unknown");
  EXPECT_NE(result.error->message.find("did you mean 'Write'?"), std::string::npos);
  EXPECT_EQ(records().size(), 1U);
}

TEST_F(ExecutorTest, CapabilitiesCanBeLimitedToPaths) {
  options_.capabilities = {"fs:read", "fs:write:src/**"};
  EXPECT_EQ(said(call("Write", {{"file", "src/a.txt"}, {"content", ""}})), "ok");
  EXPECT_EQ(said(call("Write", {{"file", "b.txt"}, {"content", ""}})),
            "EPERMISSION capability.missing");
  EXPECT_EQ(said(call("Bash", {{"command", "true"}})), "EPERMISSION capability.missing");
  options_.capabilities = {"fs:read"};
  EXPECT_EQ(said(call("Write", {{"file", "src/b.txt"}, {"content", ""}})),
            "EPERMISSION capability.missing");
  options_.capabilities = {"fs:read", "fs:write", "!fs:write:secret/**"};
  EXPECT_EQ(said(call("Move", {{"source", "src/a.txt"}, {"destination", "secret/a"}})),
            "EPERMISSION capability.missing");
  EXPECT_EQ(overlay_.changes().size(), 2U) << "src and src/a.txt";
}

TEST_F(ExecutorTest, AMalformedCapabilityRefusesTheCall) {
  options_.capabilities = {"fs:write:["};
  EXPECT_EQ(said(call("Write", {{"file", "a"}, {"content", ""}})),
            "EVALIDATION capability.invalid");
}

TEST_F(ExecutorTest, ProgramsAreGrantedByName) {
  options_.capabilities = {"exec:git"};
  EXPECT_EQ(said(call("Bash", {{"command", "git"}, {"args", {"status"}}})),
            "EPERMISSION sandbox.unavailable");
  EXPECT_EQ(said(call("Bash", {{"command", "make"}, {"args", json::array()}})),
            "EPERMISSION capability.missing");
  EXPECT_EQ(said(call("Bash", {{"command", "./git"}, {"args", json::array()}})),
            "EPERMISSION capability.missing");
  EXPECT_EQ(said(call("Bash", {{"command", "git status"}})), "EPERMISSION capability.missing")
      << "a shell line is run by the shell, not by git";
}

TEST_F(ExecutorTest, AMissingCapabilityIsRefusedInEveryDomain) {
  const auto said_of_a_tool_that_needs = [this](const std::string& needed) {
    const std::string name = "Needs" + std::to_string(++ids_);
    auto tool = std::make_unique<FunctionTool>(
        name, [](const json&, ToolContext&) { return ToolResult::success(json::object()); });
    tool->need(needed);
    EXPECT_TRUE(registry_.add(std::move(tool)));
    const ToolResult result = call(name, json::object());
    if (!result.ok) {
      EXPECT_NE(result.error->message.find("capability '" + needed + "'"), std::string::npos);
    }
    return said(result);
  };
  constexpr const char* kMissing = "EPERMISSION capability.missing";
  options_.capabilities = {"fs:read"};
  for (const char* needed : {"net:host", "net", "db:write", "exec", "exec:git", "fs:write"}) {
    EXPECT_EQ(said_of_a_tool_that_needs(needed), kMissing) << needed;
  }
  options_.capabilities = {"net:host", "exec:git", "fs:write:src/**"};
  for (const char* needed : {"net:host", "net", "exec", "exec:git", "fs:write"}) {
    EXPECT_EQ(said_of_a_tool_that_needs(needed), "ok") << needed;
  }
  options_.capabilities = {"net:host", "!net:host", "exec:*", "!exec:git"};
  for (const char* needed : {"net:host", "exec:git"}) {
    EXPECT_EQ(said_of_a_tool_that_needs(needed), kMissing) << needed;
  }
}

TEST_F(ExecutorTest, TheEarlyPolicyRefusesACallByItsIntent) {
  judge_by("[policy]\nprotected = [\"b\"]\n");
  ASSERT_TRUE(call("Write", {{"file", "a"}, {"content", "x"}}).ok);
  EXPECT_EQ(said(call("Move", {{"source", "a"}, {"destination", "/ws/b"}})),
            "EPERMISSION policy.path");
  EXPECT_EQ(overlay_.changes().size(), 1U) << "the move was not begun";
}

TEST_F(ExecutorTest, ADryRunShowsTheDiffAndStagesNothing) {
  options_.dry_run = true;
  const ToolResult result = call("Write", {{"file", "a.txt"}, {"content", "x\n"}});
  ASSERT_TRUE(result.ok);
  EXPECT_TRUE(result.meta.dry_run);
  EXPECT_EQ((*result.data)["staged"], false);
  EXPECT_NE((*result.data)["diff"].get<std::string>().find("+x"), std::string::npos);
  EXPECT_TRUE(overlay_.changes().empty());
  EXPECT_EQ(records()[0]["kind"], "call.dry_run");
}

TEST_F(ExecutorTest, ChangesOfAFailingToolAreReverted) {
  ASSERT_TRUE(
      registry_.add(std::make_unique<FunctionTool>("Half", [](const json&, ToolContext& context) {
        EXPECT_TRUE(context.overlay.write(*RelPath::parse("half.txt"), "x"));
        return ToolResult::failure({ToolErrorCode::kRuntime, "half.done", "sorry", nullptr});
      })));
  EXPECT_EQ(said(call("Half", json::object())), "ERUNTIME half.done");
  EXPECT_TRUE(overlay_.changes().empty());
}

TEST_F(ExecutorTest, AnExceptionOfAToolIsAnErrorAndItsChangesAreReverted) {
  ASSERT_TRUE(registry_.add(
      std::make_unique<FunctionTool>("Throw", [](const json&, ToolContext& context) -> ToolResult {
        EXPECT_TRUE(context.overlay.write(*RelPath::parse("half.txt"), "x"));
        throw std::runtime_error("boom");
      })));
  const ToolResult result = call("Throw", json::object());
  EXPECT_EQ(said(result), "ERUNTIME tool.threw");
  EXPECT_TRUE(overlay_.changes().empty());
  EXPECT_EQ(to_json(result).dump().find("boom"), std::string::npos) << "the caller is not told";
  EXPECT_EQ(records().back()["error"]["cause"], "boom");
}

TEST_F(ExecutorTest, AResultThatViolatesItsSchemaIsAnErrorAndIsReverted) {
  ASSERT_TRUE(registry_.add(std::make_unique<FunctionTool>(
      "Wrong",
      [](const json&, ToolContext& context) {
        EXPECT_TRUE(context.overlay.write(*RelPath::parse("x.txt"), "x"));
        return ToolResult::success({{"n", "text"}});
      },
      R"({"type":"object","properties":{"n":{"type":"integer"}}})")));
  EXPECT_EQ(said(call("Wrong", json::object())), "ERUNTIME tool.output");
  EXPECT_TRUE(overlay_.changes().empty());
}

TEST_F(ExecutorTest, ChangesOfAToolThatMissesItsDeadlineAreReverted) {
  clock_.step_by(std::chrono::seconds(1));
  options_.timeout = std::chrono::milliseconds(500);
  EXPECT_EQ(said(call("Write", {{"file", "a.txt"}, {"content", "x"}})), "ETIMEOUT tool.timeout");
  EXPECT_TRUE(overlay_.changes().empty());
}

TEST_F(ExecutorTest, ACallThatCannotBeRecordedIsReverted) {
  auto head = galley_->open_writable_file(*RelPath::parse("audit.head"), OpenMode::kOpenOrCreate);
  ASSERT_TRUE(*(*head)->try_lock(LockMode::kExclusive));
  EXPECT_EQ(said(call("Write", {{"file", "a.txt"}, {"content", "x"}})), "ETIMEOUT audit.locked");
  EXPECT_TRUE(overlay_.changes().empty());
}

TEST_F(ExecutorTest, ACallWithoutAnEffectThatCannotBeRecordedIsAnsweredWithAWarning) {
  auto head = galley_->open_writable_file(*RelPath::parse("audit.head"), OpenMode::kOpenOrCreate);
  ASSERT_TRUE(*(*head)->try_lock(LockMode::kExclusive));
  const ToolResult missing = call("Read", {{"file", "gone.txt"}});
  EXPECT_EQ(missing.error->reason, "path.not_found");
  ASSERT_NE(unrecorded_warning(missing.meta), nullptr);
  options_.dry_run = true;
  const ToolResult tried = call("Write", {{"file", "a.txt"}, {"content", "x"}});
  EXPECT_TRUE(tried.ok);
  EXPECT_NE(unrecorded_warning(tried.meta), nullptr);
}

TEST_F(ExecutorTest, WithoutALogCallsStillWork) {
  log_.reset();
  EXPECT_TRUE(call("Write", {{"file", "a.txt"}, {"content", "x"}}).ok);
  EXPECT_TRUE(records().empty());
}

TEST_F(ExecutorTest, GivenSecretsAreRedactedInResultsLogsAndRecords) {
  options_.secrets = [](const std::string&) {
    return std::optional<std::string>("hunter2-secret");
  };
  std::string logged;
  options_.logger = [&](const ToolLog& log) { logged += log.text; };
  ASSERT_TRUE(
      registry_.add(std::make_unique<FunctionTool>("Leak", [](const json&, ToolContext& context) {
        const std::string value = *context.secrets("TOKEN");
        context.logger({ToolLog::Stream::kStdout, "log hunter2"});
        context.logger({ToolLog::Stream::kStdout, "-secret end"});
        return ToolResult::success({{"out", "got " + value}});
      })));
  const ToolResult result = call("Leak", json::object());
  EXPECT_EQ((*result.data)["out"], "got [REDACTED:env.TOKEN]");
  EXPECT_EQ(logged, "log [REDACTED:env.TOKEN] end");
  EXPECT_EQ(records()[0]["output"]["out"], "got [REDACTED:env.TOKEN]");
}

TEST_F(ExecutorTest, StagedCallsAreAllOrNothing) {
  Executor executor(&registry_, recorder_, clock_, options_);
  const auto good = executor.stage_calls(
      overlay_, {make("Write", {{"file", "a.txt"}, {"content", "1\n"}}),
                 make("Edit", {{"file_path", "a.txt"}, {"old_string", "1"}, {"new_string", "2"}})});
  ASSERT_TRUE(good.ok());
  EXPECT_EQ(good.results.size(), 2U);
  EXPECT_EQ(**overlay_.read(*RelPath::parse("a.txt")), "2\n");
  const ChangeSet before = overlay_.changes();
  const auto bad =
      executor.stage_calls(overlay_, {make("Write", {{"file", "b.txt"}, {"content", ""}}),
                                      make("Delete", {{"path", "missing"}}),
                                      make("Write", {{"file", "c.txt"}, {"content", ""}})});
  EXPECT_FALSE(bad.ok());
  EXPECT_EQ(bad.results.size(), 2U);
  EXPECT_EQ(overlay_.changes(), before);
  EXPECT_EQ(records().back()["kind"], "calls.dropped");
}

TEST_F(ExecutorTest, CallsOfADryRunSeeTheChangesOfEarlierOnes) {
  options_.dry_run = true;
  Executor executor(&registry_, recorder_, clock_, options_);
  const auto staged = executor.stage_calls(
      overlay_,
      {make("Write", {{"file", "a.txt"}, {"content", "1\n"}}), make("Read", {{"file", "a.txt"}})});
  ASSERT_TRUE(staged.ok());
  EXPECT_EQ((*staged.results[1].data)["content"], "1\n");
  EXPECT_TRUE(overlay_.changes().empty());
}

TEST_F(ExecutorTest, AProgramIsRecordedBeforeItStarts) {
  Executor executor(&registry_, recorder_, clock_, options_);
  Action action;
  action.record.kind = AuditKind::kExec;
  action.runs_program = true;
  std::vector<json> while_it_ran;
  const auto done = executor.perform(&overlay_, action, [&](AuditEvent&) -> Result<void> {
    while_it_ran = records();
    return {};
  });
  ASSERT_TRUE(done);
  ASSERT_EQ(while_it_ran.size(), 1U);
  EXPECT_EQ(while_it_ran[0]["kind"], "begun");
  EXPECT_EQ(while_it_ran[0]["agent"], "bot");
  const auto all = records();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1]["kind"], "exec");
  EXPECT_EQ(while_it_ran[0]["execution_id"],
            all[1]["execution_id"].get<std::string>() + std::string(kBegunSuffix));
}

TEST_F(ExecutorTest, ARefusedProgramIsNotRecordedAsBegun) {
  judge_by("[agents.bot]\ntools = [\"Read\"]\n");
  Executor executor(&registry_, recorder_, clock_, options_);
  Action action;
  action.record.kind = AuditKind::kExec;
  action.tools = {"Bash"};
  action.runs_program = true;
  EXPECT_FALSE(executor.perform(&overlay_, action, [](AuditEvent&) -> Result<void> {
    ADD_FAILURE() << "it was done";
    return {};
  }));
  ASSERT_EQ(records().size(), 1U);
  EXPECT_EQ(records()[0]["kind"], "exec");
}

// --- the call that was meant --------------------------------------------------------------------

class MeantCall : public ExecutorTest {
 protected:
  MeantCall() {
    EXPECT_TRUE(make_directories(*workspace_, *RelPath::parse("src"), 0755));
    auto file =
        workspace_->open_writable_file(*RelPath::parse("src/a.c"), OpenMode::kOpenOrCreate, 0644);
    EXPECT_TRUE(file && (*file)->write_at(0, "int a;\nint b;\n"));
  }

  /// The correction in a refusal; null if there is none. A refused call stages nothing, and only
  /// the call itself is recorded.
  json correction(const std::string& tool, const json& args) {
    const size_t before = records().size();
    const ToolResult result = call(tool, args);
    EXPECT_FALSE(result.ok);
    EXPECT_TRUE(overlay_.changes().empty());
    EXPECT_EQ(records().size(), before + 1);
    said_ = result.ok ? "" : said(result) + ": " + result.error->message;
    const bool has_one = !result.ok && result.error->details != nullptr &&
                         result.error->details->contains("correction");
    return has_one ? json(result.error->details->at("correction")) : json();
  }

  std::string said_;  ///< the last refusal
  const json good_ = {{"file_path", "src/a.c"}, {"old_string", "int b"}, {"new_string", "int x"}};
};

TEST_F(MeantCall, OfAPathOfAnotherRootHasItsFileNamed) {
  const auto has_name = [&] { return said_.find("'src/a.c'") != std::string::npos; };
  for (const std::string root : {"/workspace/", "/testbed/", "/home/user/project/"}) {
    json args = good_;
    args["file_path"] = root + "src/a.c";
    EXPECT_EQ(correction("Edit", args), json()) << "it may mean another file";
    EXPECT_TRUE(said_.starts_with("EPERMISSION path.outside")) << said_;
    EXPECT_TRUE(has_name()) << said_;
  }
  EXPECT_EQ(correction("Write", {{"file_path", "/tmp/a.c"}, {"content", "x"}}), json());
  EXPECT_TRUE(has_name()) << said_;
  EXPECT_EQ(correction("Read", {{"file_path", "/workspace/src/none.c"}}), json());
  EXPECT_FALSE(has_name()) << said_;
}

TEST_F(MeantCall, OfAFileThatMayNotBeReadIsNotNamed) {
  options_.only_capabilities = {"fs:read:docs/**", "fs:write"};
  json args = good_;
  args["file_path"] = "/workspace/src/a.c";
  EXPECT_EQ(correction("Edit", args), json());
  EXPECT_EQ(said_.find("'src/a.c'"), std::string::npos) << said_;
}

TEST_F(MeantCall, HasTheNamesOfTheToolInPlaceOfOtherUsualOnes) {
  EXPECT_EQ(
      correction("Edit", {{"filePath", "src/a.c"}, {"old_str", "int b"}, {"new_str", "int x"}}),
      good_);
  EXPECT_TRUE(said_.starts_with("EVALIDATION args.schema")) << said_;
  EXPECT_NE(said_.find("'old_str' is called 'old_string' here"), std::string::npos) << said_;
  EXPECT_EQ(correction("MultiEdit", {{"filename", "src/a.c"},
                                     {"edits", {{{"old_str", "int b"}, {"new_str", "int x"}}}}}),
            json({{"file_path", "src/a.c"},
                  {"edits", {{{"old_string", "int b"}, {"new_string", "int x"}}}}}));
  EXPECT_EQ(correction("Write", {{"path", "new.c"}, {"contents", "x"}}),
            json({{"file_path", "new.c"}, {"content", "x"}}));
  EXPECT_EQ(correction("str_replace_editor",
                       {{"command", "create"}, {"file_path", "new.c"}, {"content", "x"}}),
            json({{"command", "create"}, {"path", "new.c"}, {"file_text", "x"}}));
  EXPECT_EQ(correction("Bash", {{"cmd", "ls"}}), json({{"command", "ls"}}));
  // Two names of one argument, and a name that means nothing.
  json both = good_;
  both["path"] = "src/b.c";
  EXPECT_EQ(correction("Edit", both), json());
  json two = {
      {"path", "src/a.c"}, {"filePath", "src/b.c"}, {"old_string", "a"}, {"new_string", "b"}};
  EXPECT_EQ(correction("Edit", two), json());
  json other = good_;
  other["why"] = "so";
  EXPECT_EQ(correction("Edit", other), json());
}

TEST_F(MeantCall, IsNotALookOfTheSession) {
  SeenContents seen;
  options_.seen = &seen;
  EXPECT_EQ(correction("Read", {{"filename", "src/a.c"}}), json({{"file_path", "src/a.c"}}));
  auto file = workspace_->open_writable_file(*RelPath::parse("src/a.c"), OpenMode::kReadWrite);
  ASSERT_TRUE(file && (*file)->write_at(0, "int z;\n"));
  EXPECT_TRUE(call("Write", {{"file_path", "src/a.c"}, {"content", "x"}}).ok);
}

TEST_F(MeantCall, HasTheToolWhoseNameDiffersOnlyInCase) {
  EXPECT_EQ(correction("EDIT", good_), json({{"tool", "Edit"}, {"args", good_}}));
  EXPECT_TRUE(said_.starts_with("EVALIDATION tool.unknown")) << said_;
  EXPECT_NE(said_.find("did you mean 'Edit'?"), std::string::npos) << said_;
  EXPECT_EQ(correction("EDIT", {{"path", "src/a.c"}, {"old_str", "int b"}, {"new_str", "int x"}}),
            json({{"tool", "Edit"}, {"args", good_}}));
  EXPECT_EQ(correction("Edot", good_), json());
}

TEST(ParseCalls, ReadsAnArrayOfCalls) {
  const auto calls = parse_calls(
      R"([{"tool":"Write","args":{"file":"a","content":""},"call_id":"7"},{"tool":"List"}])");
  ASSERT_TRUE(calls) << calls.error().message;
  ASSERT_EQ(calls->size(), 2U);
  EXPECT_EQ((*calls)[0].tool, "Write");
  EXPECT_EQ((*calls)[0].call_id, "7");
  EXPECT_EQ((*calls)[0].args->at("file"), "a");
  EXPECT_EQ((*calls)[1].args, nullptr);
  const auto single = parse_calls(R"({"tool":"Write","args":{"file":"a","content":""}})");
  ASSERT_TRUE(single) << single.error().message;
  ASSERT_EQ(single->size(), 1U);
  EXPECT_EQ((*single)[0].args->at("file"), "a");
}

TEST(ParseCalls, AnErrorNamesThePlaceOfTheInvalidValue) {
  for (const auto& [text, reason] : std::vector<std::pair<std::string, std::string>>{
           {"{}", "calls.malformed"},
           {"[1]", "calls.malformed"},
           {R"([{"args":{}}])", "calls.malformed"},
           {R"([{"tool":"a","args":[]}])", "calls.malformed"},
           {R"([{"tool":"a","arguments":{}}])", "calls.malformed"},
           {R"([{"tool":"a","tool":"b"}])", "json.duplicate_key"},
           {"[", "json.syntax"}}) {
    const auto calls = parse_calls(text);
    ASSERT_FALSE(calls) << text;
    EXPECT_EQ(calls.error().reason, reason) << text;
  }
  const auto calls = parse_calls(R"([{"tool":"a"},{"tool":7}])");
  EXPECT_NE(calls.error().message.find("/1/tool"), std::string::npos) << calls.error().message;
}

}  // namespace
}  // namespace galley
