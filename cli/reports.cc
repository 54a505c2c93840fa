#include "cli/reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/outcome.h"
#include "cli/render.h"
#include "engine/pipeline/place.h"
#include "engine/policy/finding.h"
#include "engine/policy/finding_rules.h"
#include "engine/review/review_page.h"
#include "staging/fs/disk_directory.h"
#include "staging/fs/host_file.h"
#include "staging/text/lines.h"

namespace galley {

// --- JSON: SARIF 2.1.0 (OASIS), GitLab, rdjson, a baseline --------------------------------------

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

// --- texts that cannot end a field --------------------------------------------------------------

namespace {

// GitHub shows this much of a summary (1 MiB); the rest is only counted.
constexpr size_t kMaxSummaryRows = 500;

std::string summary_place(const Finding& finding) {
  if (finding.path.empty()) return "the change as a whole";
  return finding.line == 0 ? finding.path : fmt::format("{}:{}", finding.path, finding.line);
}

// --- JUnit --------------------------------------------------------------------------------------

/// XML 1.0: the only control characters after printable() are newline and tab.
std::string xml(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\n':
        out += "&#10;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string junit_case(const Finding& finding) {
  std::string attributes = fmt::format("classname=\"{}\" name=\"{}\"", xml(finding.rule),
                                       xml(summary_place(finding) + ": " + finding.message));
  if (!finding.path.empty()) attributes += fmt::format(" file=\"{}\"", xml(finding.path));
  if (finding.line != 0) attributes += fmt::format(" line=\"{}\"", finding.line);
  std::string body = finding.message;
  if (!finding.remedy.empty()) body += "\n" + finding.remedy;
  if (!finding.output.empty()) body += "\n" + finding.output;
  if (finding.severity == Severity::kError) {
    return fmt::format(
        "  <testcase {}>\n   <failure message=\"{}\" type=\"{}\">{}</failure>\n  </testcase>\n",
        attributes, xml(finding.message), xml(finding.rule), xml(body));
  }
  return fmt::format("  <testcase {}>\n   <system-out>{}: {}</system-out>\n  </testcase>\n",
                     attributes, severity_name(finding.severity), xml(body));
}

std::string junit_run(const Verdict::Run& run) {
  const std::string head =
      fmt::format("  <testcase classname=\"validator\" name=\"{}\" time=\"{}.{:03}\"",
                  xml(run.name), run.elapsed_ms / 1000, run.elapsed_ms % 1000);
  if (run.outcome != Verdict::Run::Outcome::kUnavailable) return head + "/>\n";
  return fmt::format("{}>\n   <error message=\"{}\" type=\"{}\"/>\n  </testcase>\n", head,
                     xml(run.message), xml(run.reason));
}

// --- GitHub -------------------------------------------------------------------------------------

/// https://github.com/actions/toolkit, packages/core/src/command.ts: escapeData, escapeProperty.
std::string escaped_command_text(std::string_view text, bool is_property) {
  std::string out;
  for (const char c : text) {
    const bool is_escaped =
        c == '%' || c == '\r' || c == '\n' || (is_property && (c == ':' || c == ','));
    out += is_escaped ? fmt::format("%{:02X}", static_cast<unsigned char>(c)) : std::string(1, c);
  }
  return out;
}

std::string property(std::string_view name, std::string_view value, bool is_first) {
  return fmt::format("{}{}={}", is_first ? " " : ",", name, escaped_command_text(value, true));
}

/// A path for GitHub, which must be the file's own: its line breaks are escaped by `property`.
std::string annotated_path(std::string_view path) {
  std::string text;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find_first_of("\r\n", begin), path.size());
    text += printable_line(path.substr(begin, end - begin));
    text += path.substr(end, 1);
    begin = end + 1;
  }
  return text;
}

std::string annotation(const Finding& finding) {
  static constexpr std::string_view kWords[] = {"notice", "warning", "error"};
  std::string text = fmt::format("::{}", kWords[static_cast<size_t>(finding.severity)]);
  text += property("title", printable_line(finding.rule), true);
  if (!finding.path.empty()) text += property("file", annotated_path(finding.path), false);
  const auto number = [&](std::string_view name, uint32_t value) {
    if (value != 0) text += property(name, std::to_string(value), false);
  };
  if (!finding.path.empty()) {
    number("line", finding.line);
    number("endLine", finding.end_line);
    // GitHub accepts columns only within one line.
    if (finding.end_line == finding.line || finding.end_line == 0) {
      number("col", finding.column);
      number("endColumn", finding.end_column);
    }
  }
  std::string message = printable_line(finding.message);
  if (!finding.remedy.empty()) message += "\n" + printable_line(finding.remedy);
  if (finding.replacement) message += "\nproposed: " + printable_line(*finding.replacement);
  return text + "::" + escaped_command_text(message, false) + "\n";
}

