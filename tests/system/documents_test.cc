#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "support/missing_walls.h"
#include "support/temp_directory.h"
#include "tools/schema.h"

namespace galley {
namespace {

std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// Checks every JSON document that the program prints against docs/json/galley.schema.json.
class Documents : public ::testing::Test {
 protected:
  Documents() {
    tree_.write("a.txt", "one\ntwo\n");
    tree_.write("galley.toml", "[policy]\nprotected = [\"secret/**\"]\n");
    home_.write("galley/config.toml",
                "unattended = true\ntrusted_folders = [\"" + tree_.path() + "\"]\n");
    all_ = nlohmann::json::parse(
        slurp(std::string(GALLEY_SOURCE_DIR) + "/docs/json/galley.schema.json"));
  }

  /// Runs `galley ARGUMENTS --json` and validates its one document against `#/$defs/NAME`.
  nlohmann::json run(const std::string& arguments, const std::string& name,
                     const std::string& input = "") {
    tree_.write("input", input);
    const std::string command =
        "XDG_CONFIG_HOME=" + home_.path() + " XDG_STATE_HOME=" + home_.path() + "/state " +
        std::string(GALLEY_BINARY_DIR) + "/galley -C " + tree_.path() + " --json " + arguments +
        " < " + tree_.path() + "/input 2>/dev/null";
    FILE* pipe = ::popen(command.c_str(), "r");
    std::string output;
    char buffer[4096];
    for (size_t count = 0; (count = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) {
      output.append(buffer, count);
    }
    status_ = WEXITSTATUS(::pclose(pipe));
    tree_remove_input();
    nlohmann::json document = nlohmann::json::parse(output, nullptr, false);
    EXPECT_FALSE(document.is_discarded()) << command << "\n" << output;
    if (document.is_discarded()) return {};
    EXPECT_EQ(document.value("schema", ""), "galley." + name + "/1") << output;
    nlohmann::json schema = {{"$ref", "#/$defs/" + name}, {"$defs", all_.at("$defs")}};
    const auto compiled = JsonSchema::compile(schema.dump());
    EXPECT_TRUE(compiled) << compiled.error().message;
    if (compiled) {
      const auto problems = compiled->check(document);
      EXPECT_TRUE(problems.empty()) << describe(problems) << "\n" << output;
    }
    return document;
  }
  void tree_remove_input() { ASSERT_TRUE(tree_.directory().remove_file(rel("input"))); }

  TempDirectory tree_;
  TempDirectory home_;
  nlohmann::json all_;
  int status_ = 0;
};

constexpr const char* kPatch = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n";

TEST_F(Documents, EditsAndTheHistoryMatchTheSchema) {
  EXPECT_EQ(run("preview", "preview", kPatch)["ok"], true);
  EXPECT_EQ(run("preview", "preview", "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-nope\n+x\n")["ok"],
            false);
  EXPECT_EQ(status_, 1);
  EXPECT_EQ(run("apply", "apply", kPatch)["receipt"]["id"], "1");
  EXPECT_EQ(run("log", "log")["transactions"].size(), 1u);
  EXPECT_EQ(run("show 1", "show")["transaction"]["id"], "1");
  EXPECT_EQ(run("show 1:a.txt", "show-file")["content"], "one\nTWO\n");
  EXPECT_EQ(run("blame a.txt", "blame")["lines"].size(), 2u);
  EXPECT_EQ(run("query 'select count(*) from transactions'", "query")["rows"][0][0], 1);
  run("undo --dry-run", "undo");
  EXPECT_EQ(run("undo", "undo")["receipt"]["id"], "2");
  EXPECT_EQ(run("redo", "redo")["receipt"]["id"], "3");
  tree_.write("a.txt", "changed since\n");
  EXPECT_EQ(run("undo", "undo")["reason"], "undo.conflict");
  EXPECT_EQ(status_, 1);
}

TEST_F(Documents, TurnsAndSessionsMatchTheSchema) {
  const std::string other = "--- /dev/null\n+++ b/c\n@@ -0,0 +1 @@\n+c\n";
  const std::string session = "--session s --agent bot ";
  run(session + "apply", "apply", kPatch);
  run(session + "apply", "apply", "--- /dev/null\n+++ b/b\n@@ -0,0 +1 @@\n+b\n");
  EXPECT_EQ(run("log", "log")["transactions"][0]["session"], "s");
  EXPECT_EQ(run("turns", "turns")["turns"].size(), 2u);
  EXPECT_EQ(run("show --turn 1..2", "show-turn")["turn"], "1..2");
  EXPECT_EQ(run("diff --turn 1..2", "diff")["turn"], "1..2");
  EXPECT_EQ(run("undo --turn 1..2", "undo")["also_undoes"][0], "1");
  run("log", "log");
  EXPECT_EQ(run("redo --turn 1..2", "redo")["ok"], true);
  run("undo --turn 1..2 --path b", "undo");
  run("log", "log");
  run("begin", "begin");
  run("--session t stage", "stage", other);
  run("--session u --agent bot apply", "apply", other);
  const auto status = run("agents status", "agents-status");
  EXPECT_EQ(status["overlaps"].size(), 1u) << status;
}

TEST_F(Documents, AnExplanationOfEditsMatchesTheSchema) {
  const auto fits = run("edits explain", "edits-explain", "Look:\n" + std::string(kPatch));
  EXPECT_EQ(status_, 0);
  EXPECT_EQ(fits["documents"][0]["items"][0]["kind"], "prose") << fits;
  EXPECT_EQ(fits["documents"][0]["items"][1]["line"], 2) << fits;
  const std::string numbered =
      "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n 1|one\n-2|two\n+2|TWO\n";
  const auto mended = run("edits explain", "edits-explain", numbered);
  EXPECT_EQ(mended["edits"]["files"][0]["placed"][0]["step"], "mended") << mended;
  EXPECT_EQ(mended["edits"]["files"][0]["placed"][0]["tried"].size(), 6u) << mended;
  run("preview", "preview", numbered);
  const auto lost =
      run("edits explain", "edits-explain", "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-nope\n+x\n");
  EXPECT_EQ(status_, 1);
  EXPECT_EQ(lost["edits"]["files"][0]["failed"][0]["tried"].size(), 7u) << lost;
  const auto call = run("edits explain", "edits-explain",
                        "So:\n<tool_call>\n{\"name\": \"Read\", \"arguments\": "
                        "{\"file_path\": \"a.txt\"}}\n</tool_call>\n");
  EXPECT_EQ(call["documents"][0]["items"][1]["kind"], "call") << call;
  const auto unread = run("edits explain", "edits-explain", "no edit at all\n");
  EXPECT_EQ(status_, 1);
  EXPECT_EQ(unread["reason"], "edit.not_a_patch") << unread;
  EXPECT_EQ(run("edits explain", "edits-explain",
                R"([{"tool": "Write", "args": {"file_path": "b", "content": "b\n"}}])")["calls"]
                .size(),
            1u);
  EXPECT_EQ(run("status", "status")["transactions"].size(), 0u);
  EXPECT_FALSE(run("--version", "version")["version"].get<std::string>().empty());
}

TEST_F(Documents, AnEditMadeOnAnEarlierVersionMatchesTheSchema) {
  tree_.write("b.txt", "one\ntwo\nthree\nfour\nfive\nsix\nseven\n");
  run("apply", "apply", "--- a/b.txt\n+++ b/b.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n");
  const std::string stale =
      "--- a/b.txt\n+++ b/b.txt\n@@ -1,7 +1,7 @@\n one\n two\n three\n four\n five\n-six\n+6\n "
      "seven\n";
  const auto refused = run("preview --strict", "preview", stale);
  EXPECT_EQ(status_, 1);
  const auto file = refused["edits"]["files"][0];
  EXPECT_EQ(file["earlier"]["transaction"], "1") << file;
  EXPECT_EQ(file["earlier"]["when"], "before") << file;
  EXPECT_FALSE(file["failed"][0]["word_diff"].get<std::string>().empty()) << file;
  EXPECT_EQ(run("apply --strict", "apply", file["earlier"]["rebased"])["ok"], true);
}

TEST_F(Documents, StoredTransactionsMatchTheSchema) {
  skip_without_walls(missing_walls(GALLEY_BINARY_DIR "/galley-sandbox"));
  if (IsSkipped() || HasFailure()) return;
  const std::string tx = run("begin", "begin")["tx"];
  EXPECT_EQ(run("status", "status")["transactions"][0]["tx"], tx);
  const auto ran = run("exec -- sh -c 'echo made > made.txt'", "exec");
  EXPECT_EQ(ran["staged"], true) << ran;
  run("savepoint here", "savepoint");
  EXPECT_EQ(run("diff", "diff")["changes"].size(), 1u);
  EXPECT_EQ(run("validate", "validate")["ok"], true);
  EXPECT_EQ(run("fork", "fork")["parent"], tx);
  EXPECT_EQ(run("commit", "error")["reason"], "stage.which") << "two are open";
  EXPECT_EQ(status_, 2);
  EXPECT_EQ(run("commit -n --tx " + tx, "preview")["tx"], tx);
  EXPECT_EQ(run("rollback -n --to here --tx " + tx, "rollback")["kept"], 1);
  EXPECT_EQ(run("rollback -n --tx " + tx, "rollback")["changes"].size(), 1u);
  run("rollback --tx " + tx, "rollback");
  EXPECT_EQ(run("commit", "commit")["receipt"]["id"], "1");
  EXPECT_TRUE(tree_.exists("made.txt"));
  run("begin", "begin");
  const auto slow = run("exec --timeout 0.2 --memory 512mb --processes 20 -- sleep 60", "exec");
  EXPECT_EQ(slow["reason"], "sandbox.timeout") << slow;
  EXPECT_EQ(run("exec --network -- true", "error")["reason"], "command.network_denied");
  const auto loud = run("exec --output 1kb --deterministic -- seq 100000", "exec");
  EXPECT_LT(loud["stdout"].get<std::string>().size(), 2048u);
  const std::string proposal = run("diff", "diff")["proposal"];
  EXPECT_EQ(run("approve " + proposal.substr(0, 12), "approve")["proposal"], proposal);
  EXPECT_EQ(run("--agent bot approve " + proposal, "error")["reason"], "approval.by_agent");
}

TEST_F(Documents, CommandsWithTheirCommitMatchTheSchema) {
  skip_without_walls(missing_walls(GALLEY_BINARY_DIR "/galley-sandbox"));
  if (IsSkipped() || HasFailure()) return;
  EXPECT_EQ(run("exec --commit -- sh -c 'echo q > q'", "exec")["receipt"]["id"], "1");
  EXPECT_EQ(run("exec --commit -- sh -c 'mkdir -p secret; echo q > secret/q'", "exec")["reason"],
            "gate.policy_denied");
  EXPECT_EQ(run("exec --begin -- mkfifo pipe", "exec")["reason"], "command.effects");
  run("rollback", "rollback");
  EXPECT_EQ(run("run --commit -- sh -c 'echo r > r'", "run")["receipt"]["id"], "2");
  EXPECT_EQ(run("run --keep -- sh -c 'echo s > s'", "run")["end"], "kept");
  EXPECT_EQ(run("status", "status")["transactions"][0]["run"]["ended"], "exit 0");
}

TEST_F(Documents, DescriptionsMatchTheSchema) {
  EXPECT_EQ(run("tools validate Edit '{}'", "tool-arguments")["valid"], false);
  EXPECT_FALSE(run("help", "reference")["commands"].empty());
}

TEST_F(Documents, TrustMatchesTheSchema) {
  tree_.write("galley.toml", "[sandbox]\nnetwork = true\n");
  home_.write("galley/config.toml", "unattended = true\n");
  EXPECT_EQ(run("trust --show", "trust")["trusted"], false);
  EXPECT_EQ(run("trust", "trust")["part"], "sandbox.network = true\n");
  EXPECT_EQ(run("trust --list", "trust-list")["trusted"].size(), 1u);
  EXPECT_EQ(run("trust --revoke", "trust")["trusted"], false);
  EXPECT_EQ(run("trust --list", "trust-list")["trusted"].size(), 0u);
}

TEST_F(Documents, GrantsAndConfirmationsMatchTheSchema) {
  home_.write("galley/config.toml", "unattended = true\n");
  EXPECT_EQ(run("grants", "grants")["grants"].size(), 0u);
  EXPECT_EQ(run("grant bot custom:deploy --by ann", "grant")["granted"], true);
  EXPECT_EQ(run("revoke bot exec:git", "grant")["granted"], false);
  EXPECT_EQ(run("grants", "grants")["grants"][0]["by"], "ann");
  EXPECT_EQ(run("--agent bot grant bot custom:deploy", "error")["reason"], "grant.by_agent");
  EXPECT_EQ(run("approve call-0123456789", "error")["reason"], "confirmation.not_found");
}

TEST_F(Documents, StagingAndEditingMatchTheSchema) {
  const std::string patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n";
  run("begin", "begin");
  EXPECT_EQ(run("stage --check -", "stage", patch)["changes"].size(), 0u);
  EXPECT_EQ(run("stage -", "stage", patch)["changes"].size(), 1u);
  EXPECT_EQ(run("stage -", "stage", patch)["reason"], "patch.already_applied");
  EXPECT_EQ(status_, 1);
  ::setenv("EDITOR", "sed -i s/two/TWO/", 1);
  EXPECT_EQ(run("edit a.txt", "edit")["changes"].size(), 1u);
  EXPECT_EQ(run("edit a.txt", "edit")["changes"].size(), 0u);
  ::setenv("EDITOR", "false", 1);
  EXPECT_EQ(run("edit a.txt", "error")["reason"], "editor.failed");
  ::unsetenv("EDITOR");
  run("commit", "commit");
}

TEST_F(Documents, FixingAndSplittingMatchTheSchema) {
  skip_without_walls(missing_walls(GALLEY_BINARY_DIR "/galley-sandbox"));
  if (IsSkipped() || HasFailure()) return;
  tree_.write("galley.toml",
              "[[validator]]\nname = \"tidy\"\ncommand = [\"sed\", \"-i\", \"s/ *$//\", "
              "\"{files}\"]\npaths = [\"*.txt\"]\nfix = true\n"
              "[[validator]]\nbuiltin = \"json\"\n");
  run("begin", "begin");
  run(R"(exec -- sh -c 'echo "spaces  " > a.txt; echo "{" > bad.json')", "exec");
  const auto refused = run("validate --bisect", "validate");
  EXPECT_EQ(status_, 1);
  EXPECT_EQ(refused["bisect"]["smallest_refused"]["pieces"].size(), 1u) << refused;
  EXPECT_EQ(refused["bisect"]["complete"], true);
  const auto fixed = run("validate --fix", "validate");
  EXPECT_EQ(status_, 1);
  EXPECT_EQ(fixed["fix"]["runs"][0]["changed"][0], "a.txt") << fixed;
  EXPECT_EQ(run("validate --bisect", "validate")["bisect"]["largest_passing"]["pieces"][0]["path"],
            "a.txt");
  const std::string spaces = "--- /dev/null\n+++ b/b.txt\n@@ -0,0 +1 @@\n+b  \n";
  EXPECT_EQ(run("preview --fix -", "preview", spaces)["fix"]["changes"].size(), 1u);
  EXPECT_EQ(run("apply --fix -", "apply", spaces)["fix"]["runs"][0]["changed"][0], "b.txt");
  run("rollback --to before-fix", "rollback");
  EXPECT_EQ(run("validate --fix", "validate")["fix"]["changes"].size(), 1u);
}

TEST_F(Documents, RefusalsAndErrorsMatchTheSchema) {
  const auto refused =
      run("apply", "apply", "--- /dev/null\n+++ b/secret/key\n@@ -0,0 +1 @@\n+stolen\n");
  EXPECT_EQ(refused["reason"], "gate.policy_denied");
  EXPECT_EQ(status_, 1);
  EXPECT_EQ(run("apply", "error", "no patch at all")["ok"], false);
  EXPECT_EQ(status_, 2);
  EXPECT_EQ(run("show 77", "error")["ok"], false);
  EXPECT_EQ(status_, 1);
  EXPECT_EQ(run("frobnicate", "error")["reason"], "usage");
  EXPECT_EQ(status_, 2);
}

TEST_F(Documents, MaintenanceMatchesTheSchema) {
  run("apply", "apply", kPatch);
  EXPECT_EQ(run("doctor", "doctor")["ok"], true);
  run("gc --dry-run", "gc");
  run("recover --dry-run", "recover");
  EXPECT_EQ(run("audit verify", "audit")["ok"], true);
  EXPECT_EQ(run("init --dry-run", "init")["written"], false);
  run("policy explain secret/key", "explain");
  EXPECT_EQ(run("completions fish", "completions")["shell"], "fish");
  EXPECT_EQ(run("agents list", "agents")["entries"].size(), 69u);
  EXPECT_EQ(run("agents status", "agents-status")["sessions"].size(), 0u);
  run("agents install all --dry-run", "agents");
  EXPECT_EQ(run("agents install gemini --dry-run", "agents")["entries"][0]["state"], "added");
  EXPECT_EQ(run("agents uninstall gemini --dry-run", "agents")["entries"][0]["state"], "absent");
  run("rescue list", "rescue");
}

}  // namespace
}  // namespace galley
