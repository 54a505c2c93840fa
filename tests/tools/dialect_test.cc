// Facts that the golden calls of fixtures/golden/tools cannot show: commands, settings,
// permissions.
#include <map>

#include "doubles/fake_command_runner.h"
#include "tools/tool_fixture.h"

namespace galley {
namespace {

using nlohmann::json;

CommandResult said(std::string output, int status = 0, std::string complaint = {}) {
  CommandResult result;
  result.exit_code = status;
  result.standard_output.head = std::move(output);
  result.standard_error.head = std::move(complaint);
  return result;
}

class Dialects : public ToolFixture {
 protected:
  /// With values of galley.toml by `tool.key`.
  void add(std::map<std::string, std::string> texts = {}) {
    ASSERT_TRUE(add_dialect_tools(registry_, [texts](std::string_view tool, std::string_view key) {
      const auto found = texts.find(std::string(tool) + "." + std::string(key));
      return found == texts.end() ? std::string() : found->second;
    }));
  }
  /// Commands answer so from now on.
  void answer(CommandResult result) {
    runner_ = FakeCommandRunner(
        [result](const Command&, Overlay&) -> Result<CommandResult> { return result; });
    commands_ = &runner_;
  }
  FakeCommandRunner runner_;
};

TEST_F(Dialects, ACallDoesAllItsOperationsOrNone) {
  add();
  put("etc/app.conf", "old\n");
  // The backup is made first; then the path turns out to be a directory.
  done("fs.mkdir", {{"path", "etc/dir"}});
  EXPECT_EQ(refused("fs.write", {{"path", "etc/dir"}, {"content", "x"}, {"backup", true}}),
            "ERUNTIME path.is_directory");
}

TEST_F(Dialects, ABackupHasTheStagedContents) {
  add();
  put("etc/app.conf", "disk\n");
  done("fs.write", {{"path", "etc/app.conf"}, {"content", "first\n"}});
  const auto data =
      done("fs.write", {{"path", "etc/app.conf"}, {"content", "second\n"}, {"backup", true}});
  EXPECT_EQ(staged(data["backup_path"]), "first\n");
  EXPECT_EQ(staged("etc/app.conf"), "second\n");
  const auto again =
      done("fs.write", {{"path", "etc/app.conf"}, {"content", "third\n"}, {"backup", true}});
  EXPECT_NE(again["backup_path"], data["backup_path"]);
}

TEST_F(Dialects, TimesAndOwnerAreNullUntilTheCommit) {
  add();
  put("a.txt", "x");
  EXPECT_TRUE(done("fs.stat", {{"path", "a.txt"}})["modified"].is_string());
  done("fs.write", {{"path", "a.txt"}, {"content", "y"}});
  const auto data = done("fs.stat", {{"path", "a.txt"}});
  EXPECT_TRUE(data["modified"].is_null());
  EXPECT_TRUE(data["uid"].is_null());
  EXPECT_TRUE(done("fs.read", {{"path", "a.txt"}})["modified"].is_null());
}

TEST_F(Dialects, SettingTheSameOwnerChangesNothing) {
  add();
  put("a.txt", "x");
  const auto stat = done("fs.stat", {{"path", "a.txt"}});
  const auto data =
      done("fs.chown", {{"path", "a.txt"}, {"uid", stat["uid"]}, {"gid", stat["gid"]}});
  EXPECT_EQ(data["changed"], false);
  const json next = {{"path", "a.txt"}, {"uid", stat["uid"].get<int>() + 1}};
  if (::geteuid() == 0) {
    EXPECT_EQ(done("fs.chown", next)["changed"], true);
    EXPECT_EQ(done("fs.stat", {{"path", "a.txt"}})["uid"], next["uid"]);
  } else {
    EXPECT_EQ(refused("fs.chown", next), "EPERMISSION owner.not_permitted");
  }
  EXPECT_EQ(refused("fs.chown", {{"path", "none"}, {"uid", 0}}), "ERUNTIME path.not_found");
}

TEST_F(Dialects, NachosFoldersAreComparedByComponent) {
  add({{"filesystem.allowedPaths", "work, ./shared/"}});
  put("work/a.txt", "a");
  put("workshop/b.txt", "b");
  put("shared/c.txt", "c");
  const auto read = [](const char* path) { return json{{"action", "read"}, {"path", path}}; };
  EXPECT_EQ(done("filesystem", read("work/a.txt"))["result"], "a");
  EXPECT_EQ(done("filesystem", read("shared/c.txt"))["result"], "c");
  EXPECT_EQ(refused("filesystem", read("workshop/b.txt")), "EVALIDATION args.path_not_allowed");
  EXPECT_EQ(refused("filesystem", {{"action", "list"}, {"path", "."}}),
            "EVALIDATION args.path_not_allowed");
  EXPECT_EQ(refused("filesystem", {{"action", "write"}, {"path", "x"}, {"content", ""}}),
            "EVALIDATION args.path_not_allowed");
}

TEST_F(Dialects, NachosFolderIsWorkspaceByDefault) {
  add();
  put("workspace/a.txt", "a");
  put("b.txt", "b");
  EXPECT_EQ(done("filesystem", {{"action", "read"}, {"path", "./workspace/a.txt"}})["result"], "a");
  EXPECT_EQ(refused("filesystem", {{"action", "read"}, {"path", "b.txt"}}),
            "EVALIDATION args.path_not_allowed");
  done("filesystem", {{"action", "write"}, {"path", "workspace/empty"}, {"content", ""}});
  EXPECT_EQ(staged("workspace/empty"), "");
}

TEST_F(Dialects, NachosIsHealthyIfAnAllowedFolderExists) {
  add({{"filesystem.allowedPaths", "work, /ws/shared"}});
  const Tool& tool = *(*registry_.get("filesystem"))->tool;
  put("workshop/b.txt", "b");
  put("work", "a file");
  const auto checked = tool.check_workspace(*workspace_, "/ws");
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().message.find("Workspace not accessible: "), 0U);
  put("shared/c.txt", "c");
  EXPECT_TRUE(tool.check_workspace(*workspace_, "/ws"));
}

TEST_F(Dialects, AnUnknownActionIsRefused) {
  add();
  const auto entry = registry_.get("filesystem");
  EXPECT_FALSE((*entry)->input.check(json{{"action", "chmod"}, {"path", "a"}}).empty());
  EXPECT_FALSE((*entry)->input.check(json{{"action", "read"}}).empty());
}

// --- commands -------------------------------------------------------------------------------

TEST_F(Dialects, ACommandStartsInItsDirectory) {
  add();
  answer(said("ok\n"));
  done("run_command", {{"command", "ls"}, {"cwd", "src"}, {"timeout", 1000}});
  EXPECT_EQ(runner_.commands().back().working_directory, rel("src"));
  EXPECT_EQ(runner_.commands().back().limits.wall, std::chrono::milliseconds(1000));
  done("run_shell_command", {{"command", "ls"}, {"directory", "src"}});
  EXPECT_EQ(runner_.commands().back().working_directory, rel("src"));
  EXPECT_EQ(refused("run_command", {{"command", "ls"}, {"cwd", "../up"}}),
            "EPERMISSION path.outside");
}

TEST_F(Dialects, TheTimeoutInTheArgumentsIsThatOfTheCall) {
  add();
  for (const char* tool : {"Bash", "run_command"}) {
    const auto intent =
        (*registry_.get(tool))->tool->intent({{"command", "ls"}, {"timeout", 1000}}, {});
    ASSERT_TRUE(intent) << tool;
    EXPECT_EQ(intent->timeout, std::chrono::milliseconds(1000)) << tool;
  }
}

TEST_F(Dialects, TestsRunOnlyTheConfiguredCommand) {
  add({{"run_tests.command", "make  test"}});
  answer(said("1 failed\n", 1));
  const auto data = done("run_tests", json::object());
  EXPECT_EQ(data["passed"], false);
  EXPECT_EQ(runner_.commands().back().argv, (std::vector<std::string>{"make", "test"}));
  EXPECT_EQ(runner_.commands().back().effects, EffectsRule::kDrop);
  const auto entry = registry_.get("run_tests");
  EXPECT_FALSE((*entry)->input.check(json{{"command", "rm"}}).empty());
  EXPECT_EQ(refused("build_project", json::object()), "ERUNTIME tool.not_configured");
}

TEST_F(Dialects, ProjectAndAgentsAreManagedByConfiguredCommands) {
  const json manage = {{"action", "add-task"}, {"arguments", {"tests", "soon"}}};
  const json summon = {{"agent", "planner"}, {"task", "Plan it."}};
  add({{"update_spec.default_agent", "tester"}, {"find_agent.orchestrators", "tester"}});
  EXPECT_EQ(refused("manage_project", manage), "ERUNTIME tool.not_configured");
  EXPECT_EQ(refused("summon_agent", summon), "ERUNTIME tool.not_configured");
  registry_.clear();
  add({{"update_spec.default_agent", "tester"},
       {"find_agent.orchestrators", "tester"},
       {"manage_project.command", "scripts/project now"},
       {"summon_agent.command", "summon"}});
  answer(said("ok\n"));
  EXPECT_EQ(done("manage_project", manage)["passed"], true);
  EXPECT_EQ(runner_.commands().back().argv,
            (std::vector<std::string>{"scripts/project", "now", "add-task", "tests", "soon"}));
  done("summon_agent", summon);
  EXPECT_EQ(runner_.commands().back().argv,
            (std::vector<std::string>{"summon", "planner", "Plan it."}));
  for (const char* option : {"--all", ""}) {
    EXPECT_FALSE((*registry_.get("summon_agent"))
                     ->input.check(json{{"agent", "planner"}, {"task", option}})
                     .empty());
  }
  registry_.clear();
  add({{"manage_project.command", "x"}, {"summon_agent.command", "x"}});
  EXPECT_EQ(refused("manage_project", manage), "EPERMISSION agent.not_default");
  EXPECT_EQ(refused("summon_agent", summon), "EPERMISSION agent.no_orchestrator");
}

TEST_F(Dialects, EveryRecordOfGitStatusIsRead) {
  add();
  std::string text;
  for (const char* record :
       {"# branch.oid 1234", "# branch.head main", "# branch.upstream origin/main",
        "# branch.ab +2 -1", "1 .M N... 100644 100644 100644 aa bb a b.txt",
        "2 R. N... 100644 100644 100644 aa bb R100 new.txt", "old.txt",
        "u UU N... 100644 100644 100644 100644 aa bb cc both.txt", "? un tracked"}) {
    text += record + std::string(1, '\0');
  }
  answer(said(text));
  const auto data = done("git_status", json::object());
  EXPECT_EQ(data["branch"], "main");
  EXPECT_EQ(data["head"], "1234");
  EXPECT_EQ(data["ahead"], 2);
  EXPECT_EQ(data["behind"], 1);
  EXPECT_EQ(data["clean"], false);
  EXPECT_EQ(data["entries"],
            nlohmann::ordered_json::parse(R"([{"path":"a b.txt","index":".","worktree":"M"},
                {"path":"new.txt","index":"R","worktree":".","from":"old.txt"},
                {"path":"both.txt","index":"U","worktree":"U"},
                {"path":"un tracked","index":"?","worktree":"?"}])"));
  EXPECT_EQ(data["truncated"], false);
  EXPECT_EQ(runner_.commands().back().effects, EffectsRule::kDrop);
}

TEST_F(Dialects, AMalformedStatusIsMarkedAsTruncated) {
  add();
  answer(said(std::string("? a\0... 5 bytes left out ...\0? b\0", 33)));
  const auto data = done("git_status", json::object());
  EXPECT_EQ(data["truncated"], true);
  EXPECT_EQ(data["entries"].size(), 1U);
}

TEST_F(Dialects, AFailureOfGitIsAnError) {
  add();
  answer(said("", 128, "fatal: not a git repository (or any of the parent directories): .git\n"));
  EXPECT_EQ(refused("git_status", json::object()), "ERUNTIME git.no_repository");
  answer(said("", 129, "error: bad revision\n"));
  EXPECT_EQ(refused("git_diff", {{"commit", "main"}}), "ERUNTIME git.failed");
}

TEST_F(Dialects, RevisionsAreNotOptionsAndPathsAreNotPatterns) {
  add();
  answer(said(""));
  const auto entry = registry_.get("git_diff");
  EXPECT_FALSE((*entry)->input.check(json{{"commit", "--output=x"}}).empty());
  EXPECT_FALSE((*entry)->input.check(json{{"commit", "a b"}}).empty());
  EXPECT_EQ(done("git_diff", {{"commit", "HEAD~1"}, {"path", "src"}})["empty"], true);
  const auto& argv = runner_.commands().back().argv;
  EXPECT_EQ(argv[1], "--literal-pathspecs");
  EXPECT_EQ(argv.back(), "src");
  EXPECT_EQ(argv[argv.size() - 2], "--");
  EXPECT_EQ(refused("git_diff", {{"path", "../x"}}), "EPERMISSION path.outside");
}

TEST_F(Dialects, GitDoesNotRunWithoutASandbox) {
  add();
  EXPECT_EQ(refused("git_status", json::object()), "EPERMISSION sandbox.unavailable");
  EXPECT_EQ(refused("run_command", {{"command", "ls"}}), "EPERMISSION sandbox.unavailable");
}

// --- code -----------------------------------------------------------------------------------

TEST_F(Dialects, DefinitionsComeFromCtags) {
  add();
  put("src/a.py", "def area(r):\n    return r\n");
  put("src/b.py", "from a import area\nprint(area(2), areas)\n");
  const auto without = done("find_references", {{"symbol", "area"}});
  EXPECT_EQ(without["definitionsFrom"], "none");
  EXPECT_EQ(without["numReferences"], 3);
  answer(said(R"({"_type":"tag","name":"area","path":"./src/a.py","line":1,"kind":"function"})"
              "\n"
              R"({"_type":"tag","name":"r","path":"./src/a.py","line":1,"kind":"parameter"})"
              "\nnot json\n"));
  const auto data = done("find_references", {{"symbol", "area"}});
  EXPECT_EQ(data["definitionsFrom"], "ctags");
  EXPECT_EQ(data["definitions"],
            nlohmann::ordered_json::parse(R"([{"path":"src/a.py","line":1,"kind":"function"}])"));
  const auto& argv = runner_.commands().back().argv;
  EXPECT_EQ(argv[1], "--options=NONE") << "the tree's own options must not be read";
  EXPECT_EQ(argv.back(), "./src/b.py");
  EXPECT_EQ(runner_.commands().back().effects, EffectsRule::kDrop);
}

TEST_F(Dialects, IfCtagsFailsOnlyTheDefinitionsAreMissing) {
  add();
  put("a.py", "x = 1\n");
  answer(said("", 1, "ctags: no"));
  const auto data = done("find_references", {{"symbol", "x"}});
  EXPECT_EQ(data["definitionsFrom"], "none");
  EXPECT_EQ(data["numReferences"], 1);
}

// --- specifications, lessons, agents --------------------------------------------------------

TEST_F(Dialects, OnlyTheDefaultAgentUpdatesASpecification) {
  add();
  const json args = {{"specName", "SPEC"}, {"content", "# New\n"}, {"summary", "two\nlines"}};
  EXPECT_EQ(refused("update_spec", args), "EPERMISSION agent.not_default");
  registry_.clear();
  add({{"update_spec.default_agent", "tester"}});
  put("specs/CHANGES.md", "- SPEC: first");
  done("update_spec", args);
  EXPECT_EQ(staged("specs/SPEC.md"), "# New\n");
  EXPECT_EQ(staged("specs/CHANGES.md"), "- SPEC: first\n- SPEC: two lines\n");
  EXPECT_EQ(refused("update_spec", {{"specName", "CHANGES"}, {"content", ""}}),
            "EVALIDATION args.spec_name");
}

TEST_F(Dialects, SettingsComeFromTheConfiguration) {
  add({{"read_specs.folder", "docs/specs"},
       {"remember_lesson.folder", "learned"},
       {"build_project.command", "make  -j2 all"},
       {"update_spec.default_agent", "tester"}});
  done("update_spec", {{"specName", "SPEC"}, {"content", "# S\n"}});
  EXPECT_EQ(staged("docs/specs/SPEC.md"), "# S\n");
  EXPECT_EQ(done("read_specs", json::object())["specs"], json{"SPEC"});
  done("remember_lesson", {{"title", "t"}, {"lesson", "l"}, {"eventId", "e"}});
  EXPECT_NE(staged("learned/e.jsonl"), "");
  answer(said("ok\n"));
  EXPECT_EQ(done("build_project", json::object())["command"], (json{"make", "-j2", "all"}));
  EXPECT_EQ(runner_.commands().back().argv, (std::vector<std::string>{"make", "-j2", "all"}));
  EXPECT_EQ(refused("run_tests", json::object()), "ERUNTIME tool.not_configured");
}

TEST_F(Dialects, NamesOfSpecificationsStayInTheirFolder) {
  add();
  const auto entry = registry_.get("read_specs");
  for (const char* name : {"../SPEC", "a/b", ".hidden", "", "/etc/passwd"}) {
    EXPECT_FALSE((*entry)->input.check(json{{"specName", name}}).empty()) << name;
  }
}

TEST_F(Dialects, ALessonNeedsAnEvent) {
  add();
  const auto entry = registry_.get("remember_lesson");
  const json lesson = {{"title", "t"}, {"lesson", "l"}, {"context", "c"}};
  EXPECT_EQ(refused("remember_lesson", lesson), "EPERMISSION agent.no_event");
  EXPECT_FALSE(
      (*entry)->input.check(json{{"title", "t"}, {"lesson", "l"}, {"eventId", "../x"}}).empty());
  done("remember_lesson", {{"title", "one"}, {"lesson", "a\nb"}, {"eventId", "ev-1"}});
  done("remember_lesson", {{"title", "two"}, {"lesson", "c"}, {"eventId", "ev-1"}});
  EXPECT_EQ(staged("lessons/ev-1.jsonl"),
            "{\"title\":\"one\",\"lesson\":\"a\\nb\"}\n{\"title\":\"two\",\"lesson\":\"c\"}\n");
}

TEST_F(Dialects, ALessonUsesTheConfiguredEvent) {
  add({{"remember_lesson.eventId", "ev-9"}});
  done("remember_lesson", {{"title", "t"}, {"lesson", "l"}, {"context", "c"}});
  EXPECT_EQ(staged("lessons/ev-9.jsonl"), "{\"title\":\"t\",\"lesson\":\"l\",\"context\":\"c\"}\n");
  done("remember_lesson", {{"title", "t"}, {"lesson", "l"}, {"eventId", "ev-1"}});
  EXPECT_NE(staged("lessons/ev-1.jsonl"), "");
  registry_.clear();
  add({{"remember_lesson.eventId", "coder=ev-2 tester=ev-3"}});
  done("remember_lesson", {{"title", "t"}, {"lesson", "l"}});
  EXPECT_EQ(staged("lessons/ev-2.jsonl"), "<path.not_found>");
  EXPECT_EQ(staged("lessons/ev-3.jsonl"), "{\"title\":\"t\",\"lesson\":\"l\"}\n");
}

TEST_F(Dialects, OnlyOrchestratorsFindAgents) {
  add();
  put("agents/planner.json",
      R"({"name":"Planner","description":"plans work","capabilities":["plan"]})");
  put("agents/coder.json", R"({"name":"Coder","description":"writes","capabilities":["code"]})");
  put("agents/broken.json", "{");
  EXPECT_EQ(refused("find_agent", json::object()), "EPERMISSION agent.no_orchestrator");
  registry_.clear();
  add({{"find_agent.orchestrators", "chief tester"}});
  EXPECT_EQ(done("find_agent", json::object())["count"], 2);
  const auto data = done("find_agent", {{"query", "PLAN"}, {"capability", "plan"}});
  EXPECT_EQ(data["agents"][0]["name"], "Planner");
  EXPECT_EQ(data["unreadable"], json{"agents/broken.json"});
  EXPECT_EQ(done("find_agent", {{"capability", "nothing"}})["count"], 0);
}

}  // namespace
}  // namespace galley