/// Escapes all characters with a meaning in Markdown, HTML or GitHub, for a cell of a table.
std::string markdown(std::string_view text) {
  std::string out;
  for (const char c : printable_line(text)) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = byte >= 0x80 || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') ||
                          std::string_view(" ,;()=+'\"?/").find(c) != std::string_view::npos;
    out += is_plain ? std::string(1, c) : fmt::format("&#{};", byte);
  }
  return out;
}

std::string headline(const Verdict& verdict) {
  if (verdict.is_approved()) return "Galley: approved";
  const Refusal& refusal = std::get<Refusal>(verdict.decision);
  return fmt::format("Galley: refused ({})", refusal.reason);
}

}  // namespace

std::string junit_report(const Preview& judged) {
  const Verdict& verdict = judged.verdict;
  std::string cases;
  size_t errors = 0;
  size_t failures = 0;
  size_t count = 0;
  for (const Verdict::Run& run : verdict.runs) {
    // Each finding is a test case, so this validator did not pass.
    if (run.outcome == Verdict::Run::Outcome::kFindings) continue;
    ++count;
    errors += run.outcome == Verdict::Run::Outcome::kUnavailable ? 1U : 0U;
    cases += junit_run(run);
  }
  const auto findings = errors > 0 ? verdict.findings : reported_findings(judged);
  for (const Finding& finding : findings) {
    if (!finding.suppression.empty()) continue;
    ++count;
    failures += finding.severity == Severity::kError ? 1U : 0U;
    cases += junit_case(finding);
  }
  const std::string counts = fmt::format(
      "name=\"galley\" tests=\"{}\" failures=\"{}\" errors=\"{}\"", count, failures, errors);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {0}>\n <testsuite {0}>\n{1} "
      "</testsuite>\n</testsuites>\n",
      counts, cases);
}

std::string github_report(const Preview& judged) {
  std::string text;
  for (const Finding& finding : judged.verdict.findings) {
    if (finding.suppression.empty()) text += annotation(finding);
  }
  const auto* refusal = std::get_if<Refusal>(&judged.verdict.decision);
  if (refusal == nullptr) return text;
  return text + fmt::format("::error title={}::{}\n", escaped_command_text(refusal->reason, true),
                            escaped_command_text(printable_line(refusal->message), false));
}

std::string github_summary_report(const Preview& judged) {
  const Verdict& verdict = judged.verdict;
  std::string text = fmt::format("## {}\n\n", markdown(headline(verdict)));
  if (const auto* refusal = std::get_if<Refusal>(&verdict.decision)) {
    text += markdown(refusal->message) + "\n\n";
  }
  if (!verdict.findings.empty()) {
    text += "| | place | rule | finding |\n|---|---|---|---|\n";
    size_t rows = 0;
    for (const Finding& finding : verdict.findings) {
      if (++rows > kMaxSummaryRows) break;
      std::string message = markdown(finding.message);
      if (!finding.suppression.empty())
        message += " (let pass: " + markdown(finding.suppression) + ")";
      text += fmt::format("| {} | {} | {} | {} |\n", severity_name(finding.severity),
                          markdown(summary_place(finding)), markdown(finding.rule), message);
    }
    if (verdict.findings.size() > kMaxSummaryRows) {
      text += fmt::format("\n… and {} more findings\n", verdict.findings.size() - kMaxSummaryRows);
    }
    text += "\n";
  }
  if (verdict.runs.empty()) return text;
  text += "| validator | findings | time |\n|---|---|---|\n";
  for (const Verdict::Run& run : verdict.runs) {
    const bool is_there = run.outcome != Verdict::Run::Outcome::kUnavailable;
    text +=
        fmt::format("| {} | {} | {} ms |\n", markdown(run.name),
                    is_there ? std::to_string(run.findings) : "could not judge", run.elapsed_ms);
  }
  return text + "\n";
}

