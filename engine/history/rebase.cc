#include "engine/history/rebase.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "engine/commit/base_check.h"
#include "engine/history/resolution_checks.h"
#include "staging/fs/disk_directory.h"
#include "staging/overlay/change_set.h"
#include "staging/overlay/overlay.h"
#include "staging/printing/git_diff.h"
#include "staging/text/merge.h"

// Why a rebase goes path by path first, and by lines last:
//
// A change has for each path the node it was made on (before) and the node it wants (after); undo
// is a change with the two swapped. The workspace may now have another node. Kind, mode and content
// id of the three nodes decide most cases without a read: if now is before, take after; if now is
// after, nothing is to be done. Only contents that both sides changed are merged: a regular file by
// lines, its mode as one value (merge_file()). Links, binaries and changes of kind cannot be
// divided for a merge, so they are conflicts.
//
// The order of the passes matters:
//   1. Renames. Source and target belong together: a later edit of the source is carried along to
//      the new name. Handled path by path, the source would be a conflict instead.
//   2. Every other path. Paths that were renamed since (RebaseOptions::moved) are followed.
//   3. Removed directories, deepest first. Only now are their remaining entries known. A directory
//      with an entry that the change does not know stays, and so do those above it; if it would
//      have to become a file, that is a conflict.
//   4. Missing parents of restored paths are made.
//
// Passes only plan. Conflicts are collected, so that one result names all of them, and any conflict
// discards the plan. Otherwise the result is a proposal like any other: its bases are the present
// nodes, the gate judges it again, and the publisher compares the bases once more.
//
// A journal may lack contents that its transaction did not change. If the new proposal displaces
// contents that the change lacks, they are therefore read and kept (keep_found), so that this can
// be undone too.

namespace galley {
namespace {
constexpr std::string_view kResolved = "resolved";

Result<Content> bytes_or_target(Overlay& view, const RelPath& path, const Node& node) {
  if (node.kind == FileKind::kRegular) return view.read(path);
  GALLEY_ASSIGN(std::string target, view.read_link(path));
  return std::make_shared<const std::string>(std::move(target));
}

std::string_view kind_with_article(FileKind kind) {
  switch (kind) {
    case FileKind::kAbsent:
      return "nothing";
    case FileKind::kRegular:
      return "a file";
    case FileKind::kDirectory:
      return "a directory";
    case FileKind::kSymlink:
      return "a symbolic link";
    case FileKind::kOther:
      break;
  }
  return "a special file";
}

Node without_owner(Node node) {
  node.owner.reset();
  return node;
}

/// One rebase in progress: the wanted nodes, laid over the present ones.
class RebaseRun {
 public:
  RebaseRun(const Proposal& change, const Directory& workspace,
            const std::shared_ptr<ContentStore>& store, const Clock& clock,
            const RebaseOptions& options)
      : change_(&change),
        options_(&options),
        view_(workspace, store, clock),
        store_(std::make_shared<LayeredStore>(
            std::vector<std::shared_ptr<const ContentStore>>{change.store()})) {}

  RebaseRun(const Proposal& change, Overlay& staged, const RebaseOptions& options)
      : RebaseRun(change, staged.workspace(), staged.store(), staged.clock(), options) {
    is_staged_ = true;
    view_.share(staged);
  }

  Result<RebaseOutcome> run() {
    for (const Change& change : change_->changes()) by_path_.emplace(change.path, &change);
    for (const Change& change : change_->changes()) {
      if (change.renamed_from) GALLEY_TRY(plan_rename(change));
    }
    for (const Change& change : change_->changes()) {
      if (!done_.contains(change.path)) GALLEY_TRY(plan_path(change));
    }
    GALLEY_TRY(settle_directories());
    GALLEY_TRY(make_parents());
    if (!conflicts_.empty()) return RebaseOutcome(RebaseConflict{std::move(conflicts_)});
    return RebaseOutcome(Rebased{finish(), std::move(merged_)});
  }

 private:
  struct Planned {
    Node before;
    BaseStamp base;
    Node after;
    std::optional<RelPath> renamed_from;
    std::optional<RelPath> copied_from;
  };
  struct Look {
    Node node;
    BaseStamp stamp;
    std::string problem;  ///< why the path cannot be reached at all
  };

  Result<Look> look(const RelPath& path) {
    const auto change = by_path_.find(path);
    return look(path, change == by_path_.end() ? nullptr : change->second);
  }

