#pragma once

#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "engine/commit/base_check.h"
#include "engine/commit/plan.h"
#include "engine/commit/retire.h"
#include "engine/commit/slots.h"
#include "engine/commit/workspace_view.h"
#include "staging/fs/content_store.h"

namespace galley {

/// Performs the apply step: swaps slots and paths one by one, and can undo every swap.
///
/// Invariant: each swap is done first and checked afterwards. The object that a swap caught is
///            compared with the base, so bytes that another program saved in the last instant are
///            caught and never overwritten.
/// Ownership: borrows plan, bases, view and slots.
/// Threads:   confined to one thread.
class Applier {
 public:
  /// Contents of bases that are already in memory: a caught object is compared with them, not
  /// hashed.
  using Contents = std::unordered_map<ContentId, Content>;

  Applier(const Plan& plan, const CheckedBases& bases, WorkspaceView& view, const Slots& slots,
          const Contents& contents)
      : plan_(&plan), bases_(&bases), view_(&view), slots_(&slots), contents_(&contents) {}

  /// From now on removed directories are moved to this folder.
  void move_removed_to(const RemovedDirectories& removed_directories) {
    removed_directories_ = removed_directories;
  }
  /// Does every step, or stops at the first conflict (a value) or failure (an Error). After a
  /// conflict or a failure the caller must call undo().
  Result<std::optional<ConflictPath>> run();
  /// Reverts the steps that were done, in reverse order. Foreign objects that are in the way stay
  /// in the slots.
  /// Errors: after an Error the tree is between old and new. Recovery finishes the undo, because
  ///         the journal has an ABORT record. kIo `commit.state_lost` when a caught object is no
  ///         longer in the slots.
  Result<void> undo();
  /// Directories of ours that undo() left in place, because they contain files of other programs.
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  /// How a step was done, so that it can be inverted.
  enum class StepMethod : uint8_t {
    kPlain,    ///< one rename
    kLinked,   ///< no rename flags: the old object has a second name "<n>.old" in the slots
    kRemoved,  ///< an empty directory was removed, then the path was filled
    kTaken,    ///< the old object was renamed to "<n>.old", then the path was filled
  };
  struct DoneStep {
    size_t step = 0;
    StepMethod method = StepMethod::kPlain;
  };

  Result<std::optional<ConflictPath>> apply(size_t index);
  /// From now on the current step has had an effect and must be undone, even if it is incomplete.
  void mark(StepMethod method) { done_.push_back({current_, method}); }
  Result<void> exchange(const Step& step, const Location& at);
  Result<void> place(const RelPath& slot, const Location& at) const;
  Result<void> take(const Location& at, const RelPath& slot) const;
  Result<void> take_if_there(const Location& at, const RelPath& slot) const;
  Result<void> move(const Step& step);
  Result<void> rename(const RelPath& from, const RelPath& to);
  Result<std::unique_ptr<WritableDirectory>> parent_of(const RelPath& path);
  Result<void> set_mode(const Step& step, const Location& at);
  /// Returns the conflict in the object that a step caught, if any.
  Result<std::optional<ConflictPath>> look(const Step& step, StepMethod method);
  Result<std::optional<ConflictPath>> look_at(const Location& at, const RelPath& path,
                                              const JournalSide& expected) const;
  [[nodiscard]] bool has_bytes(const Location& at, const Node& expected) const;
  Result<std::optional<ConflictPath>> look_before(const Step& step, const Location& at) const;
  Result<void> undo_one(const DoneStep& done);
  Result<void> undo_move(const Step& step, StepMethod method);
  Result<void> undo_exchange(const Step& step, StepMethod method);
  Result<void> undo_remove(size_t index, const Location& at) const;
  Result<void> undo_mode(const Step& step, const Location& at) const;
  Result<void> undo_place(const Step& step, const Location& at);
  /// Fails when the object that a step caught disappeared with the slots.
  [[nodiscard]] Result<void> check_caught(const RelPath& slot, const RelPath& path) const;
  [[nodiscard]] const JournalOp& op(const Step& step) const { return plan_->ops[step.op]; }

  const Plan* plan_;
  const CheckedBases* bases_;
  WorkspaceView* view_;
  const Slots* slots_;
  const Contents* contents_;
  RemovedDirectories removed_directories_;
  [[nodiscard]] JournalSide as_opened(size_t index) const;
  /// The mode of a directory before the commit.
  [[nodiscard]] uint32_t base_mode(size_t index) const {
    return bases_->stats[index].mode & (kPermissionBits | kKeptSpecialBits);
  }
  size_t current_ = 0;
  std::set<size_t> opened_;  ///< operations whose directory is open until the end
  std::vector<DoneStep> done_;
  std::vector<std::string> warnings_;
};

/// Whether renameat2 reported that it does not support this flag, or not between these places.
[[nodiscard]] bool is_unsupported(const Error& error);

}  // namespace galley