// --- --report and --html ------------------------------------------------------------------------

namespace {

struct Format {
  std::string_view name;
  std::string (*render)(const Preview&);  ///< null: it needs more than the judgement
};

constexpr std::array kFormats = {
    Format{"baseline", baseline_report},
    Format{"github", github_report},
    Format{"github-summary", github_summary_report},
    Format{"gitlab", gitlab_report},
    Format{"html", nullptr},
    Format{"json", nullptr},
    Format{"junit", junit_report},
    Format{"rdjson", rdjson_report},
    Format{"sarif", sarif_report},
    Format{"text", nullptr},
};

Result<std::string> render(Session& session, const ReportRequest& request, const Preview& judged,
                           const Json& document) {
  if (request.format == "html") {
    ReviewSubject subject;
    subject.verdict = &judged.verdict;
    return report_page(session, judged.proposal, std::move(subject));
  }
  if (request.format == "json") return document_text(document);
  if (request.format == "text") return verdict_text(judged.verdict, false);
  for (const Format& format : kFormats) {
    if (format.name == request.format) return format.render(judged);
  }
  return std::string();
}

/// Completes the document for --json, if the command has only begun it.
Result<Json> whole_document(Session& session, const Preview& judged, Json document) {
  document["ok"] = judged.verdict.is_approved();
  document["proposal"] = judged.proposal.id().hex();
  document["verdict"] = verdict_json(judged.verdict);
  if (document["schema"] == "galley.preview/1") {
    document["changes"] = changes_json(judged.proposal.changes());
    GALLEY_TRY(add_exact_diff(session, document, judged.proposal));
  }
  return document;
}

Error not_plain(const std::string& name, const char* is_a) {
  return {ErrorKind::kRefused, "report.not_plain",
          "'" + printable_line(name) + "' " + is_a +
              ", so no report is written there; remove it, or name another file",
          name, 0};
}

/// Returns the path at which a report is written. A clone may have a link or a pipe of that name,
/// so the workspace has to have a plain file there, or none. Outside, the name means the same as in
/// a shell.
Result<std::string> place_of_report(const Session& session, const std::string& file) {
  const std::string& repository = session.arguments().global.repository;
  GALLEY_ASSIGN(const std::string here, absolute_path(repository.empty() ? "." : repository));
  const auto found = find_root(here, session.user().config);
  const std::string root = found ? found->path : here;
  const size_t slash = file.rfind('/');
  const auto folder = absolute_path(slash == file.npos ? "." : file.substr(0, slash + 1));
  if (root == "/" || !folder) return file;  // nothing is written into a missing folder
  const auto is_inside = [&root](const std::string& path) { return path.starts_with(root + "/"); };
  if (!is_inside(*folder + "/")) {
    if (!is_inside(normalized_path(file))) return file;
    return fail(not_plain(file, "leads out of the workspace by a link"));
  }
  const std::string place = *folder + "/" + file.substr(slash + 1);
  GALLEY_ASSIGN(const RelPath name, RelPath::parse(place.substr(root.size() + 1)));
  GALLEY_ASSIGN(const auto directory, open_disk_directory(root));
  const auto stat = directory->stat(name);
  if (!stat && stat.error().kind != ErrorKind::kNotFound) return fail(stat.error());
  const FileKind kind = stat ? stat->kind : FileKind::kAbsent;
  if (kind == FileKind::kSymlink) return fail(not_plain(name.str(), "is a link in the workspace"));
  if (kind == FileKind::kOther) {
    return fail(not_plain(name.str(), "is a special file in the workspace"));
  }
  return place;
}

/// A file in the workspace would be an edit that the gate did not see.
Result<void> refuse_file_to_agents(const Session& session) {
  if (session.arguments().global.agent.empty()) return {};
  return fail(ErrorKind::kRefused, "report.agent",
              "an agent's report goes to standard output only; leave the file out, or --agent");
}

}  // namespace

Result<void> write_report_file(Session& session, const std::string& file, std::string_view text,
                               bool is_added) {
  GALLEY_TRY(refuse_file_to_agents(session));
  GALLEY_ASSIGN(const std::string place, place_of_report(session, file));
  return write_host_file(place, text, is_added);
}

