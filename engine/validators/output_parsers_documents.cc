#include <fmt/core.h>
#include <algorithm>
#include <nlohmann/json.hpp>

#include <pugixml.hpp>

#include "base/limits.h"
#include "engine/validators/output_json.h"
#include "engine/validators/output_parsers.h"

// The two document formats of test and lint programs: SARIF 2.1.0 (OASIS) and the JUnit XML that
// Ant's junitreport task made common.

namespace galley {
namespace {

using nlohmann::json;

constexpr int kMaxSuiteDepth = 32;

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// RFC 3986: drops `file://` and decodes percent signs.
std::string path_of_uri(std::string_view uri) {
  if (uri.starts_with("file://")) uri.remove_prefix(7);
  std::string path;
  for (size_t i = 0; i < uri.size(); ++i) {
    const int high = uri[i] == '%' && i + 2 < uri.size() ? hex_digit(uri[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(uri[i + 2]) : -1;
    if (low < 0) {
      path += uri[i];
      continue;
    }
    path += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return path;
}

Severity severity_of_level(const std::string& level) {
  if (level == "error") return Severity::kError;
  return level == "note" || level == "none" ? Severity::kNote : Severity::kWarning;
}

const json& element(const json& list, const json& index) {
  static const json kNone;
  const bool has_it =
      list.is_array() && index.is_number_unsigned() && index.get<size_t>() < list.size();
  return has_it ? list[index.get<size_t>()] : kNone;
}

/// The path that an artifactLocation names, below the base of its run (SARIF 2.1.0, 3.4 and
/// 3.14.14).
std::string path_of(const json& location, const json& run) {
  constexpr int kMostBases = 8;
  const json* part = &location;
  if (!at(location, "uri").is_string()) {
    part = &at(element(at(run, "artifacts"), at(location, "index")), "location");
  }
  std::string uri = text_of(at(*part, "uri"));
  for (int i = 0; i < kMostBases && uri.find(':') == uri.npos; ++i) {
    const std::string base = text_of(at(*part, "uriBaseId"));
    if (base.empty()) break;
    part = &at(at(run, "originalUriBaseIds"), base.c_str());
    uri.insert(0, text_of(at(*part, "uri")));
  }
  return path_of_uri(uri);
}

/// Adds a fix if it is a single replacement in the same file.
void add_fix(const json& result, const json& run, Finding& finding) {
  const json& fixes = at(result, "fixes");
  if (!fixes.is_array() || fixes.empty()) return;
  const json& changes = at(fixes.front(), "artifactChanges");
  if (!changes.is_array() || changes.size() != 1) return;
  const json& replacements = at(changes.front(), "replacements");
  if (!replacements.is_array() || replacements.size() != 1 ||
      path_of(at(changes.front(), "artifactLocation"), run) != finding.path) {
    return;
  }
  const json& deleted = at(replacements.front(), "deletedRegion");
  const uint32_t line = number_of(at(deleted, "startLine"));
  const uint32_t last = number_of(at(deleted, "endLine"));
  const ToolPlace begin{line, number_of(at(deleted, "startColumn"))};
  const ToolPlace end{last == 0 ? line : last, number_of(at(deleted, "endColumn"))};
  OutputSources none({});
  set_edits(finding,
            {{begin, end, text_of(at(at(replacements.front(), "insertedContent"), "text"))}},
            ColumnUnit::kBytes, none);
}

/// The rule of a result, or null (SARIF 2.1.0, 3.27.5 to 3.27.7 and 3.52).
const json& rule_of(const json& result, const json& run) {
  static const json kNone;
  const json& reference = at(result, "rule");
  const json& component = at(at(reference, "toolComponent"), "index");
  const json& tool = at(run, "tool");
  const json& holder = component.is_number_unsigned() ? element(at(tool, "extensions"), component)
                                                      : at(tool, "driver");
  const json& rules = at(holder, "rules");
  if (!rules.is_array()) return kNone;
  for (const json* index : {&at(result, "ruleIndex"), &at(reference, "index")}) {
    if (index->is_number_unsigned()) return element(rules, *index);
  }
  std::string id = text_of(at(result, "ruleId"));
  if (id.empty()) id = text_of(at(reference, "id"));
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const json& rule) {
    return !id.empty() && text_of(at(rule, "id")) == id;
  });
  return found == rules.end() ? kNone : *found;
}

/// The text of a message, or the one that its id names, with its arguments (SARIF 2.1.0, 3.11).
std::string message_of(const json& message, const json& rule, const json& run) {
  std::string text = text_of(at(message, "text"));
  if (text.empty()) {
    const std::string id = text_of(at(message, "id"));
    const json& shared = at(at(at(run, "tool"), "driver"), "globalMessageStrings");
    for (const json* strings : {&at(rule, "messageStrings"), &shared}) {
      if (text.empty()) text = text_of(at(at(*strings, id.c_str()), "text"));
    }
  }
  const json& arguments = at(message, "arguments");
  for (size_t i = 0; arguments.is_array() && i < arguments.size(); ++i) {
    const std::string place = "{" + std::to_string(i) + "}";
    const size_t begin = text.find(place);
    if (begin != text.npos) text.replace(begin, place.size(), text_of(arguments[i]));
  }
  return text;
}

Finding finding_of(const json& result, const json& run) {
  Finding finding;
  const json& rule = rule_of(result, run);
  finding.rule = text_of(at(result, "ruleId"));
  if (finding.rule.empty()) finding.rule = text_of(at(rule, "id"));
  std::string level = text_of(at(result, "level"));
  const std::string kind = text_of(at(result, "kind"));
  if (level.empty() && !kind.empty() && kind != "fail") level = "none";  // SARIF 2.1.0, 3.27.10
  if (level.empty()) level = text_of(at(at(rule, "defaultConfiguration"), "level"));
  finding.severity = severity_of_level(level);
  finding.message = message_of(at(result, "message"), rule, run);
  const json& locations = at(result, "locations");
  if (!locations.is_array() || locations.empty()) return finding;
  const json& physical = at(locations.front(), "physicalLocation");
  finding.path = path_of(at(physical, "artifactLocation"), run);
  const json& region = at(physical, "region");
  finding.line = number_of(at(region, "startLine"));
  finding.column = number_of(at(region, "startColumn"));
  finding.end_column = number_of(at(region, "endColumn"));
  finding.end_line = number_of(at(region, "endLine"));
  if (finding.end_line == 0) finding.end_line = finding.line;  // SARIF 2.1.0, 3.30.7
  add_fix(result, run, finding);
  return finding;
}

/// Whether suppressions hold, none of which is still to be accepted (SARIF 2.1.0, 3.27.23).
bool is_suppressed(const json& suppressions) {
  return suppressions.is_array() && !suppressions.empty() &&
         std::none_of(suppressions.begin(), suppressions.end(), [](const json& one) {
           const std::string status = text_of(at(one, "status"));
           return status == "rejected" || status == "underReview";
         });
}

bool is_settled(const json& result) {
  const std::string state = text_of(at(result, "baselineState"));
  return state == "unchanged" || state == "absent" || is_suppressed(at(result, "suppressions")) ||
         text_of(at(result, "kind")) == "pass";
}

void read_case(const pugi::xml_node& test, std::vector<Finding>& findings) {
  for (const char* outcome : {"failure", "error"}) {
    const pugi::xml_node node = test.child(outcome);
    if (!node) continue;
    Finding finding;
    finding.rule = std::string("test_") + outcome;
    finding.path = test.attribute("file").as_string();
    finding.line = test.attribute("line").as_uint();
    const std::string_view why = node.attribute("message").as_string();
    const std::string_view body = node.text().as_string();
    finding.message = fmt::format("{}{}{}: {}", test.attribute("classname").as_string(),
                                  test.attribute("classname").empty() ? "" : ".",
                                  test.attribute("name").as_string(), why.empty() ? body : why);
    findings.push_back(std::move(finding));
  }
}

void read_suite(const pugi::xml_node& suite, int depth, std::vector<Finding>& findings) {
  for (const pugi::xml_node& child : suite.children()) {
    if (findings.size() > limits::kMaxParsedFindings) return;
    const std::string_view name = child.name();
    if (name == "testcase") read_case(child, findings);
    if (name == "testsuite" && depth < kMaxSuiteDepth) read_suite(child, depth + 1, findings);
  }
}

}  // namespace

namespace {

tl::unexpected<Error> failed_without_findings(std::string_view format) {
  return fail(ErrorKind::kInvalid, "validator.output",
              fmt::format("its {} says that it failed, and has no finding that counts", format));
}

}  // namespace

Result<std::vector<Finding>> read_sarif(std::string_view text) {
  GALLEY_ASSIGN(const json document, parse_output(text, "SARIF"));
  const json& runs = at(document, "runs");
  if (!runs.is_array()) return unreadable_as("SARIF", "it has no `runs`");
  std::vector<Finding> findings;
  bool has_failed = false;
  for (const json& run : runs) {
    const json& invocations = at(run, "invocations");
    for (const json& one : invocations.is_array() ? invocations : json::array()) {
      has_failed |= at(one, "executionSuccessful") == false;
    }
    const json& results = at(run, "results");
    if (!results.is_array()) continue;
    for (const json& result : results) {
      if (findings.size() > limits::kMaxParsedFindings) return findings;
      if (!is_settled(result)) findings.push_back(finding_of(result, run));
    }
  }
  if (has_failed && findings.empty()) return failed_without_findings("SARIF");
  return findings;
}

Result<std::vector<Finding>> read_junit(std::string_view text) {
  pugi::xml_document document;
  const auto parsed = document.load_buffer(text.data(), text.size());
  if (!parsed) return unreadable_as("JUnit XML", parsed.description());
  const pugi::xml_node root = document.document_element();
  const std::string_view name = root.name();
  if (name != "testsuites" && name != "testsuite") {
    return unreadable_as("JUnit XML", "its root is not <testsuites>");
  }
  std::vector<Finding> findings;
  read_suite(root, 0, findings);
  const auto has = [&](const char* count) {
    const auto has_own = [count](const pugi::xml_node& node) {
      return node.attribute(count).as_uint() > 0;
    };
    return has_own(root) || std::any_of(root.begin(), root.end(), has_own);
  };
  if (findings.empty() && (has("failures") || has("errors"))) {
    return failed_without_findings("JUnit XML");
  }
  return findings;
}

}  // namespace galley