  /// The node has an owner if the change has.
  Result<Look> look(const RelPath& path, const Change* change) {
    Look found;
    auto node = view_.node(path);
    if (!node && is_behind_own_link(path, node.error())) return found;
    if (!node && node.error().kind == ErrorKind::kRefused) {
      found.problem = node.error().reason == "path.through_symlink" ? linked_parent_message(path)
                                                                    : node.error().message;
      return found;
    }
    if (!node) return fail(node.error());
    found.node = *node;
    if (change != nullptr && (change->before.owner || change->after.owner)) {
      GALLEY_ASSIGN(found.node.owner, view_.owner(path));
    }
    const auto entry = view_.entries().find(path);
    if (entry != view_.entries().end()) found.stamp = entry->second.base;
    return found;
  }

  /// Whether the path is behind a link that this change removes, or that is as the change wants it.
  /// Such a link does not hide the path: without the link, or below it, there is nothing.
  [[nodiscard]] bool is_behind_own_link(const RelPath& path, const Error& error) {
    if (error.reason != "path.through_symlink") return false;
    for (RelPath above = path.parent(); !above.is_root(); above = above.parent()) {
      const auto change = by_path_.find(above);
      if (change == by_path_.end()) continue;
      const Node& wanted = change->second->after;
      const auto there = view_.node(above);
      const bool is_link = wanted.kind == FileKind::kSymlink;
      const bool is_in_place = is_link && there && *there == without_owner(wanted);
      if (is_in_place || (change->second->before.kind == FileKind::kSymlink && !is_link))
        return true;
    }
    return false;
  }

  /// The future node of the path: the planned one, else the present one.
  Result<Node> node_after(const RelPath& path) {
    const auto planned = planned_.find(path);
    if (planned != planned_.end()) return planned->second.after;
    if (path.is_root()) return Node{FileKind::kDirectory, created_directory_mode(), {}, 0};
    auto node = view_.node_without_content(path);
    if (!node && node.error().kind == ErrorKind::kRefused) return Node{FileKind::kOther, 0, {}, 0};
    return node;
  }

  /// Keeps the present bytes unless the change has them. A journal may lack contents that its
  /// transaction did not change.
  Result<void> keep_found(const RelPath& path, const Node& node) {
    if (!is_file_or_link(node)) return {};
    const auto change = by_path_.find(path);
    const bool has_them = change != by_path_.end() &&
                          change->second->before.content == node.content &&
                          change->second->after.content != node.content;
    if (has_them) return {};
    GALLEY_ASSIGN(const Content bytes, bytes_or_target(view_, path, node));
    GALLEY_TRY(store_->put(bytes));
    return {};
  }

  Result<void> plan(const RelPath& path, const Look& found, const Node& after) {
    if (found.node == after) return {};
    GALLEY_TRY(keep_found(path, found.node));
    planned_.insert_or_assign(path, Planned{found.node, found.stamp, after, {}, {}});
    return {};
  }

  void name_source(const Change& change) {
    const auto planned = planned_.find(change.path);
    if (planned == planned_.end()) return;
    planned->second.renamed_from = change.renamed_from;
    planned->second.copied_from = change.copied_from;
  }

  /// Where a file that the change names is now, if it was renamed since. Another file may have its
  /// old name.
  Result<RelPath> present_path(const Change& change) {
    const auto moved = options_->moved.find(change.path);
    const bool is_followed = moved != options_->moved.end() &&
                             change.before.kind == FileKind::kRegular &&
                             !by_path_.contains(moved->second);
    if (!is_followed) return change.path;
    GALLEY_ASSIGN(const Look there, look(moved->second, &change));
    return there.node.kind == FileKind::kRegular ? moved->second : change.path;
  }

  Result<void> plan_moved(const Change& change, const RelPath& path) {
    GALLEY_ASSIGN(const Look there, look(path, &change));
    const bool is_merged =
        change.after.kind == FileKind::kRegular && options_->mode != MergeMode::kExact;
    if (is_merged) return merge_at(change, there, path);
    const bool is_removed =
        change.after.kind == FileKind::kAbsent && options_->mode != MergeMode::kExact &&
        (there.node == change.before || without_owner(there.node) == change.before);
    if (!is_removed) {
      Change about = change;
      about.path = path;
      return conflict(
          about, there.node, "conflict.changed",
          "'" + path.str() + "', the former '" + change.path.str() + "', was changed since");
    }
    merged_.push_back({path, "removed, renamed since from '" + change.path.str() + "'", 0});
    return plan(path, there, change.after);
  }

