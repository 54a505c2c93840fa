#include "engine/commit/plan.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/limits.h"
#include "staging/overlay/change_set.h"

namespace galley {
namespace {

constexpr uint32_t kOwnerWriteAndSearch = 0300;

tl::unexpected<Error> malformed(const RelPath& path, std::string_view why) {
  return fail(ErrorKind::kInternal, "commit.malformed",
              "the change set is malformed at '" + path.str() + "': " + std::string(why),
              path.str());
}

Result<void> check(const ChangeSet& changes) {
  if (changes.empty()) {
    return fail(ErrorKind::kUsage, "commit.empty", "there is nothing to commit");
  }
  if (changes.size() > limits::kMaxChanges) {
    return fail(ErrorKind::kQuota, "limit.changes",
                "the change touches more than " + std::to_string(limits::kMaxChanges) +
                    " paths; commit it in parts");
  }
  const RelPath* previous = nullptr;
  for (const auto& change : changes) {
    if (change.path.is_root()) return malformed(change.path, "it is the root");
    if (change.path.is_protected()) {
      return fail(ErrorKind::kRefused, "path.protected",
                  "'" + change.path.str() + "' is protected; no edit may touch it",
                  change.path.str());
    }
    if (previous != nullptr && !(*previous < change.path)) {
      return malformed(change.path, "its paths are not sorted");
    }
    if (change.before == change.after) return malformed(change.path, "nothing changes");
    if (change.before.kind == FileKind::kOther || change.after.kind == FileKind::kOther) {
      return malformed(change.path, "it is a special file");
    }
    previous = &change.path;
  }
  return {};
}

/// Sorts the operations into the phases of the apply step.
class Planner {
 public:
  Planner(const ChangeSet& changes, InodeUse renamed) : changes_(changes), renamed_(renamed) {
    for (size_t i = 0; i < changes.size(); ++i) {
      index_.emplace(changes[i].path, i);
      parents_.insert(changes[i].path.parent());
    }
  }

  std::vector<Step> run() {
    for (size_t i = 0; renamed_ == InodeUse::kMove && i < changes_.size(); ++i) find_move(i);
    for (size_t i = 0; i < changes_.size(); ++i) sort(i);
    std::vector<Step> steps;
    const auto append = [&](const std::vector<Step>& phase) {
      steps.insert(steps.end(), phase.begin(), phase.end());
    };
    append(opened_);
    append(open_modes_);
    append(to_directories_);
    append(new_directories_);
    append(creations_);
    append(changes_in_place_);
    append(file_modes_);
    append(deletions_);
    std::reverse(removed_directories_.begin(), removed_directories_.end());
    append(removed_directories_);
    append(from_directories_);
    std::reverse(closed_modes_.begin(), closed_modes_.end());
    append(closed_modes_);
    return steps;
  }

 private:
  /// A rename that changes neither content nor mode moves the inode itself, with its links,
  /// attributes and open descriptors.
  void find_move(size_t i) {
    const Change& change = changes_[i];
    if (!change.is_create() || !change.renamed_from || !is_file_or_link(change.after)) return;
    const auto found = index_.find(*change.renamed_from);
    if (found == index_.end()) return;
    const Change& source = changes_[found->second];
    if (source.is_delete() && source.before == change.after &&
        sources_.insert(found->second).second) {
      moves_[i] = found->second;
    }
  }

  static bool is_closed(const Node& node) {
    return (node.mode & kOwnerWriteAndSearch) != kOwnerWriteAndSearch;
  }

  /// A directory that its owner may not write is opened first when something in it changes, or when
  /// the directory itself is moved away.
  void open_first(size_t i) {
    const Change& change = changes_[i];
    if (change.before.kind != FileKind::kDirectory || !is_closed(change.before)) return;
    const bool is_moved =
        change.after.kind != FileKind::kDirectory && change.after.kind != FileKind::kAbsent;
    if (is_moved || parents_.count(change.path) != 0) opened_.push_back({StepKind::kOpen, i, 0});
  }

  void sort(size_t i) {
    const Change& change = changes_[i];
    open_first(i);
    const FileKind before = change.before.kind;
    const FileKind after = change.after.kind;
    if (after == FileKind::kAbsent) {
      if (before == FileKind::kDirectory) {
        removed_directories_.push_back({StepKind::kRemoveDirectory, i, 0});
      } else if (sources_.count(i) == 0) {
        deletions_.push_back({StepKind::kCatch, i, 0});
      }
    } else if (before == FileKind::kAbsent) {
      sort_creation(i);
    } else if (before == after && change.before.content == change.after.content &&
               (after == FileKind::kDirectory || !changes_owner(change.before, change.after))) {
      sort_mode(i);
    } else if (after == FileKind::kDirectory) {
      to_directories_.push_back({StepKind::kExchange, i, 0});
      close_later(i);
    } else if (before == FileKind::kDirectory) {
      from_directories_.push_back({StepKind::kExchange, i, 0});
    } else {
      changes_in_place_.push_back({StepKind::kExchange, i, 0});
    }
  }

  void sort_creation(size_t i) {
    if (changes_[i].after.kind == FileKind::kDirectory) {
      new_directories_.push_back({StepKind::kPlace, i, 0});
      close_later(i);
    } else if (const auto move = moves_.find(i); move != moves_.end()) {
      creations_.push_back({StepKind::kMove, i, move->second});
    } else {
      creations_.push_back({StepKind::kPlace, i, 0});
    }
  }

  void sort_mode(size_t i) {
    const Step step{StepKind::kMode, i, 0};
    if (changes_[i].after.kind != FileKind::kDirectory) {
      file_modes_.push_back(step);
    } else if (!is_closed(changes_[i].after)) {
      open_modes_.push_back(step);
    } else {
      closed_modes_.push_back(step);
    }
  }

  /// A new directory that its owner may not write is placed writable and closed at the end.
  void close_later(size_t i) {
    if (is_closed(changes_[i].after)) {
      closed_modes_.push_back({StepKind::kMode, i, 0});
    }
  }

  const ChangeSet& changes_;
  InodeUse renamed_;
  std::map<RelPath, size_t> index_;
  std::set<size_t> sources_;
  std::set<RelPath> parents_;  ///< directories in which something changes
  std::map<size_t, size_t> moves_;
  std::vector<Step> opened_, open_modes_, to_directories_, new_directories_, creations_,
      changes_in_place_, file_modes_, deletions_, removed_directories_, from_directories_,
      closed_modes_;
};

}  // namespace

std::vector<size_t> Plan::slots() const {
  std::vector<size_t> result;
  for (const auto& step : steps) {
    if (step.kind == StepKind::kPlace || step.kind == StepKind::kExchange) {
      result.push_back(step.op);
    }
  }
  return result;
}

Result<Plan> make_plan(const ChangeSet& changes, InodeUse renamed) {
  GALLEY_TRY(check(changes));
  Plan plan;
  plan.ops.reserve(changes.size());
  for (const auto& change : changes) {
    JournalOp op;
    op.path = change.path;
    op.before.node = change.before;
    op.after.node = change.after;
    op.renamed_from = change.renamed_from;
    op.copied_from = change.copied_from;
    plan.ops.push_back(std::move(op));
  }
  plan.steps = Planner(changes, renamed).run();
  return plan;
}

}  // namespace galley
