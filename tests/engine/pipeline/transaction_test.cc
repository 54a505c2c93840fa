#include "engine/pipeline/transaction_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "doubles/fault_directory.h"
#include "engine/audit/audit.h"
#include "engine/commit/state_directory.h"
#include "engine/history/history.h"
#include "engine/history/undo.h"
#include "engine/pipeline/agent_session.h"
#include "engine/pipeline/decide.h"
#include "engine/pipeline/inner_transaction.h"
#include "engine/pipeline/maintenance.h"
#include "engine/pipeline/workspace_state.h"
#include "support/commit_fixture.h"
#include "support/own_file.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

using ::testing::HasSubstr;

class TransactionTest : public ::testing::Test {
 protected:
  TransactionTest() {
    tree_.write("galley.toml",
                "[policy]\nprotected = [\"secret/**\"]\n"
                "[[validator]]\nname = \"json\"\nbuiltin = \"json\"\n");
    tree_.write("a.txt", "one\ntwo\nthree\n");
    tree_.write("data.json", "{}\n");
    tree_.write("secret/key", "k\n");
  }

  std::unique_ptr<Workspace> open() {
    auto workspace = Workspace::open(tree_.path());
    EXPECT_TRUE(workspace) << workspace.error().message;
    return *std::move(workspace);
  }
  static Transaction begin(Workspace& workspace) {
    auto transaction = workspace.begin({"tester", "a reason"});
    EXPECT_TRUE(transaction);
    return *std::move(transaction);
  }

  TempDirectory tree_;
};

// It waited for the lock while the commit was made, so it could not recover when it was opened.
TEST_F(TransactionTest, GarbageIsClearedAfterTheRecoveryOfAKilledCommit) {
  const auto workspace = open();
  Transaction first = begin(*workspace);
  ASSERT_TRUE(first.write("first", "1\n"));
  ASSERT_TRUE(first.commit());
  const auto plan = std::make_shared<FaultPlan>();
  const auto killed = make_fault_directory(*open_writable_disk_directory(tree_.path()), plan);
  PublisherOptions options;
  options.before_apply = [&] { plan->is_dead = true; };
  ChangeBuilder change(*killed);
  ASSERT_FALSE(publish(*killed, change.write("a.txt", "new\n").proposal(), options));
  EXPECT_EQ(tree_.read("a.txt"), "one\ntwo\nthree\n");
  // A journal of this age goes into the history.
  const std::filesystem::path journal = tree_.path() + "/.galley/j/2.j";
  std::filesystem::last_write_time(
      journal, std::filesystem::last_write_time(journal) - std::chrono::hours(1));
  const auto cleared = clear_garbage(*workspace, false);
  ASSERT_TRUE(cleared) << cleared.error().message;
  EXPECT_EQ(tree_.read("a.txt"), "new\n");
}

// Limit: kMaxMerges of engine/pipeline/decide.h
TEST_F(TransactionTest, ACommitIsMergedWithManySavesButNotForever) {
  for (const int saves : {kMaxMerges, kMaxMerges + 1}) {
    tree_.write("a.txt", "one\ntwo\nthree\nfour\nfive\n");
    const auto workspace = open();
    Transaction transaction = begin(*workspace);
    ASSERT_TRUE(transaction.edit("a.txt", "one", "ONE"));
    ASSERT_TRUE(transaction.write("data.json", "[" + std::to_string(saves) + "]\n"));
    int saved = 0;
    CommitRequest request;
    request.on_progress = [&](const GateProgress& progress) {
      if (progress.done != progress.total || saved == saves) return;
      tree_.write("a.txt", "one\ntwo\nthree\nfour\nsave " + std::to_string(++saved) + "\n");
    };
    const auto outcome = transaction.commit(request);
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_EQ(saved, saves);
    const bool is_merged = saves == kMaxMerges;
    EXPECT_EQ(std::holds_alternative<Receipt>(*outcome), is_merged);
    EXPECT_EQ(tree_.read("a.txt"), (is_merged ? "ONE" : "one") +
                                       std::string("\ntwo\nthree\nfour\nsave ") +
                                       std::to_string(saves) + "\n");
  }
}

