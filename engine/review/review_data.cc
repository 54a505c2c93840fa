#include "engine/review/review_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/printable.h"
#include "engine/policy/finding.h"
#include "staging/overlay/change_set.h"
#include "staging/overlay/overlay.h"
#include "staging/text/lines.h"

namespace galley {
namespace {

using Json = nlohmann::ordered_json;

/// The beginning of a line, cut between characters.
std::string_view beginning_of(std::string_view line) {
  if (line.size() <= kMaxReviewLineBytes) return line;
  size_t end = kMaxReviewLineBytes;
  while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xc0U) == 0x80U) --end;
  return line.substr(0, end);
}

/// The sign and contents of a line in the page's format.
std::string shown_line(char sign, std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  const std::string_view begun = beginning_of(line);
  std::string text(1, sign);
  append_printable(begun, true, text);
  if (begun.size() < line.size()) {
    text += fmt::format("\033[7m… {} more bytes\033[27m", line.size() - begun.size());
  }
  return text;
}

/// Writes the files of a review.
class FileWriter {
 public:
  explicit FileWriter(const ProposalPieces* pieces) {
    if (pieces == nullptr) return;
    for (size_t i = 0; i < pieces->pieces().size(); ++i) {
      const ProposalPiece& piece = pieces->pieces()[i];
      piece_of_[{piece.path.str(), piece.is_mode ? kMode : piece.hunk}] = i;
    }
  }

  Json file(const ProposedFileDiff& proposed) {
    const FileDiff& diff = proposed.diff;
    Json json = {{"path", printable_line(diff.new_path)}, {"status", std::string(1, diff.status)}};
    if (diff.old_path != diff.new_path) json["from"] = printable_line(diff.old_path);
    if (diff.similarity != 0) json["similarity"] = diff.similarity;
    if (diff.old_mode != diff.new_mode && diff.old_mode != 0 && diff.new_mode != 0) {
      json["modes"] = {fmt::format("{:o}", diff.old_mode), fmt::format("{:o}", diff.new_mode)};
    }
    json["added"] = diff.counts.added;
    json["removed"] = diff.counts.removed;
    if (diff.is_binary) {
      json["binary"] = true;
      json["bytes"] = {diff.old_bytes, diff.new_bytes};
    }
    add_piece(json, diff.new_path, 0);
    add_piece(json, diff.new_path, kMode);
    json["parts"] = Json::array();
    const uint64_t lines = diff.counts.added + diff.counts.removed;
    if (lines_ + lines > kMaxReviewLines) {
      json["too_long"] = true;
      return json;
    }
    lines_ += lines;
    add_parts(proposed, json["parts"]);
    return json;
  }

 private:
  static constexpr uint32_t kMode = UINT32_MAX;

  void add_piece(Json& json, const std::string& path, uint32_t hunk) const {
    const auto found = piece_of_.find({path, hunk});
    if (found != piece_of_.end()) json[hunk == kMode ? "mode_piece" : "piece"] = found->second;
  }

  void add_parts(const ProposedFileDiff& proposed, Json& parts) {
    const FileDiff& diff = proposed.diff;
    if (diff.hunks.empty()) return;
    const Lines before(*proposed.before);
    const Lines after(*proposed.after);
    uint32_t old_at = 0;
    uint32_t new_at = 0;
    for (size_t i = 0; i < diff.hunks.size(); ++i) {
      const FileHunk& hunk = diff.hunks[i];
      add_gap(after, {old_at, new_at, hunk.span.new_begin}, parts);
      Json part = {{"kind", "hunk"},
                   {"old", hunk.span.old_begin + 1},
                   {"new", hunk.span.new_begin + 1},
                   {"heading", printable_line(hunk.heading)}};
      add_piece(part, diff.new_path, static_cast<uint32_t>(i + 1));
      part["lines"] = hunk_lines(diff, hunk.span, before, after);
      parts.push_back(std::move(part));
      old_at = hunk.span.old_end;
      new_at = hunk.span.new_end;
    }
    add_gap(after, {old_at, new_at, static_cast<uint32_t>(after.size())}, parts);
  }

  static Json hunk_lines(const FileDiff& diff, const HunkSpan& span, const Lines& before,
                         const Lines& after) {
    Json lines = Json::array();
    const auto add = [&lines](char sign, const Lines& side, uint32_t begin, uint32_t end) {
      for (uint32_t i = begin; i < end; ++i) {
        lines.push_back(shown_line(sign, side[i]));
        if (!side[i].ends_with('\n')) lines.push_back("\\");
      }
    };
    uint32_t at = span.new_begin;
    for (size_t i = span.first_change; i < span.last_change; ++i) {
      const ChangedRange& range = diff.script[i];
      add(' ', after, at, range.new_begin);
      add('-', before, range.old_begin, range.old_end);
      add('+', after, range.new_begin, range.new_end);
      at = range.new_end;
    }
    add(' ', after, at, span.new_end);
    return lines;
  }

  struct Gap {
    uint32_t old_begin;
    uint32_t new_begin;
    uint32_t new_end;
  };

