#include "engine/validators/output_json.h"

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "base/limits.h"
#include "base/printable.h"
#include "engine/validators/output_parsers.h"

// The JSON output of eslint, ruff, rustc, cargo and shellcheck.

namespace galley {

using nlohmann::json;

tl::unexpected<Error> unreadable_as(std::string_view format, std::string_view why) {
  constexpr size_t kMaxQuotedBytes = 200;
  return fail(
      ErrorKind::kInvalid, "validator.output",
      fmt::format("its output is not {}: {}", format, printable_line(why, kMaxQuotedBytes)));
}

Result<json> parse_output(std::string_view text, std::string_view format) {
  bool is_too_deep = false;
  json document;
  try {
    document = json::parse(text, [&](int depth, json::parse_event_t, json&) {
      is_too_deep = is_too_deep || depth > limits::kMaxJsonDepth;
      return !is_too_deep;
    });
  } catch (const json::exception& error) {
    return unreadable_as(format, error.what());
  }
  if (is_too_deep) return unreadable_as(format, "it is nested too deeply");
  return document;
}

const json& at(const json& node, const char* key) {
  static const json kNothing;
  if (!node.is_object()) return kNothing;
  const auto found = node.find(key);
  return found == node.end() ? kNothing : *found;
}

std::string text_of(const json& node) {
  return node.is_string() ? node.get<std::string>() : std::string();
}

uint32_t number_of(const json& node) {
  if (!node.is_number_unsigned() || node.get<uint64_t>() > UINT32_MAX) return 0;
  return node.get<uint32_t>();
}

namespace {

using nlohmann::json;

ToolPlace place_at(const json& node, const char* line, const char* column) {
  return {number_of(at(node, line)), number_of(at(node, column))};
}

bool has_enough(const std::vector<Finding>& findings) {
  return findings.size() > limits::kMaxParsedFindings;
}

// --- eslint: https://eslint.org/docs/latest/use/formatters/#json --------------------------------

/// `range` counts UTF-16 code units from the beginning of the file.
void add_eslint_fix(const json& fix, const SourceFile* source, OutputSources& sources,
                    Finding& finding) {
  const json& range = at(fix, "range");
  if (source == nullptr || !range.is_array() || range.size() != 2) return;
  const auto begin = source->offset_of_utf16(number_of(range[0]));
  const auto end = source->offset_of_utf16(number_of(range[1]));
  if (!begin || !end || *end < *begin) return;
  set_edits(finding, {{source->place(*begin), source->place(*end), text_of(at(fix, "text"))}},
            ColumnUnit::kBytes, sources);
}

void read_eslint_file(const json& file, OutputSources& sources, std::vector<Finding>& findings) {
  const std::string path = text_of(at(file, "filePath"));
  const json& messages = at(file, "messages");
  if (!messages.is_array()) return;
  for (const json& message : messages) {
    if (has_enough(findings)) return;
    Finding finding;
    finding.path = path;
    finding.rule = text_of(at(message, "ruleId"));
    finding.severity =
        number_of(at(message, "severity")) == 1 ? Severity::kWarning : Severity::kError;
    finding.message = text_of(at(message, "message"));
    set_place(finding, place_at(message, "line", "column"),
              place_at(message, "endLine", "endColumn"), ColumnUnit::kUtf16, sources);
    add_eslint_fix(at(message, "fix"), sources.find(path), sources, finding);
    findings.push_back(std::move(finding));
  }
}

// --- ruff: https://docs.astral.sh/ruff/settings/#output-format ----------------------------------

Finding ruff_finding(const json& one, OutputSources& sources) {
  Finding finding;
  finding.path = text_of(at(one, "filename"));
  finding.rule = text_of(at(one, "code"));
  finding.message = text_of(at(one, "message"));
  set_place(finding, place_at(at(one, "location"), "row", "column"),
            place_at(at(one, "end_location"), "row", "column"), ColumnUnit::kCodePoints, sources);
  std::vector<ToolEdit> edits;
  const json& listed = at(at(one, "fix"), "edits");
  if (!listed.is_array()) return finding;
  for (const json& edit : listed) {
    edits.push_back({place_at(at(edit, "location"), "row", "column"),
                     place_at(at(edit, "end_location"), "row", "column"),
                     text_of(at(edit, "content"))});
  }
  set_edits(finding, std::move(edits), ColumnUnit::kCodePoints, sources);
  return finding;
}

// --- shellcheck: shellcheck(1), -f json and json1 -----------------------------------------------

Finding shellcheck_finding(const json& one, ColumnUnit unit, OutputSources& sources) {
  Finding finding;
  finding.path = text_of(at(one, "file"));
  finding.rule = fmt::format("SC{}", number_of(at(one, "code")));
  finding.severity = severity_of(text_of(at(one, "level")));
  finding.message = text_of(at(one, "message"));
  set_place(finding, place_at(one, "line", "column"), place_at(one, "endLine", "endColumn"), unit,
            sources);
  std::vector<ToolEdit> edits;
  const json& listed = at(at(one, "fix"), "replacements");
  if (!listed.is_array()) return finding;
  for (const json& edit : listed) {
    edits.push_back({place_at(edit, "line", "column"), place_at(edit, "endLine", "endColumn"),
                     text_of(at(edit, "replacement"))});
  }
  set_edits(finding, std::move(edits), unit, sources);
  return finding;
}

// --- rustc: https://doc.rust-lang.org/rustc/json.html -------------------------------------------

/// The span where a macro was used, when the macro is defined elsewhere and used in this file.
const json& used_span(const json& span) {
  constexpr int kMaxExpansions = 32;
  const json* used = &span;
  for (int i = 0; i < kMaxExpansions; ++i) {
    const json& outer = at(at(*used, "expansion"), "span");
    const std::string file = text_of(at(*used, "file_name"));
    if (!outer.is_object() || !file.starts_with('<')) break;
    used = &outer;
  }
  return *used;
}

void add_rust_suggestion(const json& message, OutputSources& sources, Finding& finding) {
  const json& children = at(message, "children");
  if (!children.is_array()) return;
  for (const json& child : children) {
    const json& spans = at(child, "spans");
    if (!spans.is_array()) continue;
    std::vector<ToolEdit> edits;
    for (const json& span : spans) {
      if (!at(span, "suggested_replacement").is_string() ||
          text_of(at(span, "file_name")) != finding.path ||
          text_of(at(span, "suggestion_applicability")) == "HasPlaceholders") {
        continue;
      }
      edits.push_back({place_at(span, "line_start", "column_start"),
                       place_at(span, "line_end", "column_end"),
                       text_of(at(span, "suggested_replacement"))});
    }
    set_edits(finding, std::move(edits), ColumnUnit::kCodePoints, sources);
    if (finding.replacement) return;  // only the first of several suggestions
  }
}

void add_rust_message(const json& message, OutputSources& sources, std::vector<Finding>& findings) {
  const std::string level = text_of(at(message, "level"));
  const json& spans = at(message, "spans");
  // Skip summaries: that it could not compile, the number of warnings, where to read more.
  if (level == "failure-note" || !spans.is_array()) return;
  const std::string text = text_of(at(message, "message"));
  if (spans.empty() && (text.starts_with("aborting due to") || level != "error")) {
    if (text.ends_with("emitted") || text.starts_with("aborting due to")) return;
  }
  Finding finding;
  finding.rule = text_of(at(at(message, "code"), "code"));
  finding.severity = severity_of(level);
  finding.message = text;
  for (const json& span : spans) {
    if (at(span, "is_primary") != true) continue;
    const json& used = used_span(span);
    finding.path = text_of(at(used, "file_name"));
    if (const std::string label = text_of(at(span, "label")); !label.empty()) {
      finding.message += ": " + label;
    }
    set_place(finding, place_at(used, "line_start", "column_start"),
              place_at(used, "line_end", "column_end"), ColumnUnit::kCodePoints, sources);
    break;
  }
  add_rust_suggestion(message, sources, finding);
  findings.push_back(std::move(finding));
}

}  // namespace

FindingsOfOutput read_eslint(std::string_view text, OutputSources& sources) {
  GALLEY_ASSIGN(const json document, parse_output(text, "eslint's JSON"));
  if (!document.is_array()) return unreadable_as("eslint's JSON", "it is not a list of files");
  std::vector<Finding> findings;
  for (const json& file : document) read_eslint_file(file, sources, findings);
  return findings;
}

FindingsOfOutput read_ruff(std::string_view text, OutputSources& sources) {
  GALLEY_ASSIGN(const json document, parse_output(text, "ruff's JSON"));
  if (!document.is_array()) return unreadable_as("ruff's JSON", "it is not a list of diagnostics");
  std::vector<Finding> findings;
  for (const json& one : document) {
    if (has_enough(findings)) break;
    findings.push_back(ruff_finding(one, sources));
  }
  return findings;
}

FindingsOfOutput read_shellcheck(std::string_view text, OutputSources& sources) {
  GALLEY_ASSIGN(const json document, parse_output(text, "shellcheck's JSON"));
  // The older form is a list and counts a tab as eight columns.
  const json& comments = document.is_array() ? document : at(document, "comments");
  if (!comments.is_array()) return unreadable_as("shellcheck's JSON", "it has no `comments`");
  const ColumnUnit unit = document.is_array() ? ColumnUnit::kTabStops : ColumnUnit::kCodePoints;
  std::vector<Finding> findings;
  for (const json& one : comments) {
    if (has_enough(findings)) break;
    findings.push_back(shellcheck_finding(one, unit, sources));
  }
  return findings;
}

void read_rustc(std::string_view text, OutputSources& sources, std::vector<Finding>& findings) {
  const Lines lines(text);
  for (size_t i = 0; i < lines.size() && !has_enough(findings); ++i) {
    const std::string_view line = without_terminator(lines[i]);
    if (!line.starts_with('{')) continue;
    const auto document = parse_output(line, "rustc's JSON");
    if (!document) continue;  // the output of a tested program may contain such a line
    const std::string reason = text_of(at(*document, "reason"));
    if (reason == "compiler-message") {
      add_rust_message(at(*document, "message"), sources, findings);
    } else if (reason.empty() && at(*document, "level").is_string()) {
      add_rust_message(*document, sources, findings);
    }
  }
}

}  // namespace galley