Result<std::vector<ReportRequest>> report_requests(const std::vector<std::string>& words) {
  std::vector<ReportRequest> requests;
  std::vector<std::string> names;
  for (const Format& format : kFormats) names.emplace_back(format.name);
  size_t printed = 0;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    ReportRequest request{word.substr(0, equals),
                          equals == word.npos ? std::string() : word.substr(equals + 1)};
    if (std::find(names.begin(), names.end(), request.format) == names.end()) {
      return fail(ErrorKind::kUsage, "usage.report",
                  fmt::format("--report takes no format '{}'; it takes {}", request.format,
                              fmt::join(names, ", ")));
    }
    if (request.file == "-") request.file.clear();
    printed += request.file.empty() ? 1U : 0U;
    requests.push_back(std::move(request));
  }
  if (printed > 1) {
    return fail(ErrorKind::kUsage, "usage.report",
                "only one report can go to standard output; give the others a file: FORMAT=FILE");
  }
  return requests;
}

Result<bool> write_reports(Session& session, const Preview& judged, const Json& document) {
  GALLEY_ASSIGN(const auto requests, report_requests(session.arguments().reports));
  bool is_printed = false;
  if (requests.empty()) return is_printed;
  GALLEY_ASSIGN(const Json whole, whole_document(session, judged, document));
  for (const ReportRequest& request : requests) {
    GALLEY_ASSIGN(const std::string text, render(session, request, judged, whole));
    if (request.file.empty()) {
      if (session.is_json()) {
        return fail(ErrorKind::kUsage, "usage.report",
                    "--json has standard output already; give the report a file: --report " +
                        request.format + "=FILE");
      }
      session.print(session.terminal().content(text));
      is_printed = true;
      continue;
    }
    const bool is_added = request.format == "github-summary";
    GALLEY_TRY(write_report_file(session, request.file, text, is_added));
  }
  return is_printed;
}

std::vector<std::pair<std::string, std::string>> facts_of(const TransactionOptions& options) {
  std::vector<std::pair<std::string, std::string>> facts;
  const std::string& who = options.owner ? *options.owner : options.agent;
  if (!who.empty()) facts.emplace_back("Agent", who);
  for (const std::string& name : options.contributors) facts.emplace_back("Also by", name);
  if (!options.message.empty()) facts.emplace_back("Reason", options.message);
  return facts;
}

std::vector<std::pair<std::string, std::string>> facts_of(const TxSummary& summary) {
  std::vector<std::pair<std::string, std::string>> facts = {{"Time", rfc3339_utc(summary.time_ns)}};
  if (!summary.agent.empty()) facts.emplace_back("Agent", summary.agent);
  if (summary.owner) facts.emplace_back("Begun by", *summary.owner);
  facts.emplace_back("Tool", summary.tool);
  if (!summary.message.empty()) facts.emplace_back("Reason", summary.message);
  return facts;
}

Result<std::string> report_page(Session& session, const Proposal& proposal, ReviewSubject subject) {
  // A person may see everything, and a proposal may be from outside of a workspace.
  const bool is_person = session.arguments().global.agent.empty();
  GALLEY_ASSIGN(const ReadablePart part, is_person
                                             ? Result<ReadablePart>(ReadablePart{proposal, {}})
                                             : part_for_caller(session, proposal));
  subject.left_out = part.left_out;
  if (subject.title.empty()) subject.title = "Proposed change";
  ProposalDiffOptions options;
  options.file = file_options(session.arguments().diff, OutputStyle());
  GALLEY_ASSIGN(const Json data, review_data(part.proposal, subject, options));
  return review_page(data, PageHome::kFile);
}

Result<void> write_report(Session& session, const Proposal& proposal, ReviewSubject subject) {
  const std::string& file = session.arguments().diff.html;
  const bool is_stdout = file == "-";
  if (is_stdout && session.is_json()) {
    return fail(ErrorKind::kUsage, "html.json",
                "standard output is for the JSON document; name a file for the page: --html=FILE");
  }
  if (is_stdout && session.terminal().is_terminal()) {
    return fail(ErrorKind::kUsage, "html.terminal",
                "a page cannot be read on a terminal; name a file: --html=FILE");
  }
  GALLEY_ASSIGN(const std::string page, report_page(session, proposal, std::move(subject)));
  if (is_stdout) {
    session.print(page);
    return {};
  }
  GALLEY_TRY(write_report_file(session, file, page));
  session.say("the page is in " + file);
  return {};
}

}  // namespace galley
