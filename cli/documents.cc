#include "cli/documents.h"

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/text.h"
#include "staging/fs/directory.h"
#include "tools/json_input.h"

namespace galley {
namespace {

constexpr int kIndent = 2;

/// The formats in which an option has an effect.
enum class Scope : uint8_t {
  kEdits,    ///< all except tool calls, which have their own options
  kHunks,    ///< formats with hunks: unified and apply_patch
  kUnified,  ///< only the unified diff
  kWhole,    ///< also whole files in fences
};

struct FormatOption {
  std::string_view name;
  Scope scope;
  bool (*is_given)(const EditArguments&);
  std::string_view why;  ///< what the format does not have
};

constexpr std::string_view kSelfContained = "each call says itself what it does";
constexpr std::string_view kNoEnd = "it has no line counts, and no end that could be missing";
constexpr std::string_view kNoPrefix = "its paths have no prefix to take off";
constexpr std::string_view kNoHunks = "it has no hunks with context and added lines";

using Edit = const EditArguments&;

constexpr std::array<FormatOption, 17> kFormatOptions = {{
    {"--strict", Scope::kEdits, [](Edit edit) { return edit.strict; }, kSelfContained},
    {"-R", Scope::kHunks, [](Edit edit) { return edit.reverse; },
     "its edits cannot be turned round"},
    {"--recount", Scope::kHunks, [](Edit edit) { return edit.recount; }, kNoEnd},
    {"--complete", Scope::kWhole, [](Edit edit) { return edit.is_complete; }, kNoEnd},
    {"--truncated", Scope::kHunks, [](Edit edit) { return edit.is_truncated; }, kNoEnd},
    {"--unidiff-zero", Scope::kUnified, [](Edit edit) { return edit.unidiff_zero; },
     "it has no hunks without context"},
    {"--ignore-whitespace", Scope::kEdits, [](Edit edit) { return edit.ignore_whitespace; },
     kSelfContained},
    {"--reject", Scope::kEdits, [](Edit edit) { return edit.reject; },
     "its calls are made one on the other"},
    {"-p", Scope::kUnified, [](Edit edit) { return edit.strip.has_value(); }, kNoPrefix},
    {"-C", Scope::kHunks, [](Edit edit) { return edit.context.has_value(); }, kNoHunks},
    {"--whitespace", Scope::kHunks,
     [](Edit edit) { return !edit.whitespace.empty() && edit.whitespace != "nowarn"; }, kNoHunks},
    {"--directory", Scope::kEdits, [](Edit edit) { return !edit.directory.empty(); },
     kSelfContained},
    {"--include", Scope::kEdits, [](Edit edit) { return edit.has_filter(true); }, kSelfContained},
    {"--exclude", Scope::kEdits, [](Edit edit) { return edit.has_filter(false); }, kSelfContained},
    {"--only", Scope::kEdits, [](Edit edit) { return !edit.only.empty(); }, kSelfContained},
    {"--except", Scope::kEdits, [](Edit edit) { return !edit.except.empty(); }, kSelfContained},
    {"--choose", Scope::kEdits, [](Edit edit) { return !edit.choose.empty(); },
     "pass the place as 'choices' of the call"},
}};

bool is_in(Scope scope, EditFormat format) {
  switch (format) {
    case EditFormat::kAuto:
    case EditFormat::kUnified:
      return true;
    case EditFormat::kApplyPatch:
      return scope != Scope::kUnified;
    case EditFormat::kSearchReplace:
      return scope == Scope::kEdits || scope == Scope::kWhole;
    case EditFormat::kEdits:
      return scope == Scope::kEdits;
    case EditFormat::kCalls:
      return false;
  }
  return false;
}

}  // namespace

std::string_view operation_of(const Change& change) {
  if (change.renamed_from) return "rename";
  if (change.copied_from) return "copy";
  if (change.is_create()) return "create";
  if (change.is_delete()) return "delete";
  if (change.is_type_change()) return "type";
  if (change.before.content != change.after.content) return "modify";
  return change.before.mode == change.after.mode ? "owner" : "mode";
}

Json error_document(const Error& error) {
  Json document = {{"schema", "galley.error/1"},
                   {"ok", false},
                   {"reason", error.reason},
                   {"message", error.message}};
  if (!error.path.empty()) document["path"] = error.path;
  return document;
}

Json usage_document(std::string_view message) {
  return {{"schema", "galley.error/1"},
          {"ok", false},
          {"reason", "usage"},
          {"message", std::string(message)}};
}

Json node_json(const Node& node) {
  Json json = {{"kind", kind_name(node.kind)}};
  if (node.kind == FileKind::kRegular || node.kind == FileKind::kDirectory) {
    json["mode"] = fmt::format("{:04o}", node.mode);
  }
  if (node.owner) json["owner"] = {{"uid", node.owner->uid}, {"gid", node.owner->gid}};
  if (node.kind == FileKind::kRegular || node.kind == FileKind::kSymlink) {
    json["size"] = node.size;
    json["sha256"] = node.content.hex();
  }
  return json;
}

Json change_json(const Change& change) {
  Json json = {{"path", change.path.str()}, {"operation", operation_of(change)}};
  if (change.renamed_from) json["from"] = change.renamed_from->str();
  if (change.copied_from) json["from"] = change.copied_from->str();
  json["before"] = node_json(change.before);
  json["after"] = node_json(change.after);
  return json;
}

Json changes_json(const ChangeSet& changes) {
  Json list = Json::array();
  for (const Change& change : changes) list.push_back(change_json(change));
  return list;
}

Json paths_json(const std::vector<RelPath>& paths) {
  Json list = Json::array();
  for (const RelPath& path : paths) list.push_back(path.str());
  return list;
}

Json finding_json(const Finding& finding) {
  Json json = {{"rule", finding.rule}, {"severity", severity_name(finding.severity)}};
  if (!finding.path.empty()) json["path"] = finding.path;
  if (finding.line != 0) json["line"] = finding.line;
  if (finding.column != 0) json["column"] = finding.column;
  if (finding.end_line != 0) json["end_line"] = finding.end_line;
  if (finding.end_column != 0) json["end_column"] = finding.end_column;
  if (finding.replacement) json["replacement"] = *finding.replacement;
  if (!finding.suppression.empty()) json["suppression"] = finding.suppression;
  json["message"] = finding.message;
  if (!finding.remedy.empty()) json["remedy"] = finding.remedy;
  if (!finding.output.empty()) json["output"] = finding.output;
  return json;
}

Json verdict_json(const Verdict& verdict) {
  Json json = {{"approved", verdict.is_approved()}};
  if (const auto* refusal = std::get_if<Refusal>(&verdict.decision)) {
    json["reason"] = refusal->reason;
    json["message"] = refusal->message;
  }
  json["findings"] = Json::array();
  for (const Finding& finding : verdict.findings) json["findings"].push_back(finding_json(finding));
  return json;
}

Json receipt_json(const Receipt& receipt) {
  Json json = {{"id", receipt.id.str()},
               {"proposal", receipt.proposal.hex()},
               {"time", rfc3339_utc(receipt.time_ns)},
               {"changes", changes_json(receipt.changes)},
               {"warnings", receipt.warnings}};
  if (!receipt.git_commit.empty()) json["gitCommit"] = receipt.git_commit;
  return json;
}

Json hunks_json(const std::vector<ConflictHunk>& hunks) {
  Json list = Json::array();
  for (const ConflictHunk& hunk : hunks) {
    list.push_back({{"line", hunk.line},
                    {"base", hunk.base},
                    {"workspace", hunk.found},
                    {"wanted", hunk.wanted}});
  }
  return list;
}

Json conflict_json(const Conflict& conflict) {
  Json json = {{"reason", conflict.reason}, {"paths", Json::array()}};
  for (const ConflictPath& path : conflict.paths) {
    Json entry = {{"path", path.path.str()},
                  {"message", path.message},
                  {"expected", node_json(path.expected)},
                  {"found", node_json(path.found)}};
    if (!path.diff.empty()) entry["diff"] = path.diff;
    if (!path.hunks.empty()) entry["hunks"] = hunks_json(path.hunks);
    json["paths"].push_back(std::move(entry));
  }
  if (!conflict.warnings.empty()) json["warnings"] = conflict.warnings;
  return json;
}

void add_diff(Json& document, const std::string& diff) {
  document["diff"] = diff;
  document["diff_is_exact"] = is_utf8(diff);
}

std::string document_text(const Json& document, bool is_ascii) {
  Json exact = exact_texts(document);
  const bool is_lossy = !exact.empty() && document.is_object();
  Json whole = is_lossy ? document : Json();
  if (is_lossy) whole["not_utf8"] = std::move(exact);
  return (is_lossy ? whole : document)
             .dump(kIndent, ' ', is_ascii, Json::error_handler_t::replace) +
         "\n";
}

Result<void> check_format_options(const EditArguments& arguments, EditFormat format) {
  for (const FormatOption& option : kFormatOptions) {
    if (is_in(option.scope, format) || !option.is_given(arguments)) continue;
    const bool is_text = arguments.format == "tool_text";  // those are calls as well
    const bool is_self_contained = format == EditFormat::kCalls && option.scope != Scope::kEdits;
    return fail(ErrorKind::kUsage, "usage.option_of_format",
                fmt::format("{} means nothing in the format '{}': {}", option.name,
                            is_text ? "tool_text" : format_name(format),
                            is_self_contained ? kSelfContained : option.why));
  }
  return {};
}

DocumentEnd document_end(const EditArguments& arguments) {
  if (arguments.is_complete) return DocumentEnd::kComplete;
  return arguments.is_truncated ? DocumentEnd::kCutOff : DocumentEnd::kUnknown;
}

}  // namespace galley
