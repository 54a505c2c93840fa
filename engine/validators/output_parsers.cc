#include "engine/validators/output_parsers.h"

#include <fmt/core.h>
#include <re2/re2.h>

#include <charconv>

#include "base/limits.h"
#include "base/printable.h"
#include "staging/text/lines.h"

namespace galley {
namespace {

constexpr int64_t kMaxReportPatternMemory = int64_t{32} << 20U;

// GCC manual, "Formatting diagnostics": FILE:LINE:COLUMN: SEVERITY: MESSAGE [-Woption].
constexpr std::string_view kGccPattern =
    R"(^(?P<file>[^:\n]+):(?P<line>\d+)(?::(?P<column>\d+))?:\s+)"
    R"((?P<severity>fatal error|error|warning|note|remark):\s+)"
    R"((?P<message>.*?)(?:\s+\[(?:-W)?(?P<rule>[\w.,=+-]+)\])?\s*$)";

Severity severity_of(std::string_view word) {
  const char first = word.empty() ? 'e' : static_cast<char>(word.front() | 0x20);
  if (first == 'w') return Severity::kWarning;
  if (first == 'n' || first == 'i' || first == 'r' || first == 'h') return Severity::kNote;
  return Severity::kError;
}

uint32_t number_of(std::string_view text) {
  uint32_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() ? value : 0;
}

}  // namespace

/// A compiled line pattern and where its named groups stand.
struct OutputReader::LinePattern {
  std::unique_ptr<re2::RE2> pattern;
  std::map<std::string, int> groups;

  [[nodiscard]] std::string_view group(const std::vector<re2::StringPiece>& found,
                                       const std::string& name) const {
    const auto at = groups.find(name);
    if (at == groups.end()) return {};
    const re2::StringPiece& piece = found[static_cast<size_t>(at->second)];
    return {piece.data(), piece.size()};
  }
};

OutputReader::OutputReader() = default;
OutputReader::OutputReader(OutputReader&&) noexcept = default;
OutputReader& OutputReader::operator=(OutputReader&&) noexcept = default;
OutputReader::~OutputReader() = default;

Result<OutputReader> OutputReader::make(const ValidatorConfig& config) {
  OutputReader reader;
  reader.parser_ = config.parser;
  if (config.parser != OutputParser::kGcc && config.parser != OutputParser::kRegex) return reader;
  const std::string text =
      config.parser == OutputParser::kGcc ? std::string(kGccPattern) : config.parser_regex;
  re2::RE2::Options options(re2::RE2::Quiet);
  options.set_max_mem(kMaxReportPatternMemory);
  options.set_encoding(re2::RE2::Options::EncodingLatin1);
  reader.pattern_ = std::make_unique<LinePattern>();
  reader.pattern_->pattern = std::make_unique<re2::RE2>(text, options);
  const re2::RE2& pattern = *reader.pattern_->pattern;
  if (!pattern.ok()) {
    return fail(ErrorKind::kInvalid, "config.value",
                fmt::format("parser_regex does not compile: {}", pattern.error()));
  }
  reader.pattern_->groups = pattern.NamedCapturingGroups();
  if (!reader.pattern_->groups.contains("message")) {
    return fail(ErrorKind::kInvalid, "config.value",
                "parser_regex has no group (?P<message>…); it may also have file, line, column, "
                "severity and rule");
  }
  return reader;
}

bool OutputReader::needs_whole_output() const {
  return parser_ == OutputParser::kSarif || parser_ == OutputParser::kJunit;
}

Result<std::vector<Finding>> OutputReader::read(std::string_view output) const {
  if (parser_ == OutputParser::kSarif) return read_sarif(output);
  if (parser_ == OutputParser::kJunit) return read_junit(output);
  std::vector<Finding> findings;
  if (parser_ == OutputParser::kNone) return findings;
  const Lines lines(output);
  std::vector<re2::StringPiece> groups(
      static_cast<size_t>(pattern_->pattern->NumberOfCapturingGroups() + 1));
  for (size_t i = 0; i < lines.size() && findings.size() <= limits::kMaxFindings; ++i) {
    const std::string_view line = without_terminator(lines[i]);
    if (!pattern_->pattern->Match({line.data(), line.size()}, 0, line.size(), re2::RE2::UNANCHORED,
                                  groups.data(), static_cast<int>(groups.size()))) {
      continue;
    }
    Finding finding;
    finding.rule = printable_line(pattern_->group(groups, "rule"), kMaxFindingBytes);
    finding.severity = severity_of(pattern_->group(groups, "severity"));
    finding.path = pattern_->group(groups, "file");
    finding.line = number_of(pattern_->group(groups, "line"));
    finding.column = number_of(pattern_->group(groups, "column"));
    finding.message = printable_line(pattern_->group(groups, "message"), kMaxFindingBytes);
    findings.push_back(std::move(finding));
  }
  return findings;
}

}  // namespace galley
