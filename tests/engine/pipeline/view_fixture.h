#pragma once

#include <galley/workspace.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/commit/run_start.h"
#include "engine/pipeline/inner_transaction.h"
#include "engine/pipeline/workspace_state.h"
#include "engine/stages/run_basis.h"
#include "engine/stages/run_folder.h"
#include "staging/sandbox/layer_objects.h"
#include "tests/support/scripted_view.h"
#include "tests/support/skip_without_walls.h"
#include "tests/support/temp_directory.h"

namespace galley {

/// A run whose program is controlled by the test.
class TestRun {
 public:
  TestRun(Workspace& workspace, const std::string& hidden) {
    const PersistentState& kept = persistent_of(workspace);
    auto transaction = workspace.begin_stored();
    GALLEY_CHECK(transaction.has_value());
    id_ = transaction->id();
    auto folder = RunFolder::hold(*kept.state(), id_);
    GALLEY_CHECK(folder.has_value());
    folder_.emplace(*std::move(folder));
    GALLEY_CHECK(write_basis(*folder_, overlay_of(*transaction).entries()).has_value());
    for (const char* name : {"upper", "work"}) {
      GALLEY_CHECK(folder_->directory().make_directory(rel(name), 0755).has_value());
    }
    auto run_start = kept.begin_run();
    GALLEY_CHECK(run_start.has_value());
    const std::string path = kept.own_path("runs/" + id_);
    view_ = std::make_unique<ScriptedView>(hidden + ":" + workspace.root_path(), path);
    note_.tx = id_;
    note_.supervisor = ProcessIdentity::of(view_->process());
    note_.mount_fd = view_->mount_fd();
    note_.began_ns = folder_->directory().stat(rel("upper"))->ctime_ns;
    if (run_start->position()) note_.history = run_start->position()->str();
    write_note();
  }

  [[nodiscard]] const std::string& id() const { return id_; }
  [[nodiscard]] const ScriptedView& view() const { return *view_; }
  [[nodiscard]] RunNote& note() { return note_; }
  void write_note() const { GALLEY_CHECK(folder_->write_note(note_).has_value()); }
  std::string call(const std::vector<std::string>& words) const { return view_->call(words); }
  /// As LiveRun::refresh() leaves it: the run has seen every file of now.
  void note_refresh() const {
    GALLEY_CHECK(folder_->directory()
                     .open_writable_file(rel("refreshed"), OpenMode::kCreateNew, 0600)
                     .has_value());
  }

  /// Ends the program and its supervisor, as any kind of exit would.
  void end() {
    view_->end();
    folder_.reset();
  }

 private:
  std::string id_;
  std::optional<RunFolder> folder_;
  std::unique_ptr<ScriptedView> view_;
  RunNote note_;
};

/// A workspace on disk, with runs whose views are mounted.
class RunViews : public ::testing::Test {
 protected:
  void SetUp() override {
    GALLEY_CHECK(make_whiteout(hidden_.directory(), rel(".galley")).has_value());
    open();
    const TestRun probe(*workspace_, hidden_.path());
    skip_without_walls(probe.view().missing());
  }

  void open() {
    auto opened = Workspace::open(tree_.path());
    GALLEY_CHECK(opened.has_value());
    workspace_ = *std::move(opened);
    GALLEY_CHECK(persistent_of(*workspace_).ensure().has_value());
  }

  std::unique_ptr<TestRun> start() {
    return std::make_unique<TestRun>(*workspace_, hidden_.path());
  }

  /// Commits some files as another process would.
  using Files = std::vector<std::pair<std::string, std::optional<std::string>>>;
  CommitOutcome commit_beside(const Files& files) {
    auto transaction = workspace_->begin();
    GALLEY_CHECK(transaction.has_value());
    for (const auto& [path, content] : files) {
      const auto done = content ? transaction->write(path, *content) : transaction->remove(path);
      EXPECT_TRUE(done.has_value()) << done.error().message;
    }
    auto outcome = transaction->commit();
    EXPECT_TRUE(outcome.has_value()) << outcome.error().message;
    return *std::move(outcome);
  }

  /// Commits what the run has written so far, as another process would.
  Result<CommitOutcome> commit(const std::string& tx) {
    GALLEY_ASSIGN(Transaction transaction, workspace_->resume(tx));
    return transaction.commit();
  }

  std::vector<std::string> changes_of(const std::string& tx) {
    auto transaction = workspace_->resume(tx);
    EXPECT_TRUE(transaction.has_value()) << transaction.error().message;
    std::vector<std::string> lines;
    const Proposal proposal = transaction->proposal();
    for (const Change& change : proposal.changes()) {
      lines.push_back((change.is_create()   ? "A "
                       : change.is_delete() ? "D "
                                            : "M ") +
                      change.path.str());
    }
    return lines;
  }

  TempDirectory tree_;
  TempDirectory hidden_;
  std::unique_ptr<Workspace> workspace_;
};

}  // namespace galley
