// The policy at the door: what an agent's profile says of tool calls, and approvals given
// beforehand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "doubles/fake_command_runner.h"
#include "engine/calls/executor.h"
#include "engine/calls/guarded_runner.h"
#include "engine/commit/state_directory.h"
#include "engine/pipeline/approvals.h"
#include "engine/pipeline/workspace_state.h"
#include "support/own_file.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kEarlyPolicyConfig = R"(
[policy]
protected = ["fixed/"]

[[policy.rule]]
name = "asked about"
paths = ["deploy/"]
decision = "ask"

[[policy.rule]]
name = "keep"
paths = ["keep/"]
operations = ["delete"]
decision = "deny"

[agents.reader]
capabilities = ["fs:read", "!fs:read:secret/"]
tools = ["Read", "Grep", "LS"]

[agents.mover]
capabilities = ["fs:read", "!fs:read:secret/", "fs:write"]

[agents.fetcher]
capabilities = ["fs:read", "fs:write", "exec:*", "net:host"]

[agents."*"]
)";

class PolicyAtTheDoor : public ::testing::Test {
 protected:
  PolicyAtTheDoor() {
    tree_.write("galley.toml", kEarlyPolicyConfig);
    tree_.write("a.txt", "a needle\n");
    tree_.write("secret/key", "a needle too\n");
    tree_.write("fixed/f", "f\n");
    tree_.write("keep/k", "k\n");
    tree_.write("deploy/d", "d\n");
  }
  Transaction begin(const std::string& agent, CommandRunner* runner = nullptr) {
    WorkspaceOptions options;
    options.runner = runner;
    options.trusts_configuration = true;
    auto opened = Workspace::open(tree_.path(), std::move(options));
    EXPECT_TRUE(opened) << opened.error().message;
    workspace_ = *std::move(opened);
    return *workspace_->begin({agent, "why"});
  }
  static std::string said(const ToolResult& result) {
    return result.ok ? result.data->dump() : result.error->reason + " " + result.error->message;
  }

  TempDirectory tree_;
  std::unique_ptr<Workspace> workspace_;
};

TEST_F(PolicyAtTheDoor, AToolThatIsNotInTheProfileIsRefused) {
  Transaction reader = begin("reader");
  EXPECT_TRUE(reader.call("Read", R"({"file_path": "a.txt"})").result().ok);
  const ToolResult refused =
      reader.call("Write", R"({"file_path": "a.txt", "content": "x"})").result();
  ASSERT_FALSE(refused.ok);
  EXPECT_EQ(refused.error->code, ToolErrorCode::kPermission);
  EXPECT_EQ(refused.error->reason, "policy.capability");
  EXPECT_THAT(refused.error->message, HasSubstr("Write"));
  EXPECT_TRUE(begin("").call("Write", R"({"file_path": "a.txt", "content": "x"})").result().ok);
}

TEST_F(PolicyAtTheDoor, ADisabledShellIsDisabledUnderEveryNameAndForCommandsOfAgents) {
  tree_.write("galley.toml", std::string(kEarlyPolicyConfig) + "[tools.Bash]\nenabled = false\n");
  FakeCommandRunner runner([](const Command&, Overlay&) -> Result<CommandResult> {
    CommandResult result;
    result.exit_code = 0;
    return result;
  });
  Transaction agent = begin("fetcher", &runner);
  for (const char* tool : {"Bash", "run_shell_command", "run_command"}) {
    const ToolResult refused = agent.call(tool, R"({"command": "true"})").result();
    ASSERT_FALSE(refused.ok) << tool;
    EXPECT_EQ(refused.error->reason, "tool.disabled") << tool;
  }
  EXPECT_EQ(agent.run({"true"}).error().reason, "tool.disabled");
  EXPECT_TRUE(begin("", &runner).run({"true"})) << "a person runs what they want";
}

TEST_F(PolicyAtTheDoor, TheStrictModeHoldsForAgentsThatCallNoTool) {
  std::string rules = kEarlyPolicyConfig;
  tree_.write("galley.toml",
              rules.replace(rules.find("[policy]"), 8, "[policy]\nmode = \"strict\""));
  FakeCommandRunner runner([](const Command&, Overlay&) -> Result<CommandResult> {
    CommandResult result;
    result.exit_code = 0;
    return result;
  });
  Transaction agent = begin("fetcher", &runner);
  EXPECT_EQ(agent.run({"true"}).error().reason, "call.tier_denied");
  EXPECT_EQ(agent.edit("a.txt", "needle", "thread").error().reason, "call.tier_denied");
  Transaction person = begin("", &runner);
  EXPECT_TRUE(person.run({"true"}));
  EXPECT_TRUE(person.edit("a.txt", "needle", "thread"));
}