TEST_F(TransactionTest, ACommitThatLosesRacesKeepsOthersOutUntilItIsMade) {
  tree_.write("galley.toml",
              "[commit]\nlock_timeout_ms = 50\n[[validator]]\nbuiltin = \"conflict_markers\"\n");
  const auto workspace = open();
  const auto rival = open();
  Transaction transaction = begin(*workspace);
  ASSERT_TRUE(transaction.edit("a.txt", "one", "ONE"));
  int won = 0;
  std::string kept_out;
  CommitRequest request;
  request.on_progress = [&](const GateProgress& progress) {
    if (progress.done != progress.total) return;
    Transaction other = begin(*rival);
    ASSERT_TRUE(other.write("a.txt", tree_.read("a.txt") + "more\n"));
    const auto made = other.commit();
    if (made) ++won;
    if (!made) kept_out = made.error().reason;
  };
  const auto outcome = transaction.commit(request);
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_TRUE(std::holds_alternative<Receipt>(*outcome));
  EXPECT_EQ(won, 3);
  EXPECT_EQ(kept_out, "commit.locked");
  EXPECT_EQ(tree_.read("a.txt"), "ONE\ntwo\nthree\nmore\nmore\nmore\n");
}

TEST_F(TransactionTest, NoCommitWaitsForThePersonThatACommitAsks) {
  tree_.write("galley.toml",
              "[commit]\nlock_timeout_ms = 50\n[[validator]]\nbuiltin = \"conflict_markers\"\n"
              "[[policy.rule]]\npaths = [\"a.txt\"]\ndecision = \"ask\"\n");
  const auto rival = open();
  int asked = 0;
  std::string last;
  WorkspaceOptions options;
  options.approver = [&](const ApprovalQuestion& question) -> Result<ApprovalQuestion::Answer> {
    ++asked;
    Transaction other = begin(*rival);
    EXPECT_TRUE(other.write("b" + std::to_string(asked), "b\n"));
    const auto made = other.commit();
    last = made ? "committed" : made.error().reason;
    if (asked <= 3) tree_.write("a.txt", tree_.read("a.txt") + "saved\n");
    return ApprovalQuestion::Answer{question.proposed.id(), true, "ada"};
  };
  const auto workspace = *Workspace::open(tree_.path(), std::move(options));
  Transaction transaction = begin(*workspace);
  ASSERT_TRUE(transaction.edit("a.txt", "one", "ONE"));
  const auto outcome = transaction.commit();
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_TRUE(std::holds_alternative<Receipt>(*outcome));
  EXPECT_EQ(asked, 4);
  EXPECT_EQ(last, "committed") << "the fourth judgement began under the lock";
}

TEST_F(TransactionTest, TheNumberOfATurnWithCommitsSurvivesTheClearingOfItsSession) {
  WorkspaceOptions options;
  options.session = "s";
  const auto workspace = *Workspace::open(tree_.path(), options);
  ASSERT_TRUE(persistent_of(*workspace).ensure());
  const StateDirectory& state = *persistent_of(*workspace).state();
  const AgentSession session(state, "s");
  const AgentSession idle(state, "idle");
  ASSERT_TRUE(session.begin_turn("first"));
  ASSERT_TRUE(idle.begin_turn("first"));
  Transaction transaction = begin(*workspace);
  ASSERT_TRUE(transaction.write("first", "1\n"));
  ASSERT_TRUE(transaction.commit());
  for (const char* id : {"s", "idle"}) {
    const std::filesystem::path turn =
        tree_.path() + "/.galley/" +
        state.own("sessions/" + ContentId::of(std::string(id)).hex() + "/turn").str();
    std::filesystem::last_write_time(
        turn, std::filesystem::last_write_time(turn) - std::chrono::hours(24 * 31));
  }
  ASSERT_TRUE(clear_garbage(*workspace, false));
  EXPECT_EQ(session.turn().number, 1U);
  EXPECT_EQ(idle.turn().number, 0U);
}

