// Where the values of secrets go, and that they come out nowhere.
#include "engine/calls/secrets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <galley/workspace.h>
#include "doubles/fake_command_runner.h"
#include "engine/pipeline/inner_transaction.h"
#include "support/temp_directory.h"
#include "tests/engine/pipeline/any_object.h"

namespace galley {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kValue = "hunter2-and-more";

class CallSecretsTest : public ::testing::Test {
 protected:
  CallSecretsTest() {
    tree_.write("a.txt", "one\n");
    options_.secrets = [](const std::string& key) -> std::optional<std::string> {
      if (key == "TOKEN") return kValue;
      if (key == "SHORT") return "abc";
      return {};
    };
    open("");
  }
  void open(const std::string& configuration) {
    transaction_.reset();
    tree_.write("galley.toml", configuration);
    ToolDefinition own;
    own.info.name = "Own";
    own.info.description = "keeps what it is given";
    own.info.input_schema = own.info.output_schema = kAnyObject;
    own.info.capabilities = {"fs:read", "fs:write"};
    own.run = [this](ToolRun& call) -> Result<std::string> {
      given_ = call.arguments();
      if (!call.text("write").empty()) {
        GALLEY_TRY(call.write(call.text("write"), call.text("text")));
      }
      return "{\"said\": \"" + call.text("text") + "\"}";
    };
    WorkspaceOptions options;
    options.runner = &runner_;
    options.trusts_configuration = true;
    options.tools = {own};
    workspace_ = *Workspace::open(tree_.path(), std::move(options));
    transaction_.emplace(*workspace_->begin_stored({.agent = "bot"}));
  }
  std::string called(const std::string& tool, const json& arguments) {
    const CallResult result = transaction_->call(tool, arguments.dump(), options_);
    document_ = result.document();
    return result ? "ok" : result.error().reason;
  }
  std::string log() { return tree_.read(".galley/audit.jsonl"); }
  static Result<CommandResult> answer(const Command& command, Overlay& overlay) {
    CommandResult result;
    result.exit_code = 0;
    const auto value = command.environment.find("TOKEN");
    if (value != command.environment.end()) {
      result.effects_staged = true;
      EXPECT_TRUE(overlay.write(rel("out.txt"), "token " + value->second + "\n"));
    }
    result.standard_output.head = "key AKIAIOSFODNN7EXAMPLE\n";
    return result;
  }