TEST_F(PolicyAtTheDoor, UnreadableFilesAreNotReadSearchedOrMoved) {
  Transaction reader = begin("reader");
  EXPECT_THAT(said(reader.call("Read", R"({"file_path": "secret/key"})").result()),
              HasSubstr("fs:read:secret/key"));
  const std::string found = said(reader.call("Grep", R"({"pattern": "needle"})").result());
  EXPECT_THAT(found, HasSubstr("a.txt"));
  EXPECT_THAT(found, Not(HasSubstr("secret")));
  EXPECT_THAT(said(begin("").call("Grep", R"({"pattern": "needle"})").result()),
              HasSubstr("secret/key"));

  Transaction mover = begin("mover");
  EXPECT_THAT(
      said(mover.call("move_file", R"({"source": "secret/key", "destination": "open"})").result()),
      HasSubstr("fs:read:secret/key"));
  EXPECT_THAT(
      said(mover.call("move_file", R"({"source": "secret", "destination": "open"})").result()),
      HasSubstr("fs:read:secret/key"));
  EXPECT_TRUE(
      mover.call("move_file", R"({"source": "a.txt", "destination": "b.txt"})").result().ok);
}

TEST_F(PolicyAtTheDoor, AWriteIsRefusedEarlyIfEveryChangeOfThePathIsDenied) {
  Transaction writer = begin("");
  const ToolResult refused =
      writer.call("Write", R"({"file_path": "fixed/f", "content": "x"})").result();
  ASSERT_FALSE(refused.ok);
  EXPECT_THAT(refused.error->message, HasSubstr("policy.protected"));
  EXPECT_FALSE(writer.call("Write", R"({"file_path": "fixed/new", "content": "x"})").result().ok);
  // Deleting is denied, changing is not; what is asked about is the gate's business.
  EXPECT_TRUE(writer.call("Write", R"({"file_path": "keep/k", "content": "x"})").result().ok);
  EXPECT_TRUE(writer.call("Write", R"({"file_path": "deploy/d", "content": "x"})").result().ok);
}

TEST_F(PolicyAtTheDoor, TheNetworkNeedsTheProfileAndTheConfiguration) {
  CommandResult done;
  done.exit_code = 0;
  const auto asked = [&](const std::string& agent) {
    FakeCommandRunner fake([&](const Command&, Overlay&) -> Result<CommandResult> { return done; });
    const ToolResult result = begin(agent, &fake).call("Bash", R"({"command": "true"})").result();
    EXPECT_TRUE(result.ok) << said(result);
    return fake.commands().at(0).network;
  };
  EXPECT_EQ(asked("fetcher"), NetworkAccess::kNone);
  tree_.write("galley.toml", std::string(kEarlyPolicyConfig) + "[sandbox]\nnetwork = true\n");
  EXPECT_EQ(asked("fetcher"), NetworkAccess::kHost);
  EXPECT_EQ(asked(""), NetworkAccess::kNone);
}

// --- approvals --------------------------------------------------------------------------------

std::string refusal(const Result<CommitOutcome>& outcome) {
  const auto* refused = std::get_if<Refused>(&*outcome);
  return refused == nullptr ? "committed" : refused->refusal().reason;
}

TEST_F(PolicyAtTheDoor, AnApprovalIsValidForOneProposalOnce) {
  Transaction transaction = begin("bot");
  ASSERT_TRUE(transaction.write("deploy/d", "new\n"));
  const ContentId proposal = transaction.preview()->proposal.id();
  EXPECT_EQ(refusal(transaction.commit()), "gate.approval_missing");
  ASSERT_TRUE(workspace_->approve(proposal, "ada"));

  ASSERT_TRUE(transaction.write("deploy/d", "newer\n"));
  EXPECT_EQ(refusal(transaction.commit()), "gate.approval_missing");
  ASSERT_TRUE(transaction.write("deploy/d", "new\n"));
  EXPECT_EQ(transaction.preview()->verdict.approved_by, "ada");
  EXPECT_EQ(refusal(transaction.commit()), "committed");
  EXPECT_EQ(tree_.read("deploy/d"), "new\n");
  EXPECT_FALSE(*find_approval(*persistent_of(*workspace_).state(), proposal, 0));

  const std::string record = tree_.read(".galley/audit.jsonl");
  EXPECT_THAT(record, HasSubstr("given beforehand by ada"));
  EXPECT_THAT(record, HasSubstr("\"approved_by\":\"ada\""));
}

TEST_F(PolicyAtTheDoor, AnApprovalLeftByACrashAfterItsCommitIsNotValid) {
  const auto commit = [&] {
    Transaction transaction = begin("bot");
    EXPECT_TRUE(transaction.write("deploy/d", "new\n"));
    return refusal(transaction.commit());
  };
  ContentId proposal;
  {
    Transaction transaction = begin("bot");
    ASSERT_TRUE(transaction.write("deploy/d", "new\n"));
    proposal = transaction.preview()->proposal.id();
  }
  ASSERT_TRUE(workspace_->approve(proposal, "ada"));
  const std::string file = own_file(*workspace_, "approvals/" + proposal.hex());
  const std::string yes = tree_.read(file);
  ASSERT_EQ(commit(), "committed");
  // Killed between the commit point and the end of the commit; then the file is as it was.
  tree_.write(file, yes);
  tree_.write("deploy/d", "d\n");
  EXPECT_EQ(commit(), "gate.approval_missing");
  ASSERT_TRUE(workspace_->approve(proposal, "ada"));
  EXPECT_EQ(commit(), "committed");
}

