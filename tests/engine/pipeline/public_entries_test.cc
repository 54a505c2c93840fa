// Every public way to change something, and what each leaves on record. The tables below are
// compared with the headers: a method that is in neither fails.
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <type_traits>
#include <utility>

#include <galley/workspace.h>
#include "doubles/fake_command_runner.h"
#include "engine/calls/executor.h"
#include "engine/commit/state_directory.h"
#include "engine/history/history.h"
#include "engine/history/rebase.h"
#include "engine/history/undo.h"
#include "engine/history/undo_choice.h"
#include "engine/pipeline/inner_transaction.h"
#include "engine/pipeline/run_capture.h"
#include "engine/pipeline/transaction_state.h"
#include "engine/validators/bisect.h"
#include "engine/validators/fix.h"
#include "support/own_file.h"
#include "support/public_methods.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

using nlohmann::json;

constexpr const char* kLookerConfig = R"(
[agents.looker]
tools = ["Read"]

[agents."*"]

[[validator]]
name = "mends"
command = ["mend"]
fix = true
)";

std::vector<json> records_of(const TempDirectory& tree) {
  std::vector<json> records;
  if (!tree.exists(".galley/audit.jsonl")) return records;
  std::istringstream lines(tree.read(".galley/audit.jsonl"));
  for (std::string line; std::getline(lines, line);) records.push_back(json::parse(line));
  return records;
}

/// A workspace in which "bot" has a stored transaction that is begun for the reason "why".
class World {
 public:
  World() {
    tree.write("galley.toml", kLookerConfig);
    tree.write("a.txt", "one\n");
    WorkspaceOptions options;
    options.runner = &runner;
    options.trusts_configuration = true;
    auto opened = Workspace::open(tree.path(), std::move(options));
    EXPECT_TRUE(opened) << opened.error().message;
    workspace = *std::move(opened);
    auto begun = workspace->begin_stored(bot());
    EXPECT_TRUE(begun) << begun.error().message;
    transaction.emplace(*std::move(begun));
    id = transaction->id();
  }
  [[nodiscard]] static TransactionOptions bot() { return {"bot", "why"}; }
  /// Commits a change, which leaves records of its own.
  TxId commit_something() {
    auto other = workspace->begin(bot());
    EXPECT_TRUE(other->write("b.txt", "b\n"));
    const auto outcome = other->commit();
    EXPECT_TRUE(outcome && std::holds_alternative<Receipt>(*outcome));
    return std::get<Receipt>(*outcome).id;
  }
  void damage() {
    transaction.reset();
    tree.write(own_file(*workspace, "stage/" + id + "/overlay"), "nonsense");
  }

  TempDirectory tree;
  FakeCommandRunner runner;
  std::unique_ptr<Workspace> workspace;
  std::optional<Transaction> transaction;
  std::string id;
};

/// One public entry and the last record that it leaves. `tx` is "open" for the id of the open
/// transaction, otherwise the text of the record.
struct Entry {
  std::string name;
  std::string kind;
  std::string tool;
  std::string tx;
  std::function<void(World&)> act;
  std::string reason = "why";
  std::string agent = "bot";
};

void expect(bool is_good) { EXPECT_TRUE(is_good); }

