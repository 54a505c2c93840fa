#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/reports.h"
#include "engine/policy/finding_rules.h"
#include "staging/text/lines.h"

// The reports in JSON: SARIF 2.1.0 (OASIS), GitLab's code quality report, reviewdog's rdjson and
// Galley's own baseline.

namespace galley {
namespace {

constexpr int kReportIndent = 1;

std::string report_text(const Json& document) {
  return document.dump(kReportIndent, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// The proposed text of changed files, to convert columns from bytes to characters.
class CharacterColumns {
 public:
  explicit CharacterColumns(const Proposal& proposal) : proposal_(&proposal) {}

  /// Converts a column from bytes to code points; 0 if it is unknown.
  uint32_t characters(const std::string& path, uint32_t line, uint32_t column) {
    const File& file = find(path);
    if (column == 0 || line == 0 || line > file.lines.size() + 1) return 0;
    const std::string_view text =
        line > file.lines.size() ? std::string_view() : file.lines[line - 1];
    if (column - 1 > text.size()) return 0;
    uint32_t count = 1;
    for (size_t at = 0; at < column - 1; ++count) {
      at += std::max<size_t>(1, utf8_sequence_length(text, at));
    }
    return count;
  }

 private:
  struct File {
    Content content;
    Lines lines;
  };

  const File& find(const std::string& path) {
    const auto known = files_.find(path);
    if (known != files_.end()) return known->second;
    File file;
    const auto& changes = proposal_->changes();
    const auto change = std::find_if(changes.begin(), changes.end(),
                                     [&](const Change& one) { return one.path.str() == path; });
    if (change != changes.end() && change->after.kind == FileKind::kRegular) {
      if (auto content = proposal_->content(change->after)) {
        file.content = std::move(*content);
        file.lines = Lines(*file.content);
      }
    }
    return files_.emplace(path, std::move(file)).first->second;
  }

  const Proposal* proposal_;
  std::map<std::string, File> files_;
};

// --- SARIF --------------------------------------------------------------------------------------

/// RFC 3986: encodes every byte of a path except unreserved characters and slashes as `%XX`.
std::string uri_of(std::string_view path) {
  std::string uri;
  for (const char c : path) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') ||
                          std::string_view("-._~/").find(c) != std::string_view::npos;
    uri += is_plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

Json region_of(const Finding& finding, CharacterColumns& lines) {
  Json region = {{"startLine", finding.line}};
  const uint32_t begin = lines.characters(finding.path, finding.line, finding.column);
  if (begin == 0) return region;
  region["startColumn"] = begin;
  const uint32_t end = lines.characters(finding.path, finding.end_line, finding.end_column);
  if (end == 0) return region;
  region["endLine"] = finding.end_line;
  region["endColumn"] = end;
  return region;
}

Json sarif_result(const Finding& finding, size_t rule, CharacterColumns& lines) {
  std::string message = finding.message;
  if (!finding.remedy.empty()) message += ". To go on: " + finding.remedy;
  if (!message.ends_with('.')) message += '.';
  Json result = {{"ruleId", finding.rule},
                 {"ruleIndex", rule},
                 {"level", severity_name(finding.severity)},
                 {"message", {{"text", message}}},
                 {"partialFingerprints", {{"galleyFinding/v2", finding.fingerprint}}}};
  if (!finding.suppression.empty()) {
    const bool is_in_source = finding.suppression != kBaselineSuppression;
    result["suppressions"] = Json::array({{{"kind", is_in_source ? "inSource" : "external"},
                                           {"status", "accepted"},
                                           {"justification", finding.suppression}}});
  }
  if (finding.path.empty()) return result;
  const Json artifact = {{"uri", uri_of(finding.path)}, {"uriBaseId", "SRCROOT"}};
  Json physical = {{"artifactLocation", artifact}};
  if (finding.line != 0) physical["region"] = region_of(finding, lines);
  result["locations"] = Json::array({{{"physicalLocation", physical}}});
  if (!finding.replacement || !physical["region"].contains("endColumn")) return result;
  const Json replacement = {{"deletedRegion", physical["region"]},
                            {"insertedContent", {{"text", *finding.replacement}}}};
  result["fixes"] = Json::array(
      {{{"description", {{"text", "What " + finding.rule + " proposes."}}},
        {"artifactChanges", Json::array({{{"artifactLocation", artifact},
                                          {"replacements", Json::array({replacement})}}})}}});
  return result;
}

/// GitHub's code scanning rejects a file with more results in one run.
constexpr size_t kMaxSarifResults = 25'000;

/// Keeps the most severe findings; those that count come first. Returns how many it removes.
size_t keep_first_findings(std::vector<Finding>& findings) {
  if (findings.size() <= kMaxSarifResults) return 0;
  const auto weight = [](const Finding& finding) {
    return finding.suppression.empty() ? 1 + static_cast<int>(finding.severity) : 0;
  };
  std::stable_sort(findings.begin(), findings.end(), [&](const Finding& one, const Finding& other) {
    return weight(one) > weight(other);
  });
  const size_t removed = findings.size() - kMaxSarifResults;
  findings.resize(kMaxSarifResults);
  return removed;
}

Json sarif_notifications(const Verdict& verdict, size_t removed) {
  Json list = Json::array();
  if (removed > 0) {
    const std::string text = fmt::format(
        "{} of {} results are left out, the least severe ones: GitHub accepts no more in one run.",
        removed, removed + kMaxSarifResults);
    list.push_back({{"level", "warning"}, {"message", {{"text", text}}}});
  }
  for (const Verdict::Run& run : verdict.runs) {
    if (run.outcome != Verdict::Run::Outcome::kUnavailable) continue;
    list.push_back(
        {{"level", "error"},
         {"message",
          {{"text", "The validator " + run.name + " could not judge: " + run.message + "."}}}});
  }
  return list;
}

// --- rdjson -------------------------------------------------------------------------------------

/// Columns are bytes here as well.
Json rdjson_range(const Finding& finding) {
  Json start = {{"line", finding.line}};
  if (finding.column != 0) start["column"] = finding.column;
  Json range = {{"start", start}};
  if (finding.end_line != 0) {
    range["end"] = {{"line", finding.end_line}, {"column", finding.end_column}};
  }
  return range;
}

Json rdjson_diagnostic(const Finding& finding) {
  static constexpr std::string_view kSeverities[] = {"INFO", "WARNING", "ERROR"};
  Json location = {{"path", finding.path}};
  if (finding.line != 0) location["range"] = rdjson_range(finding);
  Json diagnostic = {{"message", finding.message},
                     {"location", location},
                     {"severity", kSeverities[static_cast<size_t>(finding.severity)]},
                     {"code", {{"value", finding.rule}}}};
  if (finding.replacement) {
    diagnostic["suggestions"] =
        Json::array({{{"range", rdjson_range(finding)}, {"text", *finding.replacement}}});
  }
  return diagnostic;
}

}  // namespace

std::vector<Finding> reported_findings(const Preview& judged) {
  std::vector<Finding> findings = judged.verdict.findings;
  const auto* refusal = std::get_if<Refusal>(&judged.verdict.decision);
  const bool has_error = std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.severity == Severity::kError && finding.suppression.empty();
  });
  if (refusal != nullptr && !has_error) {
    Finding finding;
    finding.rule = refusal->reason;
    finding.message = refusal->message;
    findings.push_back(std::move(finding));
  }
  std::vector<Finding*> all;
  for (Finding& finding : findings) all.push_back(&finding);
  set_fingerprints(all, nullptr);
  return findings;
}

std::string sarif_report(const Preview& judged) {
  auto findings = reported_findings(judged);
  const size_t removed = keep_first_findings(findings);
  CharacterColumns lines(judged.proposal);
  std::map<std::string, size_t> known;
  Json rules = Json::array();
  Json results = Json::array();
  for (const Finding& finding : findings) {
    const auto [rule, is_new] = known.emplace(finding.rule, rules.size());
    if (is_new) {
      rules.push_back(
          {{"id", finding.rule},
           {"shortDescription", {{"text", "Findings of the rule " + finding.rule + "."}}}});
    }
    results.push_back(sarif_result(finding, rule->second, lines));
  }
  const Json driver = {{"name", "Galley"}, {"version", GALLEY_VERSION}, {"rules", rules}};
  const Json notifications = sarif_notifications(judged.verdict, removed);
  const bool has_judged = notifications.size() == (removed > 0 ? 1U : 0U);
  Json invocation = {{"executionSuccessful", has_judged}};
  if (!notifications.empty()) invocation["toolExecutionNotifications"] = notifications;
  const Json run = {
      {"tool", {{"driver", driver}}},
      {"invocations", Json::array({invocation})},
      {"columnKind", "unicodeCodePoints"},
      {"originalUriBaseIds", {{"SRCROOT", {{"description", {{"text", "The workspace."}}}}}}},
      {"results", results}};
  return report_text({{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                      {"version", "2.1.0"},
                      {"runs", Json::array({run})}});
}

std::string gitlab_report(const Preview& judged) {
  static constexpr std::string_view kSeverities[] = {"info", "minor", "major"};
  Json list = Json::array();
  for (const Finding& finding : reported_findings(judged)) {
    if (!finding.suppression.empty()) continue;
    // GitLab ignores findings without a path or a line.
    Json lines = {{"begin", std::max(1U, finding.line)}};
    if (finding.end_line != 0) lines["end"] = finding.end_line;
    list.push_back(
        {{"description", finding.message},
         {"check_name", finding.rule},
         {"fingerprint", finding.fingerprint},
         {"severity", kSeverities[static_cast<size_t>(finding.severity)]},
         {"location",
          {{"path", finding.path.empty() ? "galley.toml" : finding.path}, {"lines", lines}}}});
  }
  return report_text(list);
}

std::string rdjson_report(const Preview& judged) {
  Json diagnostics = Json::array();
  for (const Finding& finding : reported_findings(judged)) {
    if (finding.suppression.empty()) diagnostics.push_back(rdjson_diagnostic(finding));
  }
  return report_text({{"source", {{"name", "galley"}}}, {"diagnostics", diagnostics}});
}

std::string baseline_report(const Preview& judged) {
  Json list = Json::array();
  for (const Finding& finding : reported_findings(judged)) {
    const bool is_listed =
        finding.suppression.empty() || finding.suppression == kBaselineSuppression;
    if (!is_listed || finding.rule.starts_with("policy.") || finding.rule.starts_with("gate.") ||
        finding.rule.starts_with("baseline.")) {
      continue;
    }
    list.push_back({{"fingerprint", finding.fingerprint},
                    {"rule", finding.rule},
                    {"path", finding.path},
                    {"message", finding.message}});
  }
  std::sort(list.begin(), list.end(),
            [](const Json& a, const Json& b) { return a["fingerprint"] < b["fingerprint"]; });
  return report_text({{"schema", kBaselineSchema}, {"findings", list}});
}

}  // namespace galley
