// Calls are put down with their full contents and made again on another tree.
#include "engine/calls/transcript.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include <galley/testing/mock_tool.h>
#include <galley/testing/temporary_workspace.h>
#include "doubles/fake_command_runner.h"
#include "engine/pipeline/inner_transaction.h"
#include "engine/pipeline/replay.h"
#include "engine/pipeline/transaction_state.h"
#include "support/temp_directory.h"
#include "tools/json_input.h"
#include "tools/schema.h"

namespace galley {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kSecret = "hunter2-and-more";

class TranscriptTest : public ::testing::Test {
 protected:
  TranscriptTest() { files_ = {{"a.txt", "one\ntwo\n"}, {"b.txt", "b\n"}}; }
  [[nodiscard]] TemporaryWorkspace tree(ToolDefinition tool = {}) {
    WorkspaceOptions options;
    options.runner = &runner_;
    if (tool.run) options.tools.push_back(std::move(tool));
    auto made = TemporaryWorkspace::make(files_, std::move(options));
    EXPECT_TRUE(made) << made.error().message;
    return *std::move(made);
  }
  [[nodiscard]] Transaction begin(TemporaryWorkspace& tree) const {
    auto transaction = *tree.workspace().begin({"bot", "why"});
    const auto begun = transaction.transcribe_to(file());
    EXPECT_TRUE(begun) << begun.error().message;
    return transaction;
  }
  [[nodiscard]] std::string file() const { return place_.path() + "/calls.jsonl"; }
  [[nodiscard]] std::string text() const { return place_.read("calls.jsonl"); }
  [[nodiscard]] std::vector<json> lines() const {
    std::vector<json> all;
    std::istringstream stream(text());
    for (std::string line; std::getline(stream, line);) all.push_back(json::parse(line));
    return all;
  }
  static SecretProvider secret() {
    return [](const std::string& name) -> std::optional<std::string> {
      return name == "TOKEN" ? std::optional<std::string>(kSecret) : std::nullopt;
    };
  }
  /// The transcript, replayed on that tree and dropped.
  static ReplayReport replayed(TemporaryWorkspace& tree, const std::string& text,
                               const ReplayOptions& options = {}) {
    auto transaction = *tree.workspace().begin();
    const auto calls = read_transcript(text);
    EXPECT_TRUE(calls) << calls.error().message;
    const auto report = replay(tree.workspace(), transaction, *calls, options);
    EXPECT_TRUE(report) << report.error().message;
    return *report;
  }

  std::map<std::string, std::string> files_;
  TempDirectory place_;
  /// Says the secret that it got, and writes a file.
  FakeCommandRunner runner_{[](const Command& command, Overlay& overlay) -> Result<CommandResult> {
    CommandResult result;
    result.exit_code = 0;
    const auto token = command.environment.find("TOKEN");
    if (token != command.environment.end()) result.standard_output.head = token->second;
    GALLEY_TRY(overlay.write(rel("made.txt"), "made\n"));
    return result;
  }};
};

constexpr const char* kEdit =
    R"({"file_path": "a.txt", "old_string": "two", "new_string": "zwei"})";

TEST_F(TranscriptTest, ATranscriptHasEachCallWithItsResultAndChanges) {
  TemporaryWorkspace first = tree();
  auto transaction = begin(first);
  CallOptions options;
  options.call_id = "c1";
  options.task_id = "t1";
  ASSERT_TRUE(transaction.call("Edit", kEdit, options));
  EXPECT_FALSE(transaction.call("Read", R"({"file_path": "none"})"));
  const auto all = lines();
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0]["schema"], "galley.transcript/1");
  EXPECT_EQ(all[0]["root"], first.path());
  EXPECT_EQ(all[0]["agent"], "bot");
  const json& call = all[1];
  EXPECT_EQ(call["tool"], "Edit");
  EXPECT_EQ(call["arguments"], json::parse(kEdit));
  EXPECT_EQ(call["call"]["call_id"], "c1");
  EXPECT_EQ(call["call"]["task_id"], "t1");
  EXPECT_EQ(call["exit"]["ok"], true);
  EXPECT_TRUE(call["resources"].contains("duration_ms"));
  EXPECT_TRUE(call["result"]["meta"].contains("startedAt"));
  EXPECT_EQ(call["changed"][0]["path"], "a.txt");
  EXPECT_EQ(call["changed"][0]["after"]["sha256"], ContentId::of("one\nzwei\n").hex());
  EXPECT_EQ(all[3]["exit"]["code"], "ERUNTIME");
  EXPECT_EQ(all[3]["exit"]["reason"], "path.not_found");
}

