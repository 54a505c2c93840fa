#include "staging/placing/explain.h"

#include <xxhash.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "staging/placing/anchors.h"
#include "staging/placing/correction.h"
#include "staging/placing/damage.h"
#include "staging/placing/doubtful_place.h"
#include "staging/placing/hunk_text.h"
#include "staging/placing/place.h"
#include "staging/placing/reread.h"
#include "staging/text/fold.h"
#include "staging/text/lines.h"

namespace galley {
namespace {

/// The lines of a file that resemble a pre-image most, matched line by line.
struct NearPlace {
  size_t begin = 0;  ///< lines [begin, end) of the file
  size_t end = 0;
  /// For each line of the pre-image, the equal line of the file, or -1. Ascending.
  std::vector<int64_t> partner;
};

constexpr size_t kMaxAligned = 400;  ///< lines of the pattern; the table is quadratic
constexpr int64_t kSlack = 8;        ///< extra lines before and after the place

std::vector<std::string> folded_lines(const std::vector<std::string_view>& lines) {
  std::vector<std::string> out;
  out.reserve(lines.size());
  std::string storage;
  for (const std::string_view line : lines)
    out.emplace_back(folded(line, LineFolding::kBlanks, storage));
  return out;
}

/// A table of (n+1) x (m+1): the lengths of the longest common subsequences of all suffixes.
std::vector<uint16_t> lcs_table(const std::vector<std::string>& a,
                                const std::vector<std::string>& b) {
  std::vector<uint16_t> table((a.size() + 1) * (b.size() + 1), 0);
  for (size_t i = a.size(); i-- > 0;) {
    for (size_t j = b.size(); j-- > 0;) {
      const size_t here = i * (b.size() + 1) + j;
      const size_t down = here + b.size() + 1;
      table[here] = a[i] == b[j] ? static_cast<uint16_t>(table[down + 1] + 1)
                                 : std::max(table[down], table[here + 1]);
    }
  }
  return table;
}

/// Aligns `pattern` with the file's lines around `start` by their longest common subsequence.
NearPlace align_near(const Lines& file, const std::vector<std::string_view>& pattern,
                     int64_t start) {
  NearPlace near;
  const auto size = static_cast<int64_t>(file.size());
  const auto length = static_cast<int64_t>(pattern.size());
  near.partner.assign(pattern.size(), -1);
  const int64_t low = std::clamp<int64_t>(start - kSlack, 0, size);
  const int64_t high = std::clamp<int64_t>(start + length + kSlack, low, size);
  near.begin = static_cast<size_t>(std::clamp<int64_t>(start, 0, size));
  near.end = static_cast<size_t>(std::clamp<int64_t>(start + length, 0, size));
  if (pattern.size() > kMaxAligned) return near;
  const auto begin = static_cast<size_t>(low);
  const auto count = static_cast<size_t>(high - low);
  std::vector<std::string_view> around;
  for (size_t i = begin; i < begin + count; ++i) around.push_back(file[i]);
  const std::vector<std::string> wanted = folded_lines(pattern);
  const std::vector<std::string> there = folded_lines(around);
  const std::vector<uint16_t> table = lcs_table(wanted, there);
  for (size_t i = 0, j = 0; i < pattern.size() && j < count;) {
    const size_t here = i * (count + 1) + j;
    if (wanted[i] == there[j]) {
      near.partner[i++] = static_cast<int64_t>(begin + j++);
    } else if (table[here + count + 1] >= table[here + 1]) {
      ++i;
    } else {
      ++j;
    }
  }
  int64_t first = -1;
  int64_t last = -1;
  for (const int64_t line : near.partner) {
    if (line < 0) continue;
    if (first < 0) first = line;
    last = line;
  }
  if (first < 0) return near;
  // At both ends, count one line of the file for each unmatched line of the pattern.
  int64_t lead = 0;
  while (near.partner[static_cast<size_t>(lead)] < 0) ++lead;
  int64_t trail = 0;
  while (near.partner[pattern.size() - 1 - static_cast<size_t>(trail)] < 0) ++trail;
  near.begin = static_cast<size_t>(std::max<int64_t>(first - lead, 0));
  near.end = static_cast<size_t>(std::min<int64_t>(last + 1 + trail, size));
  return near;
}

constexpr int64_t kExcerptLines = 4;

EditFailure base_of(const FailedHunk& failed) {
  EditFailure out;
  out.edit = failed.edit;
  out.id = failed.id;
  out.document_line = failed.hunk.document_line;
  return out;
}

std::string hunk_name(const FailedHunk& failed) {
  std::string name = "hunk " + std::to_string(failed.edit + 1);
  if (failed.hunk.document_line > 0) {
    name += " (line " + std::to_string(failed.hunk.document_line) + " of the patch)";
  }
  return name;
}

std::string short_hash(std::string_view bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  const uint64_t hash = XXH3_64bits(bytes.data(), bytes.size());
  std::string out;
  for (int shift = 60; shift >= 28; shift -= 4) out.push_back(kDigits[hash >> shift & 0xfU]);
  return out;
}

}  // namespace

EditFailure explain_missing(FileIndex& index, const FailedHunk& failed, std::string_view path) {
  EditFailure out = base_of(failed);
  if (failed.pattern.empty()) {
    out.reason = "patch.no_context";
    out.message = hunk_name(failed) +
                  " has no context and no removed line to say where it belongs; give at least one "
                  "line that is next to the new ones";
    return out;
  }
  if (const int64_t line = already_there(index, failed.hunk, failed.stated); line >= 0) {
    out.reason = "patch.already_applied";
    out.message = hunk_name(failed) + ": this change is already there, at line " +
                  std::to_string(line + 1) + "; leave it out";
    out.nearest_line = static_cast<uint32_t>(line + 1);
    out.nearest_count = static_cast<uint32_t>(post_image(failed.hunk).size());
    return out;
  }
  out.reason = "patch.context_not_found";
  out.message =
      hunk_name(failed) + " does not fit '" + std::string(path) + "': its lines are not there";
  if (must_end_file(failed.hunk) && !index.find(failed.pattern, LineFolding::kBlanks, 1).empty()) {
    out.message += " at the end of the file, where it says they are";
  }
  for (size_t i = 0; i < failed.pattern.size() && i < kShownLines; ++i) {
    out.expected.emplace_back(failed.pattern[i]);
  }
  if (const auto anchor = missing_anchor(index, failed.hunk)) {
    out.message += ", nor is the anchor '@@ " + std::string(failed.hunk.anchors[*anchor]) + "'";
  }
  if (const int64_t line = new_lines_at(index, failed.hunk); line >= 0) {
    out.message += "; the lines that it writes instead are already at line " +
                   std::to_string(line + 1) + ": leave it out only if that is this change";
  }
  const auto nearest =
      index.nearest(failed.pattern, LineFolding::kBlanks, std::max<int64_t>(failed.stated, 0));
  if (nearest.votes == 0) return out;  // SearchHelp adds suggestions
  const NearPlace near = align_near(index.lines(), failed.pattern, nearest.start);
  out.nearest_line = static_cast<uint32_t>(near.begin + 1);
  out.nearest_count = static_cast<uint32_t>(near.end - near.begin);
  for (size_t i = near.begin; i < near.end && i - near.begin < kShownLines; ++i) {
    out.found.emplace_back(index.lines()[i]);
  }
  // The readings of a correction have lines of the file, with their newlines.
  Hunk hunk = failed.hunk;
  hunk.at_end = must_end_file(hunk);
  out.rebased = correction_of(index, hunk);
  const uint32_t rival = std::max(nearest.rival_votes, nearest.torn_rival_votes);
  if (out.rebased.empty() && rival + 1 < nearest.votes) {
    out.rebased = correction_at(index, hunk, nearest.start);
  }
  if (out.rebased.empty()) out.rebased = correction_of_reread(index, hunk);
  out.message += "; the nearest place is line " + std::to_string(out.nearest_line);
  if (out.rebased.empty()) out.message += ": write the lines as the file has them";
  return out;
}

void name_escapes(FileIndex& index, const FailedHunk& failed, EditFailure& out) {
  Hunk plain = failed.hunk;
  plain.lines.clear();
  std::deque<std::string> kept;
  std::string old_text;
  std::string new_text;
  for (const HunkLine& line : failed.hunk.lines) {
    if (line.role != LineRole::kAdded) old_text += line.text;
    if (line.role != LineRole::kRemoved) new_text += line.text;
    const Lines parts(kept.emplace_back(unescaped(line.text, false)));
    for (size_t i = 0; i < parts.size(); ++i) plain.lines.push_back({line.role, parts[i]});
  }
  const std::vector<std::string_view> pattern = pre_image(plain);
  if (pattern == failed.pattern || std::ranges::none_of(pattern, is_telling_line)) return;
  const auto places = index.find(pattern, LineFolding::kLineEnds, 1);
  if (places.empty()) return;
  out.nearest_line = places.front() + 1;
  out.nearest_count = static_cast<uint32_t>(pattern.size());
  out.message += std::string("; ") + kEscapesAsText + " are at line " +
                 std::to_string(out.nearest_line) + ", so " + kSendCharacters;
  out.expected.clear();
  for (size_t i = 0; i < pattern.size() && i < kShownLines; ++i) {
    out.expected.emplace_back(pattern[i]);
  }
  out.found.clear();
  for (size_t i = 0; i < pattern.size() && i < kShownLines; ++i) {
    out.found.emplace_back(index.lines()[places.front() + i]);
  }
  if (has_certain_escapes(old_text, new_text)) out.rebased = correction_of(index, plain);
}

EditFailure explain_ambiguous(const FailedHunk& failed, bool is_doubtful) {
  EditFailure out = base_of(failed);
  out.reason = is_doubtful ? "patch.doubtful_place" : "patch.ambiguous";
  out.message = is_doubtful
                    ? hunk_name(failed) + " fits only at a place that may not be the one meant; " +
                          std::string(kHowToChoose) + " to take it, or give more context"
                    : hunk_name(failed) + " fits more than one place; " +
                          std::string(kHowToChoose) + ", or give more context";
  return out;
}

EditFailure explain_new_lines(const FailedHunk& failed, std::string_view doubt) {
  EditFailure out = base_of(failed);
  out.reason = "patch.doubtful_lines";
  out.message = hunk_name(failed) +
                ": it is not certain what its new lines are: " + std::string(doubt) +
                "; send it with the lines as the file has them";
  return out;
}

EditFailure explain_anchor(FileIndex& index, const FailedHunk& failed, size_t anchor) {
  EditFailure out = base_of(failed);
  out.reason = "patch.wrong_anchor";
  const std::string_view text = failed.hunk.anchors[anchor];
  const auto lines = index.lines_like(text, LineFolding::kBlanks);
  out.message = hunk_name(failed) + ": the anchor '@@ " + std::string(text) + "' ";
  if (lines.empty()) {
    out.message += "is not a line of the file";
  } else {
    out.message += "contradicts the place of the lines: it is at line " +
                   std::to_string(lines.front() + 1) +
                   ", and they are not below it, or not in the block that it opens";
  }
  out.message += "; " + std::string(kHowToChoose) +
                 " to take the place all the same, or write the anchor as the file has it";
  return out;
}

EditFailure explain_repeated(const FailedHunk& failed, size_t first) {
  EditFailure out = base_of(failed);
  out.reason = "patch.already_applied";
  out.message = hunk_name(failed) + ": hunk " + std::to_string(first + 1) +
                " makes this change already, at the only place; leave it out";
  return out;
}

EditFailure explain_out_of_order(const FailedHunk& failed, int64_t found) {
  EditFailure out = base_of(failed);
  out.reason = "patch.out_of_order";
  out.message = hunk_name(failed) + " is found only at line " + std::to_string(found + 1) +
                ", which lies before or inside another hunk's place; order the hunks as the file";
  out.nearest_line = static_cast<uint32_t>(found + 1);
  return out;
}

EditFailure explain_characters(const Lines& file, const FailedHunk& failed, int64_t start) {
  EditFailure out = base_of(failed);
  out.reason = "patch.typography";
  out.nearest_line = static_cast<uint32_t>(start + 1);
  out.nearest_count = static_cast<uint32_t>(failed.pattern.size());
  std::string different;
  bool has_other_text = false;  // not only other blanks
  for (size_t i = 0; i < failed.pattern.size(); ++i) {
    const std::string_view own = file[static_cast<size_t>(start) + i];
    if (i < kShownLines) out.expected.emplace_back(failed.pattern[i]);
    if (i < kShownLines) out.found.emplace_back(own);
    std::string one;
    std::string other;
    const bool is_other_text = folded(own, LineFolding::kBlanks, one) !=
                               folded(failed.pattern[i], LineFolding::kBlanks, other);
    const bool is_other =
        is_other_text ||
        without_terminator(own).substr(indent_of(own).size()) !=
            without_terminator(failed.pattern[i]).substr(indent_of(failed.pattern[i]).size());
    if (is_other && (different.empty() || (is_other_text && !has_other_text))) {
      has_other_text = is_other_text;
      different = "line " + std::to_string(start + 1 + static_cast<int64_t>(i)) + " is '" +
                  std::string(without_terminator(own)) + "'";
    }
  }
  out.message =
      hunk_name(failed) +
      " has other quotes, dashes or blanks than the file, and its new lines do not tell which of "
      "the file's belong where: " +
      different + "; write old and new text with the characters of that line";
  return out;
}

EditFailure explain_step(const FailedHunk& failed, MatchStep step) {
  EditFailure out = base_of(failed);
  out.reason = "patch.step_not_allowed";
  out.message = hunk_name(failed) + " fits only by the step '" +
                std::string(match_step_name(step)) + "', which is not allowed here";
  return out;
}

Candidate candidate_at(const std::string& edit_id, const std::string& file, const Lines& lines,
                       int64_t start, int64_t count) {
  Candidate out;
  out.id = candidate_id(edit_id, file, lines, start, count);
  out.line = static_cast<uint32_t>(start + 1);
  out.count = static_cast<uint32_t>(count);
  for (int64_t i = std::max<int64_t>(start, 0); i < start + std::min(count, kExcerptLines); ++i) {
    if (static_cast<size_t>(i) < lines.size()) out.excerpt += lines[static_cast<size_t>(i)];
  }
  return out;
}

std::string content_key(std::string_view content) { return short_hash(content); }

std::string candidate_id(const std::string& edit_id, const std::string& file, const Lines& lines,
                         int64_t start, int64_t count) {
  const auto begin = static_cast<size_t>(std::max<int64_t>(start, 0));
  const size_t end =
      std::min(static_cast<size_t>(std::max<int64_t>(start + count, 0)), lines.size());
  std::string bytes = edit_id + ":" + file + ":" + std::to_string(start) + ":";
  bytes += lines.span(std::min(begin, end), end);
  return "at-" + short_hash(bytes);
}

std::vector<std::string> edit_ids(const FileEdit& edit) {
  std::vector<std::string> ids;
  std::unordered_map<std::string, int> seen;
  const auto add = [&](std::string_view bytes) {
    std::string id = short_hash(bytes);
    const int count = ++seen[id];
    if (count > 1) id += "-" + std::to_string(count);
    ids.push_back(std::move(id));
  };
  std::string bytes;
  for (const Hunk& hunk : edit.hunks) {
    bytes.clear();
    for (const HunkLine& line : hunk.lines) {
      bytes.push_back(static_cast<char>('0' + static_cast<int>(line.role)));
      bytes += line.text;
    }
    add(bytes);
  }
  for (const TextEdit& text : edit.text_edits) {
    bytes.assign(1, static_cast<char>('0' + static_cast<int>(text.kind)));
    bytes += std::to_string(text.first_line) + ":" + std::to_string(text.last_line) + ":";
    bytes += text.old_text;
    bytes.push_back('\0');
    bytes += text.new_text;
    add(bytes);
  }
  return ids;
}

}  // namespace galley