// The other process commits after this one has looked for the approval.
TEST_F(PolicyAtTheDoor, AnApprovalIsNotUsedByTwoProcesses) {
  tree_.write("galley.toml",
              std::string(kEarlyPolicyConfig) + "[[validator]]\nbuiltin = \"conflict_markers\"\n");
  const auto proposed = [](Workspace& workspace) {
    Transaction transaction = *workspace.begin({"bot", "why"});
    EXPECT_TRUE(transaction.write("deploy/d", "new\n"));
    return transaction;
  };
  (void)begin("bot");
  Transaction here = proposed(*workspace_);
  const ContentId proposal = here.preview()->proposal.id();
  ASSERT_TRUE(workspace_->approve(proposal, "ada"));
  WorkspaceOptions options;
  options.trusts_configuration = true;
  const auto other = *Workspace::open(tree_.path(), std::move(options));
  bool is_first = true;
  CommitRequest request;
  request.on_progress = [&](const GateProgress&) {
    if (!std::exchange(is_first, false)) return;
    Transaction there = proposed(*other);
    EXPECT_EQ(refusal(there.commit()), "committed");
    tree_.write("deploy/d", "d\n");
  };
  const auto outcome = here.commit(request);
  ASSERT_FALSE(is_first);
  ASSERT_FALSE(outcome) << outcome->index() << " " << refusal(outcome);
  EXPECT_EQ(outcome.error().reason, "approval.used");
  EXPECT_EQ(tree_.read("deploy/d"), "d\n");
}

TEST_F(PolicyAtTheDoor, AnApprovalExpiresAfterADay) {
  (void)begin("bot");
  const ContentId proposal = ContentId::of("any");
  ASSERT_TRUE(workspace_->approve(proposal, "ada"));
  const StateDirectory& state = *persistent_of(*workspace_).state();
  ASSERT_TRUE(keep_approval(state, proposal, "ada", 7));
  EXPECT_EQ((*find_approval(state, proposal, 7 + kApprovalLastsNs))->by,
            std::vector<std::string>{"ada"});
  EXPECT_EQ(*find_approval(state, proposal, 8 + kApprovalLastsNs), std::nullopt);
}

TEST_F(PolicyAtTheDoor, AnApprovalDoesNotOverrideADenial) {
  Transaction transaction = begin("bot");
  ASSERT_TRUE(transaction.write("fixed/f", "x\n"));
  ASSERT_TRUE(workspace_->approve(transaction.preview()->proposal.id(), "ada"));
  EXPECT_EQ(refusal(transaction.commit()), "gate.policy_denied");
}

TEST_F(PolicyAtTheDoor, ADamagedApprovalIsAnError) {
  Transaction transaction = begin("bot");
  ASSERT_TRUE(transaction.write("deploy/d", "new\n"));
  const ContentId proposal = transaction.preview()->proposal.id();
  ASSERT_TRUE(workspace_->approve(proposal, "ada"));
  for (const char* text : {"", "galley approval 2\n", "galley approval 2\nx\n0\nada\n",
                           "galley approval 2\n1\nada\n", "yes"}) {
    tree_.write(own_file(*workspace_, "approvals/" + proposal.hex()), text);
    const auto outcome = transaction.commit();
    ASSERT_FALSE(outcome) << text;
    EXPECT_EQ(outcome.error().reason, "approval.damaged");
  }
}

// --- limits -----------------------------------------------------------------------------------

TEST(Bounded, RequestedLimitsAreOnlyLoweredAndOthersAreConfigured) {
  SandboxConfig config;
  config.timeout_ms = 600'000;
  config.max_memory_bytes = uint64_t{16} << 30U;
  config.max_cpu_seconds = 5;
  AskedLimits limits;
  limits.max_processes = 10'000;
  limits.max_file_bytes = 100;
  const CommandLimits held = bounded(limits, config).with_defaults();
  EXPECT_EQ(held.wall, std::chrono::minutes(10));
  EXPECT_EQ(held.max_memory_bytes, uint64_t{16} << 30U);
  EXPECT_EQ(held.cpu, std::chrono::seconds(5));
  EXPECT_EQ(held.max_processes, 512U);
  EXPECT_EQ(held.max_file_bytes, 100U);
  limits.wall = std::chrono::hours(1);
  limits.cpu = std::chrono::seconds(2);
  EXPECT_EQ(bounded(limits, config).wall, std::chrono::minutes(10));
  limits.wall = CommandLimits().wall;  // the usual one, asked for all the same
  EXPECT_EQ(bounded(limits, config).wall, CommandLimits().wall);
  EXPECT_EQ(bounded(limits, config).cpu, std::chrono::seconds(2));
}

}  // namespace
}  // namespace galley