std::vector<Entry> entries_of_transactions() {
  const auto misfit = [](Transaction& t) {
    return t.stage_all([&]() -> Result<bool> {
      EXPECT_TRUE(t.write("b.txt", "b\n"));
      return false;
    });
  };
  return {
      {"write", "edit", "Write", "open",
       [](World& w) { expect(w.transaction->write("b.txt", "b\n").has_value()); }},
      {"edit", "edit", "Edit", "open",
       [](World& w) { expect(w.transaction->edit("a.txt", "one", "two").is_staged()); }},
      {"remove", "edit", "Delete", "open",
       [](World& w) { expect(w.transaction->remove("a.txt").has_value()); }},
      {"move", "edit", "Move", "open",
       [](World& w) { expect(w.transaction->move("a.txt", "b.txt").has_value()); }},
      {"chmod", "edit", "Chmod", "open",
       [](World& w) { expect(w.transaction->chmod("a.txt", 0755).has_value()); }},
      {"symlink", "edit", "Symlink", "open",
       [](World& w) { expect(w.transaction->symlink("b", "a.txt").has_value()); }},
      {"make_directory", "edit", "MakeDirectory", "open",
       [](World& w) { expect(w.transaction->make_directory("d").has_value()); }},
      {"apply", "edit", "stage", "open",
       [](World& w) {
         expect(w.transaction->apply("--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+two\n")
                    .is_staged());
       }},
      {"stage_edited", "edit", "edit", "open",
       [](World& w) { expect(w.transaction->stage_edited("a.txt", "two\n").has_value()); }},
      {"stage_all", "edits.dropped", "", "open",
       [misfit](World& w) { expect(!*misfit(*w.transaction)); }},
      {"call", "call", "Write", "open",
       [](World& w) {
         expect(w.transaction->call("Write", R"({"file_path":"b.txt","content":"b"})").result().ok);
       }},
      {"call_all", "calls.dropped", "", "open",
       [](World& w) {
         const auto calls = parse_calls(
             R"([{"tool":"Write","args":{"file_path":"b","content":"b"}},{"tool":"None"}])");
         expect(!inner(*w.transaction).call_all(*calls).back().ok);
       },
       "call 2 of 2 failed: those before it were taken back"},
      {"call_recorded", "call", "Write", "open",
       [](World& w) {
         ToolCall call = ToolCall::parse("Write", R"({"file_path":"b.txt","content":"b"})");
         expect(inner(*w.transaction).call_recorded(std::move(call), {}).ok);
       }},
      {"run", "exec", "exec", "open",
       [](World& w) {
         Command command;
         command.argv = {"true"};
         expect(inner(*w.transaction).run(command).has_value());
       }},
      {"start_run", "run", "run", "open",
       [](World& w) {
         RunRequest request;
         request.command.argv = {"true"};
         const auto started = inner(*w.transaction).start_run(request);
         // The fake runs nothing for long, and that is on record.
         if (!started) expect(started.error().reason == "sandbox.unavailable");
       }},
      {"fix", "fix", "fix", "open",
       [](World& w) { expect(inner(*w.transaction).fix().has_value()); }},
      {"savepoint", "savepoint", "savepoint", "open",
       [](World& w) { expect(w.transaction->savepoint("s").has_value()); }},
      {"rollback_to", "rollback", "rollback", "open",
       [](World& w) {
         expect(w.transaction->savepoint("s").has_value());
         expect(w.transaction->rollback_to("s").has_value());
       }},
      {"rollback_execution", "rollback", "rollback", "open",
       [](World& w) {
         const auto called =
             w.transaction->call("Write", R"({"file_path":"b.txt","content":"b"})").result();
         expect(w.transaction->rollback_execution(called.meta.execution_id).has_value());
       }},
      {"keep_part", "rollback", "rollback", "open",
       [](World& w) { expect(w.transaction->keep_part(w.transaction->proposal()).has_value()); }},
      {"rollback", "rollback", "rollback", "open",
       [](World& w) { expect(w.transaction->rollback().has_value()); }},
      {"fork", "fork", "fork", "open", [](World& w) { expect(w.transaction->fork().has_value()); }},
      {"stage_with_markers", "edit", "markers", "open",
       [](World& w) {
         auto other = w.workspace->begin(World::bot());
         expect(other->edit("a.txt", "one", "two").is_staged());
         w.tree.write("a.txt", "three\n");
         expect(w.transaction->stage_with_markers(other->proposal()).has_value());
       }},
      {"keep_comments", "comment", "review", "open",
       [](World& w) {
         expect(inner(*w.transaction).keep_comments({{"a.txt:1", "why?"}}).has_value());
       }},
      {"rebase_staged", "edit", "rebase", "open",
       [](World& w) {
         expect(w.transaction->edit("a.txt", "one", "two").is_staged());
         w.tree.write("a.txt", "three\n");
         std::map<RelPath, Resolution> mine;
         const auto found = inner(*w.transaction).conflicts();
         for (const PathConflict& one : *found) {
           mine[one.path] = {{{Resolution::Side::kWanted, {}}}, false, one.version()};
         }
         expect(inner(*w.transaction).rebase_staged(mine).has_value());
       }},
      {"commit", "commit", "commit", "1",
       [](World& w) {
         expect(w.transaction->write("b.txt", "b\n").has_value());
         expect(std::holds_alternative<Receipt>(*w.transaction->commit()));
       }},
  };
}

