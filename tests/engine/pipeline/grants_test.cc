// Grants and revocations of people, in addition to galley.toml.
#include "engine/pipeline/grant_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include <galley/workspace.h>
#include "engine/pipeline/workspace_state.h"
#include "support/temp_directory.h"
#include "tests/engine/pipeline/any_object.h"

namespace galley {
namespace {

using ::testing::HasSubstr;

constexpr const char* kBuilderConfig = R"(
[agents.builder]
capabilities = ["fs:read", "fs:write:src/", "custom:build"]

[agents."*"]
)";
constexpr const char* kDeploy = "custom:deploy";

ToolDefinition tool_that_needs(const std::string& name, const std::string& capability) {
  ToolDefinition tool;
  tool.info.name = name;
  tool.info.description = "needs " + capability;
  tool.info.input_schema = tool.info.output_schema = kAnyObject;
  tool.info.capabilities = {capability};
  tool.run = [](ToolRun&) { return Result<std::string>("{}"); };
  return tool;
}

class GrantsTest : public ::testing::Test {
 protected:
  GrantsTest() {
    tree_.write("galley.toml", kBuilderConfig);
    tree_.write("src/a.txt", "a\n");
    workspace_ = opened();
  }
  std::unique_ptr<Workspace> opened() {
    WorkspaceOptions options;
    options.trusts_configuration = true;
    options.tools = {tool_that_needs("Deploy", kDeploy), tool_that_needs("Build", "custom:build")};
    auto made = Workspace::open(tree_.path(), std::move(options));
    EXPECT_TRUE(made) << made.error().message;
    return *std::move(made);
  }
  /// "ok", or the reason of the refusal.
  static std::string called(Workspace& workspace, const std::string& agent, const std::string& tool,
                            const std::string& arguments = "{}") {
    auto transaction = workspace.begin({.agent = agent});
    const CallResult result = transaction->call(tool, arguments);
    return result ? "ok" : result.error().reason;
  }
  std::string called(const std::string& agent, const std::string& tool,
                     const std::string& arguments = "{}") {
    return called(*workspace_, agent, tool, arguments);
  }
  std::string said(const Result<void>& result) { return result ? "ok" : result.error().reason; }
  /// The one file of grants.
  std::string only_file() {
    std::vector<std::string> files;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(tree_.path() + "/.galley/grants")) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
    EXPECT_EQ(files.size(), 1U);
    return files.empty() ? "" : files.front();
  }

  TempDirectory tree_;
  std::unique_ptr<Workspace> workspace_;
  const std::string write_ = R"({"file_path": "src/a.txt", "content": "b\n"})";
};