  Result<void> plan_path(const Change& change) {
    GALLEY_ASSIGN(const RelPath present, present_path(change));
    if (present != change.path) return plan_moved(change, present);
    GALLEY_ASSIGN(Look found, look(change.path));
    if (!found.problem.empty()) return settle_unreachable(change, found);
    // A change of kind may have an owner on one side only.
    if (!change.before.owner && without_owner(found.node) == change.before) {
      found.node = change.before;
    }
    if (found.node == change.before) {
      GALLEY_TRY(plan(change.path, found, change.after));
      name_source(change);
      return {};
    }
    if (found.node == change.after || without_owner(found.node) == change.after) {
      merged_.push_back({change.path, "already so", 0});
      return {};
    }
    return merge_path(change, found);
  }

  /// Carries a later edit of a rename's source along to the new name.
  Result<void> plan_rename(const Change& change) {
    const auto source_change = by_path_.find(*change.renamed_from);
    if (source_change == by_path_.end()) return {};
    const Change& source = *source_change->second;
    const bool is_file_rename =
        source.before.kind == FileKind::kRegular && source.after.kind == FileKind::kAbsent &&
        change.before.kind == FileKind::kAbsent && change.after.kind == FileKind::kRegular;
    if (!is_file_rename || options_->mode == MergeMode::kExact) return {};
    GALLEY_ASSIGN(const RelPath from, present_path(source));
    GALLEY_ASSIGN(const Look found_source, look(from, &source));
    GALLEY_ASSIGN(const Look found_target, look(change.path));
    const bool is_as_left = from == source.path && found_source.node == source.before;
    if (is_as_left || found_source.node.kind != FileKind::kRegular ||
        found_target.node != change.before || !found_target.problem.empty()) {
      return {};
    }
    done_.insert(source.path);
    done_.insert(change.path);
    FileSides sides{source.before, found_source.node, change.after, {}, {}, {}};
    GALLEY_ASSIGN(const std::optional<Node> merged, merge_sides(change, from, sides));
    if (!merged) return {};
    GALLEY_TRY(plan(from, found_source, Node()));
    GALLEY_TRY(plan(change.path, found_target, *merged));
    const auto planned = planned_.find(change.path);
    if (planned != planned_.end()) planned->second.renamed_from = from;
    return {};
  }

  Result<void> merge_path(const Change& change, const Look& found) {
    const Resolution* resolution = resolution_of(change.path);
    if (resolution != nullptr && !is_merged_by_lines(change, found.node)) {
      return resolve_whole(change, found, *resolution);
    }
    const FileKind was = change.before.kind;
    const FileKind now = found.node.kind;
    const FileKind wanted = change.after.kind;
    if (was == FileKind::kDirectory && now == FileKind::kDirectory) {
      return merge_directory(change, found);
    }
    if (options_->mode == MergeMode::kExact) return misfit(change, found.node);
    if (was == FileKind::kAbsent && wanted == FileKind::kDirectory && now == FileKind::kDirectory) {
      merged_.push_back({change.path, "already there, with its own mode", 0});
      return {};
    }
    const bool are_files = was == FileKind::kRegular && wanted == FileKind::kRegular;
    if (are_files && now == FileKind::kRegular) return merge_at(change, found, change.path);
    return misfit(change, found.node);
  }

  // --- decided conflicts ------------------------------------------------------------------------
  [[nodiscard]] const Resolution* resolution_of(const RelPath& path) const {
    const auto found = options_->resolutions.find(path);
    return found == options_->resolutions.end() ? nullptr : &found->second;
  }

  static bool is_merged_by_lines(const Change& change, const Node& found) {
    return change.before.kind == FileKind::kRegular && change.after.kind == FileKind::kRegular &&
           found.kind == FileKind::kRegular;
  }

  /// A path that cannot be reached has only the side of the disk: another one would have to replace
  /// what is in the way, with all that others see through it.
  Result<void> settle_unreachable(const Change& change, const Look& found) {
    const Resolution* resolution = resolution_of(change.path);
    if (resolution == nullptr) {
      return conflict(change, found.node, "conflict.parent", found.problem);
    }
    GALLEY_TRY(
        check_version(*resolution, sides_of(change.path, change.before, found.node, change.after)));
    GALLEY_TRY(check_takes_disk(*resolution, change.path, found.problem));
    merged_.push_back({change.path, std::string(kResolved), 0});
    return {};
  }