TEST_F(TransactionTest, ACommitChangesTheTreeAndUndoRestoresIt) {
  const auto workspace = open();
  Transaction transaction = begin(*workspace);
  ASSERT_TRUE(transaction.edit("a.txt", "two", "TWO"));
  ASSERT_TRUE(transaction.write("new/file.txt", "fresh\n"));
  EXPECT_EQ(tree_.read("a.txt"), "one\ntwo\nthree\n");
  const auto outcome = transaction.commit();
  ASSERT_TRUE(outcome) << outcome.error().message;
  const auto& receipt = std::get<Receipt>(*outcome);
  EXPECT_EQ(tree_.read("a.txt"), "one\nTWO\nthree\n");

  const History history(*persistent_of(*workspace).state());
  auto plan =
      plan_undo(history, place_of(*workspace).files(), receipt.id, place_of(*workspace).clock());
  ASSERT_TRUE(plan);
  CommitRequest request;
  request.undoes = receipt.id;
  const auto undone =
      workspace->commit(std::get<UndoPlan>(*plan).proposal, {"tester", "back"}, request);
  ASSERT_TRUE(undone) << undone.error().message;
  EXPECT_EQ(tree_.read("a.txt"), "one\ntwo\nthree\n");
  EXPECT_FALSE(tree_.exists("new"));
}

/// A transaction that looks at one thing, and writes another one.
class SerializableTest : public TransactionTest {
 protected:
  SerializableTest() {
    tree_.write("galley.toml", "[commit]\nisolation = \"serializable\"\n");
    tree_.write("dir/in.txt", "in\n");
  }
  /// The reason of the conflict, or nothing when it was committed.
  std::string reason_after(const std::function<void(Transaction&)>& look,
                           const std::function<void()>& meanwhile) {
    const auto workspace = open();
    Transaction transaction = begin(*workspace);
    look(transaction);
    EXPECT_TRUE(transaction.write("out.txt", "out\n"));
    meanwhile();
    const auto outcome = transaction.commit();
    if (!outcome) return outcome.error().message;
    if (std::holds_alternative<Receipt>(*outcome)) return "";
    EXPECT_FALSE(tree_.exists("out.txt"));
    const auto* conflict = std::get_if<Conflict>(&*outcome);
    if (conflict == nullptr) return "no conflict";
    message_ = conflict->paths.front().message;
    return conflict->reason;
  }
  static RelPath path(std::string_view text) { return *RelPath::parse(text); }
  std::string message_;
};

TEST_F(SerializableTest, AReadFileThatChangedIsAConflict) {
  EXPECT_EQ(reason_after([](Transaction& seen) { ASSERT_TRUE(seen.read("a.txt")); },
                         [&] { tree_.write("a.txt", "one\ntwo\nThree\n"); }),
            "conflict.read_changed");
  EXPECT_THAT(message_, HasSubstr("'a.txt' was changed since it was read"));
}

TEST_F(SerializableTest, WritingTheSameBytesAgainIsNotAConflict) {
  EXPECT_EQ(reason_after([](Transaction& seen) { ASSERT_TRUE(seen.read("a.txt")); },
                         [&] { tree_.write("a.txt", "one\ntwo\nthree\n"); }),
            "");
}

TEST_F(SerializableTest, AnAbsentPathThatAppearedIsAConflict) {
  EXPECT_EQ(reason_after([](Transaction& seen) { ASSERT_TRUE(seen.look("no.txt")); },
                         [&] { tree_.write("no.txt", "yes\n"); }),
            "conflict.read_changed");
  EXPECT_THAT(message_, HasSubstr("'no.txt' exists now"));
}

TEST_F(SerializableTest, AReadFileThatWasRemovedWithItsDirectoryIsAConflict) {
  EXPECT_EQ(reason_after([](Transaction& seen) { ASSERT_TRUE(seen.read("dir/in.txt")); },
                         [&] { std::filesystem::remove_all(tree_.path() + "/dir"); }),
            "conflict.read_changed");
  EXPECT_THAT(message_, HasSubstr("'dir/in.txt' is gone"));
}

TEST_F(SerializableTest, AListingWithANewNameIsAConflict) {
  EXPECT_EQ(reason_after([](Transaction& seen) { ASSERT_TRUE(seen.list("dir")); },
                         [&] { tree_.write("dir/more.txt", "more\n"); }),
            "conflict.read_changed");
  EXPECT_THAT(message_, HasSubstr("'dir' has other entries"));
  EXPECT_EQ(reason_after([](Transaction& seen) { ASSERT_TRUE(seen.list("")); },
                         [&] { tree_.write("top.txt", "top\n"); }),
            "conflict.read_changed");
  EXPECT_THAT(message_, HasSubstr("'.' has other entries"));
}

