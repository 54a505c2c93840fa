#include "engine/history/dependency.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "engine/commit/history_reader.h"
#include "staging/printing/git_diff.h"
#include "staging/text/diff.h"

namespace galley {
namespace {

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

}  // namespace

std::string Dependency::text() const {
  return later.str() + " builds on " + on.str() + " in " + path.str();
}

Result<LaterHistory> later_history_of(const History& history, TxId id, const Proposal& transaction,
                                      const std::vector<RelPath>& paths) {
  GALLEY_ASSIGN(const std::vector<TxId> ids, history.ids());
  std::map<TxId, CommitMeta> metas;
  for (const TxId later : ids) {
    if (later <= id) continue;
    GALLEY_ASSIGN(const auto journal, history.outline(later));
    metas.emplace(later, journal->journal.meta);
  }
  UndoRelations relations;
  for (auto it = metas.rbegin(); it != metas.rend(); ++it) relations.take(it->first, it->second);
  Follower follower(id, transaction, paths);
  GALLEY_TRY(follower.begin());
  for (const auto& [later, meta] : metas) {
    GALLEY_ASSIGN(const Proposal proposal, history.proposal_of(later));
    // A later change and its undo cancel out, so nothing depends on them.
    const bool is_undone = relations.undone_by(later).has_value();
    const bool takes_back_later =
        meta.undoes && *meta.undoes > id && !is_undone && meta.tool != kPartialUndoTool;
    GALLEY_TRY(follower.follow(later, proposal, !is_undone && !takes_back_later));
  }
  return follower.finish();
}

}  // namespace galley
