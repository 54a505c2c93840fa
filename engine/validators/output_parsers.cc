#include "engine/validators/output_parsers.h"

#include <fmt/core.h>
#include <re2/re2.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <set>
#include <tuple>
#include <utility>

#include "base/limits.h"
#include "base/text.h"
#include "staging/text/text_pattern.h"

namespace galley {
namespace {

constexpr int64_t kMaxReportPatternMemory = int64_t{32} << 20U;

// GCC manual, "Formatting diagnostics": FILE:LINE:COLUMN: SEVERITY: MESSAGE [-Woption]. Clang's
// -fdiagnostics-print-source-range-info adds {LINE:COLUMN-LINE:COLUMN} after the column; that range
// need not contain the place.
constexpr std::string_view kGccPattern =
    R"(^(?P<file>[^:\n]+):(?P<line>\d+)(?::(?P<column>\d+))?)"
    R"((?::(?:\{[\d:-]+\})+)?:\s+)"
    R"((?P<severity>fatal error|error|warning|note|remark):\s+)"
    R"((?P<message>.*?)(?:\s+\[(?:-W)?(?P<rule>[\w.,=+-]+)\])?\s*$)";
// The same manual, -fdiagnostics-parseable-fixits; Clang writes the same format.
constexpr std::string_view kFixitPattern =
    R"re(^fix-it:"(?P<file>(?:[^"\\]|\\.)+)":\{(?P<line>\d+):(?P<column>\d+)-)re"
    R"re((?P<end_line>\d+):(?P<end_column>\d+)\}:"(?P<fix>(?:[^"\\]|\\.)*)"\s*$)re";
// mypy --show-column-numbers --show-error-end
constexpr std::string_view kMypyPattern =
    R"(^(?P<file>[^:\n]+):(?P<line>\d+)(?::(?P<column>\d+))?)"
    R"((?::(?P<end_line>\d+):(?P<last_column>\d+))?: )"
    R"((?P<severity>error|warning|note): (?P<message>.*?)(?:\s+\[(?P<rule>[\w-]+)\])?$)";
// tsc --pretty false, then --pretty true, then messages without a file
constexpr std::string_view kTscPattern =
    R"(^(?P<file>[^\s(][^(\n]*)\((?P<line>\d+),(?P<column>\d+)\): )"
    R"((?P<severity>error|warning|message|suggestion) (?P<rule>TS\d+): (?P<message>.*)$)";
constexpr std::string_view kPrettyTscPattern =
    R"(^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?P<column>\d+) - )"
    R"((?P<severity>error|warning|message|suggestion) (?P<rule>TS\d+): (?P<message>.*)$)";
constexpr std::string_view kPlainTscPattern =
    R"(^(?P<severity>error|warning) (?P<rule>TS\d+): (?P<message>.*)$)";
// ruff check --output-format concise
constexpr std::string_view kRuffPattern =
    R"(^(?P<file>[^:\n]+):(?P<line>\d+):(?P<column>\d+): )"
    R"((?:(?P<rule>[A-Z]+\d+|[a-z][a-z-]+):? )?(?:\[\*\] )?(?P<message>.+)$)";
// cargo --message-format short; the message of a failed Rust test is on the next line
constexpr std::string_view kCargoPattern =
    R"(^(?P<file>[^:\s]+):(?P<line>\d+):(?P<column>\d+): )"
    R"((?P<severity>error|warning)(?:\[(?P<rule>[^\]]+)\])?: (?P<message>.*)$)";
constexpr std::string_view kPanicPattern =
    R"(^thread '(?P<rule>[^']+)'.* panicked at (?P<file>[^:\s]+):(?P<line>\d+):(?P<column>\d+):$)";

std::vector<std::string_view> patterns_of(const ValidatorConfig& config) {
  switch (config.parser) {
    case OutputParser::kRegex:
      return {config.parser_regex};
    case OutputParser::kGcc:
    case OutputParser::kClang:
      return {kGccPattern, kFixitPattern};
    case OutputParser::kShellcheck:
      return {kGccPattern};
    case OutputParser::kMypy:
      return {kMypyPattern};
    case OutputParser::kTsc:
      return {kTscPattern, kPrettyTscPattern, kPlainTscPattern};
    case OutputParser::kRuff:
      return {kRuffPattern};
    case OutputParser::kCargo:
    case OutputParser::kRustc:
      return {kCargoPattern, kPanicPattern};
    default:
      return {};
  }
}

ColumnUnit unit_of(OutputParser parser) {
  switch (parser) {
    case OutputParser::kTsc:
      return ColumnUnit::kUtf16;
    case OutputParser::kRuff:
    case OutputParser::kCargo:
    case OutputParser::kRustc:
    case OutputParser::kShellcheck:
      return ColumnUnit::kCodePoints;
    default:
      return ColumnUnit::kBytes;
  }
}

uint32_t number_in(std::string_view text) {
  uint32_t value = 0;
  const auto result = std::from_chars(text.data(), text.data() + text.size(), value);
  return result.ec == std::errc() ? value : 0;
}

/// Decodes a string literal of a fix-it, escaped as GCC's pretty printer does.
std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char c = text[++i];
    if (c >= '0' && c <= '7') {
      unsigned value = 0;
      size_t digits = 0;
      for (; digits < 3 && i < text.size() && text[i] >= '0' && text[i] <= '7'; ++digits, ++i) {
        value = value * 8 + static_cast<unsigned>(text[i] - '0');
      }
      --i;
      out += static_cast<char>(value & 0xffU);
    } else {
      out += c == 'n' ? '\n' : (c == 't' ? '\t' : c);
    }
  }
  return out;
}

/// Removes colours that some programs write even to a pipe (ECMA-48, SGR and other CSI sequences).
std::string without_colors(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\033' || i + 1 == text.size() || text[i + 1] != '[') {
      out += text[i];
      continue;
    }
    for (i += 2; i < text.size() && (text[i] < '@' || text[i] > '~'); ++i) continue;
  }
  return out;
}

/// Called when reads_document() returns true.
FindingsOfOutput read_document(OutputParser parser, std::string_view output,
                               OutputSources& sources) {
  switch (parser) {
    case OutputParser::kJunit:
      return read_junit(output);
    case OutputParser::kEslint:
      return read_eslint(output, sources);
    case OutputParser::kRuff:
      return read_ruff(output, sources);
    case OutputParser::kShellcheck:
      return read_shellcheck(output, sources);
    default:
      return read_sarif(output);
  }
}

using LinesReader = void (*)(std::string_view, OutputSources&, std::vector<Finding>&);

/// The reader for output that needs several lines at once, or null.
LinesReader lines_reader_of(OutputParser parser) {
  switch (parser) {
    case OutputParser::kPython:
      return read_python;
    case OutputParser::kPytest:
      return read_pytest;
    case OutputParser::kGo:
      return read_go;
    case OutputParser::kJavac:
      return read_javac;
    case OutputParser::kCargo:
    case OutputParser::kRustc:
      return read_rustc;
    default:
      return nullptr;
  }
}

}  // namespace

Severity severity_of(std::string_view word) {
  const std::string lower = to_lower(word);
  const auto is_one_of = [&](std::initializer_list<std::string_view> words) {
    return std::find(words.begin(), words.end(), lower) != words.end();
  };
  if (lower.starts_with('w') || is_one_of({"medium", "moderate", "minor"})) {
    return Severity::kWarning;
  }
  const bool is_letter =
      lower.size() == 1 && std::string_view("nirhms").find(lower[0]) != std::string_view::npos;
  const bool is_note = is_letter || lower.starts_with("info") || lower.starts_with("note") ||
                       is_one_of({"notice", "remark", "refactor", "hint", "help", "message",
                                  "style", "suggestion", "none", "low"});
  return is_note ? Severity::kNote : Severity::kError;
}

/// Compiled line patterns with the numbers of their named groups.
struct OutputReader::LinePatterns {
  struct Pattern {
    std::unique_ptr<TextPattern> expression;
    std::map<std::string, int> groups;
  };

  /// The groups of one matched line; a missing group is empty.
  struct Match {
    const Pattern* pattern = nullptr;
    std::vector<re2::StringPiece> found;

    [[nodiscard]] bool has(const std::string& name) const { return pattern->groups.contains(name); }
    [[nodiscard]] std::string_view group(const std::string& name) const {
      const auto at = pattern->groups.find(name);
      if (at == pattern->groups.end()) return {};
      const re2::StringPiece& piece = found[static_cast<size_t>(at->second)];
      return {piece.data(), piece.size()};
    }
    [[nodiscard]] ToolPlace place(const std::string& line, const std::string& column) const {
      return {number_in(group(line)), number_in(group(column))};
    }
  };

  std::vector<Pattern> patterns;

  [[nodiscard]] Result<void> add(std::string_view text) {
    auto expression = std::make_unique<TextPattern>(
        std::string(text), TextPattern::Options{.max_memory = kMaxReportPatternMemory});
    const re2::RE2& compiled = expression->compiled();
    if (!compiled.ok()) {
      return fail(ErrorKind::kInvalid, "config.value",
                  fmt::format("parser_regex does not compile: {}", compiled.error()));
    }
    auto groups = compiled.NamedCapturingGroups();
    patterns.push_back({std::move(expression), std::move(groups)});
    return {};
  }

  [[nodiscard]] bool match(std::string_view line, Match& out) const {
    for (const Pattern& pattern : patterns) {
      const re2::RE2& expression = pattern.expression->for_text(line);
      out.found.assign(static_cast<size_t>(expression.NumberOfCapturingGroups() + 1), {});
      out.pattern = &pattern;
      if (expression.Match({line.data(), line.size()}, 0, line.size(), re2::RE2::UNANCHORED,
                           out.found.data(), static_cast<int>(out.found.size()))) {
        return true;
      }
    }
    return false;
  }
};

OutputReader::OutputReader() = default;
OutputReader::OutputReader(OutputReader&&) noexcept = default;
OutputReader& OutputReader::operator=(OutputReader&&) noexcept = default;
OutputReader::~OutputReader() = default;

Result<OutputReader> OutputReader::make(const ValidatorConfig& config) {
  OutputReader reader;
  reader.parser_ = config.parser;
  reader.patterns_ = std::make_unique<LinePatterns>();
  for (const std::string_view text : patterns_of(config)) GALLEY_TRY(reader.patterns_->add(text));
  if (config.parser == OutputParser::kRegex &&
      !reader.patterns_->patterns.front().groups.contains("message")) {
    return fail(ErrorKind::kInvalid, "config.value",
                "parser_regex has no group (?P<message>…); it may also have file, line, column, "
                "end_line, end_column, severity and rule");
  }
  return reader;
}

bool OutputReader::reads_document(std::string_view standard_output) const {
  switch (parser_) {
    case OutputParser::kSarif:
    case OutputParser::kJunit:
    case OutputParser::kEslint:
      return true;
    case OutputParser::kRuff:
    case OutputParser::kShellcheck: {  // lines or JSON, depending on its options
      const size_t begin = standard_output.find_first_not_of(" \t\r\n");
      return begin != standard_output.npos &&
             (standard_output[begin] == '[' || standard_output[begin] == '{');
    }
    default:
      return false;
  }
}

void OutputReader::read_lines(std::string_view output, OutputSources& sources,
                              std::vector<Finding>& findings) const {
  const ColumnUnit unit = unit_of(parser_);
  const Lines lines(output);
  LinePatterns::Match match;
  size_t fixits = 0;  // of the last finding
  for (size_t i = 0; i < lines.size() && findings.size() <= limits::kMaxParsedFindings; ++i) {
    if (!patterns_->match(without_terminator(lines[i]), match)) continue;
    if (match.has("fix")) {
      // Two places cannot be merged into one replacement without the text between them.
      if (findings.empty()) continue;
      findings.back().replacement.reset();
      if (++fixits > 1 || unescaped(match.group("file")) != findings.back().path) continue;
      set_edits(findings.back(),
                {{match.place("line", "column"), match.place("end_line", "end_column"),
                  unescaped(match.group("fix"))}},
                unit, sources);
      continue;
    }
    fixits = 0;
    Finding finding;
    finding.rule = match.group("rule");
    finding.severity = severity_of(match.group("severity"));
    finding.path = match.group("file");
    ToolPlace end = match.place("end_line", "end_column");
    if (match.has("last_column") && !match.group("last_column").empty()) {
      end.column = number_in(match.group("last_column")) + 1;
    }
    set_place(finding, match.place("line", "column"), end, unit, sources);
    finding.message = match.has("message")
                          ? match.group("message")
                          : (i + 1 < lines.size() ? without_terminator(lines[i + 1]) : "");
    findings.push_back(std::move(finding));
  }
}

Result<std::vector<Finding>> OutputReader::read(std::string_view output,
                                                const SourceText& text) const {
  OutputSources sources(text);
  std::vector<Finding> findings;
  std::string plain;
  if (parser_ != OutputParser::kRegex && output.find('\033') != output.npos) {
    plain = without_colors(output);
    output = plain;
  }
  if (reads_document(output)) {
    GALLEY_ASSIGN(findings, read_document(parser_, output, sources));
  } else {
    if (const LinesReader own = lines_reader_of(parser_)) own(output, sources, findings);
    read_lines(output, sources, findings);
  }
  for (Finding& finding : findings) settle(finding);
  // cargo repeats a message for each target of the file, a C compiler for each including file.
  std::set<std::tuple<std::string, uint32_t, uint32_t, std::string, std::string>> seen;
  std::erase_if(findings, [&](const Finding& one) {
    return one.line != 0 &&
           !seen.emplace(one.path, one.line, one.column, one.rule, one.message).second;
  });
  return findings;
}

}  // namespace galley