TEST_F(SerializableTest, ChangesOfUnreadFilesAreNotAConflict) {
  EXPECT_EQ(reason_after([](Transaction& seen) { ASSERT_TRUE(seen.list("dir")); },
                         [&] {
                           tree_.write("a.txt", "other\n");
                           tree_.write("dir/in.txt", "another\n");
                         }),
            "");
}

TEST_F(SerializableTest, AnEditedFileIsNotMerged) {
  const auto workspace = open();
  Transaction transaction = begin(*workspace);
  ASSERT_TRUE(transaction.edit("a.txt", "one", "ONE"));
  tree_.write("a.txt", "one\ntwo\nTHREE\n");
  const auto outcome = transaction.commit();
  ASSERT_TRUE(outcome) << outcome.error().message;
  ASSERT_TRUE(std::holds_alternative<Conflict>(*outcome));
  EXPECT_EQ(std::get<Conflict>(*outcome).reason, "conflict.changed_on_disk");
}

TEST_F(SerializableTest, AStoredTransactionRemembersItsReads) {
  const auto workspace = open();
  std::string id;
  {
    auto transaction = workspace->begin_stored({"tester", "a reason"});
    ASSERT_TRUE(transaction);
    ASSERT_TRUE(transaction->list("dir"));
    ASSERT_TRUE(transaction->write("out.txt", "out\n"));
    ASSERT_TRUE(transaction->save());
    id = transaction->id();
  }
  tree_.write("dir/more.txt", "more\n");
  auto transaction = workspace->resume(id);
  ASSERT_TRUE(transaction) << transaction.error().message;
  const auto outcome = transaction->commit();
  ASSERT_TRUE(outcome) << outcome.error().message;
  ASSERT_TRUE(std::holds_alternative<Conflict>(*outcome));
  EXPECT_EQ(std::get<Conflict>(*outcome).reason, "conflict.read_changed");
}

TEST_F(SerializableTest, ARebaseKeepsWhatWasReadUntilItIsReadAgain) {
  const auto workspace = open();
  std::string id;
  const auto commits = [](Transaction& transaction) {
    const auto outcome = transaction.commit();
    EXPECT_TRUE(outcome);
    return outcome && std::holds_alternative<Receipt>(*outcome);
  };
  {
    auto transaction = *workspace->begin_stored({"tester", "a reason"});
    ASSERT_TRUE(transaction.read("a.txt"));
    ASSERT_TRUE(transaction.write("out.txt", "out\n"));
    tree_.write("a.txt", "other\n");
    EXPECT_FALSE(commits(transaction));
    ASSERT_TRUE(inner(transaction).rebase_staged());
    EXPECT_FALSE(commits(transaction)) << "a.txt was not read again";
    id = transaction.id();
  }
  auto resumed = workspace->resume(id);
  ASSERT_TRUE(resumed) << resumed.error().message;
  Transaction& transaction = *resumed;
  EXPECT_EQ(transaction.read("a.txt").value_or("none"), "other\n");
  EXPECT_TRUE(commits(transaction));
  EXPECT_EQ(tree_.read("out.txt"), "out\n");
}

TEST_F(SerializableTest, OneOfTwoTransactionsThatReadEachOthersFileIsAConflict) {
  tree_.write("b.txt", "b\n");
  const auto workspace = open();
  Transaction first = begin(*workspace);
  Transaction second = begin(*workspace);
  ASSERT_TRUE(first.read("b.txt"));
  ASSERT_TRUE(first.write("a.txt", "from b\n"));
  ASSERT_TRUE(second.read("a.txt"));
  ASSERT_TRUE(second.write("b.txt", "from a\n"));
  const auto done = first.commit();
  ASSERT_TRUE(done && std::holds_alternative<Receipt>(*done));
  const auto skewed = second.commit();
  ASSERT_TRUE(skewed && std::holds_alternative<Conflict>(*skewed));
  EXPECT_EQ(tree_.read("b.txt"), "b\n");
}

