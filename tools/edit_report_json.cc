#include "tools/edit_report_json.h"

#include <nlohmann/json.hpp>

namespace galley {
namespace {

using Json = nlohmann::ordered_json;

const char* op_name(FileOp op) {
  switch (op) {
    case FileOp::kModify:
      return "modify";
    case FileOp::kCreate:
      return "create";
    case FileOp::kDelete:
      return "delete";
    case FileOp::kRename:
      return "rename";
    case FileOp::kCopy:
      return "copy";
    case FileOp::kWrite:
      return "write";
  }
  return "modify";
}

Json placement_json(const Placement& placement) {
  Json out = {{"edit", placement.edit + 1},
              {"id", placement.id},
              {"step", match_step_name(placement.step)},
              {"line", placement.line},
              {"lines", placement.count},
              {"offset", placement.offset},
              {"fuzz", placement.fuzz}};
  if (!placement.indent.empty()) out["indent"] = placement.indent;
  return out;
}

Json failure_json(const EditFailure& failure) {
  Json out = {{"edit", failure.edit + 1},
              {"id", failure.id},
              {"reason", failure.reason},
              {"message", failure.message}};
  if (failure.document_line > 0) out["document_line"] = failure.document_line;
  if (!failure.candidates.empty()) {
    out["candidates"] = Json::array();
    for (const Candidate& candidate : failure.candidates) {
      out["candidates"].push_back({{"id", candidate.id},
                                   {"line", candidate.line},
                                   {"lines", candidate.count},
                                   {"excerpt", candidate.excerpt}});
    }
  }
  if (failure.more_candidates > 0) out["more_candidates"] = failure.more_candidates;
  if (failure.nearest_line > 0) {
    out["nearest"] = {{"line", failure.nearest_line}, {"lines", failure.nearest_count}};
    if (!failure.found.empty()) out["nearest"]["found"] = failure.found;
  }
  if (!failure.expected.empty()) out["expected"] = failure.expected;
  std::string words = word_diff_of(failure);
  if (!words.empty()) out["word_diff"] = std::move(words);
  if (!failure.rebased.empty()) out["rebased"] = failure.rebased;
  if (!failure.similar.empty()) {
    out["similar"] = Json::array();
    for (const SimilarLine& line : failure.similar) {
      out["similar"].push_back({{"line", line.line}, {"text", line.text}});
    }
  }
  if (failure.more_similar > 0) out["more_similar"] = failure.more_similar;
  return out;
}

Json file_json(const FileOutcome& file) {
  Json out = {{"path", file.path}, {"op", op_name(file.op)}, {"staged", file.is_staged}};
  if (!file.new_path.empty()) out["new_path"] = file.new_path;
  if (file.document_line > 0) out["document_line"] = file.document_line;
  if (file.refusal) {
    out["refusal"] = {{"reason", file.refusal->reason}, {"message", file.refusal->message}};
  }
  out["placed"] = Json::array();
  for (const Placement& placement : file.placements) {
    out["placed"].push_back(placement_json(placement));
  }
  out["failed"] = Json::array();
  for (const EditFailure& failure : file.failures) out["failed"].push_back(failure_json(failure));
  if (file.earlier) {
    out["earlier"] = {{"transaction", file.earlier->transaction},
                      {"when", file.earlier->is_before ? "before" : "after"},
                      {"changes_since", file.earlier->changes}};
    if (!file.earlier->rebased.empty()) out["earlier"]["rebased"] = file.earlier->rebased;
  }
  return out;
}

}  // namespace

Json edit_report_json(const EditOutcome& outcome) {
  Json out = {{"staged", outcome.is_staged}, {"complete", outcome.is_complete}};
  out["files"] = Json::array();
  for (const FileOutcome& file : outcome.files) out["files"].push_back(file_json(file));
  out["leniencies"] = Json::array();
  for (const Leniency& leniency : outcome.leniencies) {
    Json item = {{"rule", leniency.rule}, {"message", leniency.message}};
    if (!leniency.path.empty()) item["path"] = leniency.path;
    if (leniency.line > 0) item["document_line"] = leniency.line;
    out["leniencies"].push_back(std::move(item));
  }
  return out;
}

}  // namespace galley
