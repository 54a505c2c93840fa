#include "engine/policy/principals.h"

#include <gmock/gmock.h>

#include "policy_fixture.h"

namespace galley {
namespace {

using ::testing::HasSubstr;

constexpr const char* kTwo = R"(
[[policy.rule]]
name = "asked of bots"
paths = ["deploy/"]
agents = ["bot"]
decision = "ask"

[agents.reviewer]
capabilities = ["fs:read", "!fs:read:secret/"]
tools = ["Read"]

[agents.bot]
capabilities = ["fs:read", "fs:write", "exec:*", "net:host"]
)";

class PrincipalsTest : public PolicyFixture {
 protected:
  PrincipalsTest() { configure(kTwo); }
  static Principals both(std::string_view caller, std::string_view other) {
    Principals who(caller);
    who.add(other);
    return who;
  }
  static RelPath path(std::string_view text) { return RelPath::parse(text).value(); }
};

TEST_F(PrincipalsTest, EachNameOccursOnceAndTheCallerIsFirst) {
  Principals who("bot");
  who.add("bot");
  EXPECT_TRUE(who.is_alone());
  who.add("");
  EXPECT_EQ(who.names(), (std::vector<std::string>{"bot", ""}));
  EXPECT_EQ(who.caller(), "bot");
}

TEST_F(PrincipalsTest, AnActionIsDeniedIfOnePrincipalMayNotDoIt) {
  const Policy policy(config_);
  for (const auto& who : {both("reviewer", "bot"), both("bot", "reviewer"), both("reviewer", "")}) {
    EXPECT_EQ(policy.judge_path(path("x"), PathOperation::kCreate, who).decision, Decision::kDeny);
    EXPECT_EQ(policy.judge_read(path("secret/x"), who).decision, Decision::kDeny);
    EXPECT_EQ(policy.judge_exec({"/bin/sh", "/bin/sh", {}}, who).decision, Decision::kDeny);
    EXPECT_EQ(policy.judge_network(who).decision, Decision::kDeny);
    EXPECT_EQ(policy.judge_tool("Write", who).decision, Decision::kDeny);
    EXPECT_EQ(policy.judge_read(path("x"), who).decision, Decision::kAllow);
    EXPECT_TRUE(policy.limits_reading(who));
    EXPECT_FALSE(policy.grants_network(who));
  }
  EXPECT_TRUE(policy.grants_network(both("bot", "")));
  EXPECT_FALSE(policy.grants_network(both("", "bot"))) << "it is not given to who has no profile";
}

TEST_F(PrincipalsTest, AnActionAsksIfOnePrincipalMustAsk) {
  ASSERT_TRUE(overlay_.write(path("deploy/x"), "x", {}));
  EXPECT_EQ(judge("").decision, Decision::kAllow);
  EXPECT_EQ(judge("bot").decision, Decision::kAsk);
  const Proposal proposal = freeze();
  const ProposedTree tree(proposal, workspace_.directory());
  const auto report = Policy(config_).judge(tree, both("", "bot"));
  ASSERT_TRUE(report);
  EXPECT_EQ(report->decision, Decision::kAsk);
  const auto denied = Policy(config_).judge(tree, both("bot", "reviewer"));
  ASSERT_TRUE(denied);
  EXPECT_EQ(denied->decision, Decision::kDeny);
  EXPECT_THAT(denied->judgements.front().message, HasSubstr("[agents.reviewer]"));
}

TEST_F(PrincipalsTest, ARuleForBothPrincipalsGivesOneJudgement) {
  configure("[policy]\ndefault = \"deny\"\n");
  ASSERT_TRUE(overlay_.write(path("src/a.c"), "x", {}));
  const Proposal proposal = freeze();
  const auto report =
      Policy(config_).judge(ProposedTree(proposal, workspace_.directory()), both("a", "b"));
  ASSERT_TRUE(report);
  EXPECT_EQ(report->judgements.size(), 1U);
}

TEST_F(PrincipalsTest, AnUnknownAgentMayDoNothing) {
  // As a transaction that a name of earlier days has staged, too.
  Principals both("");
  both.add("revewer");
  for (const Principals& who : {Principals("revewer"), both}) {
    const Policy policy(config_);
    EXPECT_EQ(policy.judge_path(path("src/a.c"), PathOperation::kModify, who).decision,
              Decision::kDeny);
    EXPECT_EQ(policy.judge_read(path("src/a.c"), who).decision, Decision::kDeny);
    EXPECT_EQ(policy.judge_exec({"/bin/sh", "/bin/sh", {}}, who).decision, Decision::kDeny);
    EXPECT_EQ(policy.judge_network(who).decision, Decision::kDeny);
  }
  const auto refused = check_agent_is_known(config_, "revewer");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "agent.unknown");
  EXPECT_THAT(refused.error().message, HasSubstr("did you mean 'reviewer'?"));
  EXPECT_TRUE(check_agent_is_known(config_, "reviewer"));
  EXPECT_TRUE(check_agent_is_known(config_, ""));
}

TEST_F(PrincipalsTest, AnUnknownAgentIsReportedWithASuggestion) {
  EXPECT_EQ(unknown_agent(config_, "revewer"),
            "galley.toml knows no agent 'revewer'; did you mean 'reviewer'?");
  EXPECT_EQ(unknown_agent(config_, "reviewer"), "");
  EXPECT_EQ(unknown_agent(config_, ""), "");
  configure("[[policy.rule]]\npaths = [\"*\"]\nagents = [\"bot-*\"]\ndecision = \"deny\"\n");
  EXPECT_EQ(unknown_agent(config_, "bot-7"), "");
  EXPECT_THAT(unknown_agent(config_, "boot-7"), HasSubstr("knows no agent 'boot-7'"));
  configure("[agents.\"*\"]\ncapabilities = [\"fs:read\"]\n");
  EXPECT_EQ(unknown_agent(config_, "anybody"), "");
  configure("");
  EXPECT_EQ(unknown_agent(config_, "anybody"), "") << "nobody is told apart";
}

}  // namespace
}  // namespace galley