std::vector<Entry> entries_of_workspaces() {
  const auto take_back = [](World& w, bool is_redo) {
    const History history(*persistent_of(*w.workspace).state());
    const Place& place = place_of(*w.workspace);
    const auto plan = is_redo
                          ? plan_newest_redo(history, place.files(), {}, place.clock())
                          : plan_undo(history, place.files(), **history.latest(), place.clock());
    const auto& found = std::get<UndoPlan>(*plan);
    CommitRequest request;
    request.tool = found.tool;
    request.undoes = found.undoes;
    const auto outcome = w.workspace->commit(found.proposal, World::bot(), request);
    expect(outcome && std::holds_alternative<Receipt>(*outcome));
  };
  return {
      {"commit", "undo", "undo", "2",
       [take_back](World& w) {
         w.commit_something();
         take_back(w, false);
       }},
      {"commit", "redo", "redo", "3",
       [take_back](World& w) {
         w.commit_something();
         take_back(w, false);
         take_back(w, true);
       }},
      {"undo", "undo", "undo", "2",
       [](World& w) {
         w.commit_something();
         expect(std::holds_alternative<Receipt>(*w.workspace->undo("", {}, World::bot())));
       }},
      {"redo", "redo", "redo", "3",
       [](World& w) {
         w.commit_something();
         expect(w.workspace->undo("", {}, World::bot()).has_value());
         expect(std::holds_alternative<Receipt>(*w.workspace->redo("", {}, World::bot())));
       }},
      {"rollback_execution", "rollback", "rollback", "1",
       [](World& w) {
         auto other = w.workspace->begin(World::bot());
         const auto called =
             other->call("Write", R"({"file_path":"b.txt","content":"b"})").result();
         expect(std::holds_alternative<Receipt>(*other->commit()));
         expect(std::holds_alternative<Receipt>(
             *w.workspace->rollback_execution(called.meta.execution_id, false, World::bot())));
       }},
      {"approve", "approval", "approve", "",
       [](World& w) {
         expect(w.workspace->approve(w.transaction->proposal().id(), "ada").has_value());
       },
       "given beforehand by ada", ""},
      {"confirm", "confirmation", "sec.grant", "",
       [](World& w) {
         auto own = w.workspace->begin_stored();
         expect(!own->call("sec.grant", R"({"agent":"bot","capability":"custom:deploy"})"));
         expect(w.workspace->confirm(w.workspace->pending_confirmations()->front().id, "ada")
                    .has_value());
       },
       "given beforehand by ada", ""},
      {"grant", "grant", "sec.grant", "",
       [](World& w) { expect(w.workspace->grant("bot", "custom:deploy", "ada").has_value()); },
       "said by ada", ""},
      {"revoke", "revocation", "sec.revoke", "",
       [](World& w) { expect(w.workspace->revoke("bot", "custom:deploy", "ada").has_value()); },
       "said by ada", ""},
      {"drop_damaged", "rollback", "rollback", "open",
       [](World& w) {
         w.damage();
         expect(w.workspace->drop_damaged(w.id).has_value());
       },
       "it was damaged", ""},
      {"open_adopted_state", "adoption", "recover", "",
       [](World& w) { expect(w.workspace->open_adopted_state().has_value()); }, "", ""},
  };
}

// No function hands out a way to write an overlay, so there is only one road.
static_assert(
    std::is_same_v<decltype(overlay_of(std::declval<const Transaction&>())), const Overlay&>);

