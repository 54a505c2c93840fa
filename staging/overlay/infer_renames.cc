#include "staging/overlay/infer_renames.h"

#include <map>
#include <utility>

#include "staging/printing/git_diff.h"
#include "staging/printing/rename.h"

namespace galley {
namespace {

/// If there are more pairs than the square of this number, only equal contents are paired: a
/// command may move a whole tree.
constexpr size_t kMaxSimilarRenames = 200;

RenameEnd end_of(const RelPath& path, const Node& node) {
  return {path.str(), node.kind == FileKind::kSymlink ? git_mode::kSymlink : git_mode::kRegular,
          node.size, node.content};
}

/// The paths that disappeared and appeared since `before`.
struct Ends {
  std::vector<RenameEnd> gone;
  std::vector<RenameEnd> made;
  /// The path in the workspace of each of `gone`; nothing for a file that was staged as new.
  std::vector<std::optional<RelPath>> origins;
  std::vector<RelPath> targets;
  uint64_t bytes = 0;
};

Ends ends_since(const Overlay::Entries& before, const Overlay::Entries& after) {
  Ends ends;
  const auto add = [&ends](const RelPath& path, const Overlay::Entry* known,
                           const Overlay::Entry* now) {
    if (now == nullptr) return;
    const Overlay::Entry& entry = *now;
    const Node& then = known == nullptr ? entry.before : known->now;
    const bool is_gone = is_file_or_link(then) && entry.now.kind == FileKind::kAbsent;
    const bool is_made = then.kind == FileKind::kAbsent && is_file_or_link(entry.now) &&
                         entry.before.kind == FileKind::kAbsent;
    if (is_gone) {
      std::optional<RelPath> origin;
      if (known != nullptr) origin = known->renamed_from;
      if (!origin && is_file_or_link(entry.before)) origin = path;
      ends.gone.push_back(end_of(path, then));
      ends.origins.push_back(std::move(origin));
    } else if (is_made) {
      ends.made.push_back(end_of(path, entry.now));
      ends.targets.push_back(path);
    } else {
      return;
    }
    ends.bytes += is_gone ? then.size : entry.now.size;
  };
  Overlay::Entries::differences(before, after, add);
  return ends;
}

}  // namespace

Result<void> infer_renames(const Overlay::Entries& before, Overlay& overlay) {
  const Ends ends = ends_since(before, overlay.entries());
  if (ends.gone.empty() || ends.made.empty()) return {};
  RenameOptions options;
  options.limit = ends.bytes > kMaxInferredRenameBytes ? 0 : kMaxSimilarRenames;
  Content held;
  const auto load = [&](const RenameEnd& end) -> Result<std::string_view> {
    GALLEY_ASSIGN(held, overlay.store()->get(end.content));
    return std::string_view(*held);
  };
  GALLEY_ASSIGN(const auto renames, find_renames(ends.gone, ends.made, options, load));
  if (renames.empty()) return {};
  Overlay::Entries entries = overlay.entries();
  for (const Rename& rename : renames) {
    const RelPath& to = ends.targets[rename.to];
    const std::optional<RelPath>& from = ends.origins[rename.from];
    if (from && *from != to) entries.change(to).renamed_from = from;
  }
  overlay.restore(std::move(entries));
  return {};
}

}  // namespace galley
