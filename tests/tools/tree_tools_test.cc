#include "base/text.h"
#include "doubles/fake_command_runner.h"
#include "tools/tool_fixture.h"

namespace galley {
namespace {

using nlohmann::json;

class TreeTools : public ToolFixture {};

TEST_F(TreeTools, WriteAcceptsEmptyContentAndReportsItsAction) {
  const auto data = done("Write", {{"file", "src/new.txt"}, {"content", ""}});
  EXPECT_EQ(data["written"], true);
  EXPECT_EQ(data["type"], "create");
  put("old.txt", "x\n");
  const auto again = done("Write", {{"file_path", "old.txt"}, {"content", "y\n"}});
  EXPECT_EQ(again["type"], "update");
  EXPECT_NE(again["diff"].get<std::string>().find("-x\n+y\n"), std::string::npos);
}

TEST_F(TreeTools, ReadReturnsTextOrBase64) {
  put("a.txt", "one\ntwo\nthree\nfour");
  EXPECT_EQ(done("Read", {{"file", "a.txt"}})["content"], "one\ntwo\nthree\nfour");
  const auto part = done("Read", {{"file_path", "a.txt"}, {"offset", 2}, {"limit", 2}});
  EXPECT_EQ(part["content"], "two\nthree\n");
  EXPECT_EQ(part["startLine"], 2);
  EXPECT_EQ(part["totalLines"], 4);
  EXPECT_EQ(done("read_text_file", {{"path", "a.txt"}, {"tail", 1}})["content"], "four");
  EXPECT_EQ(done("read_text_file", {{"path", "a.txt"}, {"head", 1}})["content"], "one\n");
  put("b.bin", std::string("\xff\x00\x01", 3));
  const auto binary = done("Read", {{"file", "b.bin"}});
  EXPECT_EQ(binary["content"], "/wAB");
  EXPECT_EQ(binary["encoding"], "base64");
  EXPECT_EQ(refused("Read", {{"file", "no"}}), "ERUNTIME path.not_found");
  EXPECT_EQ(refused("Read", {{"file", ".git/config"}}), "EPERMISSION path.protected");
}

TEST_F(TreeTools, ReadsSeeStagedContents) {
  put("a.txt", "disk\n");
  done("Write", {{"file", "a.txt"}, {"content", "staged\n"}});
  EXPECT_EQ(done("Read", {{"file", "a.txt"}})["content"], "staged\n");
  EXPECT_EQ(done("Grep", {{"pattern", "staged"}})["filenames"], json{"a.txt"});
}

TEST_F(TreeTools, DeleteMoveCopyChmodSymlinkAndMakeDirectoryStageChanges) {
  put("a.txt", "a\n");
  put("d/b.txt", "b\n");
  put("d/c.txt", "c\n");
  done("Move", {{"source", "a.txt"}, {"destination", "e/a.txt"}});
  EXPECT_EQ(staged("e/a.txt"), "a\n");
  done("Copy", {{"source", "e/a.txt"}, {"destination", "f.txt"}});
  EXPECT_EQ(staged("f.txt"), "a\n");
  done("Chmod", {{"path", "f.txt"}, {"mode", "755"}});
  EXPECT_EQ(overlay_.node(rel("f.txt"))->mode, 0755U);
  EXPECT_EQ(done("Symlink", {{"path", "l"}, {"target", "f.txt"}})["created"], true);
  EXPECT_EQ(*overlay_.read_link(rel("l")), "f.txt");
  EXPECT_EQ(refused("Delete", {{"path", "d"}}), "ERUNTIME path.is_directory");
  const auto gone = done("Delete", {{"path", "d"}, {"recursive", true}});
  EXPECT_GE(gone["changes"].size(), 2U);
  EXPECT_NE(gone["diff"].get<std::string>().find("-b\n"), std::string::npos);
  EXPECT_EQ(done("MakeDirectory", {{"path", "x/y"}})["created"], true);
  EXPECT_EQ(done("create_directory", {{"path", "x/y"}})["created"], false);
  EXPECT_EQ(refused("Move", {{"source", "f.txt"}, {"destination", "e/a.txt"}}),
            "ERUNTIME path.exists");
}

TEST_F(TreeTools, ModesMustBePlainOctalNumbers) {
  put("a.sh", "#!/bin/sh\n");
  const auto chmod = registry_.get("Chmod");
  for (const char* mode : {"4755", "9", "rwx", "-1", "99999999999999999999"}) {
    EXPECT_FALSE((*chmod)->input.check(json{{"path", "a.sh"}, {"mode", mode}}).empty()) << mode;
  }
}

TEST_F(TreeTools, ListTreeAndInfoDescribeEntries) {
  put("b/x.txt", "x");
  put("a.txt", "aa");
  const auto list = done("List", json::object());
  EXPECT_EQ(list["entries"],
            (json{{{"name", "a.txt"}, {"type", "file"}}, {{"name", "b"}, {"type", "directory"}}}));
  const auto tree = done("directory_tree", {{"path", "."}});
  EXPECT_EQ(tree["tree"][1]["children"][0]["name"], "x.txt");
  const auto info = done("get_file_info", {{"path", "/ws/a.txt"}});
  EXPECT_EQ(info["size"], 2);
  EXPECT_EQ(info["mode"], "0644");
  EXPECT_EQ(info["sha256"], ContentId::of("aa").hex());
  EXPECT_EQ(refused("get_file_info", {{"path", "zz"}}), "ERUNTIME path.not_found");
}

TEST_F(TreeTools, GlobFindsSortedAndHonoursGitignore) {
  put(".gitignore", "build/\n*.log\n");
  put("src/.gitignore", "gen.ts\n");
  put("src/a.ts", "");
  put("src/gen.ts", "");
  put("src/deep/b.tsx", "");
  put("src/deep/c.js", "");
  put("build/d.ts", "");
  put("e.log", "");
  EXPECT_EQ(done("Glob", {{"pattern", "**/*.{ts,tsx}"}})["filenames"],
            (json{"src/a.ts", "src/deep/b.tsx"}));
  EXPECT_EQ(done("Glob", {{"pattern", "*.ts"}, {"include_ignored", true}})["filenames"],
            (json{"build/d.ts", "src/a.ts", "src/gen.ts"}));
  EXPECT_EQ(done("Glob", {{"pattern", "deep/*"}, {"path", "src"}})["filenames"],
            (json{"src/deep/b.tsx", "src/deep/c.js"}));
  EXPECT_EQ(done("Glob", {{"pattern", "*.ts"}, {"path", "src"}})["filenames"], json{"src/a.ts"});
  EXPECT_EQ(
      done("search_files",
           {{"path", "/ws"}, {"pattern", "**/*.*s"}, {"excludePatterns", {"deep"}}})["filenames"],
      json{"src/a.ts"});
  EXPECT_EQ(refused("Glob", {{"pattern", "{a,b"}}), "EVALIDATION glob.invalid");
}

TEST_F(TreeTools, GrepFindsTheEndOfALineWithoutANewline) {
  put("one.txt", "abc\nabc\nx");
  put("none.txt", "");
  EXPECT_EQ(
      done("Grep", {{"pattern", "$"}, {"output_mode", "count"}, {"glob", "*.txt"}})["content"],
      "one.txt:3\n");
}

TEST_F(TreeTools, GrepHasThreeOutputModes) {
  put("a.py", "import os\nx = 1\nprint(x)\n");
  put("b.py", "x = 2\n");
  put("c.txt", "x = 3\n");
  put("bin.dat", std::string("x = 4\0", 6));
  EXPECT_EQ(done("Grep", {{"pattern", "x = \\d"}, {"type", "py"}})["filenames"],
            (json{"a.py", "b.py"}));
  EXPECT_EQ(
      done("Grep", {{"pattern", "^x"}, {"output_mode", "content"}, {"glob", "*.py"}})["content"],
      "a.py:2:x = 1\nb.py:1:x = 2\n");
  EXPECT_EQ(done("Grep", {{"pattern", "x"}, {"output_mode", "count"}})["content"],
            "a.py:2\nb.py:1\nc.txt:1\n");
  EXPECT_EQ(done("Grep", {{"pattern", "X ="},
                          {"-i", true},
                          {"output_mode", "content"},
                          {"-o", true},
                          {"-n", false},
                          {"path", "a.py"}})["content"],
            "a.py:x =\n");
  EXPECT_EQ(done("Grep", {{"pattern", "x = 1"}, {"output_mode", "content"}, {"-C", 1}})["content"],
            "a.py-1-import os\na.py:2:x = 1\na.py-3-print(x)\n");
  EXPECT_EQ(done("Grep", {{"pattern", "os.x"}, {"multiline", true}})["filenames"], json{"a.py"});
  EXPECT_EQ(done("Grep", {{"pattern", "os.x"}})["numFiles"], 0);
  put("d.md", "wide\xE2\x80\x8Bspace\n");
  EXPECT_EQ(done("Grep", {{"pattern", "\\x{200b}"}})["filenames"], json{"d.md"});
  const auto cut = done("Grep", {{"pattern", "x"}, {"head_limit", 1}});
  EXPECT_EQ(cut["filenames"], json{"a.py"});
  EXPECT_EQ(cut["truncated"], true);
  EXPECT_EQ(cut["numFiles"], 1);
  EXPECT_FALSE(cut.contains("numMatches")) << "one match of each file was looked for";
  const auto counts = done("Grep", {{"pattern", "x"}, {"output_mode", "count"}, {"head_limit", 2}});
  EXPECT_EQ(counts["numFiles"], 2);
  EXPECT_EQ(counts["numMatches"], 3);
  EXPECT_EQ(refused("Grep", {{"pattern", "("}}), "EVALIDATION args.pattern");
  EXPECT_EQ(refused("Grep", {{"pattern", "(?=x)"}}), "EVALIDATION args.pattern");
  EXPECT_EQ(refused("Grep", {{"pattern", "x"}, {"type", "cobol"}}), "EVALIDATION args.type");
}

TEST_F(TreeTools, GrepShowsTheMatchOfALongLineInWholeCharacters) {
  std::string line;
  for (int i = 0; i < 3000; ++i) line += "é";
  put("a.txt", line + "needle" + line + "\n");
  const auto whole = done("Grep", {{"pattern", "needle"}, {"output_mode", "content"}});
  const std::string shown = whole["content"].get<std::string>();
  EXPECT_NE(shown.find("éneedleé"), shown.npos);
  EXPECT_TRUE(shown.starts_with("a.txt:1:…é"));
  EXPECT_TRUE(shown.ends_with("é…\n"));
  EXPECT_TRUE(is_utf8(shown));
  EXPECT_LT(shown.size(), 2100U);
  const auto first = done("Grep", {{"pattern", "^é"}, {"output_mode", "content"}});
  EXPECT_TRUE(first["content"].get<std::string>().starts_with("a.txt:1:éé"));
}

TEST_F(TreeTools, AnEscapedBraceIsACharacter) {
  put("{a}.ts", "");
  put("b.ts", "");
  put("c.ts", "");
  EXPECT_EQ(done("Glob", {{"pattern", "{\\{a\\},b}.ts"}})["filenames"], (json{"b.ts", "{a}.ts"}));
}

TEST_F(TreeTools, GrepEndsOnEmptyMatches) {
  put("a.txt", "ab\n\ncd\n");
  EXPECT_EQ(done("Grep", {{"pattern", "^$"}, {"output_mode", "content"}})["content"], "a.txt:2:\n");
  EXPECT_EQ(done("Grep", {{"pattern", "z*"}, {"output_mode", "content"}})["numLines"], 3);
}

TEST_F(TreeTools, SearchingMakesNoBases) {
  put("a.txt", "x\n");
  done("Grep", {{"pattern", "x"}});
  done("Glob", {{"pattern", "*"}});
  EXPECT_TRUE(overlay_.entries().empty());
}

TEST_F(TreeTools, BashWithoutARunnerIsRefused) {
  EXPECT_EQ(refused("Bash", {{"command", "true"}}), "EPERMISSION sandbox.unavailable");
}

TEST_F(TreeTools, BashRunsAProgramOrAShellLine) {
  FakeCommandRunner runner([&](const Command& command, Overlay& overlay) -> Result<CommandResult> {
    GALLEY_TRY(overlay.write(rel("made.txt"), "made\n"));
    CommandResult result;
    result.exit_code = command.argv[0] == "make" ? 0 : 3;
    result.standard_output.head = "out";
    result.effects_staged = true;
    result.staged_paths = 1;
    return result;
  });
  commands_ = &runner;
  const auto made = done("Bash", {{"command", "make"}, {"args", {"-j", "2"}}});
  EXPECT_EQ(runner.commands()[0].argv, (std::vector<std::string>{"make", "-j", "2"}));
  EXPECT_EQ(made["exitCode"], 0);
  EXPECT_NE(made["diff"].get<std::string>().find("+made"), std::string::npos);
  const auto line = done("Bash", {{"command", "exit 3"}, {"timeout", 5000}, {"description", "d"}});
  EXPECT_EQ(runner.commands()[1].argv, (std::vector<std::string>{"sh", "-c", "exit 3"}));
  EXPECT_EQ(runner.commands()[1].limits.wall, std::chrono::milliseconds(5000));
  EXPECT_EQ(line["exitCode"], 3);
}

TEST_F(TreeTools, OmittedBytesOfTheOutputAreCounted) {
  CommandResult long_one;
  long_one.exit_code = 0;
  long_one.standard_output = {"head", "tail", 1000};
  long_one.standard_error = {"head", "tail", 24};
  FakeCommandRunner runner(
      [&](const Command&, Overlay&) -> Result<CommandResult> { return long_one; });
  commands_ = &runner;
  EXPECT_EQ(done("Bash", {{"command", "yes"}})["omittedBytes"], 1024);
  long_one.standard_output.omitted_bytes = long_one.standard_error.omitted_bytes = 0;
  EXPECT_FALSE(done("Bash", {{"command", "yes"}}).contains("omittedBytes"));
}

TEST_F(TreeTools, ATimeoutHasTheOutputSoFar) {
  FakeCommandRunner runner([](const Command&, Overlay&) -> Result<CommandResult> {
    CommandResult result;
    result.exit_signal = 9;
    result.standard_output.head = "so far";
    result.breach = LimitBreach{LimitKind::kWall, 100, 120};
    return result;
  });
  commands_ = &runner;
  const ToolResult result = call("Bash", {{"command", "sleep 9"}});
  ASSERT_FALSE(result.ok);
  EXPECT_EQ(result.error->code, ToolErrorCode::kTimeout);
  EXPECT_EQ((*result.error->details)["stdout"], "so far");
}

TEST_F(TreeTools, ATimeoutSaysThatLessTimeWasAllowedOnlyIfItWas) {
  uint64_t limit = 0;
  FakeCommandRunner runner([&](const Command&, Overlay&) -> Result<CommandResult> {
    CommandResult result;
    result.exit_signal = 9;
    result.breach = LimitBreach{LimitKind::kWall, limit, limit + 1};
    return result;
  });
  commands_ = &runner;
  const auto says_less = [&](uint64_t asked, uint64_t given) {
    limit = given;
    const ToolResult result = call("Bash", {{"command", "sleep 9"}, {"timeout", asked}});
    return result.error->message.find("which is more than") != std::string::npos;
  };
  EXPECT_FALSE(says_less(500, 500));
  EXPECT_FALSE(says_less(500, 499));
  EXPECT_FALSE(says_less(20'000, 19'000));
  EXPECT_TRUE(says_less(20'000, 10'000));
}

TEST_F(TreeTools, SecretsAreOnlyInTheEnvironment) {
  FakeCommandRunner runner;
  commands_ = &runner;
  secrets_ = [](const std::string& key) -> std::optional<std::string> {
    if (key == "TOKEN") return "s3cret-value";
    return {};
  };
  done("Bash", {{"command", "curl -H \"x: $ENV.TOKEN\""}});
  EXPECT_EQ(runner.commands()[0].argv[2], "curl -H \"x: ${TOKEN}\"");
  EXPECT_EQ(runner.commands()[0].environment.at("TOKEN"), "s3cret-value");
  EXPECT_EQ(refused("Bash", {{"command", "curl"}, {"args", {"$ENV.TOKEN"}}}),
            "EPERMISSION secret.in_argument");
  EXPECT_EQ(refused("Bash", {{"command", "echo $ENV.OTHER"}}), "EPERMISSION secret.unknown");
}

TEST_F(TreeTools, TheNetworkIsOffUnlessGranted) {
  FakeCommandRunner runner;
  commands_ = &runner;
  done("Bash", {{"command", "true"}});
  EXPECT_EQ(runner.commands()[0].network, NetworkAccess::kNone);
  capabilities_ = {"exec", "net:host"};
  done("Bash", {{"command", "true"}});
  EXPECT_EQ(runner.commands()[1].network, NetworkAccess::kHost);
}

TEST(StandardTools, AReadOnlyRegistryHasOnlyReadingTools) {
  ToolRegistry registry(ToolRegistry::Mode::kReadOnly);
  ASSERT_TRUE(add_standard_tools(registry));
  EXPECT_TRUE(registry.has("Read"));
  EXPECT_FALSE(registry.has("Write"));
  EXPECT_FALSE(registry.has("Bash"));
}

TEST(StandardTools, EverySchemaDescribesAnObject) {
  ToolRegistry registry;
  ASSERT_TRUE(add_standard_tools(registry));
  ASSERT_TRUE(add_dialect_tools(registry));
  const auto document = registry.schemas();
  for (const auto& tool : document["tools"]) {
    EXPECT_EQ(tool["inputSchema"]["type"], "object") << tool["name"];
    EXPECT_EQ(tool["outputSchema"]["type"], "object") << tool["name"];
    EXPECT_FALSE(tool["description"].get<std::string>().empty());
    EXPECT_FALSE(tool["title"].get<std::string>().empty());
  }
}

}  // namespace
}  // namespace galley
