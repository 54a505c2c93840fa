#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"
#include "cli/reports.h"
#include "engine/policy/finding.h"

// The reports in text formats, each with its own escaping. Text from a file or a program must not
// end a field or begin a line.

namespace galley {
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

}  // namespace galley