TEST_F(TransactionTest, APreviewMakesNoStateDirectory) {
  const auto workspace = open();
  Transaction transaction = begin(*workspace);
  ASSERT_TRUE(transaction.write("a.txt", "x"));
  ASSERT_TRUE(transaction.preview());
  EXPECT_FALSE(tree_.exists(".galley"));
}

TEST_F(TransactionTest, TheCommittedProposalIsThePreviewedOne) {
  const auto workspace = open();
  Transaction transaction = begin(*workspace);
  ASSERT_TRUE(transaction.write("a.txt", "x\n"));
  const auto preview = transaction.preview();
  ASSERT_TRUE(preview);
  CommitRequest request;
  request.expected = preview->proposal.id();
  ASSERT_TRUE(transaction.write("a.txt", "y\n"));
  const auto stale = transaction.commit(request);
  ASSERT_FALSE(stale) << "one more staged byte changes the id";
  EXPECT_EQ(stale.error().reason, "commit.not_what_was_reviewed");
  ASSERT_TRUE(transaction.write("a.txt", "x\n"));
  const auto outcome = transaction.commit(request);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(std::get<Receipt>(*outcome).proposal, preview->proposal.id());
}

TEST_F(TransactionTest, ARefusalChangesNothingAndIsRecorded) {
  const auto workspace = open();
  Transaction transaction = begin(*workspace);
  ASSERT_TRUE(transaction.write("a.txt", "innocent\n"));
  ASSERT_TRUE(transaction.write("secret/key", "stolen\n"));
  const auto outcome = transaction.commit();
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(std::get<Refused>(*outcome).refusal().reason, "gate.policy_denied");
  EXPECT_EQ(tree_.read("a.txt"), "one\ntwo\nthree\n");
  const std::string log = tree_.read(".galley/audit.jsonl");
  EXPECT_THAT(log, HasSubstr("gate.policy_denied"));
  EXPECT_THAT(log, HasSubstr("\"agent\":\"tester\""));
}

TEST_F(TransactionTest, ABrokenFileIsRefusedAndCanBeFixed) {
  const auto workspace = open();
  Transaction transaction = begin(*workspace);
  ASSERT_TRUE(transaction.write("data.json", "{\"a\": }\n"));
  const auto refused = transaction.commit();
  ASSERT_TRUE(refused);
  ASSERT_TRUE(std::holds_alternative<Refused>(*refused));
  EXPECT_EQ(std::get<Refused>(*refused).preview.verdict.findings[0].line, 1u);
  ASSERT_TRUE(transaction.write("data.json", "{\"a\": 1}\n"));
  const auto outcome = transaction.commit();
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(std::holds_alternative<Receipt>(*outcome));
}

TEST_F(TransactionTest, ASaveByAnotherProgramIsAConflict) {
  const auto workspace = open();
  Transaction transaction = begin(*workspace);
  ASSERT_TRUE(transaction.edit("a.txt", "two", "TWO"));
  tree_.write("a.txt", "somebody else\n");
  const auto outcome = transaction.commit();
  ASSERT_TRUE(outcome) << outcome.error().message;
  ASSERT_TRUE(std::holds_alternative<Conflict>(*outcome));
  EXPECT_EQ(std::get<Conflict>(*outcome).paths[0].path, rel("a.txt"));
  EXPECT_EQ(tree_.read("a.txt"), "somebody else\n");
}

