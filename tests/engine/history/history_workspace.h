#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "base/clock.h"
#include "engine/commit/state_directory.h"
#include "engine/history/history.h"
#include "engine/history/undo.h"
#include "engine/history/undo_choice.h"
#include "staging/overlay/overlay.h"
#include "tests/support/temp_directory.h"

namespace galley {

/// A workspace in its own temporary directory, with committed transactions.
class HistoryWorkspace {
 public:
  HistoryWorkspace() {
    auto state = StateDirectory::open_or_create(temp_.directory());
    GALLEY_CHECK(state.has_value());
    state_.emplace(*std::move(state));
  }

  [[nodiscard]] const TempDirectory& temp() const { return temp_; }
  [[nodiscard]] const WritableDirectory& root() const { return temp_.directory(); }
  [[nodiscard]] const StateDirectory& state() const { return *state_; }
  [[nodiscard]] History history() const { return History(*state_); }
  [[nodiscard]] const Clock& clock() const { return clock_; }
  void write(std::string_view path, std::string_view content, uint32_t mode = 0644) const {
    temp_.write(path, content, mode);
  }
  [[nodiscard]] std::string read(std::string_view path) const { return temp_.read(path); }
  [[nodiscard]] bool exists(std::string_view path) const { return temp_.exists(path); }

  /// Commits the changes that `stage` makes to an overlay.
  TxId commit(const std::function<void(Overlay&)>& stage, const CommitMeta& meta = {}) {
    Overlay overlay(root(), make_memory_store(), clock_);
    stage(overlay);
    return publish(Proposal::freeze(overlay), meta);
  }
  TxId commit_file(std::string_view path, std::string content, const CommitMeta& meta = {}) {
    return commit(
        [&](Overlay& overlay) {
          ASSERT_TRUE(overlay.write(rel(path), std::move(content)).has_value());
        },
        meta);
  }

  /// Publishes through the gate and the publisher. Throws if one of them refuses.
  TxId publish(const Proposal& proposal, const CommitMeta& meta);
  /// Moves every journal to `undo/`.
  void retire_all() const;

  /// Plans an undo that must not conflict, and commits it.
  TxId undo(TxId id, const UndoOptions& options = {}) {
    return publish_plan(plan_undo(history(), root(), id, clock_, options));
  }
  TxId redo(TxId id) { return publish_plan(plan_redo(history(), root(), id, clock_)); }
  /// Takes the newest undo in effect back.
  TxId redo() { return publish_plan(plan_newest_redo(history(), root(), {}, clock_)); }

  TxId publish_plan(Result<UndoOutcome> outcome) {
    if (!outcome) {
      ADD_FAILURE() << outcome.error().message;
      return {};
    }
    const auto* plan = std::get_if<UndoPlan>(&*outcome);
    if (plan == nullptr) {
      const auto* conflict = std::get_if<UndoConflict>(&*outcome);
      ADD_FAILURE() << (conflict != nullptr ? conflict->paths.at(0).message : "nothing to undo");
      return {};
    }
    CommitMeta meta;
    meta.tool = plan->tool;
    meta.message = plan->message;
    meta.undoes = plan->undoes;
    meta.also_undoes = plan->also_undoes;
    return publish(plan->proposal, meta);
  }

  /// Returns every path outside `.galley` with its kind, mode and content.
  [[nodiscard]] std::map<std::string, std::string> tree() const;

 private:
  TempDirectory temp_;
  std::optional<StateDirectory> state_;
  SystemClock clock_;
};

}  // namespace galley