  /// Decides a conflict without lines: the whole path becomes what one side has, or a text.
  Result<void> resolve_whole(const Change& change, const Look& found,
                             const Resolution& resolution) {
    GALLEY_TRY(
        check_version(resolution, sides_of(change.path, change.before, found.node, change.after)));
    if (!resolution.is_whole || resolution.choices.size() != 1) return unsuited(change.path, 0);
    const auto is_directory = [](const Node& node) { return node.kind == FileKind::kDirectory; };
    if (is_directory(change.before) || is_directory(found.node) || is_directory(change.after)) {
      return fail(ErrorKind::kUsage, "resolve.directory",
                  "'" + change.path.str() +
                      "' is a directory on one side; galley_rollback with "
                      "this path keeps the disk's side",
                  change.path.str());
    }
    merged_.push_back({change.path, std::string(kResolved), 0});
    const Resolution::Choice& choice = resolution.choices.front();
    switch (choice.side) {
      case Resolution::Side::kFound:
        return {};
      case Resolution::Side::kWanted:
        return plan(change.path, found, change.after);
      case Resolution::Side::kBase:
        return plan(change.path, found, change.before);
      case Resolution::Side::kText:
        break;
    }
    Node node = change.after.kind == FileKind::kRegular ? change.after : found.node;
    if (node.kind != FileKind::kRegular)
      node = Node{FileKind::kRegular, created_file_mode(), {}, 0};
    std::string text = choice.text;
    if (found.node.kind == FileKind::kRegular) {
      GALLEY_ASSIGN(const Content file, view_.read(change.path));
      GALLEY_ASSIGN(text, whole_text_like(change.path, *file, text));
    } else if (change.after.kind == FileKind::kRegular) {
      GALLEY_ASSIGN(const Content file, change_->store()->get(change.after.content));
      GALLEY_ASSIGN(text, whole_text_like(change.path, *file, text));
    }
    node.content = ContentId::of(text);
    node.size = text.size();
    GALLEY_TRY(store_->put(std::move(text)));
    return plan(change.path, found, node);
  }

  Result<void> merge_directory(const Change& change, const Look& found) {
    // Only mode or owner differ, which a directory that is removed or replaced does not need.
    if (change.after.kind != FileKind::kDirectory) return plan(change.path, found, change.after);
    const bool is_owner = found.node.mode == change.before.mode;
    return conflict(change, found.node, is_owner ? "conflict.owner" : "conflict.mode",
                    std::string(is_owner ? "the owner" : "the mode") + " of '" + change.path.str() +
                        "' was changed since");
  }

  Result<void> merge_at(const Change& change, const Look& found, const RelPath& path) {
    FileSides sides{change.before, found.node, change.after, {}, {}, {}};
    GALLEY_ASSIGN(const std::optional<Node> merged, merge_sides(change, path, sides));
    if (!merged) return {};
    return plan(path, found, *merged);
  }

  /// Merges one file that is at `path` now; returns nullopt after it recorded a conflict.
  Result<std::optional<Node>> merge_sides(const Change& change, const RelPath& path,
                                          FileSides& sides) {
    const bool both_changed =
        sides.base.content != sides.wanted.content && sides.base.content != sides.found.content;
    if (both_changed) {
      GALLEY_ASSIGN(sides.base_bytes, change_->store()->get(sides.base.content));
      GALLEY_ASSIGN(sides.found_bytes, bytes_or_target(view_, path, sides.found));
      GALLEY_ASSIGN(sides.wanted_bytes, change_->store()->get(sides.wanted.content));
    }
    FileMerge merge = merge_file(sides, *options_);
    const Resolution* given = merge.reason.empty() ? nullptr : resolution_of(path);
    if (given != nullptr) {
      GALLEY_TRY(check_version(*given, sides_of(path, sides.base, sides.found, sides.wanted)));
      if (!sides.found_bytes) {
        GALLEY_ASSIGN(sides.found_bytes, bytes_or_target(view_, path, sides.found));
      }
      GALLEY_ASSIGN(const Resolution resolution, suited_resolution(path, *given, sides, merge));
      merge = merge_file(sides, *options_, &resolution);
    }
    if (!merge.reason.empty()) {
      Change about = change;
      about.before = sides.base;
      about.path = path;  // where `found` is: for a rename, the old name
      GALLEY_TRY(
          conflict(about, sides.found, merge.reason, "'" + path.str() + "' " + merge.message));
      conflicts_.back().hunks = std::move(merge.hunks);
      return std::optional<Node>();
    }
    if (merge.node.content != sides.found.content && merge.node.content != sides.wanted.content) {
      GALLEY_TRY(store_->put(std::move(merge.bytes)));
    }
    std::string how = merge.is_resolved   ? std::string(kResolved)
                      : merge.markers > 0 ? "merged with conflict markers"
                                          : "merged by lines";
    if (path != change.path && change.before.kind != FileKind::kAbsent) {
      how += ", renamed since from '" + change.path.str() + "'";
    }
    const RelPath& result = change.before.kind == FileKind::kAbsent ? change.path : path;
    merged_.push_back({result, std::move(how), merge.markers});
    return std::optional<Node>(merge.node);
  }

