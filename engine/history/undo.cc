#include "engine/history/undo.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/glob.h"
#include "base/result.h"
#include "base/text.h"
#include "engine/commit/history_reader.h"
#include "engine/history/undo_choice.h"
#include "staging/overlay/overlay.h"
#include "staging/overlay/proposal_diff.h"
#include "staging/printing/git_diff.h"
#include "staging/text/diff.h"

namespace galley {
namespace {

/// The later history of a transaction's paths.
struct LaterHistory {
  std::vector<Dependency> dependencies;  ///< oldest first; without undone transactions
  std::map<RelPath, RelPath> moved;      ///< files that the transaction left, and their present
                                         ///< paths
};

/// Lines [begin, end) that the transaction made; empty where it only deleted lines.
struct Mark {
  size_t begin = 0;
  size_t end = 0;
};

/// The marked lines of one file, updated as later transactions change it.
class LineMarks {
 public:
  /// Marks the changes from `before` to `after`; without lines (binary, absent) the whole file.
  LineMarks(const Content& before, Content after) : text_(std::move(after)) {
    has_lines_ = before && text_ && !looks_binary(*before) && !looks_binary(*text_);
    if (!has_lines_) return;
    for (const ChangedRange& range : diff_lines(Lines(*before), Lines(*text_))) {
      marks_.push_back({range.new_begin, range.new_end});
    }
  }

  /// Marks nothing: the transaction changed only a mode.
  LineMarks() : changes_no_line_(true) {}

  /// Goes on to `next` and moves the marks. Returns whether that changes a marked line or a line
  /// next to one.
  bool follow(const Content& next) {
    if (changes_no_line_) return false;
    const bool can_compare = has_lines_ && text_ && next && !looks_binary(*next);
    if (!can_compare) {
      has_lines_ = false;
      return true;
    }
    const EditScript script = diff_lines(Lines(*text_), Lines(*next));
    const bool touches = std::any_of(script.begin(), script.end(), [&](const ChangedRange& range) {
      return std::any_of(marks_.begin(), marks_.end(), [&](const Mark& mark) {
        return range.old_begin <= mark.end && mark.begin <= range.old_end;
      });
    });
    for (Mark& mark : marks_) mark = {moved(script, mark.begin), moved(script, mark.end)};
    text_ = next;
    return touches;
  }

 private:
  static size_t moved(const EditScript& script, size_t line) {
    int64_t shift = 0;
    for (const ChangedRange& range : script) {
      if (range.old_begin > line) break;
      if (range.old_end > line) return range.new_begin;
      shift = static_cast<int64_t>(range.new_end) - static_cast<int64_t>(range.old_end);
    }
    return static_cast<size_t>(static_cast<int64_t>(line) + shift);
  }

  Content text_;
  std::vector<Mark> marks_;
  bool has_lines_ = false;
  bool changes_no_line_ = false;
};

Result<Content> file_content(const Proposal& proposal, const Node& node) {
  if (node.kind != FileKind::kRegular) return Content();
  return proposal.content(node);
}

struct Followed {
  RelPath origin;  ///< the path as the transaction left it
  LineMarks marks;
};

class Follower {
 public:
  Follower(TxId id, const Proposal& transaction, const std::vector<RelPath>& paths)
      : id_(id), wanted_(paths.begin(), paths.end()), transaction_(&transaction) {}

  Result<void> begin() {
    for (const Change& change : transaction_->changes()) {
      if (!wanted_.contains(change.path)) continue;
      Node before = change.before;
      const Change* source = change.renamed_from
                                 ? find_change(transaction_->changes(), *change.renamed_from)
                                 : nullptr;
      if (source != nullptr) before = source->before;
      if (before.content == change.after.content && before.kind == change.after.kind) {
        followed_.emplace(change.path, Followed{change.path, LineMarks()});
        continue;
      }
      GALLEY_ASSIGN(const Content old_bytes, file_content(*transaction_, before));
      GALLEY_ASSIGN(Content new_bytes, file_content(*transaction_, change.after));
      followed_.emplace(change.path,
                        Followed{change.path, LineMarks(old_bytes, std::move(new_bytes))});
    }
    return {};
  }

  /// Goes on to the next transaction; reports it unless it was undone or is an undo.
  Result<void> follow(TxId later, const Proposal& proposal, bool is_reported) {
    std::map<RelPath, const Change*> renames;
    for (const Change& change : proposal.changes()) {
      if (change.renamed_from) renames.emplace(*change.renamed_from, &change);
    }
    std::map<RelPath, Followed> next;
    for (auto& [path, file] : followed_) {
      const Change* change = find_change(proposal.changes(), path);
      if (change == nullptr) {
        next.emplace(path, std::move(file));
        continue;
      }
      const auto rename = renames.find(path);
      if (change->is_delete() && rename != renames.end()) change = rename->second;
      bool same_lines = false;
      const bool is_mode_alone = change->before.content == change->after.content &&
                                 change->before.kind == change->after.kind;
      if (!is_mode_alone) {
        GALLEY_ASSIGN(const Content bytes, file_content(proposal, change->after));
        same_lines = file.marks.follow(bytes);
      }
      if (is_reported) report_.push_back({later, id_, path, same_lines});
      next.insert_or_assign(change->path, std::move(file));
    }
    followed_ = std::move(next);
    return {};
  }

