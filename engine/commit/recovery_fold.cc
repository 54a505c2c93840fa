#include "engine/commit/recovery_fold.h"

#include <algorithm>

#include "engine/commit/mutant.h"
#include "engine/commit/slots.h"

namespace galley {
namespace {

bool is_same_content(const Node& a, const Node& b) {
  return a.kind == b.kind && a.content == b.content;
}

/// Written after the commit: our own inodes are older than the journal, and an old one that kept
/// its timestamp is known by it.
bool is_newer(const Fold& fold, const Seen& seen) {
  if (seen.node.kind != FileKind::kRegular && seen.node.kind != FileKind::kSymlink) return false;
  if (seen.stat.mtime_ns <= fold.journal->stamp_ns) return false;
  if (is_mutant(Mutant::kIgnoreTimestamps)) return false;
  return std::none_of(fold.known.begin(), fold.known.end(), [&](const Fold::Image& image) {
    return image.mtime_ns == seen.stat.mtime_ns && is_same_content(image.node, seen.node);
  });
}

}  // namespace

Folds fold_journals(const std::vector<JournalVerdict>& journals, const std::string& session) {
  Folds folds;
  for (const auto& verdict : journals) {
    const Journal& journal = verdict.journal;
    const bool is_unflushed = is_same_session(journal.unflushed_boot.value_or(""), session) &&
                              !is_mutant(Mutant::kUnflushedIsWritten);
    for (const auto& op : journal.ops) {
      Fold& fold = folds[op.path];
      fold.journal = &journal;
      fold.op = &op;
      fold.is_backward = journal.is_aborted && !is_mutant(Mutant::kAbortGoesForward);
      fold.target = fold.is_backward ? op.before : op.after;
      fold.may_be_torn = fold.may_be_torn || journal.boot != session || session.empty();
      fold.is_unflushed = fold.is_unflushed || is_unflushed;
      fold.known.push_back({op.before.node, op.before.mtime_ns, &journal, &op});
      fold.known.push_back({op.after.node, 0, &journal, &op});
      if (!op.renamed_from) continue;
      // A moved inode keeps the timestamp it had under its old name.
      for (const auto& source : journal.ops) {
        if (source.path == *op.renamed_from) fold.known.back().mtime_ns = source.before.mtime_ns;
      }
    }
  }
  return folds;
}

Result<Standing> judge(const Fold& fold, const Seen& seen, WorkspaceView& view) {
  if (seen.node == fold.target.node) return Standing::kDone;
  if (is_newer(fold, seen)) return Standing::kForeign;
  if (seen.node.kind == FileKind::kAbsent) {
    return is_known_kind(fold, FileKind::kAbsent) ? Standing::kKnown : Standing::kForeign;
  }
  for (const auto& image : fold.known) {
    if (image.node == seen.node) return Standing::kKnown;
  }
  // After a power cut a new inode may have its content and not yet its mode.
  const bool is_image =
      std::any_of(fold.known.begin(), fold.known.end(),
                  [&](const Fold::Image& image) { return is_same_content(image.node, seen.node); });
  if (fold.may_be_torn && is_image) return Standing::kKnown;
  // The right content under a mode of the chain's other side, mid-way between the two.
  if (is_same_content(seen.node, fold.target.node)) {
    const bool is_our_mode =
        std::any_of(fold.known.begin(), fold.known.end(),
                    [&](const Fold::Image& image) { return image.node.mode == seen.node.mode; });
    return is_our_mode ? Standing::kKnown : Standing::kForeign;
  }
  if (!fold.may_be_torn || seen.node.kind != FileKind::kRegular ||
      seen.node.size > kMaxImageBytes) {
    return Standing::kForeign;
  }
  GALLEY_ASSIGN(const Location at, view.locate(fold.op->path));
  GALLEY_ASSIGN(const std::string bytes, read_file(*at.directory, at.name, kMaxImageBytes));
  const bool is_torn = std::any_of(
      fold.known.begin(), fold.known.end(),
      [&](const Fold::Image& image) { return is_torn_image(bytes, *image.journal, *image.op); });
  return is_torn ? Standing::kKnown : Standing::kForeign;
}

bool is_known_kind(const Fold& fold, FileKind kind) {
  if (kind == FileKind::kAbsent) {
    const auto is_directory = [](const Fold::Image& image) {
      return image.node.kind == FileKind::kDirectory;
    };
    const auto count = std::count_if(fold.known.begin(), fold.known.end(), is_directory);
    if (count != 0 && static_cast<size_t>(count) != fold.known.size()) return true;
  }
  return std::any_of(fold.known.begin(), fold.known.end(),
                     [&](const Fold::Image& image) { return image.node.kind == kind; });
}

bool is_written_by_us(const Fold& fold) {
  const ContentId& wanted = fold.target.node.content;
  return fold.target.node.kind == FileKind::kRegular &&
         std::any_of(fold.known.begin(), fold.known.end(), [&](const Fold::Image& image) {
           return image.op->after.node.content == wanted && image.op->before.node.content != wanted;
         });
}

bool has_content_below(const Folds& folds, const RelPath& path) {
  // "a-b" sorts between "a" and "a/b": a common prefix is not yet below.
  for (auto at = folds.upper_bound(path);
       at != folds.end() && at->first.str().starts_with(path.str()); ++at) {
    if (at->first.is_below(path) && at->second.target.node.kind != FileKind::kAbsent) return true;
  }
  return false;
}

}  // namespace galley