  /// Records the conflicts that can be found without reading lines.
  Result<void> misfit(const Change& change, const Node& found) {
    const std::string name = "'" + change.path.str() + "' ";
    if (found.kind == FileKind::kAbsent) {
      return conflict(change, found, "conflict.missing", name + "is gone since");
    }
    if (change.before.kind == FileKind::kAbsent) {
      return conflict(change, found, "conflict.exists",
                      name + "is there already: " + std::string(kind_with_article(found.kind)));
    }
    if (found.kind != change.before.kind) {
      return conflict(change, found, "conflict.kind",
                      name + "has become " + std::string(kind_with_article(found.kind)));
    }
    std::string text = name + "was changed since";
    if (found.content == change.before.content && found.mode != change.before.mode) {
      text += fmt::format(": its mode is {:04o}, not {:04o}", found.mode, change.before.mode);
    }
    return conflict(change, found, "conflict.changed", std::move(text));
  }

  Result<void> conflict(const Change& change, const Node& found, std::string reason,
                        std::string message) {
    PathConflict entry = sides_of(change.path, change.before, found, change.after);
    entry.reason = std::move(reason);
    entry.message = std::move(message);
    // For a pure change of mode, the bytes it was made on may be unavailable.
    const bool is_base_known = !is_file_or_link(change.before) || change.before == found ||
                               store_->get(change.before.content).has_value();
    const bool has_lines = (is_file_or_link(found) || is_file_or_link(change.before)) &&
                           is_base_known && found.kind != FileKind::kOther &&
                           found != change.before;
    if (has_lines) {
      if (is_file_or_link(found)) {
        GALLEY_ASSIGN(const Content bytes, bytes_or_target(view_, change.path, found));
        GALLEY_TRY(store_->put(bytes));
      }
      const Change since{change.path, change.before, found, {}, {}, {}};
      GALLEY_ASSIGN(entry.diff, render_diff(Proposal::from({since}, store_)));
    }
    conflicts_.push_back(std::move(entry));
    return {};
  }

  /// A directory can be removed only when nothing is left in it.
  Result<void> settle_directories() {
    std::vector<RelPath> leaving;
    for (const auto& [path, planned] : planned_) {
      if (planned.before.kind == FileKind::kDirectory &&
          planned.after.kind != FileKind::kDirectory) {
        leaving.push_back(path);
      }
    }
    for (auto path = leaving.rbegin(); path != leaving.rend(); ++path) {
      GALLEY_ASSIGN(const std::string left, first_left_in(*path));
      if (left.empty()) continue;
      const Planned planned = planned_.at(*path);
      if (planned.after.kind == FileKind::kAbsent) {
        planned_.erase(*path);
        merged_.push_back({*path, "kept: '" + left + "' is in it", 0});
        continue;
      }
      const Change* change = by_path_.at(*path);
      GALLEY_TRY(conflict(*change, planned.before, "conflict.not_empty",
                          "'" + path->str() + "' cannot become " +
                              std::string(kind_with_article(planned.after.kind)) + ": '" + left +
                              "' is in it"));
    }
    return {};
  }

  /// The present entries; on disk also those with protected names.
  Result<std::vector<DirectoryEntry>> names_in(const RelPath& directory) {
    if (is_staged_) return view_.list(directory);
    GALLEY_ASSIGN(const auto opened, view_.workspace().open_directory(directory));
    auto names = opened->list();
    if (names) return names;
    return os_error(names.error().os_error, "cannot list", directory.str());
  }

  /// The first entry that the directory will still have; empty when there is none.
  Result<std::string> first_left_in(const RelPath& directory) {
    GALLEY_ASSIGN(const auto names, names_in(directory));
    for (const DirectoryEntry& name : names) {
      const auto parsed = RelPath::parse(name.name);
      if (!parsed) return name.name;
      const auto child = directory.join(*parsed);
      if (!child) return name.name;
      const auto planned = planned_.find(*child);
      if (planned == planned_.end() || planned->second.after.kind != FileKind::kAbsent) {
        return child->str();
      }
    }
    for (auto it = planned_.upper_bound(directory); it != planned_.end(); ++it) {
      if (it->first.is_below(directory) && it->second.after.kind != FileKind::kAbsent) {
        return it->first.str();
      }
      if (!it->first.str().starts_with(directory.str())) break;
    }
    return std::string();
  }