  LaterHistory finish() {
    LaterHistory result;
    result.dependencies = std::move(report_);
    for (auto& [path, file] : followed_) {
      if (path != file.origin) result.moved.emplace(file.origin, path);
    }
    return result;
  }

 private:
  TxId id_;
  std::set<RelPath> wanted_;
  const Proposal* transaction_;
  std::map<RelPath, Followed> followed_;
  std::vector<Dependency> report_;
};

/// The descriptions of the transactions after `id`. It reads no journal up to `id`.
Result<std::map<TxId, CommitMeta>> metas_after(const History& history, TxId id) {
  GALLEY_ASSIGN(const std::vector<TxId> ids, listed_ids(history.state()));
  std::map<TxId, CommitMeta> metas;
  for (const TxId later : ids) {
    if (later <= id) continue;
    const auto journal = history.outline(later);
    // It was not committed, or it was pruned since the ids were listed.
    if (!journal && journal.error().kind == ErrorKind::kNotFound) continue;
    if (!journal) return fail(journal.error());
    metas.emplace(later, (*journal)->journal.meta);
  }
  return metas;
}

/// Follows `paths`, as the transaction left them, through every later transaction.
Result<LaterHistory> later_history_of(const History& history, TxId id, const Proposal& transaction,
                                      const std::vector<RelPath>& paths,
                                      const std::vector<TxId>& taken_back = {}) {
  GALLEY_ASSIGN(auto metas, metas_after(history, id));
  for (const TxId undone : taken_back) metas.erase(undone);
  UndoRelations relations;
  for (auto it = metas.rbegin(); it != metas.rend(); ++it) relations.take(it->first, it->second);
  Follower follower(id, transaction, paths);
  GALLEY_TRY(follower.begin());
  for (const auto& [later, meta] : metas) {
    GALLEY_ASSIGN(const Proposal proposal, history.proposal_of(later));
    // A later change and its undo cancel out, so nothing depends on them.
    const bool is_undone = relations.undone_by(later).has_value();
    const bool takes_back_later =
        meta.undoes && *meta.undoes > id && !is_undone && !is_partial(meta.tool);
    GALLEY_TRY(follower.follow(later, proposal, !is_undone && !takes_back_later));
  }
  return follower.finish();
}

RebaseOptions rebase_options(TxId id, const UndoOptions& options) {
  RebaseOptions rebasing;
  rebasing.mode = options.mode;
  rebasing.base_label = "after " + id.str();
  rebasing.wanted_label = "before " + id.str();
  return rebasing;
}

std::vector<RelPath> paths_of(const Proposal& change) {
  std::vector<RelPath> paths;
  for (const Change& one : change.changes()) paths.push_back(one.path);
  return paths;
}

bool is_exact(const RebaseOutcome& outcome) {
  const auto* rebased = std::get_if<Rebased>(&outcome);
  return rebased != nullptr && rebased->merged.empty();
}

/// Whether none of the reverse change was in place already.
bool is_all_of(const RebaseOutcome& outcome, const ReverseChange& reverse) {
  const auto* rebased = std::get_if<Rebased>(&outcome);
  return rebased != nullptr &&
         rebased->proposal.changes().size() == reverse.change.changes().size();
}

/// "9, 8, 7", or the first ten "and 3 more".
std::string named_ids(const std::vector<TxId>& ids) {
  constexpr size_t kNamed = 10;
  std::vector<std::string> names;
  for (const TxId id : ids) names.push_back(id.str());
  return join_some(names, kNamed);
}

std::string default_message(TxId id, const CommitMeta& meta) {
  std::string message = "undo " + id.str();
  if (!meta.message.empty()) message += ": " + meta.message;
  return message;
}

}  // namespace

std::string Dependency::text() const {
  return later.str() + " builds on " + on.str() + " in " + path.str();
}

std::vector<TxId> UndoPlan::taken_back() const {
  std::vector<TxId> ids = {undoes};
  ids.insert(ids.end(), also_undoes.begin(), also_undoes.end());
  return ids;
}

namespace {

Result<TxId> undo_to_take_back(const History& history, TxId id) {
  GALLEY_ASSIGN(const TxSummary summary, history.summary(id));
  GALLEY_ASSIGN(const bool takes_back, is_undo(history, id));
  if (takes_back && !summary.undone_by) return id;
  if (takes_back) {
    return fail(ErrorKind::kUsage, "undo.not_undone",
                "the undo " + id.str() + " was taken back by " + summary.undone_by->str() +
                    " already, so there is nothing to redo");
  }
  if (summary.undone_by) return *summary.undone_by;
  if (!summary.partly_undone_by.empty()) return summary.partly_undone_by.front();
  return fail(ErrorKind::kUsage, "undo.not_undone",
              "transaction " + id.str() + " is not undone, so there is nothing to redo");
}

/// The undos of parts of these transactions that are in effect, newest first for each.
Result<std::vector<TxId>> parts_undone(const History& history, const std::vector<TxId>& ids) {
  GALLEY_ASSIGN(const auto metas, metas_after(history, *std::min_element(ids.begin(), ids.end())));
  UndoRelations relations;
  for (auto it = metas.rbegin(); it != metas.rend(); ++it) relations.take(it->first, it->second);
  std::vector<TxId> parts;
  for (const TxId id : ids) {
    const std::vector<TxId> of_one = relations.partly_undone_by(id);
    parts.insert(parts.end(), of_one.begin(), of_one.end());
  }
  return parts;
}

/// What an undo undid, as it names it.
std::vector<TxId> undone_of(const CommitMeta& undo) {
  std::vector<TxId> undone = undo.also_undoes;
  if (undo.undoes) undone.insert(undone.begin(), *undo.undoes);
  return undone;
}

/// Completes the plan of an undo of one transaction.
Result<UndoOutcome> finish_plan(const History& history, const TxRecord& record, UndoPlan plan,
                                const std::vector<TxId>& parts) {
  const bool is_part = is_partial(plan.tool);
  const TxId id = record.id;
  plan.undoes = id;
  plan.also_undoes.clear();
  const bool was_in_place = std::exchange(plan.is_rest, !parts.empty());
  plan.message = default_message(id, record.meta);
  GALLEY_ASSIGN(const bool takes_back, is_undo(history, id));
  plan.tool = std::string(is_part ? kPartialUndoTool : kUndoTool);
  if (!takes_back) return UndoOutcome(std::move(plan));
  plan.tool = std::string(is_part ? kPartialRedoTool : kRedoTool);
  plan.redoes = undone_of(record.meta);
  plan.message = "redo " + named_ids(plan.redoes);
  GALLEY_ASSIGN(std::vector<TxId> others, parts_undone(history, plan.redoes));
  std::erase(others, id);
  plan.is_rest = was_in_place || !parts.empty() || is_partial(record.meta.tool) || !others.empty();
  return UndoOutcome(std::move(plan));
}

/// Whether the newest transaction that made or removed this directory is undone, and had given it
/// this mode.
Result<bool> is_mode_of_undone(const History& history, TxId id, const RelPath& directory,
                               uint32_t mode, const std::vector<TxId>& taken_back) {
  GALLEY_ASSIGN(const auto touching, history.list({.paths = {directory}, .with_lines = false}));
  for (const TxSummary& one : touching) {
    if (one.id <= id) break;
    GALLEY_ASSIGN(const Proposal proposal, history.proposal_of(one.id));
    const Change* change = find_change(proposal.changes(), directory);
    if (change == nullptr) continue;
    const bool is_undone = one.undone_by || std::find(taken_back.begin(), taken_back.end(),
                                                      one.id) != taken_back.end();
    return is_undone && change->after.kind == FileKind::kDirectory && change->after.mode == mode;
  }
  return false;
}

/// The undo of a transaction that made a directory keeps it if something else is in it. An earlier
/// transaction that had removed this directory can give it its own mode back nevertheless.
Result<void> begin_at_kept_directories(const History& history, TxId id,
                                       const std::vector<TxId>& taken_back, Overlay& present,
                                       Proposal& reverse) {
  ChangeSet changes = reverse.changes();
  bool is_other = false;
  for (Change& change : changes) {
    if (!change.is_create() || change.after.kind != FileKind::kDirectory) continue;
    const auto now = present.node(change.path);
    // What is wrong with the path is told by the rebase.
    if (!now || now->kind != FileKind::kDirectory || now->mode == change.after.mode) continue;
    GALLEY_ASSIGN(const bool is_kept,
                  is_mode_of_undone(history, id, change.path, now->mode, taken_back));
    if (!is_kept) continue;
    change.before = *now;
    is_other = true;
  }
  if (is_other) reverse = Proposal::from(std::move(changes), reverse.store());
  return {};
}

}  // namespace

Result<UndoOutcome> plan_undo(const History& history, const Directory& workspace, TxId id,
                              const Clock& clock, const UndoOptions& options) {
  GALLEY_ASSIGN(const TxRecord record, history.load(id));
  GALLEY_ASSIGN(ReverseChange reverse, reverse_of(id, record.proposal, options));
  Overlay present(workspace, make_memory_store(), clock);
  GALLEY_TRY(begin_at_kept_directories(history, id, {}, present, reverse.change));
  RebaseOptions rebasing = rebase_options(id, options);
  GALLEY_ASSIGN(RebaseOutcome outcome, rebase(reverse.change, workspace, clock, rebasing));
  const std::string tool(reverse.is_partial ? kPartialUndoTool : kUndoTool);
  std::vector<TxId> parts;
  if (!is_exact(outcome) || !is_all_of(outcome, reverse)) {
    GALLEY_ASSIGN(parts, parts_undone(history, {id}));
  }
  LaterHistory since;
  if (!is_exact(outcome)) {
    // The rest fits better after the undos of parts are taken back.
    if (!parts.empty() && options.hunks.empty()) {
      std::vector<TxId> ids = parts;
      ids.push_back(id);
      GALLEY_ASSIGN(UndoOutcome together,
                    plan_undo_together(history, workspace, std::move(ids), clock, options));
      auto* plan = std::get_if<UndoPlan>(&together);
      if (plan != nullptr) {
        plan->tool = tool;
        return finish_plan(history, record, std::move(*plan), parts);
      }
    }
    GALLEY_ASSIGN(since, later_history_of(history, id, record.proposal, paths_of(reverse.change)));
    if (!since.moved.empty()) {
      rebasing.moved = since.moved;
      GALLEY_ASSIGN(outcome, rebase(reverse.change, workspace, clock, rebasing));
    }
  }
  if (auto* conflict = std::get_if<RebaseConflict>(&outcome)) {
    return UndoOutcome(UndoConflict{id, std::move(conflict->paths), std::move(since.dependencies)});
  }
  const bool is_whole = is_all_of(outcome, reverse);
  auto& rebased = std::get<Rebased>(outcome);
  if (rebased.proposal.is_empty()) return UndoOutcome(NothingToUndo{id});
  UndoPlan plan{id,
                {},
                {},
                tool,
                "",
                std::move(rebased.proposal),
                std::move(rebased.merged),
                std::move(since.dependencies)};
  plan.is_rest = !is_whole;
  return finish_plan(history, record, std::move(plan), parts);
}

namespace {

/// Whether a later transaction renamed one of these files.
Result<bool> is_renamed_since(const History& history, TxId id, const std::vector<RelPath>& paths) {
  GALLEY_ASSIGN(const auto touching, history.list({.paths = paths, .with_lines = false}));
  const std::set<RelPath> known(paths.begin(), paths.end());
  return std::any_of(touching.begin(), touching.end(), [&](const TxSummary& one) {
    return one.id > id &&
           std::any_of(one.paths.begin(), one.paths.end(), [&](const PathSummary& path) {
             return path.status == 'R' && path.from && known.contains(*path.from);
           });
  });
}

/// Rebases the reverse of one transaction onto the staged tree, in which `taken_back` are undone.
/// Files that others renamed since are followed.
Result<RebaseOutcome> rebase_reverse(const History& history, const TxRecord& record,
                                     const ReverseChange& reverse, const UndoOptions& options,
                                     const std::vector<TxId>& taken_back, Overlay& staged,
                                     LaterHistory& since) {
  RebaseOptions rebasing = rebase_options(record.id, options);
  GALLEY_ASSIGN(RebaseOutcome outcome, rebase(reverse.change, staged, rebasing));
  bool may_be_elsewhere = std::holds_alternative<RebaseConflict>(outcome);
  if (!may_be_elsewhere && !is_exact(outcome)) {
    GALLEY_ASSIGN(may_be_elsewhere, is_renamed_since(history, record.id, paths_of(reverse.change)));
  }
  if (!may_be_elsewhere) return outcome;
  GALLEY_ASSIGN(since, later_history_of(history, record.id, record.proposal,
                                        paths_of(reverse.change), taken_back));
  if (since.moved.empty()) return outcome;
  rebasing.moved = since.moved;
  return rebase(reverse.change, staged, rebasing);
}

/// Adds what the next rebase merged; its renames move the files that are known.
void add_merged(Rebased& rebased, std::vector<MergedPath>& merged) {
  std::vector<MergedPath> found = std::exchange(merged, {});
  for (MergedPath& known : found) {
    const ChangeSet& changes = rebased.proposal.changes();
    const auto moved = std::ranges::find(changes, known.path, &Change::renamed_from);
    if (moved != changes.end()) known.path = moved->path;
  }
  found.insert(found.end(), rebased.merged.begin(), rebased.merged.end());
  for (MergedPath& one : found) {
    const auto known = std::ranges::find(merged, one.path, &MergedPath::path);
    if (known == merged.end()) {
      merged.push_back(std::move(one));
    } else if (one.markers > 0) {
      known->how = std::move(one.how);
      known->markers += one.markers;
    }
  }
}

/// The paths that a pathspec names. The name of a path, or of a directory above one, is no pattern.
std::vector<RelPath> named_paths(const RelPath& pathspec, const std::vector<RelPath>& all) {
  std::vector<RelPath> literal;
  std::vector<RelPath> out;
  for (const RelPath& path : all) {
    if (path == pathspec || path.is_below(pathspec)) literal.push_back(path);
    if (pathspec_names(pathspec.str(), path.str())) out.push_back(path);
  }
  return literal.empty() ? out : literal;
}

/// The files that several transactions have under the named paths, with all names that renames in
/// these transactions gave them.
class FilesOfSeveral {
 public:
  /// Errors: kUsage `undo.unknown_path`.
  static Result<FilesOfSeveral> find(const History& history, const std::vector<TxId>& ids,
                                     const std::vector<RelPath>& wanted) {
    FilesOfSeveral files;
    std::set<RelPath> changed;
    std::vector<std::pair<RelPath, RelPath>> renames;
    for (const TxId id : ids) {
      GALLEY_ASSIGN(const auto transaction, history.outline(id));
      for (const Change& change : transaction->changes) {
        changed.insert(change.path);
        if (change.renamed_from) renames.emplace_back(change.path, *change.renamed_from);
      }
    }
    for (const RelPath& one : wanted) {
      const auto named = named_paths(one, {changed.begin(), changed.end()});
      if (named.empty()) return unknown(one, changed);
      files.names_.insert(named.begin(), named.end());
    }
    for (bool grows = !renames.empty(); grows;) {
      grows = false;
      for (const auto& [path, from] : renames) {
        if (files.has(path) == files.has(from)) continue;
        files.names_.insert({path, from});
        grows = true;
      }
    }
    return files;
  }