TEST_F(TranscriptTest, EveryLineConformsToTheSchema) {
  TemporaryWorkspace first = tree();
  auto transaction = begin(first);
  CallOptions options;
  options.secrets = secret();
  options.environment = {{"LANG", "C"}};
  (void)transaction.call("Bash", R"({"command": "echo $ENV.TOKEN"})", options);
  (void)transaction.call("Write", R"({"file_path": "d/n", "content": "n"})");
  (void)transaction.call("None", "{}");
  const auto schema =
      JsonSchema::compile(*read_file(*open_disk_directory(std::string(GALLEY_SOURCE_DIR)).value(),
                                     rel("docs/json/transcript.schema.json"), uint64_t{1} << 20U));
  ASSERT_TRUE(schema) << schema.error().message;
  for (const json& line : lines()) {
    const auto violations = schema->check(line);
    EXPECT_TRUE(violations.empty()) << describe(violations) << "\n" << line;
  }
}

TEST_F(TranscriptTest, OnlyTheUserCanReadATranscript) {
  TemporaryWorkspace first = tree();
  const Transaction begun = begin(first);
  struct stat about {};
  ASSERT_EQ(::stat(file().c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777U, 0600U);
  place_.write("open.jsonl", "", 0644);
  auto transaction = *first.workspace().begin();
  EXPECT_EQ(transaction.transcribe_to(place_.path() + "/open.jsonl").error().reason,
            "transcript.mode");
  EXPECT_EQ(transaction.transcribe_to(first.path() + "/t").error().reason,
            "transcript.in_workspace");
}

TEST_F(TranscriptTest, ValuesOfSecretsBecomeTheirPlaceholders) {
  TemporaryWorkspace first = tree();
  auto transaction = begin(first);
  CallOptions options;
  options.secrets = secret();
  ASSERT_TRUE(transaction.call("Bash", R"({"command": "echo $ENV.TOKEN"})", options));
  const json leak = {{"file_path", "leak"}, {"content", std::string("it is ") + kSecret}};
  ASSERT_TRUE(transaction.call("Write", leak.dump(), options));
  EXPECT_THAT(text(), Not(HasSubstr(kSecret)));
  const auto all = lines();
  EXPECT_EQ(all[1]["result"]["data"]["stdout"], "$ENV.TOKEN");
  EXPECT_EQ(all[1]["secrets"], json::array({"TOKEN"}));
  EXPECT_EQ(all[3]["arguments"]["content"], "it is $ENV.TOKEN");
}

TEST_F(TranscriptTest, AReplayOnAnEqualTreeHasNoDifferences) {
  TemporaryWorkspace first = tree();
  {
    auto transaction = begin(first);
    CallOptions options;
    options.secrets = secret();
    ASSERT_TRUE(transaction.call("Edit", kEdit));
    const json absolute = {{"file_path", first.path() + "/b.txt"}, {"content", "B\n"}};
    ASSERT_TRUE(transaction.call("Write", absolute.dump()));
    ASSERT_TRUE(transaction.call("Bash", R"({"command": "echo $ENV.TOKEN"})", options));
    EXPECT_FALSE(transaction.call("Read", R"({"file_path": "none"})"));
  }
  TemporaryWorkspace second = tree();
  ReplayOptions options;
  options.secrets = secret();
  const ReplayReport report = replayed(second, text(), options);
  EXPECT_TRUE(report.is_equal()) << describe(report);
  EXPECT_EQ(report.replayed, 4U);
}

TEST_F(TranscriptTest, DifferencesAreListedWithTheirPlaces) {
  TemporaryWorkspace first = tree();
  {
    auto transaction = begin(first);
    ASSERT_TRUE(transaction.call("Edit", kEdit));
    ASSERT_TRUE(transaction.call("Read", R"({"file_path": "b.txt"})"));
  }
  files_ = {{"a.txt", "one\ntwo\nthree\n"}, {"b.txt", "other\n"}};
  TemporaryWorkspace second = tree();
  const ReplayReport report = replayed(second, text());
  std::set<std::string> seen;
  for (const ReplayDifference& one : report.differences) seen.insert(one.what + " " + one.where);
  EXPECT_TRUE(seen.contains("base a.txt"));
  EXPECT_TRUE(seen.contains("tree a.txt"));
  EXPECT_TRUE(seen.contains("result /data/content")) << describe(report);
  EXPECT_THAT(describe(report), HasSubstr("call 2 (Read): result /data/content: expected \"b"));
}

TEST_F(TranscriptTest, CallsThatCannotBeReplayedAreReportedWithTheReason) {
  MockTool mock("mock.tool");
  mock.answer_all("{}");
  ToolInfo outside_info;
  outside_info.security_tier = ToolInfo::Tier::kRestricted;
  MockTool outside("mock.outside", outside_info);
  outside.answer_all("{}");
  TemporaryWorkspace first = tree(mock.definition());
  ASSERT_TRUE(first.workspace().add_tool(outside.definition()));
  {
    auto transaction = begin(first);
    CallOptions options;
    options.secrets = secret();
    (void)transaction.call("mock.tool", "{}");
    (void)transaction.call("mock.outside", "{}");
    (void)transaction.call("Bash", R"({"command": "echo $ENV.TOKEN"})", options);
    (void)transaction.call("Write", R"({"file_path": "p", "password": "x"})");
  }
  const auto reasons = [&](TemporaryWorkspace& tree) {
    std::vector<std::string> all;
    for (const ReplayDifference& one : replayed(tree, text()).differences) {
      if (one.what == "not_replayed") all.push_back(one.reason);
    }
    return all;
  };
  TemporaryWorkspace without = tree();
  EXPECT_EQ(reasons(without),
            (std::vector<std::string>{"replay.tool_missing", "replay.tool_missing",
                                      "replay.secret_missing", "replay.redacted"}));
  ToolInfo newer_info;
  newer_info.version = "2.0.0";
  MockTool newer("mock.tool", newer_info);
  newer.answer_all("{}");
  TemporaryWorkspace other = tree(newer.definition());
  ASSERT_TRUE(other.workspace().add_tool(outside.definition()));
  EXPECT_EQ(reasons(other), (std::vector<std::string>{"replay.other_version", "replay.outside",
                                                      "replay.secret_missing", "replay.redacted"}));
}

TEST_F(TranscriptTest, OtherStepsAreWrittenWithTheirChangesButNotReplayed) {
  TemporaryWorkspace first = tree();
  {
    auto transaction = begin(first);
    ASSERT_TRUE(transaction.apply("--- a/a.txt\n+++ b/a.txt\n@@ -2 +2 @@\n-two\n+2\n"));
    Command make;
    make.argv = {"make"};
    ASSERT_TRUE(inner(transaction).run(make));
    ASSERT_TRUE(transaction.call("Read", R"({"file": "a.txt"})"));
  }
  const auto schema =
      JsonSchema::compile(*read_file(*open_disk_directory(std::string(GALLEY_SOURCE_DIR)).value(),
                                     rel("docs/json/transcript.schema.json"), uint64_t{1} << 20U));
  ASSERT_TRUE(schema);
  std::vector<std::string> steps;
  for (const json& line : lines()) {
    EXPECT_TRUE(schema->check(line).empty()) << line;
    if (line["schema"] != "galley.transcript-step/1") continue;
    steps.push_back(line["did"].get<std::string>() + " " +
                    line["changed"][0]["path"].get<std::string>());
  }
  EXPECT_EQ(steps.size(), 2U);
  EXPECT_THAT(steps.front(), HasSubstr(" a.txt"));
  EXPECT_EQ(steps.back(), "exec made.txt");
  TemporaryWorkspace other = tree();
  const ReplayReport report = replayed(other, text());
  std::vector<std::string> reasons;
  for (const ReplayDifference& one : report.differences) {
    if (one.what == "not_replayed") reasons.push_back(one.reason);
  }
  EXPECT_EQ(reasons, (std::vector<std::string>{"replay.no_call", "replay.no_call"}));
  EXPECT_EQ(report.replayed, 1U);
}

TEST_F(TranscriptTest, CallsThatWereStagedTogetherAreReplayedTogether) {
  TemporaryWorkspace first = tree();
  {
    auto transaction = begin(first);
    const auto calls =
        parse_calls(R"([{"tool":"Write","args":{"file_path":"n","content":"n"}},{"tool":"None"}])");
    (void)inner(transaction).call_all(*calls);
  }
  EXPECT_EQ(read_transcript(text())->at(1).group, 0U);
  TemporaryWorkspace second = tree();
  const ReplayReport report = replayed(second, text());
  EXPECT_EQ(report.replayed, 2U);
  EXPECT_TRUE(report.is_equal()) << describe(report);
}

TEST_F(TranscriptTest, AMalformedTranscriptIsRefusedWithItsLine) {
  for (const char* text : {"{}\n", "not json\n", "{\"schema\":\"galley.transcript-call/1\"}\n",
                           "{\"schema\":\"galley.transcript/1\"}\n"
                           "{\"schema\":\"galley.transcript-call/1\",\"tool\":\"x\"}\n"}) {
    const auto calls = read_transcript(text);
    ASSERT_FALSE(calls) << text;
    EXPECT_EQ(calls.error().reason, "transcript.malformed");
    EXPECT_THAT(calls.error().message, HasSubstr("line "));
  }
  EXPECT_TRUE(read_transcript("")->empty());
  EXPECT_TRUE(read_transcript("{\"schema\":\"galley.transcript/1\"}\n{\"cut off")->empty());
}

// Limit: kMaxTranscriptLineBytes of engine/calls/transcript.h
TEST_F(TranscriptTest, TooLongArgumentsAreReplacedByTheirHash) {
  TranscriptEntry entry;
  entry.tool = "Write";
  entry.arguments = std::make_shared<const nlohmann::ordered_json>(
      nlohmann::ordered_json{{"content", std::string(kMaxTranscriptLineBytes + 1, 'x')}});
  entry.result = ToolResult::success(nlohmann::ordered_json::object());
  const std::string line = TranscriptLines().call(entry);
  EXPECT_LT(line.size(), 4096U);
  const json document = json::parse(line);
  EXPECT_EQ(document["cut"].back(), "arguments");
  EXPECT_TRUE(document["arguments"].contains("sha256"));
  EXPECT_TRUE(read_transcript("{\"schema\":\"galley.transcript/1\"}\n" + line)->at(0).is_cut);
}

}  // namespace
}  // namespace galley