  /// Makes the missing directories above restored paths.
  Result<void> make_parents() {
    std::vector<RelPath> kept;
    for (const auto& [path, planned] : planned_) {
      if (planned.after.kind != FileKind::kAbsent) kept.push_back(path);
    }
    for (const RelPath& path : kept) {
      for (RelPath above = path.parent(); !above.is_root(); above = above.parent()) {
        GALLEY_ASSIGN(const Node node, node_after(above));
        if (node.kind == FileKind::kDirectory) break;
        if (node.kind != FileKind::kAbsent) {
          GALLEY_TRY(parent_conflict(path, above, node));
          break;
        }
        GALLEY_ASSIGN(const Look found, look(above));
        const Node made{FileKind::kDirectory, created_directory_mode(), {}, 0};
        planned_.insert_or_assign(above, Planned{found.node, found.stamp, made, {}, {}});
      }
    }
    return {};
  }

  Result<void> parent_conflict(const RelPath& path, const RelPath& above, const Node& node) {
    Change about{path, {}, planned_.at(path).after, {}, {}, {}};
    const auto change = by_path_.find(path);
    if (change != by_path_.end()) about = *change->second;
    return conflict(about, planned_.at(path).before, "conflict.parent",
                    "'" + path.str() + "' has no place: '" + above.str() + "' is " +
                        std::string(kind_with_article(node.kind)) + " now");
  }

  Proposal finish() {
    ChangeSet changes;
    for (auto& [path, planned] : planned_) {
      if (planned.before == planned.after) continue;
      Change change{path, planned.before, planned.after, planned.base, {}, {}};
      if (change.is_create()) {
        change.copied_from = planned.copied_from;
        const auto source =
            planned.renamed_from ? planned_.find(*planned.renamed_from) : planned_.end();
        if (source != planned_.end() && source->second.after.kind == FileKind::kAbsent) {
          change.renamed_from = planned.renamed_from;
        }
      }
      changes.push_back(std::move(change));
    }
    return Proposal::from(std::move(changes), store_);
  }

  const Proposal* change_;
  const RebaseOptions* options_;
  Overlay view_;
  bool is_staged_ = false;  ///< `view_` is itself a proposed tree
  std::shared_ptr<LayeredStore> store_;
  std::map<RelPath, const Change*> by_path_;
  std::set<RelPath> done_;
  std::map<RelPath, Planned> planned_;
  std::vector<MergedPath> merged_;
  std::vector<PathConflict> conflicts_;
};

}  // namespace

std::string PathConflict::version() const {
  constexpr size_t kDigits = 12;
  std::string sides;
  for (const Node* node : {&expected, &found, &wanted}) {
    sides += std::to_string(static_cast<int>(node->kind)) + " " + std::to_string(node->mode) + " " +
             (is_file_or_link(*node) ? node->content.hex() : std::string()) +
             (node->owner ? " " + owner_text(*node->owner) : std::string()) + "\n";
  }
  return ContentId::of(sides).hex().substr(0, kDigits);
}

Result<RebaseOutcome> rebase(const Proposal& change, const Directory& workspace, const Clock& clock,
                             const RebaseOptions& options) {
  return RebaseRun(change, workspace, make_memory_store(), clock, options).run();
}

Result<RebaseOutcome> rebase(const Proposal& change, Overlay& staged,
                             const RebaseOptions& options) {
  return RebaseRun(change, staged, options).run();
}

namespace {

/// The paths whose changes keep a conflict, and the directories above them.
struct LeftPaths {
  std::set<RelPath> paths;
  std::set<RelPath> above;

