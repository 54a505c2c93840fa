#include <gtest/gtest.h>

#include <random>

#include "crash/cases.h"
#include "doubles/memory_directory.h"
#include "doubles/model_directory.h"

namespace galley {
namespace {

/// A commit that finds the user's save in its way when half of it is applied.
struct Aborted {
  CaseWorkspace workspace;
  std::shared_ptr<FaultPlan> plan;
  bool is_answered = false;
};

Aborted run_into_a_save(size_t at, std::unique_ptr<PowerLossModel>* model = nullptr) {
  Aborted run;
  run.workspace = make_case(crash_case("six operations"));
  if (model != nullptr) *model = std::make_unique<PowerLossModel>(run.workspace.tree);
  run.plan = std::make_shared<FaultPlan>();
  run.plan->at = at;
  run.plan->kills = true;
  PublisherOptions options = test_options();
  options.before_apply = [&] {
    if (!run.plan->is_dead) save_file(*run.workspace.directory, "c", "the user's");
  };
  const auto outcome =
      publish(*make_fault_directory(open_memory_tree(run.workspace.tree), run.plan),
              *run.workspace.proposal, options);
  run.is_answered = outcome && std::holds_alternative<Conflict>(*outcome);
  return run;
}

TreePicture with_save(TreePicture picture) {
  picture["c"] = "f 644 the user's";
  return picture;
}

TEST(Abort, AfterTheAbortRecordRecoveryRestoresTheOldTree) {
  const auto whole = run_into_a_save(0);
  ASSERT_TRUE(whole.is_answered);
  const TreePicture old_tree = with_save(whole.workspace.before);
  EXPECT_EQ(picture_of(*whole.workspace.directory), old_tree);
  // The journal's own file takes two writes before APPLIED would be the third.
  size_t abort_record = 0;
  const auto& calls = whole.plan->calls;
  for (size_t i = 0; i < calls.size(); ++i) {
    if (calls[i].name == "write_at" && calls[i].path == "2.j") abort_record = i + 1;
  }
  ASSERT_GT(abort_record, 0U);
  CrashRow row("kill in an abort");
  row.set_calls(calls.size());
  for (size_t at = abort_record + 1; at <= calls.size(); ++at) {
    const auto run = run_into_a_save(at);
    const auto report = reopen(*run.workspace.directory);
    ASSERT_TRUE(report) << report.error().message;
    row.judge(*run.workspace.directory, old_tree, old_tree, "call " + std::to_string(at));
    if (HasFailure()) return;
  }
}

TEST(Abort, AReportedConflictIsStillAbortedAfterAPowerCut) {
  using UnsyncedOutcome = PowerLossModel::UnsyncedOutcome;
  std::unique_ptr<PowerLossModel> model;
  const auto run = run_into_a_save(0, &model);
  ASSERT_TRUE(run.is_answered);
  const TreePicture old_tree = with_save(run.workspace.before);
  CrashRow row("power cut after an abort");
  std::mt19937 random(3);
  const size_t pending = model->pending().size();
  for (int sample = 0; sample < 500; ++sample) {
    std::vector<UnsyncedOutcome> outcomes;
    for (size_t i = 0; i < pending; ++i) {
      outcomes.push_back(random() % 2 == 0 ? UnsyncedOutcome::kLost : UnsyncedOutcome::kWhole);
    }
    const auto left = model->after_power_loss(outcomes);
    if (left == nullptr) continue;
    const auto directory = open_memory_tree(left);
    ASSERT_TRUE(reopen(*directory, "boot-2"));
    row.judge(*directory, old_tree, old_tree, "sample " + std::to_string(sample));
    if (HasFailure()) return;
  }
}

TEST(Abort, WhenTheAbortFailsTheNextOpenFinishesIt) {
  const auto calls = run_into_a_save(0).plan->calls.size();
  size_t undecided = 0;
  for (size_t at = 1; at <= calls; ++at) {
    const auto workspace = make_case(crash_case("six operations"));
    const auto plan = std::make_shared<FaultPlan>();
    plan->at = at;
    plan->os_error = EIO;
    plan->is_lasting = true;
    PublisherOptions options = test_options();
    bool is_saved = false;
    options.before_apply = [&] {
      save_file(*workspace.directory, "c", "the user's");
      is_saved = true;
    };
    const auto outcome = publish(*make_fault_directory(open_memory_tree(workspace.tree), plan),
                                 *workspace.proposal, options);
    const bool is_undecided = !outcome && outcome.error().kind == ErrorKind::kUndecided;
    undecided += is_undecided ? 1 : 0;
    const auto now = picture_of(*workspace.directory);
    if (!is_undecided) {
      EXPECT_TRUE(now == workspace.before || now == with_save(workspace.before))
          << "call " << at << difference(now, workspace.before);
    }
    ASSERT_TRUE(reopen(*workspace.directory));
    const auto after = picture_of(*workspace.directory);
    const auto seen = [&](const TreePicture& tree) { return is_saved ? with_save(tree) : tree; };
    EXPECT_TRUE(after == seen(workspace.before) || after == seen(workspace.after))
        << "call " << at << "\n"
        << difference(after, seen(workspace.before));
    if (HasFailure()) return;
  }
  EXPECT_GT(undecided, 0U);
}

TEST(Abort, AUserFileInANewDirectoryIsKeptWithAWarning) {
  const CrashCase shape = {
      "a new directory and a change", [](const WritableDirectory& ws) { put_file(ws, "c", "old"); },
      [](ChangeBuilder& change) { change.directory("n").write("n/x", "x").write("c", "new"); }};
  size_t kept = 0;
  for (size_t at = 1;; ++at) {
    const auto workspace = make_case(shape);
    const WritableDirectory& raw = *workspace.directory;
    bool is_made = false;
    const auto plan = std::make_shared<FaultPlan>();
    plan->at = at;
    plan->before = [&] {
      if (raw.stat(rel("n"))->kind != FileKind::kDirectory) return;
      is_made = bool(raw.open_writable_file(rel("n/mine"), OpenMode::kCreateNew, 0644));
      save_file(raw, "c", "the user's");
    };
    const auto outcome =
        publish(*make_fault_directory(open_memory_tree(workspace.tree), plan), *workspace.proposal);
    if (plan->calls.size() < at) break;
    ASSERT_TRUE(outcome) << outcome.error().message;
    if (!is_made || !std::holds_alternative<Conflict>(*outcome)) continue;
    ++kept;
    EXPECT_EQ(raw.stat(rel("n/mine"))->kind, FileKind::kRegular)
        << "call " << at << " " << plan->calls[at - 1].name;
    EXPECT_EQ(raw.stat(rel("n/x"))->kind, FileKind::kAbsent) << at;
    const auto& warnings = std::get<Conflict>(*outcome).warnings;
    ASSERT_EQ(warnings.size(), 1U) << at;
    EXPECT_NE(warnings[0].find("'n' stays: other programs have put 'mine' into it"),
              std::string::npos)
        << warnings[0];
    EXPECT_EQ(picture_of(raw)["c"], "f 644 the user's") << at;
  }
  EXPECT_GT(kept, 0U);
}

TEST(Abort, AUserFileInADirectoryThatBecomesAFileIsRescuedWithAWarning) {
  const CrashCase shape = {
      "a file to a directory and a change",
      [](const WritableDirectory& ws) {
        put_file(ws, "c", "old");
        put_file(ws, "n", "a file");
      },
      [](ChangeBuilder& change) { change.directory("n").write("n/x", "x").write("c", "new"); }};
  size_t rescued = 0;
  for (size_t at = 1;; ++at) {
    const auto workspace = make_case(shape);
    const WritableDirectory& raw = *workspace.directory;
    bool is_made = false;
    const auto plan = std::make_shared<FaultPlan>();
    plan->at = at;
    plan->before = [&] {
      if (raw.stat(rel("n"))->kind != FileKind::kDirectory) return;
      is_made = bool(raw.open_writable_file(rel("n/mine"), OpenMode::kCreateNew, 0644));
      save_file(raw, "c", "the user's");
    };
    const auto outcome =
        publish(*make_fault_directory(open_memory_tree(workspace.tree), plan), *workspace.proposal);
    if (plan->calls.size() < at) break;
    ASSERT_TRUE(outcome) << outcome.error().message;
    if (!is_made || !std::holds_alternative<Conflict>(*outcome)) continue;
    ++rescued;
    const auto& warnings = std::get<Conflict>(*outcome).warnings;
    ASSERT_EQ(warnings.size(), 1U) << at;
    EXPECT_NE(warnings[0].find("/2/n"), std::string::npos) << warnings[0];
    EXPECT_EQ(raw.stat(in_state(raw, "rescue/2/n/mine"))->kind, FileKind::kRegular) << at;
    EXPECT_EQ(picture_of(raw)["n"], "f 644 a file") << at;
  }
  EXPECT_GT(rescued, 0U);
}

/// In place, with the old size and timestamps, as a store through a mapping or `touch -r` does it.
TEST(Abort, AChangeOfALargeFileWithTheSameSizeAndTimesIsAConflict) {
  const std::string old(300'000, 'o');
  const CrashCase shape = {"a large file",
                           [&](const WritableDirectory& ws) {
                             put_file(ws, "changed", old);
                             put_file(ws, "deleted", old + "d");
                             put_file(ws, "renamed", old + "r");
                           },
                           [](ChangeBuilder& change) {
                             change.write("changed", "new").remove("deleted");
                             change.rename("renamed", "moved");
                           }};
  for (const std::string name : {"changed", "deleted", "renamed"}) {
    size_t conflicts = 0;
    for (size_t at = 1;; ++at) {
      const auto workspace = make_case(shape);
      const auto& node = workspace.tree->root->entries.find(name)->second;
      const MemoryNodePtr file = node;
      bool is_before = false;
      const auto plan = std::make_shared<FaultPlan>();
      plan->at = at;
      plan->before = [&] {
        const auto& entries = workspace.tree->root->entries;
        const auto found = entries.find(name);
        is_before = found != entries.end() && found->second == file;
        file->content[0] = 'u';
      };
      const auto outcome = publish(*make_fault_directory(open_memory_tree(workspace.tree), plan),
                                   *workspace.proposal);
      if (plan->calls.size() < at) break;
      ASSERT_TRUE(outcome) << outcome.error().message;
      if (!is_before) continue;  // caught already: that is a late writer's
      const bool is_conflict = std::holds_alternative<Conflict>(*outcome);
      conflicts += is_conflict ? 1 : 0;
      EXPECT_TRUE(is_conflict) << name << " before call " << at << " (" << plan->calls[at - 1].name
                               << " " << plan->calls[at - 1].path << ")";
      const auto now = read_file(*workspace.directory, rel(name), 1U << 20U);
      EXPECT_TRUE(now && (*now)[0] == 'u') << name << " before call " << at;
      if (HasFailure()) return;
    }
    EXPECT_GT(conflicts, 0U) << name;
  }
}

TEST(Abort, ASaveRightBeforeTheSwapIsAConflictAndIsKept) {
  const CrashCase& shape = crash_case("change three");
  const auto sample = make_case(shape);
  const auto count = std::make_shared<FaultPlan>();
  ASSERT_TRUE(
      publish(*make_fault_directory(open_memory_tree(sample.tree), count), *sample.proposal));
  size_t swaps = 0;
  for (size_t at = 1; at <= count->calls.size(); ++at) {
    const FaultCall& call = count->calls[at - 1];
    // A slot is named by the number of its operation; the operations are a, b, c.
    const size_t index = std::string("012").find(call.path);
    if (call.name != "rename" || call.path.size() != 1 || index == std::string::npos) continue;
    ++swaps;
    const std::string path(1, "abc"[index]);
    const auto workspace = make_case(shape);
    const auto plan = std::make_shared<FaultPlan>();
    plan->at = at;
    plan->before = [&] { save_file(*workspace.directory, path, "the user's"); };
    const auto outcome =
        publish(*make_fault_directory(open_memory_tree(workspace.tree), plan), *workspace.proposal);
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_TRUE(std::holds_alternative<Conflict>(*outcome)) << path;
    TreePicture want = workspace.before;
    want[path] = "f 644 the user's";
    EXPECT_EQ(picture_of(*workspace.directory), want) << path;
  }
  EXPECT_EQ(swaps, 3U);
}

}  // namespace
}  // namespace galley