  [[nodiscard]] bool has(const RelPath& path) const { return names_.contains(path); }

 private:
  static tl::unexpected<Error> unknown(const RelPath& wanted, const std::set<RelPath>& changed) {
    std::vector<std::string> paths;
    for (const RelPath& path : changed) paths.push_back(path.str());
    const auto near = nearest_pathspec(wanted.str(), paths);
    return fail(ErrorKind::kUsage, "undo.unknown_path",
                "none of these transactions changed '" + wanted.str() + "'" +
                    (near ? "; did you mean '" + *near + "'?" : ""),
                wanted.str());
  }

  std::set<RelPath> names_;
};

ReverseChange reverse_below(const TxRecord& record, const FilesOfSeveral& files);

/// The transactions of which this one undid parts; none if it is not such an undo.
Result<std::vector<TxId>> undone_in_part(const History& history, TxId id) {
  std::vector<TxId> undone;
  const auto transaction = history.outline(id);
  if (!transaction && transaction.error().kind == ErrorKind::kNotFound) return undone;  // pruned
  if (!transaction) return fail(transaction.error());
  const CommitMeta& meta = (*transaction)->journal.meta;
  if (!is_partial(meta.tool) || !meta.undoes) return undone;
  return undone_of(meta);
}

/// Leaves out undos of parts that also took back transactions which are not in the list.
Result<void> drop_undos_of_others(const History& history, std::vector<TxId>& ids) {
  const std::set<TxId> known(ids.begin(), ids.end());
  const auto is_known = [&](TxId id) { return known.contains(id); };
  std::vector<TxId> left;
  for (const TxId id : ids) {
    GALLEY_ASSIGN(const auto undone, undone_in_part(history, id));
    const auto count = std::ranges::count_if(undone, is_known);
    if (count == 0 || std::cmp_equal(count, undone.size())) left.push_back(id);
  }
  ids = std::move(left);
  return {};
}

}  // namespace

Result<UndoOutcome> plan_undo_together(const History& history, const Directory& workspace,
                                       std::vector<TxId> ids, const Clock& clock,
                                       const UndoOptions& options) {
  if (ids.size() > kMaxUndoneTogether) {
    return fail(ErrorKind::kQuota, "limit.undone_together",
                "one undo takes back at most " + std::to_string(kMaxUndoneTogether) +
                    " transactions, not " + std::to_string(ids.size()) +
                    "; undo the newest turns first with: galley undo --turn N");
  }
  GALLEY_TRY(drop_undos_of_others(history, ids));
  std::sort(ids.begin(), ids.end(), std::greater<>());
  std::optional<FilesOfSeveral> files;
  if (!options.paths.empty()) {
    GALLEY_ASSIGN(files, FilesOfSeveral::find(history, ids, options.paths));
  }
  Overlay staged(workspace, make_memory_store(), clock);
  UndoPlan plan{TxId(), {}, {}, std::string(kUndoTool), "", Proposal::from({}, nullptr), {}, {}};
  std::vector<TxId> undone;
  bool is_part = false;
  for (const TxId id : ids) {
    GALLEY_ASSIGN(const TxRecord record, history.load(id));
    GALLEY_ASSIGN(ReverseChange reverse,
                  files ? reverse_below(record, *files) : reverse_of(id, record.proposal, options));
    if (files && reverse.change.is_empty()) continue;
    GALLEY_TRY(begin_at_kept_directories(history, id, undone, staged, reverse.change));
    is_part = is_part || reverse.is_partial;
    LaterHistory since;
    GALLEY_ASSIGN(RebaseOutcome outcome,
                  rebase_reverse(history, record, reverse, options, undone, staged, since));
    undone.push_back(id);
    if (auto* conflict = std::get_if<RebaseConflict>(&outcome)) {
      return UndoOutcome(
          UndoConflict{id, std::move(conflict->paths), std::move(since.dependencies)});
    }
    auto& rebased = std::get<Rebased>(outcome);
    if (rebased.proposal.is_empty()) plan.passed.push_back(id);
    GALLEY_TRY(stage_rebased(rebased.proposal, staged));
    add_merged(rebased, plan.merged);
  }
  plan.proposal = Proposal::freeze(staged);
  if (plan.proposal.is_empty()) return UndoOutcome(NothingToUndo{ids.front()});
  if (is_part || undone.size() < ids.size()) plan.tool = kPartialUndoTool;
  plan.undoes = undone.front();
  plan.also_undoes.assign(undone.begin() + 1, undone.end());
  plan.message = "undo " + named_ids(undone);
  // Undos alone are taken back: that is a redo.
  for (const TxId id : undone) {
    GALLEY_ASSIGN(const bool takes_back, is_undo(history, id));
    if (!takes_back) return UndoOutcome(std::move(plan));
  }
  plan.tool = std::string(is_partial(plan.tool) ? kPartialRedoTool : kRedoTool);
  return UndoOutcome(std::move(plan));
}

std::vector<TxId> ids_in_effect(const std::vector<TxSummary>& transactions) {
  std::set<TxId> known;
  for (const TxSummary& one : transactions) known.insert(one.id);
  std::vector<TxId> ids;
  std::set<TxId> parts;
  for (const TxSummary& one : transactions) {
    const bool is_undo_within = one.undoes && !is_partial(one.tool) && known.contains(*one.undoes);
    if (one.undone_by || is_undo_within || !one.problem.empty()) continue;
    ids.push_back(one.id);
    parts.insert(one.partly_undone_by.begin(), one.partly_undone_by.end());
  }
  for (const TxId id : ids) parts.erase(id);
  ids.insert(ids.end(), parts.begin(), parts.end());
  std::sort(ids.begin(), ids.end(), std::greater<>());
  return ids;
}

Result<UndoOutcome> plan_redo(const History& history, const Directory& workspace, TxId id,
                              const Clock& clock, const UndoOptions& options) {
  GALLEY_ASSIGN(const TxId undo, undo_to_take_back(history, id));
  return plan_undo(history, workspace, undo, clock, options);
}

namespace {

tl::unexpected<Error> undo_of_more(const std::string& turn, TxId undo,
                                   const std::vector<TxId>& others) {
  return fail(ErrorKind::kUsage, "undo.of_more",
              "turn " + turn + " was undone by transaction " + undo.str() + ", which also undid " +
                  named_ids(others) + "; bring all of that back with: galley redo " + undo.str());
}

}  // namespace

Result<UndoOutcome> plan_redo_together(const History& history, const Directory& workspace,
                                       const std::vector<TxSummary>& transactions,
                                       const std::string& turn, const Clock& clock,
                                       const UndoOptions& options) {
  std::set<TxId> own;
  std::set<TxId> undos;
  for (const TxSummary& one : transactions) own.insert(one.id);
  bool is_in_effect = false;
  for (const TxSummary& one : transactions) {
    is_in_effect = is_in_effect || !one.undone_by;
    if (one.undone_by) undos.insert(*one.undone_by);
    undos.insert(one.partly_undone_by.begin(), one.partly_undone_by.end());
  }
  // The turn's own undos are what it did.
  for (const TxId id : own) undos.erase(id);
  if (undos.empty()) {
    return fail(ErrorKind::kUsage, "undo.not_undone",
                "turn " + turn + " is not undone, so there is nothing to redo");
  }
  for (const TxId undo : undos) {
    GALLEY_ASSIGN(const auto transaction, history.outline(undo));
    std::vector<TxId> others;
    for (const TxId id : undone_of(transaction->journal.meta)) {
      GALLEY_ASSIGN(const auto parts, undone_in_part(history, id));
      const bool is_of_own =
          !parts.empty() &&
          std::all_of(parts.begin(), parts.end(), [&](TxId part) { return own.contains(part); });
      if (!own.contains(id) && !is_of_own) others.push_back(id);
    }
    if (!others.empty()) return undo_of_more(turn, undo, others);
  }
  GALLEY_ASSIGN(
      UndoOutcome outcome,
      plan_undo_together(history, workspace, {undos.begin(), undos.end()}, clock, options));
  if (auto* plan = std::get_if<UndoPlan>(&outcome)) {
    plan->tool = is_partial(plan->tool) ? kPartialRedoTool : kRedoTool;
    plan->redoes = {*own.begin()};
    plan->turn = turn;
    plan->is_rest = is_in_effect;
    plan->message = "redo turn " + turn;
  }
  return outcome;
}

namespace {

bool is_directory_change(const Change& change) {
  return (change.before.kind == FileKind::kDirectory ||
          change.after.kind == FileKind::kDirectory) &&
         (change.is_create() || change.is_delete());
}

tl::unexpected<Error> not_changed(TxId id, const ChangeSet& changes, const RelPath& wanted) {
  std::vector<std::string> paths;
  for (const Change& change : changes) paths.push_back(change.path.str());
  const auto near = nearest_pathspec(wanted.str(), paths);
  return fail(ErrorKind::kUsage, "undo.unknown_path",
              "transaction " + id.str() + " did not change '" + wanted.str() + "'; " +
                  (near ? "did you mean '" + *near + "'? " : "") + "`galley show " + id.str() +
                  "` lists what it changed",
              wanted.str());
}

/// The paths of a transaction to undo.
class Selection {
 public:
  Selection(TxId id, const ChangeSet& changes) : id_(id), changes_(&changes) {
    for (const Change& change : changes) {
      if (!change.renamed_from) continue;
      partner_.emplace(change.path, *change.renamed_from);
      partner_.emplace(*change.renamed_from, change.path);
    }
  }