/// Methods that change nothing that is staged, committed or believed, or that write the log
/// themselves.
const std::set<std::string>& quiet_entries() {
  static const std::set<std::string> names = {
      // of a transaction
      "set_default_message", "read", "look", "list", "text_to_edit", "preview", "bisect", "save",
      "transcribe_to", "InnerTransaction", "conflicts", "look_ahead", "keep_output", "resolve_undo",
      // of a workspace; a transaction that was begun holds nothing yet
      "begin", "begin_view", "begin_stored", "resume", "judge",
      // only of a git workspace (test_git_workspaces.py)
      "push",
      // only of a live run (test_run_sync.py)
      "sync_run",
      // which tools there are
      "add_tool", "remove_tool", "clear_tools", "enable_tool"};
  return names;
}

void check(const Entry& entry) {
  SCOPED_TRACE(entry.name + " " + entry.kind);
  World world;
  const size_t before = records_of(world.tree).size();
  entry.act(world);
  const std::vector<json> records = records_of(world.tree);
  ASSERT_GT(records.size(), before) << "it left no record";
  const json& last = records.back();
  EXPECT_EQ(last["kind"], entry.kind);
  EXPECT_EQ(last.value("tool", ""), entry.tool);
  EXPECT_EQ(last.value("tx", ""), entry.tx == "open" ? world.id : entry.tx);
  EXPECT_EQ(last.value("agent", ""), entry.agent);
  EXPECT_EQ(last.value("reason", ""), entry.reason);
  const bool may_fail = entry.kind == "calls.dropped" || entry.name == "start_run";
  EXPECT_FALSE(last.contains("error") && !may_fail) << last;
}

TEST(PublicEntries, EachChangingFunctionIsRecorded) {
  for (const Entry& entry : entries_of_transactions()) check(entry);
  for (const Entry& entry : entries_of_workspaces()) check(entry);
}

TEST(PublicEntries, EachFunctionNeedsAnEquivalentToolOfTheAgent) {
  const std::set<std::string> allowed = {"savepoint", "rollback_to",        "rollback",
                                         "fork",      "rollback_execution", "stage_all",
                                         "commit",    "call_all",           "keep_comments"};
  for (const Entry& entry : entries_of_transactions()) {
    if (allowed.contains(entry.name)) continue;
    SCOPED_TRACE(entry.name);
    World world;
    world.transaction.emplace(*world.workspace->begin_stored({"looker", "why"}));
    // Its own transaction: everything fails, and nothing is staged.
    ::testing::TestPartResultArray failures;
    {
      ::testing::ScopedFakeTestPartResultReporter reporter(
          ::testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &failures);
      if (entry.name == "edit" || entry.name == "apply") {
        const auto outcome = entry.name == "edit" ? world.transaction->edit("a.txt", "one", "two")
                                                  : world.transaction->apply("{}");
        expect(static_cast<bool>(outcome));
      } else {
        entry.act(world);
      }
    }
    EXPECT_GT(failures.size(), 0) << "it was done";
    EXPECT_TRUE(world.transaction->proposal().is_empty());
    const json last = records_of(world.tree).back();
    EXPECT_EQ(last["kind"], entry.kind);
    EXPECT_EQ(last["tx"], world.transaction->id());
    EXPECT_EQ(last["agent"], "looker");
    EXPECT_EQ(last["error"]["reason"], "policy.capability");
  }
}

// --- in memory --------------------------------------------------------------------------------

std::vector<std::string> kinds_after(World& world, size_t before) {
  std::vector<std::string> kinds;
  const auto records = records_of(world.tree);
  for (size_t i = before; i < records.size(); ++i) kinds.push_back(records[i]["kind"]);
  return kinds;
}

using Kinds = std::vector<std::string>;

