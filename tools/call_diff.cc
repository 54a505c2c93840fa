#include "tools/call_diff.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"
#include "staging/overlay/proposal_diff.h"
#include "staging/printing/git_diff.h"
#include "staging/text/lines.h"

namespace galley {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMembersOfAnAnswer = 12;

uint32_t git_mode_of(const Node& node) {
  switch (node.kind) {
    case FileKind::kRegular:
      return (node.mode & 0100U) != 0 ? git_mode::kExecutable : git_mode::kRegular;
    case FileKind::kSymlink:
      return git_mode::kSymlink;
    case FileKind::kAbsent:
    case FileKind::kDirectory:
    case FileKind::kOther:
      return git_mode::kAbsent;
  }
  return git_mode::kAbsent;
}

const char* change_name(const Node& before, const Node& after) {
  if (before.kind == FileKind::kAbsent) return "create";
  if (after.kind == FileKind::kAbsent) return "delete";
  if (before.kind != after.kind) return "type";
  return before.content == after.content ? "mode" : "modify";
}

void put_lines(const Lines& lines, uint32_t begin, uint32_t end, char sign, ordered_json& out) {
  for (uint32_t i = begin; i < end; ++i) {
    std::string line(1, sign);
    std::string_view text = lines[i];
    if (text.ends_with('\n')) text.remove_suffix(1);
    out.push_back(line.append(text));
    if (!lines[i].ends_with('\n')) out.push_back("\\ No newline at end of file");
  }
}

ordered_json structured_hunk(const FileDiff& diff, const HunkSpan& span, const Lines& before,
                             const Lines& after) {
  ordered_json hunk;
  const auto start = [](uint32_t begin, uint32_t end) { return begin == end ? begin : begin + 1; };
  hunk["oldStart"] = start(span.old_begin, span.old_end);
  hunk["oldLines"] = span.old_end - span.old_begin;
  hunk["newStart"] = start(span.new_begin, span.new_end);
  hunk["newLines"] = span.new_end - span.new_begin;
  ordered_json lines = ordered_json::array();
  uint32_t old_at = span.old_begin;
  for (size_t i = span.first_change; i < span.last_change; ++i) {
    const ChangedRange& range = diff.script[i];
    put_lines(before, old_at, range.old_begin, ' ', lines);
    put_lines(before, range.old_begin, range.old_end, '-', lines);
    put_lines(after, range.new_begin, range.new_end, '+', lines);
    old_at = range.old_end;
  }
  put_lines(before, old_at, span.old_end, ' ', lines);
  hunk["lines"] = std::move(lines);
  return hunk;
}

ordered_json structured_patch(const FilePair& pair, const FileDiff& diff) {
  ordered_json hunks = ordered_json::array();
  const Lines before(pair.old_content);
  const Lines after(pair.new_content);
  for (const FileHunk& hunk : diff.hunks) {
    hunks.push_back(structured_hunk(diff, hunk.span, before, after));
  }
  return hunks;
}

/// Appends the diff of one file to `text`. With `is_single`, its hunks go into `data`, too.
void add_file(const FilePair& files, bool is_single, std::string& text, ordered_json& data) {
  DiffOptions options;
  options.binary = false;
  const FileDiff diff = diff_file(files, options);
  append_git_diff(files, diff, options, text);
  const size_t changed_bytes = diff.counts.added + diff.counts.removed;
  if (is_single && changed_bytes <= CallDiff::kMaxDiffBytes) {
    data["structuredPatch"] = structured_patch(files, diff);
  }
}

void put_text(std::string text, bool is_cut, ordered_json& data) {
  if (text.size() > CallDiff::kMaxDiffBytes) {
    text.resize(text.rfind('\n', CallDiff::kMaxDiffBytes) + 1);
    is_cut = true;
  }
  if (!is_utf8(text)) data["diffIsLossy"] = true;  // JSON cannot hold the other bytes
  if (is_cut) data["diffTruncated"] = true;
  data["diff"] = std::move(text);
}

}  // namespace

void CallDiff::put_between(const RelPath& path, std::string_view before, std::string_view after,
                           ordered_json& data) {
  FilePair files;
  files.old_path = files.new_path = path.str();
  files.old_mode = files.new_mode = git_mode::kRegular;
  files.old_content = before;
  files.new_content = after;
  std::string text;
  add_file(files, true, text, data);
  put_text(std::move(text), false, data);
}