  /// Unchanged lines between hunks: folded on the page, or only their number.
  void add_gap(const Lines& after, const Gap& gap, Json& parts) {
    const uint32_t count = gap.new_end - gap.new_begin;
    if (count == 0) return;
    Json part = {
        {"kind", "gap"}, {"old", gap.old_begin + 1}, {"new", gap.new_begin + 1}, {"count", count}};
    const size_t bytes = after.span(gap.new_begin, gap.new_end).size();
    if (count <= kMaxFoldedLines && folded_bytes_ + bytes <= kMaxFoldedBytes) {
      folded_bytes_ += bytes;
      Json lines = Json::array();
      for (uint32_t i = gap.new_begin; i < gap.new_end; ++i) {
        lines.push_back(shown_line(' ', after[i]));
      }
      part["lines"] = std::move(lines);
    }
    parts.push_back(std::move(part));
  }

  std::map<std::pair<std::string, uint32_t>, size_t> piece_of_;
  size_t folded_bytes_ = 0;
  uint64_t lines_ = 0;
};

Json finding_of(const Finding& finding, const std::map<std::string, size_t>& files) {
  Json json = {{"rule", printable_line(finding.rule)},
               {"severity", severity_name(finding.severity)},
               {"message", printable_line(finding.message)}};
  if (!finding.path.empty()) json["path"] = printable_line(finding.path);
  const auto file = files.find(finding.path);
  if (file != files.end()) json["file"] = file->second;
  if (finding.line != 0) json["line"] = finding.line;
  if (finding.column != 0) json["column"] = finding.column;
  if (finding.end_line != 0) json["end_line"] = finding.end_line;
  if (finding.end_column != 0) json["end_column"] = finding.end_column;
  if (finding.replacement) json["replacement"] = printable(*finding.replacement);
  if (!finding.suppression.empty()) json["suppression"] = printable_line(finding.suppression);
  if (!finding.remedy.empty()) json["remedy"] = printable_line(finding.remedy);
  if (!finding.output.empty()) json["output"] = printable(finding.output);
  return json;
}

Json verdict_of(const Verdict& verdict) {
  Json json = {{"approved", verdict.is_approved()}};
  if (const auto* refusal = std::get_if<Refusal>(&verdict.decision)) {
    json["reason"] = printable_line(refusal->reason);
    json["message"] = printable_line(refusal->message);
  }
  if (!verdict.approved_by.empty()) json["by"] = printable_line(verdict.approved_by);
  json["runs"] = Json::array();
  for (const ValidatorRun& run : verdict.runs) {
    const bool is_unavailable = run.outcome == ValidatorRun::Outcome::kUnavailable;
    Json entry = {{"name", printable_line(run.name)},
                  {"outcome", is_unavailable                                  ? "unavailable"
                              : run.outcome == ValidatorRun::Outcome::kPassed ? "passed"
                                                                              : "findings"},
                  {"ms", run.elapsed_ms}};
    if (is_unavailable) entry["message"] = printable_line(run.message);
    json["runs"].push_back(std::move(entry));
  }
  return json;
}

/// The changed directories and owners, which git's diff does not show.
Json directories_of(const Proposal& proposal) {
  Json list = Json::array();
  for (const Change* change : bare_directories(proposal.changes())) {
    const std::string name = printable_line(change->path.str() + "/");
    if (change->before.kind != FileKind::kDirectory) {
      list.push_back("new directory " + name);
    } else if (change->after.kind != FileKind::kDirectory) {
      list.push_back("deleted directory " + name);
    } else if (change->before.mode != change->after.mode) {
      list.push_back(fmt::format("mode of {} from {:o} to {:o}", name, change->before.mode,
                                 change->after.mode));
    }
  }
  for (const Change& change : proposal.changes()) {
    if (!change.after.owner || change.after.owner == change.before.owner) continue;
    list.push_back(
        fmt::format("owner of {} {}to {}", printable_line(change.path.str()),
                    change.before.owner ? "from " + owner_text(*change.before.owner) + " " : "",
                    owner_text(*change.after.owner)));
  }
  return list;
}

}  // namespace

Result<Json> review_data(const Proposal& proposal, const ReviewSubject& subject,
                         const ProposalDiffOptions& options) {
  Json data = {{"schema", "galley.review/1"},
               {"title", printable_line(subject.title)},
               {"proposal", proposal.id().hex()},
               {"facts", Json::array()}};
  for (const auto& [name, value] : subject.facts) {
    data["facts"].push_back({printable_line(name), printable_line(value)});
  }
  for (const RelPath& path : subject.left_out) {
    data["left_out"].push_back(printable_line(path.str()));
  }
  data["directories"] = directories_of(proposal);
  GALLEY_ASSIGN(const auto files, diff_proposal(proposal, options));
  std::map<std::string, size_t> index;
  FileWriter writer(subject.pieces);
  data["files"] = Json::array();
  for (const ProposedFileDiff& file : files) {
    index.emplace(file.diff.old_path, data["files"].size());
    index.insert_or_assign(file.diff.new_path, data["files"].size());
    data["files"].push_back(writer.file(file));
  }
  data["findings"] = Json::array();
  if (subject.verdict == nullptr) return data;
  data["verdict"] = verdict_of(*subject.verdict);
  for (const Finding& finding : subject.verdict->findings) {
    data["findings"].push_back(finding_of(finding, index));
  }
  return data;
}

}  // namespace galley