  TempDirectory tree_;
  FakeCommandRunner runner_{
      [](const Command& command, Overlay& overlay) { return answer(command, overlay); }};
  std::unique_ptr<Workspace> workspace_;
  std::optional<Transaction> transaction_;
  CallOptions options_;
  std::string given_;
  std::string document_;
};

TEST_F(CallSecretsTest, AnOwnToolGetsValuesInAnyString) {
  EXPECT_EQ(called("Own", {{"text", "x $ENV.TOKEN"}, {"deep", {{"list", {"$ENV.TOKEN"}}}}}), "ok");
  EXPECT_EQ(json::parse(given_)["deep"]["list"][0], kValue);
  EXPECT_THAT(document_, HasSubstr("x [REDACTED:env.TOKEN]"));
  EXPECT_THAT(document_, Not(HasSubstr(kValue)));
  EXPECT_THAT(log(), Not(HasSubstr(kValue)));
  EXPECT_THAT(log(), HasSubstr("x $ENV.TOKEN")) << "the record has the placeholder";
}

TEST_F(CallSecretsTest, WithoutAProviderAPlaceholderStaysText) {
  options_.secrets = {};
  EXPECT_EQ(called("Own", {{"text", "$ENV.TOKEN"}}), "ok");
  EXPECT_EQ(json::parse(given_)["text"], "$ENV.TOKEN");
}

TEST_F(CallSecretsTest, UnknownAndTooShortSecretsAreRefused) {
  EXPECT_EQ(called("Own", {{"text", "$ENV.OTHER"}}), "secret.unknown");
  EXPECT_EQ(called("Own", {{"text", "$ENV.SHORT"}}), "secret.too_short");
  EXPECT_EQ(called("Bash", {{"command", "echo $ENV.SHORT"}}), "secret.too_short");
  EXPECT_TRUE(given_.empty());
}

TEST_F(CallSecretsTest, ASecretIsRedactedFromAllLaterAnswers) {
  ASSERT_EQ(called("Own", {{"text", "$ENV.TOKEN"}}), "ok");
  options_.secrets = {};
  tree_.write("leak.txt", std::string(kValue) + "\n");
  auto other = workspace_->begin_stored({.agent = "other"});
  const CallResult read = other->call("Read", R"({"file_path": "leak.txt"})");
  ASSERT_TRUE(read);
  EXPECT_THAT(read.json(), HasSubstr("[REDACTED:env.TOKEN]"));
  EXPECT_THAT(read.json(), Not(HasSubstr(kValue)));
  EXPECT_EQ(called("Own", {{"text", kValue}}), "ok");
  EXPECT_THAT(log(), Not(HasSubstr(kValue))) << "nor is it in a record of what a caller says";
}

TEST_F(CallSecretsTest, ACommandThatWritesItsSecretIntoAFileStagesNothing) {
  EXPECT_EQ(called("Bash", {{"command", "echo $ENV.TOKEN > out.txt"}}), "secret.in_file");
  EXPECT_TRUE(transaction_->proposal().is_empty());
  EXPECT_EQ(called("Own", {{"write", "b.txt"}, {"text", "$ENV.TOKEN"}}), "secret.in_file");
  EXPECT_EQ(called("Own", {{"write", "$ENV.TOKEN"}, {"text", "x"}}), "secret.in_file")
      << "a name is shown as well";
  EXPECT_THAT(document_, Not(HasSubstr(kValue)));
  EXPECT_TRUE(transaction_->proposal().is_empty());
  open("[secrets]\nin_files = true\n");
  EXPECT_EQ(called("Bash", {{"command", "echo $ENV.TOKEN > out.txt"}}), "ok") << document_;
  EXPECT_EQ(*transaction_->read("out.txt"), std::string("token ") + kValue + "\n");
  EXPECT_THAT(document_, Not(HasSubstr(kValue))) << "the diff of the answer";
}

TEST_F(CallSecretsTest, AnEditWritesSecretsOnlyIfTheConfigurationAllowsIt) {
  EXPECT_EQ(called("Write", {{"file_path", "b.txt"}, {"content", "$ENV.TOKEN\n"}}), "ok");
  EXPECT_EQ(*transaction_->read("b.txt"), "$ENV.TOKEN\n") << "a file may speak of placeholders";
  open("[secrets]\nin_files = true\n");
  EXPECT_EQ(called("Write", {{"file_path", "b.txt"}, {"content", "$ENV.TOKEN\n"}}), "ok");
  EXPECT_EQ(*transaction_->read("b.txt"), std::string(kValue) + "\n");
  EXPECT_EQ(
      called("Edit", {{"file_path", "a.txt"}, {"old_string", "one"}, {"new_string", "$ENV.TOKEN"}}),
      "ok");
  EXPECT_EQ(*transaction_->read("a.txt"), std::string(kValue) + "\n");
  EXPECT_THAT(log(), Not(HasSubstr(kValue)));
}

TEST_F(CallSecretsTest, ReadingToolsDoNotGetSecrets) {
  tree_.write("leak.txt", std::string(kValue) + "\n");
  EXPECT_EQ(called("Grep", {{"pattern", "\\$ENV.TOKEN|nothing"}}), "ok");
  EXPECT_THAT(document_, Not(HasSubstr("leak.txt"))) << "else a search would tell the value";
}

TEST_F(CallSecretsTest, KeysAreRedactedFromCommandOutputButNotFromFiles) {
  tree_.write("key.txt", "AKIAIOSFODNN7EXAMPLE\n");
  EXPECT_EQ(called("Bash", {{"command", "cat key.txt"}}), "ok");
  EXPECT_THAT(document_, HasSubstr("[REDACTED:aws-access-key]"));
  EXPECT_EQ(called("Read", {{"file_path", "key.txt"}}), "ok");
  EXPECT_THAT(document_, HasSubstr("AKIAIOSFODNN7EXAMPLE")) << "an agent is to edit it";
}

TEST_F(CallSecretsTest, KeysAreRedactedFromAgentsCommandsButNotFromPeoplesCommands) {
  Command command;
  command.argv = {"cat"};
  const auto of_agent = inner(*transaction_).run(command);
  ASSERT_TRUE(of_agent) << of_agent.error().message;
  EXPECT_EQ(of_agent->standard_output.head, "key [REDACTED:aws-access-key]\n");
  auto own = workspace_->begin_stored();
  const auto of_person = inner(*own).run(command);
  ASSERT_TRUE(of_person) << of_person.error().message;
  EXPECT_EQ(of_person->standard_output.head, "key AKIAIOSFODNN7EXAMPLE\n");
}

TEST_F(CallSecretsTest, AnEditWithARedactionMarkerIsRefused) {
  const std::string marked = "key = [REDACTED:aws-access-key]\n";
  EXPECT_EQ(called("Write", {{"file_path", "a.txt"}, {"content", marked}}),
            "secret.redaction_marker");
  EXPECT_EQ(called("Edit", {{"file_path", "a.txt"}, {"old_string", "one"}, {"new_string", marked}}),
            "secret.redaction_marker");
  EXPECT_EQ(called("apply_patch", {{"input", "*** Begin Patch\n*** Add File: n.txt\n+" + marked +
                                                 "*** End Patch\n"}}),
            "secret.redaction_marker");
  EXPECT_FALSE(transaction_->edit("a.txt", "one", marked));
  EXPECT_TRUE(transaction_->proposal().is_empty());
}

TEST_F(CallSecretsTest, AnExistingRedactionMarkerIsKept) {
  tree_.write("doc.txt", "shown as [REDACTED:rule]\nmore\n");
  EXPECT_EQ(called("Edit", {{"file_path", "doc.txt"}, {"old_string", "more"}, {"new_string", "x"}}),
            "ok");
  EXPECT_EQ(called("Copy", {{"source", "doc.txt"}, {"destination", "copy.txt"}}), "ok");
  EXPECT_EQ(called("Move", {{"source", "doc.txt"}, {"destination", "new.txt"}}), "ok");
  EXPECT_EQ(
      called("Edit",
             {{"file_path", "copy.txt"}, {"old_string", "x"}, {"new_string", "[REDACTED:rule]"}}),
      "secret.redaction_marker");
}

}  // namespace
}  // namespace galley
