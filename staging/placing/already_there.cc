#include "staging/placing/already_there.h"

#include <algorithm>
#include <string>

#include "staging/placing/anchors.h"
#include "staging/placing/hunk_text.h"

// When an edit counts as already applied:
//
// After the answer "already there" an agent continues. If the answer is wrong, the change is
// silently lost. So the file must have the context of the edit, and the new lines in it. A new line
// alone may be in the file for another reason.
//
// The opposite mistake is to add lines twice. An edit that only adds lines still fits after it was
// applied. It is refused if one of its old lines proves that. Otherwise (an insertion by line
// number, lines at the end) it is applied again, and the report mentions the equal neighbouring
// lines.

namespace galley {
namespace {

bool is_role(const HunkLine& line, LineRole role) { return line.role == role; }

/// True if each change without a telling new line has context before and after it.
bool frames_removals(const Hunk& hunk, bool is_at_start, bool is_at_end) {
  const std::vector<HunkLine>& lines = hunk.lines;
  for (size_t begin = 0; begin < lines.size();) {
    if (is_role(lines[begin], LineRole::kContext)) {
      ++begin;
      continue;
    }
    size_t end = begin;
    bool tells = false;
    for (; end < lines.size() && !is_role(lines[end], LineRole::kContext); ++end) {
      tells = tells || (is_role(lines[end], LineRole::kAdded) && is_telling_line(lines[end].text));
    }
    const bool is_framed = (begin > 0 || is_at_start) && (end < lines.size() || is_at_end);
    if (!tells && !is_framed) return false;
    begin = end;
  }
  return true;
}

bool tells_context(const Hunk& hunk) {
  return std::any_of(hunk.lines.begin(), hunk.lines.end(), [](const HunkLine& line) {
    return is_role(line, LineRole::kContext) && is_telling_line(line.text);
  });
}

/// The hunk that reverts the change, without anchors that the change removes.
Hunk reversed(const Hunk& hunk) {
  Hunk out = hunk;
  std::string one;
  std::string other;
  for (HunkLine& line : out.lines) {
    if (is_role(line, LineRole::kContext)) continue;
    line.role = is_role(line, LineRole::kAdded) ? LineRole::kRemoved : LineRole::kAdded;
    if (is_role(line, LineRole::kRemoved)) continue;
    std::erase_if(out.anchors, [&](std::string_view anchor) {
      return folded(anchor, LineFolding::kBlanks, one) ==
             folded(line.text, LineFolding::kBlanks, other);
    });
  }
  return out;
}

bool is_proved_at(FileIndex& index, const Hunk& hunk, const Hunk& back, int64_t start) {
  if (anchor_against(index, back, start)) return false;
  const bool is_at_number =
      hunk.has_numbers && hunk.counts_agree && start + 1 == static_cast<int64_t>(hunk.new_start);
  if (!tells_context(hunk)) return is_at_number;
  // Only at the start or end of the file may a diff with numbers lack context.
  const auto size = static_cast<int64_t>(index.lines().size());
  const int64_t end = start + static_cast<int64_t>(pre_image(back).size());
  const bool shows_ends = hunk.has_numbers || hunk.at_end;
  return frames_removals(hunk, shows_ends && start == 0, shows_ends && end == size);
}

bool is_at(std::string_view file, size_t at, std::string_view text) {
  return at <= file.size() && file.substr(at).starts_with(text);
}

bool begins_line(std::string_view file, size_t at) { return at == 0 || file[at - 1] == '\n'; }

bool ends_line(std::string_view file, size_t at) {
  return at == file.size() || begins_line(file, at) || file[at] == '\n' || is_at(file, at, "\r\n");
}

/// Whether the lines `before` and `behind` surround the old text at `offset`.
bool stand_around(std::string_view file, size_t offset, size_t length, std::string_view before,
                  std::string_view behind) {
  if (offset < before.size()) return false;
  const size_t begin = offset - before.size();
  const size_t end = offset + length + behind.size();
  return is_at(file, begin, before) && is_at(file, offset + length, behind) &&
         (before.empty() || begins_line(file, begin)) && (behind.empty() || ends_line(file, end));
}

}  // namespace

bool can_prove_applied(const Hunk& hunk) {
  return tells_context(hunk) && frames_removals(hunk, false, false);
}

int64_t already_there(FileIndex& index, const Hunk& hunk, int64_t stated) {
  const Hunk back = reversed(hunk);
  const std::vector<std::string_view> after = pre_image(back);
  const bool is_change = std::any_of(hunk.lines.begin(), hunk.lines.end(), [](const auto& line) {
    return !is_role(line, LineRole::kContext);
  });
  if (!is_change || !std::any_of(after.begin(), after.end(), is_telling_line)) return -1;
  const int64_t made = hunk.has_numbers && hunk.new_start > 0 ? hunk.new_start - 1 : stated;
  for (const int64_t at : {stated, made}) {
    const bool stands = at >= 0 && index.matches_at(after, at, LineFolding::kLineEnds);
    if (stands && is_proved_at(index, hunk, back, at)) return at;
  }
  constexpr size_t kTriedPlaces = 20;
  for (const uint32_t start : index.find(after, LineFolding::kLineEnds, kTriedPlaces)) {
    if (is_proved_at(index, hunk, back, start)) return start;
  }
  return -1;
}

int64_t new_lines_at(FileIndex& index, const Hunk& hunk) {
  const bool tells = std::any_of(hunk.lines.begin(), hunk.lines.end(), [](const HunkLine& line) {
    return is_role(line, LineRole::kAdded) && is_telling_line(line.text);
  });
  if (!tells) return -1;
  const auto starts = index.find(post_image(hunk), LineFolding::kLineEnds, 1);
  return starts.empty() ? -1 : static_cast<int64_t>(starts.front());
}

std::optional<size_t> equal_lines_next_to(std::string_view file, size_t offset,
                                          std::string_view old_text, std::string_view new_text) {
  // The new text may contain the old text at its start or end.
  const size_t first = new_text.find(old_text);
  if (first == std::string_view::npos) return std::nullopt;
  for (const size_t at : {first, new_text.rfind(old_text)}) {
    const std::string_view before = new_text.substr(0, at);
    const std::string_view behind = new_text.substr(at + old_text.size());
    const bool has_lines =
        before.find('\n') != std::string_view::npos || behind.find('\n') != std::string_view::npos;
    if (!has_lines || (!is_telling_line(before) && !is_telling_line(behind))) continue;
    if (stand_around(file, offset, old_text.size(), before, behind)) return offset - before.size();
  }
  return std::nullopt;
}

bool has_text_next_to(std::string_view file, size_t offset, std::string_view old_text,
                      std::string_view new_text) {
  const auto tells = [](std::string_view added) {
    return is_telling_line(added) && added.find('\n') == std::string_view::npos;
  };
  if (new_text.size() <= old_text.size()) return false;
  const size_t added = new_text.size() - old_text.size();
  if (new_text.starts_with(old_text) && tells(new_text.substr(old_text.size())) &&
      is_at(file, offset, new_text)) {
    return true;
  }
  return new_text.ends_with(old_text) && tells(new_text.substr(0, added)) && offset >= added &&
         is_at(file, offset - added, new_text);
}

Leniency same_lines_note(std::string_view path, size_t line, uint32_t document_line) {
  return {"repeated_lines",
          "what is added is next to its place already, at line " + std::to_string(line),
          std::string(path), document_line};
}

}  // namespace galley
