#include "server/agents/hooked_call.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "base/shell_word.h"
#include "server/agents/agent_tools.h"
#include "server/agents/shell_patch.h"

namespace galley {
namespace {

using nlohmann::json;

const StagedProgram kStaged = {"galley", "bot", {}};

constexpr HookProtocol kClaude = HookProtocol::kPreToolUse;
constexpr HookProtocol kGemini = HookProtocol::kBeforeTool;
constexpr HookProtocol kOpencode = HookProtocol::kToolExecuteBefore;

Result<HookedCall::HookAction> action(HookProtocol protocol, const std::string& tool, json input) {
  HookRequest request;
  request.protocol = protocol;
  request.tool = tool;
  request.input = std::move(input);
  return hook_action_of(request, kStaged, {{}, {"files"}, {}},
                        [](std::string_view name) { return name == "Edit"; });
}

Result<HookedCall::HookAction> action(const std::string& tool, json input) {
  return action(kClaude, tool, std::move(input));
}

TEST(HookedCall, EditsAreTranslatedToToolsOfGalley) {
  const auto claude =
      action("Edit", {{"file_path", "a"}, {"old_string", "x"}, {"new_string", "y"}});
  const auto opencode =
      action(kOpencode, "edit", {{"filePath", "a"}, {"oldString", "x"}, {"newString", "y"}});
  ASSERT_TRUE(claude.has_value() && opencode.has_value());
  EXPECT_EQ(std::get<HookedCall::Edit>(*claude).tool, "Edit");
  EXPECT_EQ(std::get<HookedCall::Edit>(*claude).arguments,
            std::get<HookedCall::Edit>(*opencode).arguments);
  const auto gemini = action(kGemini, "replace", {{"file_path", "a"}, {"allow_multiple", true}});
  ASSERT_TRUE(gemini.has_value());
  EXPECT_EQ(std::get<HookedCall::Edit>(*gemini).arguments["allow_multiple"], true);
}

/// The correction of a call, as `agent` gets it for Galley's arguments `own`.
json corrected(HookProtocol protocol, const std::string& tool, json input, const json& own) {
  HookRequest request;
  request.protocol = protocol;
  request.tool = tool;
  ToolError error;
  error.message = "does not fit\n" + own.dump() + "\n";
  error.details = std::make_shared<const nlohmann::ordered_json>(
      nlohmann::ordered_json{{"correction", own}, {"files", json::array()}});
  correct_for_agent(*agent_tool(request, {"files"}), input, error);
  const json found = (*error.details)["correction"];
  EXPECT_EQ(error.message, "does not fit\n" + found.dump() + "\n");
  return found;
}

TEST(HookedCall, ACorrectionHasTheKeysOfTheAgentsOwnCall) {
  const json own = {{"file_path", "a.txt"},
                    {"old_string", "X"},
                    {"new_string", "Y"},
                    {"replace_all", false},
                    {"strategy", "apply"}};
  const json plain = {{"file_path", "a"}, {"old_string", "x"}, {"new_string", "y"}};
  const json camel = {{"filePath", "a"}, {"oldString", "x"}, {"newString", "y"}};
  EXPECT_EQ(corrected(kClaude, "Edit", plain, own),
            json({{"file_path", "a.txt"}, {"old_string", "X"}, {"new_string", "Y"}}));
  EXPECT_EQ(corrected(kOpencode, "edit", camel, own),
            json({{"filePath", "a.txt"}, {"oldString", "X"}, {"newString", "Y"}}));
  const json pairs = {
      {"file_path", "a.txt"},
      {"edits",
       {{{"old_string", "X"}, {"new_string", "Y"}}, {{"old_string", "Z"}, {"new_string", "W"}}}}};
  const json pair = {{"oldString", "x"}, {"newString", "y"}};
  EXPECT_EQ(corrected(kOpencode, "multiedit", {{"filePath", "a"}, {"edits", {pair}}}, pairs),
            json({{"filePath", "a.txt"},
                  {"edits",
                   {{{"oldString", "X"}, {"newString", "Y"}},
                    {{"oldString", "Z"}, {"newString", "W"}}}}}));
  EXPECT_EQ(corrected(kClaude, "mcp__files__edit_file",
                      {{"path", "a"}, {"edits", {{{"oldText", "x"}, {"newText", "y"}}}}},
                      {{"path", "a.txt"},
                       {"dryRun", false},
                       {"edits", {{{"oldText", "X"}, {"newText", "Y"}}}}}),
            json({{"path", "a.txt"}, {"edits", {{{"oldText", "X"}, {"newText", "Y"}}}}}));
}

/// A tool of an agent with arguments as it takes them.
struct Known {
  HookProtocol protocol;
  const char* tool;
  json input;
};

const std::vector<Known>& known_tools() {
  const json edit = {{"file_path", "a"}, {"old_string", "x"}, {"new_string", "y"}};
  const json camel = {{"filePath", "a"}, {"oldString", "x"}, {"newString", "y"}};
  static const std::vector<Known> kAll = {
      {kClaude, "Edit", edit},
      {kClaude, "Write", {{"file_path", "a"}, {"content", "x"}}},
      {kClaude, "MultiEdit", {{"file_path", "a"}, {"edits", json::array({edit})}}},
      {kClaude, "apply_patch", {{"command", "p"}}},
      {kClaude, "Bash", {{"command", "ls"}}},
      {kClaude, "shell", {{"command", "ls"}, {"workdir", "w"}}},
      {kClaude, "exec_command", {{"cmd", "ls"}, {"workdir", "w"}}},
      {kClaude, "mcp__files__write_file", {{"path", "a"}, {"content", "x"}}},
      {kGemini, "mcp_files_move_file", {{"source", "a"}, {"destination", "b"}}},
      {kGemini, "replace", edit},
      {kGemini, "write_file", {{"file_path", "a"}, {"content", "x"}}},
      {kGemini, "run_shell_command", {{"command", "ls"}, {"dir_path", "w"}}},
      {kOpencode, "edit", camel},
      {kOpencode, "write", {{"filePath", "a"}, {"content", "x"}}},
      {kOpencode, "multiedit", {{"filePath", "a"}, {"edits", json::array({camel})}}},
      {kOpencode, "apply_patch", {{"patchText", "p"}}},
      {kOpencode, "files_write_file", {{"path", "a"}, {"content", "x"}}},
      {kOpencode, "bash", {{"command", "ls"}, {"workdir", "w"}}},
  };
  return kAll;
}

TEST(HookedCall, ASynonymOfAnArgumentIsRefusedEverywhere) {
  // Each list is one argument in the words of several agents.
  const std::vector<std::vector<std::string>> words = {
      {"file_path", "filePath", "path", "FILE_PATH", "file-path"},
      {"old_string", "oldString", "old_str", "oldText"},
      {"new_string", "newString", "new_str", "newText"},
      {"replace_all", "replaceAll", "allow_multiple", "expected_replacements"},
      {"content", "contents", "file_text"},
      {"command", "cmd"},
      {"command", "patch", "patchText", "input"},
      {"workdir", "dir_path", "directory", "cwd"},
      {"source", "src"},
      {"destination", "dest"}};
  for (const Known& known : known_tools()) {
    ASSERT_TRUE(action(known.protocol, known.tool, known.input)) << known.tool;
    for (const auto& list : words) {
      for (const std::string& own : list) {
        if (!known.input.contains(own)) continue;
        const bool is_patch = list[1] == "patch";
        if (is_patch != (std::string(known.tool) == "apply_patch")) continue;
        for (const std::string& other : list) {
          if (other == own) continue;
          json input = known.input;
          input[other] = "elsewhere";
          const auto refused = action(known.protocol, known.tool, input);
          ASSERT_FALSE(refused.has_value()) << known.tool << " with " << other;
          EXPECT_EQ(refused.error().reason, "hook.input");
          EXPECT_NE(refused.error().message.find("'" + other + "'"), std::string::npos);
        }
      }
    }
  }
}

TEST(HookedCall, AnArgumentUnderTheNameOfAnotherAgentIsRefused) {
  EXPECT_FALSE(action("Edit", {{"filePath", "a"}, {"old_string", "x"}, {"new_string", "y"}}));
  EXPECT_FALSE(action("Bash", {{"command", "ls"}, {"workdir", "/"}}));
  EXPECT_FALSE(action("Bash", {{"cmd", "ls"}}));
  EXPECT_FALSE(action(kGemini, "replace", {{"file_path", "a"}, {"expected_replacements", 2}}));
  EXPECT_FALSE(
      action("MultiEdit", {{"file_path", "a"}, {"edits", json::array({{{"oldString", "x"}}})}}));
  EXPECT_FALSE(action(kOpencode, "multiedit",
                      {{"filePath", "a"}, {"edits", json::array({{{"filePath", "b"}}})}}));
}

TEST(HookedCall, AToolOfAnotherAgentIsNotKnown) {
  for (const Known& known : known_tools()) {
    for (const HookProtocol other : {kClaude, kGemini, kOpencode}) {
      if (other == known.protocol || std::string(known.tool) == "apply_patch") continue;
      const auto refused = action(other, known.tool, known.input);
      ASSERT_FALSE(refused.has_value()) << known.tool;
      EXPECT_EQ(refused.error().reason, "hook.unknown_tool") << known.tool;
    }
  }
}

TEST(HookedCall, AFileServerIsKnownOnlyByTheNameInTheSettings) {
  const json input = {{"path", "a"}, {"content", "x"}};
  EXPECT_TRUE(action("mcp__files__write_file", input));
  for (const char* other : {"mcp__other__write_file", "mcp__files__x__write_file",
                            "mcp__files__read_file", "mcp_files_write_file"}) {
    const auto refused = action(other, input);
    ASSERT_FALSE(refused.has_value()) << other;
    EXPECT_EQ(refused.error().reason, "hook.unknown_tool") << other;
  }
}

TEST(AgentTools, PathsThatAgentsReadDifferentlyAreRecognized) {
  for (const char* path : {"~", "~/.bashrc", "sub/~/x", " a", "a ", "a/ b", "\ta", "a\n"}) {
    EXPECT_TRUE(may_name_another_file(path)) << path;
  }
  for (const char* path : {"a", "a b", "a/b", "~a", "a~", ".a"}) {
    EXPECT_FALSE(may_name_another_file(path)) << path;
  }
}

TEST(HookedCall, AnUnknownArgumentIsRefused) {
  for (const Known& known : known_tools()) {
    json input = known.input;
    input["append"] = true;
    if (input.contains("edits")) {
      input = known.input;
      input["edits"][0]["append"] = true;
    }
    const auto refused = action(known.protocol, known.tool, input);
    ASSERT_FALSE(refused.has_value()) << known.tool;
    EXPECT_EQ(refused.error().reason, "hook.input");
    EXPECT_NE(refused.error().message.find("'append'"), std::string::npos);
    input = known.input;
    input["append"] = nullptr;
    EXPECT_TRUE(action(known.protocol, known.tool, input)) << known.tool;
  }
}

TEST(HookedCall, AnArgumentWithoutEffectIsLeftOut) {
  const json write = {{"file_path", "a"}, {"content", "x"}};
  json input = write;
  input["modified_by_user"] = true;
  input["ai_proposed_content"] = "y";
  input["wait_for_previous"] = false;
  const auto edit = action(kGemini, "write_file", input);
  ASSERT_TRUE(edit.has_value());
  EXPECT_EQ(std::get<HookedCall::Edit>(*edit).arguments, write);
  EXPECT_FALSE(action("Write", input));
  EXPECT_TRUE(action("mcp__files__edit_file",
                     {{"path", "a"}, {"edits", json::array()}, {"dryRun", false}}));
}

TEST(HookedCall, ACommandIsCommittedWithItsOtherArgumentsAsTheyWere) {
  const auto bash = action("Bash", {{"command", "echo 'x'"}, {"timeout", 5}});
  ASSERT_TRUE(bash.has_value());
  EXPECT_EQ(std::get<HookedCall::Command>(*bash).input,
            (json{{"command",
                   "galley --agent bot exec --commit --propose-ignored -- sh -c "
                   R"('echo '\''x'\''')"},
                  {"timeout", 5}}));
}

TEST(HookedCall, ACommandThatItMadeStaysAsItIs) {
  const auto answer = [](const json& command) {
    const auto made = action("shell", {{"command", command}});
    return made ? std::get<HookedCall::Command>(*made).input["command"]
                : json(made.error().message);
  };
  for (const json& command :
       {json("make"), json("echo 'a b'; cat \"x\" \\n"), json("''"), json("galley diff --stat"),
        json(R"(echo '\'')"), json::array({"make", "all"})}) {
    const json once = answer(command);
    EXPECT_NE(once, command);
    EXPECT_EQ(answer(once), once);
  }
  const std::string start = "galley --agent bot exec --commit --propose-ignored -- sh -c ";
  for (const std::string& other :
       {start, start + "make all", start + "'make'; rm x", start + "'a' 'b'", start + "$(rm x)",
        start + "'make'\n", "x " + start + "make", start + "'make",
        std::string("galley --agent other exec --commit --propose-ignored -- sh -c make"),
        std::string("galley --agent bot exec --commit -- sh -c make"),
        std::string("galley --agent bot run make")}) {
    EXPECT_EQ(answer(other), start + shell_word(other));
  }
}

TEST(HookedCall, ACommandThatNoShellCanBeGivenIsRefused) {
  const auto replaced = [](const std::string& text) { return action("Bash", {{"command", text}}); };
  const auto length = [&](const std::string& text) {
    const auto call = replaced(text);
    return call ? std::get<HookedCall::Command>(*call).input["command"].get<std::string>().size()
                : 0;
  };
  constexpr size_t kMost = 131'071;
  const size_t around = length("echo a") - 6;
  EXPECT_EQ(length("echo " + std::string(kMost - around - 5, 'a')), kMost);
  // An apostrophe takes four bytes in quotes.
  for (const std::string& text : {"echo " + std::string(kMost - around - 4, 'a'),
                                  "echo \"" + std::string(40'000, '\'') + "\""}) {
    const auto call = replaced(text);
    ASSERT_FALSE(call.has_value());
    EXPECT_EQ(call.error().reason, "hook.command_too_long");
  }
}

TEST(HookedCall, AnUnknownToolIsRefused) {
  const auto unknown = action("Teleport", json::object());
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error().reason, "hook.unknown_tool");
  EXPECT_TRUE(std::holds_alternative<HookedCall::Pass>(action("Read", json::object()).value()));
}

TEST(HookedCall, OnlyToolsThatGalleyOffersPassAsItsOwn) {
  for (const char* own : {"mcp__galley__Edit", "mcp_galley_Edit", "galley_Edit"}) {
    const auto passed = action(own, json::object());
    ASSERT_TRUE(passed.has_value()) << own;
    EXPECT_TRUE(std::holds_alternative<HookedCall::Pass>(*passed)) << own;
  }
  for (const char* other : {"mcp__galley__x__Edit", "mcp_galley_x_Edit", "galley_x_Edit", "galley_",
                            "mcp__galley__Teleport"}) {
    const auto refused = action(other, json::object());
    ASSERT_FALSE(refused.has_value()) << other;
    EXPECT_EQ(refused.error().reason, "hook.unknown_tool") << other;
  }
}

TEST(HookedCall, AForeignToolIsNamedByServerAndToolOnlyIfBothAreCertain) {
  const auto capability = [](HookProtocol protocol, const std::string& tool) {
    HookRequest request;
    request.protocol = protocol;
    request.tool = tool;
    return foreign_capability(request);
  };
  EXPECT_EQ(capability(kClaude, "mcp__github__create_issue"), "mcp:github/create_issue");
  EXPECT_EQ(capability(kClaude, "mcp__my-db_2__run.it"), "mcp:my-db_2/run.it");
  for (const char* other :
       {"", "mcp__", "mcp__github", "mcp__github__", "mcp____x", "mcp__a__b__c", "mcp__a___b",
        "mcp__a__*", "mcp__a__b:c", "mcp__a__b/c", "Mcp__a__b", "mcp__galley__x"}) {
    EXPECT_EQ(capability(kClaude, other), "") << other;
  }
  // Their names do not say where the server's name ends.
  EXPECT_EQ(capability(kGemini, "mcp_github_create_issue"), "");
  EXPECT_EQ(capability(kOpencode, "mcp__github__create_issue"), "");
}

TEST(HookedCall, APatchKeepsBothDirectories) {
  HookRequest request;
  request.tool = "shell_command";
  request.input = {{"command", "cd sub && apply_patch <<'E'\np\nE\n"}, {"workdir", "top"}};
  const auto nothing = [](std::string_view) { return false; };
  const auto edit = hook_action_of(request, {"galley", "codex", {}}, {}, nothing);
  ASSERT_TRUE(edit.has_value()) << edit.error().message;
  EXPECT_EQ(std::get<HookedCall::Edit>(*edit).directory, "top/sub");
  EXPECT_EQ(std::get<HookedCall::Edit>(*edit).arguments["input"], "p\n");
}

TEST(ShellPatch, IsFoundOnlyInACommandThatDoesNothingElse) {
  EXPECT_TRUE(patch_in_shell_command("apply_patch <<'E'\np\nE"));
  EXPECT_TRUE(patch_in_shell_command("  cd 'a b' && applypatch << \"E\" \np\nE\n\n"));
  EXPECT_TRUE(patch_in_shell_command("apply_patch 'p\nq'"));
  for (const char* other :
       {"", "apply_patch", "apply_patch <<E\np\nE", "apply_patch <<'E'\np",
        "apply_patch <<'E' | x\np\nE", "apply_patch <<'E'\np\nE\nx", "apply_patch 'p' x",
        "apply_patch 'p", "apply_patch \"p\"", "cd a; apply_patch 'p'", "cd $x && apply_patch 'p'",
        "cd - && apply_patch 'p'", "x=1 apply_patch 'p'", "apply_patchy 'p'", "apply_patch 'p'; x",
        "apply_patch 'p'x"}) {
    EXPECT_FALSE(patch_in_shell_command(other)) << other;
  }
}

}  // namespace
}  // namespace galley