  void add(const RelPath& path) {
    paths.insert(path);
    for (RelPath up = path.parent(); !up.is_root(); up = up.parent()) above.insert(up);
  }
  /// Whether the change is one of them, or cannot be made without them.
  [[nodiscard]] bool hold(const Change& change) const {
    if (paths.contains(change.path) || above.contains(change.path)) return true;
    for (RelPath up = change.path.parent(); !up.is_root(); up = up.parent()) {
      if (paths.contains(up)) return true;
    }
    return false;
  }
};

/// The changes that neither are in conflict nor depend on one that is.
ChangeSet without_conflicts(const ChangeSet& changes, const std::vector<PathConflict>& conflicts,
                            std::vector<RelPath>& left) {
  LeftPaths out;
  for (const PathConflict& conflict : conflicts) out.add(conflict.path);
  // Both ends of a rename go together.
  for (const Change& change : changes) {
    if (!change.renamed_from) continue;
    if (out.paths.contains(change.path)) out.add(*change.renamed_from);
    if (out.paths.contains(*change.renamed_from)) out.add(change.path);
  }
  ChangeSet kept;
  for (const Change& change : changes) {
    if (out.hold(change)) {
      left.push_back(change.path);
    } else {
      kept.push_back(change);
    }
  }
  return kept;
}

/// True if a directory replaces a link or file above the path, so that nothing is there yet.
bool is_below_replaced(const ChangeSet& changes, const RelPath& path) {
  const Change* above = path.is_root() ? nullptr : find_change(changes, path.parent());
  if (above != nullptr && is_file_or_link(above->before)) return true;
  return !path.is_root() && is_below_replaced(changes, path.parent());
}

}  // namespace

Result<PartialRebase> rebase_what_fits(const Proposal& change, const Directory& workspace,
                                       const Clock& clock, const RebaseOptions& options) {
  std::vector<RelPath> left;
  std::vector<PathConflict> conflicts;
  Proposal part = change;
  while (true) {
    GALLEY_ASSIGN(RebaseOutcome outcome, rebase(part, workspace, clock, options));
    if (auto* fits = std::get_if<Rebased>(&outcome)) {
      return PartialRebase{std::move(*fits), std::move(left), std::move(conflicts)};
    }
    auto& found = std::get<RebaseConflict>(outcome).paths;
    const size_t before = part.changes().size();
    ChangeSet rest = without_conflicts(part.changes(), found, left);
    // A conflict above all changes leaves none of them.
    if (rest.size() == before) {
      for (const Change& each : rest) left.push_back(each.path);
      rest.clear();
    }
    conflicts.insert(conflicts.end(), std::make_move_iterator(found.begin()),
                     std::make_move_iterator(found.end()));
    part = Proposal::from(std::move(rest), change.store());
  }
}

Result<void> stage_rebased(const Proposal& rebased, Overlay& staged) {
  for (const Change& one : rebased.changes()) {
    if (!is_below_replaced(rebased.changes(), one.path)) GALLEY_TRY(staged.node(one.path));
  }
  Overlay::Entries entries = staged.entries();
  for (const Change& one : rebased.changes()) {
    if (is_file_or_link(one.after)) {
      GALLEY_ASSIGN(const Content bytes, rebased.content(one.after));
      GALLEY_TRY(staged.store()->put(bytes));
    }
    Overlay::Entry& entry = entries[one.path];
    if (is_file_or_link(entry.before) && entry.before == entry.now) {
      GALLEY_ASSIGN(const Content bytes, bytes_or_target(staged, one.path, entry.before));
      GALLEY_TRY(staged.store()->put(bytes));
    }
    const bool has_base = entry.before.kind == one.before.kind;
    if (has_base && !entry.before.owner) entry.before.owner = one.before.owner;
    entry.now = one.after;
    entry.renamed_from.reset();
    entry.copied_from.reset();
  }
  staged.restore(std::move(entries));
  return {};
}

Result<void> stage_proposal(const Proposal& proposal, Overlay& overlay) {
  Overlay::Entries entries = overlay.entries();
  for (const Change& change : proposal.changes()) {
    for (const Node* node : {&change.before, &change.after}) {
      if (!is_file_or_link(*node)) continue;
      GALLEY_ASSIGN(const Content bytes, proposal.content(*node));
      GALLEY_TRY(overlay.store()->put(bytes));
    }
    Overlay::Entry entry{change.before, change.base, change.after, change.renamed_from,
                         change.copied_from};
    entry.written = change.written;
    entries.insert_or_assign(change.path, std::move(entry));
  }
  overlay.restore(std::move(entries));
  return {};
}

namespace {

FileMerge misfit(std::string reason, std::string message) {
  FileMerge merge;
  merge.reason = std::move(reason);
  merge.message = std::move(message);
  return merge;
}

FileMerge resolved(const Node& node, std::string bytes) {
  FileMerge merge;
  merge.node = node;
  merge.node.content = ContentId::of(bytes);
  merge.node.size = bytes.size();
  merge.bytes = std::move(bytes);
  merge.is_resolved = true;
  return merge;
}

/// The text of a merge whose conflicts are decided.
std::string resolved_text(const Merge& merge, const FileSides& sides,
                          const Resolution& resolution) {
  const Lines base(*sides.base_bytes);
  const Lines found(*sides.found_bytes);
  const Lines wanted(*sides.wanted_bytes);
  const std::vector<Resolution::Choice>& choices = resolution.choices;
  std::string text;
  size_t conflict = 0;
  for (const MergePiece& piece : merge.pieces) {
    const Resolution::Choice* choice = nullptr;
    if (piece.side == MergeSide::kConflict) {
      choice = &choices[resolution.is_whole ? 0 : conflict++];
    }
    const bool is_wanted = choice == nullptr ? piece.side == MergeSide::kTheirs
                                             : choice->side == Resolution::Side::kWanted;
    if (is_wanted) {
      text += wanted.span(piece.theirs.begin, piece.theirs.end);
    } else if (choice == nullptr || choice->side == Resolution::Side::kFound) {
      text += found.span(piece.ours.begin, piece.ours.end);
    } else if (choice->side == Resolution::Side::kBase) {
      text += base.span(piece.base.begin, piece.base.end);
    } else {
      text += choice->text;
    }
  }
  return text;
}

/// Contents that are not merged by lines: one side has them, or they are given.
std::string chosen_content(const FileSides& sides, const Resolution::Choice& choice) {
  return choice.side == Resolution::Side::kFound    ? *sides.found_bytes
         : choice.side == Resolution::Side::kWanted ? *sides.wanted_bytes
         : choice.side == Resolution::Side::kBase   ? *sides.base_bytes
                                                    : choice.text;
}

uint32_t chosen_mode(const FileSides& sides, const Resolution::Choice& choice) {
  if (choice.side == Resolution::Side::kFound) return sides.found.mode;
  return choice.side == Resolution::Side::kBase ? sides.base.mode : sides.wanted.mode;
}

/// Merges the bytes that both sides changed.
FileMerge merge_content(const FileSides& sides, const RebaseOptions& options, const Node& node,
                        const Resolution* resolution) {
  const Lines base(*sides.base_bytes);
  const Lines found(*sides.found_bytes);
  const Lines wanted(*sides.wanted_bytes);
  const Merge lines = merge_lines(base, found, wanted);
  FileMerge merge;
  merge.node = node;
  if (resolution != nullptr) return resolved(node, resolved_text(lines, sides, *resolution));
  if (lines.is_clean()) {
    merge.bytes = merged_text(lines, base, found, wanted);
  } else if (options.mode == MergeMode::kMarkers) {
    merge.bytes = text_with_markers(
        lines, base, found, wanted,
        {ConflictStyle::kDiff3, options.found_label, options.base_label, options.wanted_label});
    merge.markers = static_cast<uint32_t>(lines.conflicts);
  } else {
    merge.reason = "conflict.lines";
    merge.message = "was changed since in the same lines (" + std::to_string(lines.conflicts) +
                    (lines.conflicts == 1 ? " place)" : " places)");
    for (const MergePiece& piece : lines.pieces) {
      if (piece.side != MergeSide::kConflict) continue;
      merge.hunks.push_back({piece.ours.begin + 1,
                             std::string(base.span(piece.base.begin, piece.base.end)),
                             std::string(found.span(piece.ours.begin, piece.ours.end)),
                             std::string(wanted.span(piece.theirs.begin, piece.theirs.end))});
    }
    return merge;
  }
  merge.node.content = ContentId::of(merge.bytes);
  merge.node.size = merge.bytes.size();
  return merge;
}

}  // namespace

FileMerge merge_file(const FileSides& sides, const RebaseOptions& options,
                     const Resolution* resolution) {
  FileMerge merge;
  merge.node = sides.found;
  if (sides.found.mode == sides.base.mode) {
    merge.node.mode = sides.wanted.mode;
  } else if (sides.wanted.mode != sides.base.mode && sides.wanted.mode != sides.found.mode) {
    if (resolution == nullptr) {
      return misfit("conflict.mode", "has another mode since, and another one is wanted");
    }
    merge.node.mode = chosen_mode(sides, resolution->choices.front());
    merge.is_resolved = true;
  }
  if (sides.found.owner == sides.base.owner) {
    merge.node.owner = sides.wanted.owner;
  } else if (sides.wanted.owner != sides.base.owner && sides.wanted.owner != sides.found.owner) {
    return misfit("conflict.owner", "has another owner since, and another one is wanted");
  }
  const bool has_text = resolution != nullptr && resolution->is_whole &&
                        resolution->choices.front().side == Resolution::Side::kText;
  if (has_text) return resolved(merge.node, resolution->choices.front().text);
  const bool found_is_base = sides.found.content == sides.base.content;
  const bool wanted_is_base = sides.wanted.content == sides.base.content;
  if (found_is_base || sides.found.content == sides.wanted.content) {
    merge.node.content = sides.wanted.content;
    merge.node.size = sides.wanted.size;
    return merge;
  }
  if (wanted_is_base) return merge;
  if (options.mode == MergeMode::kExact) return misfit("conflict.changed", "was changed since");
  const bool is_binary = looks_binary(*sides.base_bytes) || looks_binary(*sides.found_bytes) ||
                         looks_binary(*sides.wanted_bytes);
  if (is_binary && resolution != nullptr && resolution->is_whole) {
    return resolved(merge.node, chosen_content(sides, resolution->choices.front()));
  }
  if (is_binary) return misfit("conflict.binary", "is binary and was changed since");
  return merge_content(sides, options, merge.node, resolution);
}

}  // namespace galley