TEST_F(TransactionTest, ChangesOfOtherLinesAreMergedAndReported) {
  const auto workspace = open();
  tree_.write("long.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
  Transaction transaction = begin(*workspace);
  ASSERT_TRUE(transaction.edit("long.txt", "2\n", "two\n"));
  tree_.write("long.txt", "1\n2\n3\n4\n5\n6\n7\neight\n9\n");
  const auto outcome = transaction.commit();
  ASSERT_TRUE(outcome) << outcome.error().message;
  ASSERT_TRUE(std::holds_alternative<Receipt>(*outcome));
  EXPECT_EQ(tree_.read("long.txt"), "1\ntwo\n3\n4\n5\n6\n7\neight\n9\n");
  EXPECT_THAT(std::get<Receipt>(*outcome).warnings, ::testing::Contains(HasSubstr("long.txt")));
}

TEST_F(TransactionTest, AReviewedProposalIsNeverMerged) {
  const auto workspace = open();
  tree_.write("long.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
  Transaction transaction = begin(*workspace);
  ASSERT_TRUE(transaction.edit("long.txt", "2\n", "two\n"));
  const auto preview = transaction.preview();
  ASSERT_TRUE(preview);
  tree_.write("long.txt", "1\n2\n3\n4\n5\n6\n7\neight\n9\n");
  CommitRequest request;
  request.expected = preview->proposal.id();
  const auto outcome = transaction.commit(request);
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(std::holds_alternative<Conflict>(*outcome));
  EXPECT_EQ(tree_.read("long.txt"), "1\n2\n3\n4\n5\n6\n7\neight\n9\n");
}

TEST_F(TransactionTest, RewritingTheSameBytesIsNotAConflict) {
  const auto workspace = open();
  Transaction transaction = begin(*workspace);
  ASSERT_TRUE(transaction.edit("a.txt", "two", "TWO"));
  tree_.write("a.txt", "one\ntwo\nthree\n");
  const auto outcome = transaction.commit();
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(std::holds_alternative<Receipt>(*outcome));
}

TEST_F(TransactionTest, AStoredTransactionOutlivesItsWorkspace) {
  std::string id;
  {
    const auto workspace = open();
    auto transaction = workspace->begin_stored({"bot", "later"});
    ASSERT_TRUE(transaction) << transaction.error().message;
    ASSERT_TRUE(transaction->write("a.txt", "stored\n"));
    ASSERT_TRUE(transaction->save());
    id = transaction->id();
  }
  const auto workspace = open();
  const auto stages = workspace->stages();
  ASSERT_TRUE(stages);
  ASSERT_EQ(stages->size(), 1u);
  EXPECT_EQ((*stages)[0].agent, "bot");
  EXPECT_EQ((*stages)[0].changes, 1u);
  auto transaction = workspace->resume({}, "bot");
  ASSERT_TRUE(transaction);
  EXPECT_EQ(transaction->id(), id);
  EXPECT_EQ(*transaction->read("a.txt"), "stored\n");
  const auto outcome = transaction->commit();
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(tree_.read("a.txt"), "stored\n");
  EXPECT_TRUE(workspace->stages()->empty()) << "nothing is left of it";
}

TEST_F(TransactionTest, AStageCanBeOpenedOnlyOnceAtATime) {
  tree_.write("galley.toml", "[commit]\nlock_timeout_ms = 20\n");
  const auto workspace = open();
  auto first = workspace->begin_stored();
  ASSERT_TRUE(first);
  const auto other = open();
  const auto second = other->resume(first->id());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().reason, "stage.busy");
  EXPECT_TRUE((*other->stages())[0].is_held);
}

TEST_F(TransactionTest, SavepointsAndForksAreIndependent) {
  const auto workspace = open();
  auto parent = workspace->begin_stored();
  ASSERT_TRUE(parent);
  ASSERT_TRUE(parent->write("a.txt", "first\n"));
  ASSERT_TRUE(parent->savepoint("one"));
  ASSERT_TRUE(parent->write("a.txt", "second\n"));
  auto child = parent->fork();
  ASSERT_TRUE(child) << child.error().message;
  ASSERT_TRUE(child->write("b.txt", "child\n"));
  ASSERT_TRUE(parent->rollback_to("one"));
  EXPECT_EQ(*parent->read("a.txt"), "first\n");
  EXPECT_EQ(*child->read("a.txt"), "second\n");
  EXPECT_EQ(parent->look("b.txt")->kind, FileKind::kAbsent);
  EXPECT_EQ(parent->rollback_to("none").error().kind, ErrorKind::kNotFound);
  ASSERT_TRUE(parent->rollback());
  const auto outcome = child->commit();
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(tree_.read("a.txt"), "second\n");
}

TEST_F(TransactionTest, ACallIsStagedOrLeavesNothing) {
  const auto workspace = open();
  Transaction transaction = begin(*workspace);
  EXPECT_TRUE(transaction.call("Write", R"({"file":"n.txt","content":"n"})").result().ok);
  const ToolResult bad =
      transaction.call("Edit", R"({"file":"a.txt","patch":"no patch"})").result();
  EXPECT_FALSE(bad.ok);
  const ToolResult unknown = transaction.call("Wirte", "{}").result();
  ASSERT_FALSE(unknown.ok);
  EXPECT_THAT(unknown.error->message, HasSubstr("Write"));
  EXPECT_EQ(overlay_of(transaction).changes().size(), 1u);
}

TEST_F(TransactionTest, AbsolutePathsInsideTheRootAreAccepted) {
  const auto workspace = open();
  Transaction transaction = begin(*workspace);
  EXPECT_TRUE(transaction.write(tree_.path() + "/a.txt", "x"));
  EXPECT_EQ(transaction.write("/etc/passwd", "x").error().reason, "path.outside");
  EXPECT_EQ(transaction.write(".git/config", "x").error().reason, "path.protected");
}

TEST_F(TransactionTest, AMissingRecordOfACommitIsReportedAndRestored) {
  const auto commit = [&](const std::string& name) {
    const auto workspace = open();
    Transaction transaction = begin(*workspace);
    ASSERT_TRUE(transaction.write(name, "new\n"));
    ASSERT_TRUE(std::holds_alternative<Receipt>(*transaction.commit()));
  };
  commit("one.txt");
  const std::string log = tree_.read(".galley/audit.jsonl");
  const std::string head_file = own_file(*open(), "audit/head");
  const std::string head = tree_.read(head_file);
  commit("two.txt");
  tree_.write(".galley/audit.jsonl", log);
  tree_.write(head_file, head);
  // As long as its journal awaits its retirement the record is only late.
  EXPECT_TRUE(persistent_of(*open()).verify_audit()->is_intact());
  std::filesystem::rename(tree_.path() + "/.galley/j/2.j", tree_.path() + "/.galley/undo/2.j");
  const auto workspace = open();
  const auto found = persistent_of(*workspace).verify_audit();
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->defects.size(), 1U);
  EXPECT_EQ(found->defects[0].reason, "audit.unrecorded");
  EXPECT_THAT(found->defects[0].message, HasSubstr("transaction 2"));
  EXPECT_EQ(*persistent_of(*workspace).restore_audit(), 1U);
  EXPECT_EQ(*persistent_of(*workspace).restore_audit(), 0U);
  EXPECT_TRUE(persistent_of(*workspace).verify_audit()->is_intact());
}

