#include "engine/policy/policy.h"

#include <gmock/gmock.h>

#include "policy_fixture.h"

namespace galley {
namespace {

using ::testing::HasSubstr;

using PolicyTest = PolicyFixture;

TEST_F(PolicyTest, WithoutRulesOrdinaryEditsAreAllowed) {
  ASSERT_TRUE(overlay_.write(rel("src/a.c"), "int c;\n"));
  ASSERT_TRUE(overlay_.write(rel("new/deep/file"), "x"));
  ASSERT_TRUE(overlay_.remove(rel("README.md")));
  ASSERT_TRUE(overlay_.set_mode(rel("bin/run"), 0644));
  const PolicyReport report = judge();
  EXPECT_EQ(report.decision, Decision::kAllow);
  EXPECT_TRUE(report.judgements.empty());
}

TEST_F(PolicyTest, DenialNamesRulePathLineAndReason) {
  configure(R"([[policy.rule]]
name = "generated code"
paths = ["src/gen/"]
decision = "deny"
reason = "edit the schema instead"
)");
  ASSERT_TRUE(overlay_.write(rel("src/gen/b.c"), "int x;\n"));
  const PolicyReport report = judge();
  ASSERT_EQ(report.decision, Decision::kDeny);
  ASSERT_EQ(report.judgements.size(), 1U);
  EXPECT_THAT(report.judgements[0].message,
              HasSubstr("src/gen/b.c: modify is denied by `generated code` (galley.toml:1): edit "
                        "the schema instead"));
  EXPECT_EQ(report.judgements[0].line, 1U);
  EXPECT_FALSE(report.judgements[0].remedy.empty());
}

TEST_F(PolicyTest, LastMatchingRuleDecides) {
  configure(R"([[policy.rule]]
paths = ["*"]
decision = "deny"
[[policy.rule]]
paths = ["src/**", "!src/gen/**"]
decision = "allow"
)");
  const Policy policy(config_);
  EXPECT_EQ(policy.judge_path(rel("src/a.c"), PathOperation::kModify, "").decision,
            Decision::kAllow);
  EXPECT_EQ(policy.judge_path(rel("src/gen/b.c"), PathOperation::kModify, "").decision,
            Decision::kDeny);
  EXPECT_EQ(policy.judge_path(rel("README.md"), PathOperation::kModify, "").decision,
            Decision::kDeny);
}

TEST_F(PolicyTest, RulesApplyOnlyToTheirAgentsAndOperations) {
  configure(R"([[policy.rule]]
paths = ["src/"]
agents = ["bot-*"]
operations = ["delete"]
decision = "ask"
[agents."*"]
)");
  const Policy policy(config_);
  const auto decide = [&](PathOperation operation, std::string_view agent) {
    return policy.judge_path(rel("src/a.c"), operation, agent).decision;
  };
  EXPECT_EQ(decide(PathOperation::kDelete, "bot-1"), Decision::kAsk);
  EXPECT_EQ(decide(PathOperation::kModify, "bot-1"), Decision::kAllow);
  EXPECT_EQ(decide(PathOperation::kDelete, "ann"), Decision::kAllow);
}

TEST_F(PolicyTest, MoveIsADeleteOfTheOldPathAndACreateOfTheNew) {
  configure(
      "[[policy.rule]]\npaths = [\"README.md\"]\noperations = [\"delete\"]\n"
      "decision = \"deny\"\n");
  ASSERT_TRUE(overlay_.move(rel("README.md"), rel("LIESMICH.md")));
  EXPECT_EQ(judge().decision, Decision::kDeny);
}

TEST_F(PolicyTest, ProtectedPathsOverrideEveryRule) {
  configure(
      "[policy]\nprotected = [\"README.md\"]\n[[policy.rule]]\npaths = [\"*\"]\n"
      "decision = \"allow\"\n");
  ASSERT_TRUE(overlay_.write(rel("README.md"), "x"));
  const PolicyReport report = judge();
  EXPECT_EQ(report.decision, Decision::kDeny);
  EXPECT_EQ(report.judgements[0].rule, "policy.protected");
}

TEST_F(PolicyTest, ChangesOfGalleyTomlNeedAPersonsOwnConfiguration) {
  workspace_.write("galley.toml", "[policy]\n");
  for (const char* path :
       {"galley.toml", "src/Galley.TOML", "galley.toml:s", "new/galley.toml/x"}) {
    overlay_.restore({});
    ASSERT_TRUE(overlay_.write(rel(path), "x")) << path;
    const PolicyReport report = judge();
    ASSERT_EQ(report.decision, Decision::kDeny) << path;
    EXPECT_EQ(report.judgements[0].id, "policy.always");
    EXPECT_THAT(report.judgements[0].remedy, HasSubstr("edits_configuration = true"));
    EXPECT_EQ(Policy(config_).judge_path(rel(path), PathOperation::kModify, "").id,
              "policy.always");
  }
  overlay_.restore({});
  ASSERT_TRUE(overlay_.remove(rel("galley.toml")));
  EXPECT_EQ(judge().decision, Decision::kDeny);
  overlay_.restore({});
  ASSERT_TRUE(overlay_.move(rel("src"), rel("galley.toml")) ||
              overlay_.make_symlink(rel("src/galley.toml"), "a.c"));
  EXPECT_EQ(judge().decision, Decision::kDeny);

  overlay_.restore({});
  ASSERT_TRUE(overlay_.write(rel("galley.toml"), "x"));
  config_.configuration_is_editable = true;
  EXPECT_EQ(judge().decision, Decision::kAllow);
  configure("[policy]\nprotected = [\"/galley.toml\"]\n");
  config_.configuration_is_editable = true;
  EXPECT_EQ(judge().judgements[0].rule, "policy.protected") << "the ordinary rules hold";
}

TEST_F(PolicyTest, AgentsMayNotChangeTheConfigurationOfAgents) {
  for (const char* path :
       {".claude/settings.json", ".mcp.json", "deep/.codex/config.toml", ".Gemini/x", ".opencode",
        "opencode.json", ".config/opencode/plugin/galley.js"}) {
    overlay_.restore({});
    ASSERT_TRUE(overlay_.write(rel(path), "x"));
    EXPECT_EQ(judge().decision, Decision::kAllow) << path << ": a person may";
    const PolicyReport report = judge("bot");
    ASSERT_EQ(report.decision, Decision::kDeny) << path;
    EXPECT_EQ(report.judgements[0].id, "policy.always");
    EXPECT_THAT(report.judgements[0].message, HasSubstr("the agent bot"));
    Principals both("");
    both.add("bot");
    EXPECT_EQ(Policy(config_).judge_path(rel(path), PathOperation::kDelete, both).decision,
              Decision::kDeny)
        << path << ": a person who commits what the agent staged";
  }
  overlay_.restore({});
  ASSERT_TRUE(overlay_.write(rel("CLAUDE.md"), "x"));
  ASSERT_TRUE(overlay_.write(rel("x.claude/y"), "x"));
  EXPECT_EQ(judge("bot").decision, Decision::kAllow);
  ASSERT_TRUE(overlay_.move(rel("src"), rel(".claude")));
  EXPECT_EQ(judge("bot").decision, Decision::kDeny);
  config_.agent_files_are_editable = true;
  EXPECT_EQ(judge("bot").decision, Decision::kAllow);
}

TEST_F(PolicyTest, DefaultDenyAllowsTheParentsOfAllowedPaths) {
  configure(
      "[policy]\ndefault = \"deny\"\n[[policy.rule]]\npaths = [\"new/**\"]\n"
      "decision = \"allow\"\n");
  ASSERT_TRUE(overlay_.write(rel("new/deep/file"), "x"));
  EXPECT_EQ(judge().decision, Decision::kAllow);
  ASSERT_TRUE(overlay_.make_directory(rel("other")));
  EXPECT_EQ(judge().decision, Decision::kDeny) << "an empty directory is a change of its own";
}

TEST_F(PolicyTest, LinksLeadingOutsideAreAlwaysRefused) {
  ASSERT_TRUE(workspace_.directory().make_symlink(rel("out"), "/etc"));
  ASSERT_TRUE(workspace_.directory().make_symlink(rel("src/up"), "../../x"));
  for (const char* target : {"/etc/passwd", "../..", "../../x", "gen/../../../x", "../out/passwd",
                             "up/../..", "../.git/config", "../.GIT/hooks"}) {
    const auto before = overlay_.entries();
    ASSERT_TRUE(overlay_.make_symlink(rel("src/link"), target));
    const PolicyReport report = judge();
    EXPECT_EQ(report.decision, Decision::kDeny) << target;
    if (!report.judgements.empty()) {
      EXPECT_EQ(report.judgements[0].id, "policy.always");
    }
    overlay_.restore(before);
  }
}

TEST_F(PolicyTest, LinkThatEscapesThroughALinkOfTheSameProposalIsRefused) {
  ASSERT_TRUE(overlay_.make_symlink(rel("src/gen/top"), "../../bin"));
  ASSERT_TRUE(overlay_.make_symlink(rel("src/gen/evil"), "top/../../outside"));
  EXPECT_EQ(judge().decision, Decision::kDeny) << "as text it stays inside, as a path it does not";
}

TEST_F(PolicyTest, LinksInsideAreAllowedBrokenOrNot) {
  ASSERT_TRUE(overlay_.make_symlink(rel("src/ok"), "../README.md"));
  ASSERT_TRUE(overlay_.make_symlink(rel("src/missing"), "gen/../none"));
  ASSERT_TRUE(overlay_.make_symlink(rel("src/loop"), "loop"));
  EXPECT_EQ(judge().decision, Decision::kAllow);
}

TEST_F(PolicyTest, ALinkWithANulIsRefusedSinceGitMakesItUpToTheNul) {
  const auto store = make_memory_store();
  Overlay overlay(workspace_.directory(), store, clock_);
  for (const std::string& target :
       {std::string("..\0x", 4), std::string(".git\0x", 6), std::string()}) {
    const auto id = store->put(target);
    ASSERT_TRUE(id);
    ASSERT_TRUE(overlay.put(rel("link"), Node{FileKind::kSymlink, 0, *id, target.size()}));
    const Proposal proposal = Proposal::freeze(overlay);
    const auto report = Policy(config_).judge({proposal, workspace_.directory()}, "");
    ASSERT_FALSE(report) << target;
    EXPECT_EQ(report.error().reason, "path.bad_target");
  }
}

TEST_F(PolicyTest, ACapabilityThatEndsInASlashCoversTheFolderItself) {
  workspace_.write("full/x", "x");
  configure(R"([agents.denied]
capabilities = ["fs:write", "!fs:write:full/"]
[agents.given]
capabilities = ["fs:write:full/", "fs:write:made/"]
[agents.below]
capabilities = ["fs:write:full/**"]
)");
  const auto clean = overlay_.entries();
  ASSERT_TRUE(overlay_.set_mode(rel("full"), 0777));
  EXPECT_EQ(judge("denied").decision, Decision::kDeny);
  EXPECT_EQ(judge("given").decision, Decision::kAllow);
  ASSERT_TRUE(overlay_.write(rel("full/x"), "y"));
  EXPECT_EQ(judge("below").decision, Decision::kDeny) << "a new mode is not implied by a content";
  overlay_.restore(clean);
  ASSERT_TRUE(overlay_.make_directory(rel("made")));
  EXPECT_EQ(judge("given").decision, Decision::kAllow);
  EXPECT_EQ(judge("below").decision, Decision::kDeny);
  overlay_.restore(clean);
  ASSERT_TRUE(overlay_.write(rel("made"), "a file"));
  EXPECT_EQ(judge("given").decision, Decision::kDeny) << "a file is not a folder";
}

TEST_F(PolicyTest, AFolderThatIsReplacedIsJudgedAsAFolderAndAsWhatReplacesIt) {
  workspace_.write("full/x", "x");
  ASSERT_TRUE(overlay_.remove(rel("full/x")));  // removes the empty folder, too
  ASSERT_TRUE(overlay_.make_symlink(rel("full"), "src"));
  const auto decide = [&](std::string_view rule) {
    configure("[[policy.rule]]\ndecision = \"deny\"\n" + std::string(rule));
    return judge().decision;
  };
  EXPECT_EQ(decide("paths = [\"none/\"]"), Decision::kAllow);
  EXPECT_EQ(decide("paths = [\"full/\"]\noperations = [\"delete\"]"), Decision::kDeny);
  EXPECT_EQ(decide("paths = [\"full/\"]\noperations = [\"create\", \"modify\"]"), Decision::kDeny);
  EXPECT_EQ(decide("paths = [\"full\", \"!full/\"]"), Decision::kDeny) << "the link is judged, too";
  EXPECT_EQ(decide("paths = [\"full\"]\noperations = [\"delete\"]"), Decision::kDeny);
}

TEST_F(PolicyTest, EffectLimitsCountFilesBytesAndDeletes) {
  ASSERT_TRUE(overlay_.write(rel("src/a.c"), std::string(100, 'x')));
  ASSERT_TRUE(overlay_.remove(rel("README.md")));
  const auto decide = [&](std::string_view text) {
    configure("[policy.effects]\n" + std::string(text));
    return judge().decision;
  };
  EXPECT_EQ(decide("max_files = 2"), Decision::kAllow);
  EXPECT_EQ(decide("max_files = 1"), Decision::kDeny);
  EXPECT_EQ(decide("max_files = 1\nover_limit = \"ask\""), Decision::kAsk);
  EXPECT_EQ(decide("max_changed_bytes = 99"), Decision::kDeny);
  EXPECT_EQ(decide("max_changed_bytes = 100"), Decision::kAllow);
  EXPECT_EQ(decide("max_deletes = 0"), Decision::kDeny);
  EXPECT_EQ(decide("max_deleted_bytes = 5"), Decision::kDeny);
  EXPECT_EQ(decide("max_deleted_bytes = 6"), Decision::kAllow);
}

TEST_F(PolicyTest, AMoveIsADeleteOnlyIfTheContentChanges) {
  configure("[policy.effects]\nmax_deletes = 0\n");
  ASSERT_TRUE(overlay_.move(rel("README.md"), rel("docs/README.md")));
  EXPECT_EQ(judge().decision, Decision::kAllow);
  ASSERT_TRUE(overlay_.write(rel("docs/README.md"), "something else\n"));
  EXPECT_EQ(judge().decision, Decision::kDeny);
}

TEST_F(PolicyTest, EffectRulesJudgeTheProposedKindAndMode) {
  const auto decide = [&](std::string_view key) {
    configure("[policy.effects]\n" + std::string(key) + " = \"deny\"\n");
    return judge().decision;
  };
  const auto clean = overlay_.entries();
  ASSERT_TRUE(overlay_.set_mode(rel("src/a.c"), 0755));
  EXPECT_EQ(decide("executable_bit"), Decision::kDeny);
  EXPECT_EQ(decide("symlinks"), Decision::kAllow);
  EXPECT_EQ(decide("owners"), Decision::kAllow);
  if (::geteuid() == 0) {
    ASSERT_TRUE(overlay_.set_owner(rel("src/a.c"), {12345, {}}));
    EXPECT_EQ(decide("owners"), Decision::kDeny);
  }
  overlay_.restore(clean);
  ASSERT_TRUE(overlay_.make_symlink(rel("ln"), "README.md"));
  EXPECT_EQ(decide("symlinks"), Decision::kDeny);
  EXPECT_EQ(decide("type_changes"), Decision::kAllow);
  overlay_.restore(clean);
  ASSERT_TRUE(overlay_.remove(rel("README.md")));
  ASSERT_TRUE(overlay_.make_symlink(rel("README.md"), "src/a.c"));
  EXPECT_EQ(decide("type_changes"), Decision::kDeny);
  overlay_.restore(clean);
  ASSERT_TRUE(overlay_.write(rel("src/a.c"), std::string("a\0b", 3)));
  EXPECT_EQ(decide("binaries"), Decision::kDeny);
  EXPECT_EQ(decide("submodules"), Decision::kAllow);
  overlay_.restore(clean);
  ASSERT_TRUE(overlay_.write(rel(".gitmodules"), "[submodule]\n"));
  EXPECT_EQ(decide("submodules"), Decision::kDeny);
}

TEST_F(PolicyTest, CaseCollisionIsRefusedUnlessConfigured) {
  ASSERT_TRUE(overlay_.write(rel("Readme.MD"), "x"));
  EXPECT_EQ(judge().decision, Decision::kDeny);
  configure("[policy.effects]\ncase_collisions = \"allow\"\n");
  EXPECT_EQ(judge().decision, Decision::kAllow);
}

TEST_F(PolicyTest, AFolderThatNoLongerExistsIsNotAnErrorOfTheRules) {
  ASSERT_TRUE(overlay_.write(rel("src/new.c"), "x"));
  ASSERT_TRUE(overlay_.write(rel("src/gen/new.c"), "x"));
  const WritableDirectory& disk = workspace_.directory();
  ASSERT_TRUE(disk.rename(rel("src"), disk, rel("moved"), RenameMode::kNoReplace));
  EXPECT_EQ(judge().decision, Decision::kAllow);
  workspace_.write("src", "a file\n");
  EXPECT_EQ(judge().decision, Decision::kAllow);
  ASSERT_TRUE(disk.remove_file(rel("src")));
  ASSERT_TRUE(disk.make_symlink(rel("src"), "moved"));
  EXPECT_EQ(judge().decision, Decision::kAllow);
}

TEST_F(PolicyTest, ACaseOnlyRenameIsNotACollision) {
  ASSERT_TRUE(overlay_.move(rel("README.md"), rel("readme.md")));
  EXPECT_EQ(judge().decision, Decision::kAllow);
}

TEST_F(PolicyTest, CapabilitiesLimitAnAgent) {
  configure(R"([agents.bot]
capabilities = ["fs:read", "!fs:read:secret/", "fs:write:src/**", "!fs:write:src/gen/", "exec:git",
                "exec:/usr/bin/make"]
tools = ["Read", "Ed*"]
[agents.ann]
)");
  const Policy policy(config_);
  const auto writes = [&](std::string_view path, std::string_view agent) {
    return policy.judge_path(rel(path), PathOperation::kCreate, agent).decision == Decision::kAllow;
  };
  EXPECT_TRUE(writes("src/x.c", "bot"));
  EXPECT_FALSE(writes("src/gen/x.c", "bot"));
  EXPECT_FALSE(writes("README.md", "bot"));
  EXPECT_TRUE(writes("README.md", "ann")) << "one without capabilities is held by rules alone";
  EXPECT_FALSE(writes("README.md", "anne")) << "nobody wrote a rule for that name";
  EXPECT_EQ(policy.judge_read(rel("README.md"), "bot").decision, Decision::kAllow);
  EXPECT_EQ(policy.judge_read(rel("secret/key"), "bot").decision, Decision::kDeny);
  const auto runs = [&](std::string_view program, bool is_found_by_name) {
    const CalledProgram called{program, program, {}, is_found_by_name};
    return policy.judge_exec(called, "bot").decision == Decision::kAllow;
  };
  EXPECT_TRUE(runs("/usr/bin/git", true));
  EXPECT_FALSE(runs("/opt/lib/git", false)) << "a name is that of a program in PATH";
  EXPECT_TRUE(runs("/usr/bin/make", false));
  EXPECT_FALSE(runs("/tmp/make", true));
  EXPECT_FALSE(runs("/opt/git/rm", true));
  EXPECT_EQ(policy.judge_network("bot").decision, Decision::kDeny);
  EXPECT_EQ(policy.judge_tool("Edit", "bot").decision, Decision::kAllow);
  EXPECT_EQ(policy.judge_tool("Bash", "bot").decision, Decision::kDeny);
  EXPECT_THAT(policy.judge_exec({"rm", "rm", {}}, "bot").message,
              HasSubstr("[agents.bot] (galley.toml:1)"));
}

TEST_F(PolicyTest, ACapabilityForAProgramOfTheWorkspaceNamesItsPath) {
  configure(R"([agents.bot]
capabilities = ["exec:git", "exec:tools/*.sh", "exec:/usr/bin/make", "exec:./gradlew", "exec:bin/*"]
[agents.any]
capabilities = ["exec:*", "!exec:rm"]
)");
  const Policy policy(config_);
  const auto judge = [&](std::string_view below, std::string_view agent) {
    const std::string path = "/w/" + std::string(below);
    return policy.judge_exec({path, path, below}, agent);
  };
  EXPECT_THAT(judge("tools/git", "bot").message, HasSubstr("does not grant `exec:tools/git`"));
  EXPECT_EQ(judge("git", "bot").decision, Decision::kDeny);
  EXPECT_EQ(judge("tools/a.sh", "bot").decision, Decision::kAllow);
  EXPECT_EQ(judge("other/tools/a.sh", "bot").decision, Decision::kDeny);
  EXPECT_EQ(judge("usr/bin/make", "bot").decision, Decision::kDeny);
  EXPECT_EQ(judge("gradlew", "bot").decision, Decision::kAllow);
  EXPECT_EQ(judge("a/gradlew", "bot").decision, Decision::kDeny);
  EXPECT_THAT(judge("mvnw", "bot").message, HasSubstr("does not grant `exec:./mvnw`"));
  EXPECT_EQ(judge("bin/tool", "bot").decision, Decision::kAllow);
  EXPECT_EQ(policy.judge_exec({"/bin/sh", "/usr/bin/dash", {}}, "bot").decision, Decision::kDeny);
  EXPECT_EQ(judge("tools/git", "any").decision, Decision::kAllow);
  EXPECT_EQ(judge("tools/rm", "any").decision, Decision::kDeny) << "a denial covers every rm";
}

TEST_F(PolicyTest, TheStarProfileAppliesToAgentsWithoutAProfile) {
  configure(
      "[agents.\"*\"]\ncapabilities = [\"fs:read\"]\n[agents.chief]\n"
      "capabilities = [\"fs:write\"]\n");
  const Policy policy(config_);
  const auto decide = [&](std::string_view agent) {
    return policy.judge_path(rel("a"), PathOperation::kCreate, agent).decision;
  };
  EXPECT_EQ(decide("somebody"), Decision::kDeny);
  EXPECT_EQ(decide("chief"), Decision::kAllow);
  EXPECT_EQ(decide(""), Decision::kAllow) << "a person at the command line has no agent's bounds";
}

TEST_F(PolicyTest, CopyingFromAPathThatMayNotBeReadIsRefused) {
  workspace_.write("secret/key", "k\n");
  configure("[agents.bot]\ncapabilities = [\"fs:write\", \"fs:read\", \"!fs:read:secret/\"]\n");
  ASSERT_TRUE(overlay_.copy(rel("secret/key"), rel("public")));
  EXPECT_EQ(judge("bot").decision, Decision::kDeny);
}

TEST_F(PolicyTest, ExplainShowsEveryRuleThatMatched) {
  configure(R"([[policy.rule]]
name = "all"
paths = ["*"]
decision = "deny"
[[policy.rule]]
name = "sources"
paths = ["src/"]
decision = "allow"
)");
  const Explanation explanation =
      Policy(config_).explain(rel("src/a.c"), PathOperation::kModify, "");
  EXPECT_EQ(explanation.judgement.decision, Decision::kAllow);
  EXPECT_EQ(explanation.judgement.rule, "sources");
  ASSERT_EQ(explanation.steps.size(), 3U);
  EXPECT_EQ(explanation.steps[1], "galley.toml:1: `all` by pattern `*`: deny");
  EXPECT_EQ(explanation.steps[2], "galley.toml:5: `sources` by pattern `src/`: allow");
}

TEST_F(PolicyTest, TestFileChecksExpectations) {
  configure("[[policy.rule]]\nname = \"gen\"\npaths = [\"src/gen/\"]\ndecision = \"deny\"\n");
  const Policy policy(config_);
  const auto result = policy.test(R"([[case]]
path = "src/gen/b.c"
expect = "deny"
rule = "gen"
[[case]]
path = "src/a.c"
operation = "delete"
expect = "deny"
[[case]]
exec = "git"
agent = "bot"
expect = "allow"
)",
                                  "policy_test.toml");
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->passed, 2U);
  ASSERT_EQ(result->failures.size(), 1U);
  EXPECT_EQ(result->failures[0].line, 5U);
  EXPECT_EQ(result->failures[0].message,
            "delete src/a.c: expected deny, got allow by `policy.default`");
  EXPECT_FALSE(policy.test("[[case]]\nexpect = \"deny\"\n", "t.toml"));
  EXPECT_FALSE(policy.test("[[case]]\npath = \"../x\"\nexpect = \"deny\"\n", "t.toml"));
}

}  // namespace
}  // namespace galley