  void take_all() {
    for (const Change& change : *changes_) taken_.insert(change.path);
  }

  Result<void> take(const RelPath& wanted) {
    std::vector<RelPath> all;
    for (const Change& change : *changes_) all.push_back(change.path);
    const std::vector<RelPath> named = named_paths(wanted, all);
    for (const RelPath& path : named) take_with_partner(path);
    if (!named.empty()) return {};
    return not_changed(id_, *changes_, wanted);
  }

  void take_if(const FilesOfSeveral& files) {
    for (const Change& change : *changes_) {
      if (files.has(change.path)) take_with_partner(change.path);
    }
  }

  /// Adds the directories that the selected paths need, or that they leave empty.
  void take_directories() {
    for (const Change& change : *changes_) {
      if (!is_directory_change(change) || taken_.contains(change.path)) continue;
      const auto below = taken_.upper_bound(change.path);
      const bool is_above_taken = std::any_of(
          below, taken_.end(), [&](const RelPath& path) { return path.is_below(change.path); });
      if (is_above_taken) taken_.insert(change.path);
    }
  }

  [[nodiscard]] bool has(const RelPath& path) const { return taken_.contains(path); }
  [[nodiscard]] bool is_everything() const { return taken_.size() == changes_->size(); }

 private:
  void take_with_partner(const RelPath& path) {
    if (!taken_.insert(path).second) return;
    const auto [begin, end] = partner_.equal_range(path);
    for (auto it = begin; it != end; ++it) take_with_partner(it->second);
  }