TEST_F(TransactionTest, AFailureAfterTheCommitPointIsAWarningOfTheReceipt) {
  const auto workspace = open();
  auto transaction = workspace->begin_stored({"tester", "a reason"});
  ASSERT_TRUE(transaction);
  ASSERT_TRUE(transaction->edit("a.txt", "two", "TWO"));
  // A folder where a file is expected: the stage cannot be cleared away.
  std::filesystem::create_directory(
      tree_.path() + "/" + own_file(*workspace, "stage/" + transaction->id() + "/scratch-home"));
  const auto outcome = transaction->commit();
  ASSERT_TRUE(outcome) << outcome.error().message;
  const auto* receipt = std::get_if<Receipt>(&*outcome);
  ASSERT_NE(receipt, nullptr);
  EXPECT_EQ(tree_.read("a.txt"), "one\nTWO\nthree\n");
  ASSERT_EQ(receipt->warnings.size(), 1U);
  EXPECT_THAT(receipt->warnings[0], HasSubstr("could not be cleared away"));
  EXPECT_THAT(receipt->warnings[0], HasSubstr("galley gc"));
}

TEST(WorkspaceOpen, OpenFindsTheRootUpwardsAndRefusesBadPathsAndConfigurations) {
  TempDirectory tree;
  tree.write("galley.toml", "");
  tree.write("deep/er/file", "x");
  const auto workspace = Workspace::open(tree.path() + "/deep/er");
  ASSERT_TRUE(workspace);
  EXPECT_EQ((*workspace)->root_path(), tree.path());
  EXPECT_EQ(Workspace::open(tree.path() + "/none").error().reason, "workspace.not_found");
  tree.write("galley.toml", "[polcy]\n");
  const auto broken = Workspace::open(tree.path());
  ASSERT_FALSE(broken);
  EXPECT_THAT(broken.error().message, HasSubstr("policy")) << "it suggests the right key";
}

}  // namespace
}  // namespace galley