Result<CallDiff::Side> CallDiff::look(Overlay& overlay, const RelPath& path) {
  Side side;
  GALLEY_ASSIGN(side.node, overlay.node(path));
  if (side.node.kind == FileKind::kRegular && side.node.size > kMaxDiffedBytes) {
    side.content = stand_in(side.node);
  } else if (side.node.kind == FileKind::kRegular) {
    GALLEY_ASSIGN(side.content, overlay.read(path));
  } else if (side.node.kind == FileKind::kSymlink) {
    GALLEY_ASSIGN(std::string target, overlay.read_link(path));
    side.content = std::make_shared<const std::string>(std::move(target));
  }
  return side;
}

Result<CallDiff> CallDiff::watch(Overlay& overlay, const std::vector<RelPath>& paths) {
  CallDiff diff(overlay);
  std::vector<RelPath> sorted = paths;
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  for (const RelPath& path : sorted) {
    GALLEY_ASSIGN(Side before, look(overlay, path));
    diff.watched_.push_back({path, std::move(before), {}});
  }
  return diff;
}

CallDiff CallDiff::watch_all(Overlay& overlay) {
  CallDiff diff(overlay);
  diff.entries_ = overlay.entries();
  return diff;
}

Result<std::vector<CallDiff::Pair>> CallDiff::changed_pairs() {
  std::vector<Pair> pairs;
  if (!entries_) {
    for (Pair& pair : watched_) {
      GALLEY_ASSIGN(pair.after, look(*overlay_, pair.path));
      if (pair.before.node != pair.after.node) pairs.push_back(pair);
    }
    return pairs;
  }
  const Overlay::Entries now = overlay_->entries();
  std::vector<std::pair<RelPath, Node>> changed;
  Overlay::Entries::differences(
      *entries_, now, [&changed](const RelPath& path, const auto* known, const auto* entry) {
        if (entry == nullptr) return;
        const Node& before = known == nullptr ? entry->before : known->now;
        if (before != entry->now) changed.emplace_back(path, before);
      });
  for (auto& [path, node] : changed) {
    Pair pair{path, {node, nullptr}, {}};
    GALLEY_ASSIGN(pair.after, look(*overlay_, path));
    pairs.push_back(std::move(pair));
  }
  // The contents of `before` are read through the entries of `before`. Then those of `now` are
  // restored.
  overlay_->restore(*entries_);
  for (Pair& pair : pairs) {
    auto before = look(*overlay_, pair.path);
    if (!before) {
      overlay_->restore(now);
      return fail(std::move(before.error()));
    }
    pair.before = std::move(*before);
  }
  overlay_->restore(now);
  return pairs;
}

Result<void> CallDiff::finish(ordered_json& data,
                              const std::function<bool(const RelPath&)>& may_read) {
  GALLEY_ASSIGN(const std::vector<Pair> pairs, changed_pairs());
  // A member that is added to a full object copies the members before it, also the diff.
  if (data.is_object()) data.get_ref<ordered_json::object_t&>().reserve(kMembersOfAnAnswer);
  std::string text;
  bool is_cut = false;
  ordered_json changes = ordered_json::array();
  for (const Pair& pair : pairs) {
    if (changes.size() < kMaxListedChanges) {
      changes.push_back(
          {{"path", pair.path.str()}, {"change", change_name(pair.before.node, pair.after.node)}});
    } else {
      data["changesTruncated"] = true;
    }
    if (may_read && !may_read(pair.path)) {
      if (data["diffLeftOut"].size() < kMaxListedChanges) {
        data["diffLeftOut"].push_back(pair.path.str());
      }
      continue;
    }
    FilePair files;
    files.old_path = files.new_path = pair.path.str();
    files.old_mode = git_mode_of(pair.before.node);
    files.new_mode = git_mode_of(pair.after.node);
    if (files.old_mode == git_mode::kAbsent && files.new_mode == git_mode::kAbsent) continue;
    if (pair.before.content) files.old_content = *pair.before.content;
    if (pair.after.content) files.new_content = *pair.after.content;
    is_cut = is_cut || text.size() > kMaxDiffBytes;
    if (is_cut && pairs.size() > 1) continue;
    add_file(files, pairs.size() == 1, text, data);
  }
  put_text(std::move(text), is_cut, data);
  data["changes"] = std::move(changes);
  return {};
}

}  // namespace galley