  TxId id_;
  const ChangeSet* changes_;
  std::multimap<RelPath, RelPath> partner_;
  std::set<RelPath> taken_;
};

/// The after side without some hunks.
std::string without_hunks(const ProposedFileDiff& file, const std::set<size_t>& ranges) {
  const Lines before(*file.before);
  const Lines after(*file.after);
  std::string text;
  size_t copied = 0;
  for (size_t i = 0; i < file.diff.script.size(); ++i) {
    const ChangedRange& range = file.diff.script[i];
    text += after.span(copied, range.new_begin);
    text += ranges.contains(i) ? before.span(range.old_begin, range.old_end)
                               : after.span(range.new_begin, range.new_end);
    copied = range.new_end;
  }
  text += after.span(copied, after.size());
  return text;
}

/// Script ranges of the chosen hunks, counted from 1.
Result<std::set<size_t>> ranges_of(TxId id, const HunkSelection& chosen,
                                   const ProposedFileDiff& file) {
  std::set<size_t> ranges;
  for (const uint32_t hunk : chosen.hunks) {
    if (hunk == 0 || hunk > file.diff.hunks.size()) {
      return fail(ErrorKind::kUsage, "undo.unknown_hunk",
                  "transaction " + id.str() + " has " + counted(file.diff.hunks.size(), "hunk") +
                      " in '" + chosen.path.str() + "', so there is no hunk " +
                      std::to_string(hunk),
                  chosen.path.str());
    }
    const HunkSpan& span = file.diff.hunks[hunk - 1].span;
    for (size_t i = span.first_change; i < span.last_change; ++i) ranges.insert(i);
  }
  return ranges;
}

Change reversed_change(const Change& change) {
  return Change{change.path, change.after, change.before, {}, {}, {}};
}

class Reversal {
 public:
  Reversal(TxId id, const Proposal& transaction)
      : id_(id),
        transaction_(&transaction),
        store_(std::make_shared<LayeredStore>(
            std::vector<std::shared_ptr<const ContentStore>>{transaction.store()})) {}

