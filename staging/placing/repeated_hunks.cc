#include "staging/placing/repeated_hunks.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "staging/placing/explain.h"
#include "staging/placing/hunk_text.h"
#include "staging/text/fold.h"
#include "staging/text/lines.h"

namespace galley {
namespace {

constexpr const char* kRule = "repeated_hunk";

bool are_same(const Hunk& one, const Hunk& other) {
  const auto is_same = [](const HunkLine& a, const HunkLine& b) {
    return a.role == b.role && without_terminator(a.text) == without_terminator(b.text);
  };
  return one.has_numbers == other.has_numbers &&
         (!one.has_numbers || one.old_start == other.old_start) && one.anchors == other.anchors &&
         std::equal(one.lines.begin(), one.lines.end(), other.lines.begin(), other.lines.end(),
                    is_same);
}

/// For each repeated hunk: the index of the earlier one.
std::map<size_t, size_t> repeated_hunks(const FileEdit& edit, const std::vector<int64_t>& places) {
  std::map<size_t, size_t> out;
  std::map<int64_t, size_t> first;  // by place
  for (size_t i = 0; i < places.size(); ++i) {
    if (places[i] < 0 || pre_image(edit.hunks[i]).empty()) continue;
    const auto [at, is_new] = first.try_emplace(places[i], i);
    if (!is_new && are_same(edit.hunks[i], edit.hunks[at->second])) out.emplace(i, at->second);
  }
  return out;
}

}  // namespace

std::optional<PlacedEdits> place_repeated_hunks_once(FileIndex& index, const FileEdit& edit,
                                                     const MatchOptions& options,
                                                     const std::vector<int64_t>& places) {
  std::map<size_t, size_t> repeated = repeated_hunks(edit, places);
  const bool is_strict = options.is_strict(kRule);
  std::erase_if(repeated,
                [&](const auto& one) { return is_strict && edit.hunks[one.first].has_numbers; });
  if (repeated.empty()) return std::nullopt;
  FileEdit rest = edit;
  rest.hunks.clear();
  std::vector<size_t> kept;  // the indices of the other hunks
  for (size_t i = 0; i < edit.hunks.size(); ++i) {
    if (repeated.contains(i)) continue;
    kept.push_back(i);
    rest.hunks.push_back(edit.hunks[i]);
  }
  // The last hunk has all lines of an earlier one, so it is not cut off.
  if (kept.back() + 1 < edit.hunks.size()) rest.doubt.reset();
  PlacedEdits out = place_hunks(index, rest, options);
  if (!out.failures.empty() || out.placements.size() != kept.size()) return std::nullopt;
  for (size_t k = 0; k < kept.size(); ++k) out.placements[k].edit = kept[k];
  const std::vector<std::string> ids = edit_ids(edit);
  for (const auto& [i, other] : repeated) {
    const Hunk& hunk = edit.hunks[i];
    if (!hunk.has_numbers) {
      out.failures.push_back(explain_repeated({hunk, i, ids[i], pre_image(hunk), -1}, other));
      continue;
    }
    const auto first = std::find(kept.begin(), kept.end(), other);
    Placement again = out.placements[static_cast<size_t>(first - kept.begin())];
    again.edit = i;
    again.id = ids[i];
    out.placements.push_back(std::move(again));
    out.leniencies.push_back({kRule,
                              "the hunk is sent twice, with the same numbers and lines; its change "
                              "was made once",
                              edit.path, hunk.document_line});
  }
  std::sort(out.placements.begin(), out.placements.end(),
            [](const Placement& a, const Placement& b) { return a.edit < b.edit; });
  return out;
}

}  // namespace galley
