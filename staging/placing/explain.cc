#include "staging/placing/explain.h"

#include <algorithm>

#include "staging/placing/align_near.h"
#include "staging/placing/already_there.h"
#include "staging/placing/anchors.h"
#include "staging/placing/correction.h"
#include "staging/placing/hunk_text.h"
#include "staging/placing/place_ids.h"

namespace galley {
namespace {

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
  out.rebased = correction_of(index, failed.hunk);
  const uint32_t rival = std::max(nearest.rival_votes, nearest.torn_rival_votes);
  if (out.rebased.empty() && rival + 1 < nearest.votes) {
    out.rebased = correction_at(index, failed.hunk, nearest.start);
  }
  out.message += "; the nearest place is line " + std::to_string(out.nearest_line);
  return out;
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

}  // namespace galley