  void add_whole(const Selection& selection) {
    for (const Change& change : transaction_->changes()) {
      if (!selection.has(change.path)) continue;
      result_.try_emplace(change.path, reversed_change(change));
    }
    for (const Change& change : transaction_->changes()) {
      if (!change.renamed_from || !selection.has(change.path)) continue;
      const auto source = result_.find(*change.renamed_from);
      if (source != result_.end() && source->second.is_create()) {
        source->second.renamed_from = change.path;
      }
    }
  }

  Result<void> add_hunks(const HunkSelection& chosen) {
    ProposalDiffOptions options;
    options.find_renames = false;
    GALLEY_ASSIGN(const auto files, diff_proposal(*transaction_, options));
    const auto file = std::find_if(files.begin(), files.end(), [&](const ProposedFileDiff& one) {
      return one.diff.new_path == chosen.path.str();
    });
    const auto change = std::ranges::find(transaction_->changes(), chosen.path, &Change::path);
    const bool has_hunks = file != files.end() && change != transaction_->changes().end() &&
                           !file->diff.script.empty() && change->after.kind == FileKind::kRegular &&
                           !change->is_type_change();
    if (!has_hunks || (change->is_create() && !change->renamed_from)) {
      return fail(ErrorKind::kUsage, "undo.unknown_hunk",
                  "transaction " + id_.str() + " has no hunks in '" + chosen.path.str() +
                      "' that can be taken back one by one; undo the whole file",
                  chosen.path.str());
    }
    GALLEY_ASSIGN(const std::set<size_t> ranges, ranges_of(id_, chosen, *file));
    std::string text = without_hunks(*file, ranges);
    Node target = change->after;
    target.size = text.size();
    GALLEY_ASSIGN(target.content, store_->put(std::move(text)));
    result_.insert_or_assign(chosen.path, Change{chosen.path, change->after, target, {}, {}, {}});
    return {};
  }