TEST_F(GrantsTest, TheNewestDecisionCountsAlsoAfterTheClockWentBack) {
  ASSERT_TRUE(persistent_of(*workspace_).ensure());
  const GrantStore store(*persistent_of(*workspace_).state());
  ASSERT_TRUE(store.keep({"builder", "fs:write:src/**", false, "ada", 2'000}));
  ASSERT_TRUE(store.keep({"builder", "fs:write", true, "ada", 1'000}));
  const auto all = store.list();
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->back().capability, "fs:write");
}

TEST_F(GrantsTest, AnAgentHasNoCapabilityOfAnOpenDomainByDefault) {
  EXPECT_EQ(called("bot", "Deploy"), "capability.missing");
  EXPECT_EQ(called("builder", "Deploy"), "capability.missing");
  EXPECT_EQ(called("builder", "Build"), "ok") << "its profile gives it";
  EXPECT_EQ(called("bot", "Build"), "capability.missing");
  EXPECT_EQ(called("", "Deploy"), "ok") << "a person has all of them";
}

TEST_F(GrantsTest, AGrantAppliesFromTheNextCall) {
  auto transaction = workspace_->begin_stored({.agent = "bot"});
  EXPECT_EQ(transaction->call("Deploy", "{}").error().reason, "capability.missing");
  ASSERT_EQ(said(workspace_->grant("bot", kDeploy, "ann")), "ok");
  EXPECT_TRUE(transaction->call("Deploy", "{}"));
  EXPECT_EQ(called("other", "Deploy"), "capability.missing");
  ASSERT_EQ(said(workspace_->revoke("bot", "custom:*", "ann")), "ok");
  EXPECT_EQ(transaction->call("Deploy", "{}").error().reason, "capability.missing");
  ASSERT_EQ(said(workspace_->grant("bot", kDeploy, "ann")), "ok");
  EXPECT_TRUE(transaction->call("Deploy", "{}")) << "what was said last counts";
  const auto all = workspace_->grants();
  ASSERT_TRUE(all);
  ASSERT_EQ(all->size(), 2U);
  EXPECT_EQ(all->back().capability, kDeploy);
  EXPECT_EQ(all->back().by, "ann");
}

TEST_F(GrantsTest, ARevocationAppliesAtTheGateToo) {
  auto transaction = workspace_->begin_stored({.agent = "bot"});
  ASSERT_TRUE(transaction->write("src/a.txt", "b\n"));
  ASSERT_EQ(said(workspace_->revoke("bot", "fs:write:src/", "ann")), "ok");
  EXPECT_EQ(called("bot", "Write", write_), "policy.capability");
  const auto outcome = transaction->commit();
  ASSERT_TRUE(outcome) << outcome.error().message;
  ASSERT_TRUE(std::holds_alternative<Refused>(*outcome));
  EXPECT_THAT(std::get<Refused>(*outcome).refusal().message, HasSubstr("was revoked from bot"));
  EXPECT_EQ(tree_.read("src/a.txt"), "a\n");
  ASSERT_EQ(said(workspace_->grant("bot", "fs:write:src/", "ann")), "ok");
  EXPECT_TRUE(std::holds_alternative<Receipt>(*transaction->commit()));
}

TEST_F(GrantsTest, ARevocationOfReadingHidesTheFile) {
  ASSERT_EQ(said(workspace_->revoke("bot", "fs:read:src/", "ann")), "ok");
  EXPECT_EQ(called("bot", "Read", R"({"file_path": "src/a.txt"})"), "policy.capability");
  auto transaction = workspace_->begin({.agent = "bot"});
  const auto found = transaction->call("Grep", R"({"pattern": "a"})");
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found.json().find("src/a.txt"), std::string::npos);
}

TEST_F(GrantsTest, AGrantIsNeverWiderThanTheConfiguration) {
  for (const char* wider : {kDeploy, "custom:*", "exec:git", "net:host"}) {
    EXPECT_EQ(said(workspace_->grant("builder", wider, "ann")), "grant.wider_than_configuration")
        << wider;
  }
  EXPECT_EQ(said(workspace_->grant("bot", "net:host", "ann")), "grant.wider_than_configuration");
  EXPECT_EQ(said(workspace_->grant("bot", "sec:grant", "ann")), "grant.wider_than_configuration");
  EXPECT_EQ(said(workspace_->grant("builder", "custom:build", "ann")), "ok");
  ASSERT_EQ(said(workspace_->grant("builder", "fs:write:docs/", "ann")), "ok");
  EXPECT_EQ(called("builder", "Write", R"({"file_path": "docs/a", "content": "a"})"),
            "policy.capability")
      << "its profile writes in src/ only";
  // A grant that is older than a stricter galley.toml.
  ASSERT_EQ(said(workspace_->grant("bot", kDeploy, "ann")), "ok");
  tree_.write("galley.toml", "[agents.bot]\ncapabilities = [\"fs:read\"]\n");
  EXPECT_EQ(called(*opened(), "bot", "Deploy"), "capability.missing");
}

TEST_F(GrantsTest, InvalidAgentsAndCapabilitiesAreRefused) {
  for (const char* agent : {"", "*", "bo?", "a\nb"}) {
    EXPECT_EQ(said(workspace_->grant(agent, kDeploy, "ann")), "grant.agent") << agent;
  }
  for (const char* capability : {"custom", "!custom:deploy", "fs:fly", "net:example.org"}) {
    EXPECT_EQ(said(workspace_->grant("bot", capability, "ann")), "capability.invalid");
  }
  EXPECT_TRUE(workspace_->grants()->empty());
}

TEST_F(GrantsTest, OnlyPeopleGrant) {
  const TransactionOptions agent{.agent = "bot"};
  EXPECT_EQ(said(workspace_->grant("bot", kDeploy, "bot", agent)), "grant.by_agent");
  EXPECT_EQ(said(workspace_->revoke("other", kDeploy, "bot", agent)), "grant.by_agent");
  EXPECT_TRUE(workspace_->grants()->empty());
  const std::string log = tree_.read(".galley/audit.jsonl");
  EXPECT_THAT(log, HasSubstr("\"kind\":\"grant\""));
  EXPECT_THAT(log, HasSubstr("grant.by_agent"));
  const char* arguments = R"({"agent": "bot", "capability": "custom:deploy"})";
  EXPECT_EQ(called("bot", "sec.grant", arguments), "capability.missing");
  EXPECT_EQ(called("builder", "sec.revoke", arguments), "capability.missing");
}

TEST_F(GrantsTest, TheGrantToolsNeedAConfirmation) {
  auto transaction = workspace_->begin_stored();
  const char* arguments = R"({"agent": "bot", "capability": "custom:deploy"})";
  EXPECT_EQ(transaction->call("sec.grant", arguments).error().reason, "call.needs_confirmation");
  CallOptions options;
  options.confirm = [](const CallOptions::Question&) { return Result<bool>(true); };
  const auto granted = transaction->call("sec.grant", arguments, options);
  ASSERT_TRUE(granted) << granted.error().message;
  EXPECT_EQ(called("bot", "Deploy"), "ok");
  ASSERT_TRUE(transaction->call("sec.revoke", arguments, options));
  EXPECT_EQ(called("bot", "Deploy"), "capability.missing");
  options.dry_run = true;
  EXPECT_EQ(transaction->call("sec.grant", arguments, options).error().reason,
            "call.dry_run_outside");
}

TEST_F(GrantsTest, OnlyAnAgentWithAuditReadMayVerifyTheAuditLog) {
  EXPECT_EQ(called("bot", "sec.audit"), "capability.missing");
  ASSERT_EQ(said(workspace_->grant("bot", "audit:read", "ann")), "ok");
  EXPECT_EQ(called("bot", "sec.audit"), "ok");
  auto transaction = workspace_->begin();
  const auto whole = transaction->call("sec.audit", "{}");
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_THAT(whole.json(), HasSubstr(R"("intact":true)"));
  std::string log = tree_.read(".galley/audit.jsonl");
  log[log.find("audit:read") + 4] = 'A';
  tree_.write(".galley/audit.jsonl", log);
  EXPECT_THAT(transaction->call("sec.audit", "{}").json(), HasSubstr("audit.changed"));
}

TEST_F(GrantsTest, GrantsOfAnotherProcessApply) {
  auto other = opened();
  ASSERT_EQ(said(other->grant("bot", kDeploy, "ann")), "ok");
  EXPECT_EQ(called("bot", "Deploy"), "capability.missing") << "it has no .galley yet";
  workspace_ = opened();
  EXPECT_EQ(called("bot", "Deploy"), "ok");
  ASSERT_EQ(said(other->revoke("bot", kDeploy, "ann")), "ok");
  EXPECT_EQ(called("bot", "Deploy"), "capability.missing");
  ASSERT_EQ(said(other->grant("bot", kDeploy, "ann")), "ok");
  EXPECT_EQ(called("bot", "Deploy"), "ok");
}

TEST_F(GrantsTest, GrantFilesAreReadableByThisUserOnly) {
  ASSERT_EQ(said(workspace_->grant("bot", kDeploy, "a\nnn")), "ok");
  struct stat info {};
  ASSERT_EQ(::stat(only_file().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777U, 0600U);
  EXPECT_EQ(workspace_->grants()->front().by, "a nn") << "a name makes no line of its own";
}

TEST_F(GrantsTest, ADamagedFileDeniesEverythingToAgents) {
  ASSERT_EQ(said(workspace_->revoke("bot", kDeploy, "ann")), "ok");
  const std::string file = only_file();
  ASSERT_EQ(::chmod(file.c_str(), 0644), 0);
  auto other = opened();
  EXPECT_THAT(other->notices().back(), HasSubstr("cannot be trusted"));
  EXPECT_EQ(called(*other, "bot", "Write", write_), "grant.damaged");
  EXPECT_EQ(called(*other, "builder", "Build"), "grant.damaged");
  EXPECT_EQ(called(*other, "", "Write", write_), "ok") << "a person mends it";
  ASSERT_TRUE(std::filesystem::remove(file));
  EXPECT_EQ(called(*other, "bot", "Write", write_), "ok");
}

TEST_F(GrantsTest, AFileUnderAnotherNameIsNotTrusted) {
  ASSERT_EQ(said(workspace_->grant("bot", kDeploy, "ann")), "ok");
  const std::string file = only_file();
  std::filesystem::rename(file, file.substr(0, file.rfind('/') + 1) + std::string(64, '0'));
  EXPECT_EQ(called(*opened(), "bot", "Deploy"), "grant.damaged");
}

}  // namespace
}  // namespace galley
