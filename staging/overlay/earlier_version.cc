#include "staging/overlay/earlier_version.h"

#include <algorithm>

#include "base/hash.h"
#include "staging/placing/correction.h"
#include "staging/printing/git_diff.h"
#include "staging/text/lines.h"
#include "staging/text/merge.h"

namespace galley {
namespace {

constexpr size_t kMaxShownBytes = size_t{16} << 10U;
/// Maximum number of bytes read for one edit. The report of a failure must not take longer than the
/// edit.
constexpr size_t kMaxBytes = size_t{32} << 20U;

std::string diff_of(const std::string& path, std::string_view before, std::string_view after) {
  FilePair pair;
  pair.old_path = pair.new_path = path;
  pair.old_mode = pair.new_mode = git_mode::kRegular;
  pair.old_content = before;
  pair.new_content = after;
  return git_diff(pair, {});
}

std::string cut(std::string text) {
  if (text.size() <= kMaxShownBytes) return text;
  text.resize(text.rfind('\n', kMaxShownBytes) + 1);
  return text + "…\n";
}

/// Merges the edit of `earlier` into the current file.
void carry_over(const std::string& path, const std::string& earlier, std::string_view now,
                const PlacedEdits& placed, EarlierMatch& out) {
  const std::string wanted = placed.splices.apply(earlier);
  const Lines base(earlier);
  const Lines ours(now);
  const Lines theirs(wanted);
  const Merge merge = merge_lines(base, ours, theirs);
  if (!merge.is_clean()) return;
  const std::string merged = merged_text(merge, base, ours, theirs);
  out.is_made = merged == now;
  std::string patch = out.is_made ? std::string() : diff_of(path, now, merged);
  if (patch.size() > kMaxShownBytes) return;
  const Hunk stated = hunk_between(base, theirs, diff_lines(base, theirs));
  if (makes_stated_change(ours, stated.lines, patch)) out.rebased = std::move(patch);
}

PlacedEdits place_on(const FileEdit& edit, const std::string& content, MatchOptions options) {
  options.base_is_proven.reset();
  if (!edit.old_blob.empty()) {
    options.base_is_proven = GitOid::of_blob(content).hex().starts_with(edit.old_blob);
  }
  return place_edits(content, edit, options);
}

}  // namespace

std::optional<EarlierMatch> find_earlier_match(const FileEdit& edit, const std::string& path,
                                               std::string_view now,
                                               const std::vector<EarlierVersion>& versions,
                                               const MatchOptions& options) {
  size_t looked_at = 0;
  for (const EarlierVersion& version : versions) {
    const std::string& content = *version.content;
    looked_at += content.size();
    if (looked_at > kMaxBytes) break;
    if (content == now) continue;
    const PlacedEdits placed = place_on(edit, content, options);
    if (!placed.failures.empty()) continue;
    EarlierMatch out{version.transaction, version.is_before, cut(diff_of(path, content, now)), {}};
    carry_over(path, content, now, placed, out);
    return out;
  }
  return std::nullopt;
}

bool was_made_since(const FileEdit& edit, const std::string& earlier, std::string_view now,
                    const MatchOptions& options) {
  if (earlier == now || earlier.size() > kMaxBytes) return false;
  const PlacedEdits placed = place_on(edit, earlier, options);
  if (!placed.failures.empty()) return false;
  EarlierMatch match;
  carry_over(edit.path, earlier, now, placed, match);
  return match.is_made;
}

}  // namespace galley