  Proposal finish() {
    ChangeSet changes;
    for (auto& [path, change] : result_) changes.push_back(std::move(change));
    return Proposal::from(std::move(changes), store_);
  }

 private:
  TxId id_;
  const Proposal* transaction_;
  std::shared_ptr<LayeredStore> store_;
  std::map<RelPath, Change> result_;
};

/// The part of a transaction that has these files, reversed. Empty if it has none.
ReverseChange reverse_below(const TxRecord& record, const FilesOfSeveral& files) {
  Selection selection(record.id, record.proposal.changes());
  selection.take_if(files);
  selection.take_directories();
  Reversal reversal(record.id, record.proposal);
  reversal.add_whole(selection);
  return ReverseChange{reversal.finish(), !selection.is_everything()};
}

}  // namespace

Result<ReverseChange> reverse_of(TxId id, const Proposal& transaction, const UndoOptions& options) {
  Selection selection(id, transaction.changes());
  if (options.paths.empty() && options.hunks.empty()) selection.take_all();
  for (const RelPath& path : options.paths) GALLEY_TRY(selection.take(path));
  selection.take_directories();
  Reversal reversal(id, transaction);
  reversal.add_whole(selection);
  std::map<RelPath, HunkSelection> chosen;  // a file may be named several times
  for (const HunkSelection& one : options.hunks) {
    if (selection.has(one.path)) continue;
    if (find_change(transaction.changes(), one.path) == nullptr) {
      return not_changed(id, transaction.changes(), one.path);
    }
    const auto [known, is_new] = chosen.emplace(one.path, one);
    if (!is_new)
      known->second.hunks.insert(known->second.hunks.end(), one.hunks.begin(), one.hunks.end());
  }
  for (const auto& [path, hunks] : chosen) GALLEY_TRY(reversal.add_hunks(hunks));
  return ReverseChange{reversal.finish(), !selection.is_everything()};
}

}  // namespace galley