TEST(PublicEntries, CallsInMemoryAreRecordedAtTheCommit) {
  World world;
  const size_t before = records_of(world.tree).size();
  auto transaction = world.workspace->begin(World::bot());
  ASSERT_TRUE(transaction->write("b.txt", "b\n"));
  ASSERT_TRUE(transaction->call("Read", R"({"file_path":"b.txt"})").result().ok);
  EXPECT_EQ(kinds_after(world, before), Kinds{});
  ASSERT_TRUE(std::holds_alternative<Receipt>(*transaction->commit()));
  EXPECT_EQ(kinds_after(world, before), (Kinds{"edit", "call", "commit"}));
  const auto records = records_of(world.tree);
  const std::string id = records[before]["tx"];
  EXPECT_EQ(id.size(), 12U);
  EXPECT_EQ(records[before + 1]["tx"], id);
  EXPECT_EQ(records[before + 2]["tx"], "1");
  EXPECT_EQ(records[before + 2]["open_tx"], id);
}

TEST(PublicEntries, InMemoryARollbackIsRecordedButADroppedTransactionIsNot) {
  World world;
  const size_t before = records_of(world.tree).size();
  {
    auto dropped = world.workspace->begin(World::bot());
    ASSERT_TRUE(dropped->write("b.txt", "b\n"));
  }
  EXPECT_EQ(kinds_after(world, before), Kinds{});
  auto transaction = world.workspace->begin(World::bot());
  ASSERT_TRUE(transaction->write("b.txt", "b\n"));
  ASSERT_TRUE(transaction->rollback());
  EXPECT_EQ(kinds_after(world, before), (Kinds{"edit", "rollback"}));
}

TEST(PublicEntries, InMemoryRefusalsAreRecordedAtOnceAndPreviewsRecordCallsAndEdits) {
  World world;
  const size_t before = records_of(world.tree).size();
  TransactionOptions options = World::bot();
  options.agent = "looker";
  auto transaction = world.workspace->begin(options);
  EXPECT_EQ(transaction->write("b.txt", "b\n").error().reason, "policy.capability");
  EXPECT_EQ(kinds_after(world, before), Kinds{"edit"});
  options.is_preview = true;
  auto preview = world.workspace->begin(options);
  EXPECT_FALSE(preview->write("b.txt", "b\n"));
  EXPECT_FALSE(preview->call("Write", "{}"));
  ASSERT_TRUE(preview->rollback());
  options.agent = "bot";
  auto other = world.workspace->begin(options);
  ASSERT_TRUE(other->write("b.txt", "b\n"));
  EXPECT_TRUE(other->preview());
  EXPECT_EQ(other->commit().error().reason, "transaction.preview");
  const Kinds recorded = {"edit", "call.dry_run", "call.dry_run", "call.dry_run"};
  EXPECT_EQ(kinds_after(world, before), recorded);
  options.agent = "";  // a person
  ASSERT_TRUE(world.workspace->begin(options)->write("b.txt", "b\n"));
  EXPECT_EQ(kinds_after(world, before), recorded);
}

// --- nothing is missing -----------------------------------------------------------------------

TEST(PublicEntries, TheTableNamesEveryPublicMethod) {
  std::set<std::string> known = quiet_entries();
  for (const Entry& entry : entries_of_transactions()) known.insert(entry.name);
  for (const Entry& entry : entries_of_workspaces()) known.insert(entry.name);
  std::set<std::string> declared;
  for (const auto& [file, type] :
       {std::pair("include/galley/transaction.h", "Transaction"),
        std::pair("engine/pipeline/inner_transaction.h", "InnerTransaction"),
        std::pair("include/galley/workspace.h", "Workspace")}) {
    const auto methods = changing_methods(file, type);
    EXPECT_GT(methods.size(), 5U) << file << " was not understood";
    declared.insert(methods.begin(), methods.end());
  }
  for (const std::string& name : declared) {
    EXPECT_TRUE(known.contains(name)) << name << "() is in neither table of this file: say what "
                                      << "it leaves on record, or that it changes nothing";
  }
  for (const std::string& name : known) {
    EXPECT_TRUE(declared.contains(name)) << name << "() is in a table and in no header";
  }
}

}  // namespace
}  // namespace galley
