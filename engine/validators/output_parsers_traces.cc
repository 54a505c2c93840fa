#include <fmt/core.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>

#include "base/limits.h"
#include "base/text.h"
#include "engine/validators/output_parsers.h"

// Readers for programs whose complaints take several lines: first the frames, then the message.

namespace galley {
namespace {

using re2::StringPiece;

/// The groups of an expression that matched a line.
using Groups = std::array<StringPiece, 5>;

bool matches(const re2::RE2& expression, std::string_view line, Groups& out) {
  return expression.Match({line.data(), line.size()}, 0, line.size(), re2::RE2::ANCHOR_START,
                          out.data(), expression.NumberOfCapturingGroups() + 1);
}

std::string text(const StringPiece& piece) { return std::string(piece.data(), piece.size()); }

uint32_t number(const StringPiece& piece) {
  uint32_t value = 0;
  for (const char c : text(piece)) {
    if (value > UINT32_MAX / 10 - 1) return 0;
    value = value * 10 + static_cast<uint32_t>(c - '0');
  }
  return value;
}

/// A place in a chain of calls. Lists of frames have the innermost one last.
struct Frame {
  std::string path;
  uint32_t line = 0;
};

/// The innermost frame in the workspace's own code, else the innermost of all.
const Frame* own_frame(const std::vector<Frame>& frames, OutputSources& sources) {
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    if (sources.find(frame->path) != nullptr) return &*frame;
  }
  return frames.empty() ? nullptr : &frames.back();
}

bool is_full(const std::vector<Finding>& findings) {
  return findings.size() > limits::kMaxParsedFindings;
}

const re2::RE2& python_frame() {
  static const re2::RE2 kExpression(R"re(\s*File "([^"]+)", line (\d+))re");
  return kExpression;
}

/// `KeyError: 'grams'`, optionally with its module, optionally without a message.
const re2::RE2& python_exception() {
  static const re2::RE2 kExpression(R"(((?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*)(?:: (.*))?$)");
  return kExpression;
}

// --- python -------------------------------------------------------------------------------------

/// Reads tracebacks: frames, then the exception. In a chain of exceptions the last one counts.
class PythonReader {
 public:
  PythonReader(OutputSources& sources, std::vector<Finding>& findings)
      : sources_(sources), findings_(findings) {}

  void take(std::string_view line) {
    static const re2::RE2 kTest(R"((?:FAIL|ERROR): (.+)$)");
    Groups groups;
    if (line.starts_with("The above exception was the direct cause") ||
        line.starts_with("During handling of the above exception")) {
      if (ended_one_) findings_.pop_back();
      ended_one_ = false;
    } else if (matches(python_frame(), line, groups)) {
      frames_.push_back({text(groups[1]), number(groups[2])});
      caret_.clear();
    } else if (frames_.empty()) {
      if (matches(kTest, line, groups)) test_ = text(groups[1]);
    } else if (line.empty() || line.front() == ' ') {
      if (is_caret(line)) caret_ = line;
    } else if (matches(python_exception(), line, groups)) {
      end(line, text(groups[1]));
    } else {
      frames_.clear();
    }
  }

 private:
  static bool is_caret(std::string_view line) {
    return line.find('^') != line.npos && line.find_first_not_of(" ^~") == line.npos;
  }

  void end(std::string_view line, const std::string& exception) {
    const Frame* frame = own_frame(frames_, sources_);
    Finding finding;
    finding.rule = exception;
    finding.path = frame->path;
    finding.line = frame->line;
    finding.message = test_.empty() ? std::string(line) : fmt::format("{}: {}", test_, line);
    if (frame == &frames_.back() && !caret_.empty()) set_column(finding);
    findings_.push_back(std::move(finding));
    ended_one_ = true;
    frames_.clear();
    test_.clear();
  }

  /// Carets are below a line that is shown without its own indentation, after four spaces.
  void set_column(Finding& finding) {
    constexpr size_t kShownIndent = 4;
    const SourceFile* source = sources_.find(finding.path);
    const size_t begin = caret_.find_first_of("^~");
    if (source == nullptr || begin < kShownIndent) return;
    const size_t end = caret_.find_last_of("^~") + 1;
    const size_t indent = std::min(source->line(finding.line).find_first_not_of(" \t\f"),
                                   source->line(finding.line).size());
    const auto column = [&](size_t at) {
      return static_cast<uint32_t>(indent + at - kShownIndent + 1);
    };
    set_place(finding, {finding.line, column(begin)}, {finding.line, column(end)},
              ColumnUnit::kCodePoints, sources_);
  }

  OutputSources& sources_;
  std::vector<Finding>& findings_;
  std::vector<Frame> frames_;
  std::string caret_;
  std::string test_;  ///< of unittest; its traceback follows
  bool ended_one_ = false;
};

// --- pytest -------------------------------------------------------------------------------------

/// Reads the sections of failures and, for tests without a section, the short summary.
class PytestReader {
 public:
  PytestReader(OutputSources& sources, std::vector<Finding>& findings)
      : sources_(sources), findings_(findings) {}

  void take(std::string_view line) {
    static const re2::RE2 kTitle(R"(={3,} (.+?) ={3,}$)");
    static const re2::RE2 kSection(R"(_{2,} (.+?) _{2,}$)");
    Groups groups;
    if (matches(kTitle, line, groups)) {
      end();
      part_ = groups[1] == "FAILURES"                  ? Part::kFailures
              : groups[1] == "ERRORS"                  ? Part::kErrors
              : groups[1] == "short test summary info" ? Part::kSummary
                                                       : Part::kOther;
    } else if (part_ == Part::kSummary) {
      take_summary(line);
    } else if (part_ == Part::kFailures || part_ == Part::kErrors) {
      if (matches(kSection, line, groups)) {
        end();
        test_ = text(groups[1]);
      } else {
        take_section(line);
      }
    }
  }

  void end() {
    if (test_.empty()) return;
    const Frame* frame = own_frame(frames_, sources_);
    Finding finding;
    finding.rule = part_ == Part::kErrors ? "test_error" : "test_failure";
    if (frame != nullptr) {
      finding.path = frame->path;
      finding.line = frame->line;
    }
    finding.message = message_.empty() ? test_ : fmt::format("{}: {}", test_, message_);
    findings_.push_back(std::move(finding));
    tests_.emplace_back(std::move(test_), findings_.size() - 1);
    test_.clear();
    message_.clear();
    frames_.clear();
  }

 private:
  enum class Part : uint8_t { kOther, kErrors, kFailures, kSummary };

  void take_section(std::string_view line) {
    static const re2::RE2 kPlace(R"(([^\s:][^:]*):(\d+): ?(.*)$)");
    static const re2::RE2 kWhy(R"(E {2,}(\S.*)$)");
    Groups groups;
    if (matches(kWhy, line, groups)) {
      if (message_.empty()) message_ = text(groups[1]);
    } else if (matches(python_frame(), line, groups)) {
      frames_.push_back({text(groups[1]), number(groups[2])});
    } else if (matches(kPlace, line, groups)) {
      // --tb=line prints only one line for each failure, without sections.
      if (test_.empty()) {
        lines_.push_back({{text(groups[1]), number(groups[2])}, text(groups[3])});
      } else {
        frames_.push_back({text(groups[1]), number(groups[2])});
      }
    } else if (message_.empty() && !frames_.empty() && matches(python_exception(), line, groups)) {
      message_ = line;  // --tb=native
    }
  }

  /// Names in sections are `TestMany.test_two[1]`; in the summary `FILE::TestMany::test_two[1]`.
  static std::string section_name(std::string_view id) {
    const size_t file = id.find("::");
    std::string name(file == id.npos ? id : id.substr(file + 2));
    for (size_t at = 0; (at = name.find("::", at)) != name.npos;) name.replace(at, 2, ".");
    return name;
  }

  void take_summary(std::string_view line) {
    static const re2::RE2 kEntry(R"((FAILED|ERROR) (\S.*?)(?: - (.*))?$)");
    Groups groups;
    if (!matches(kEntry, line, groups)) return;
    const std::string id = text(groups[2]);
    const std::string name = section_name(id);
    const auto known = std::find_if(tests_.begin(), tests_.end(), [&](const auto& test) {
      return test.first == name || test.first.ends_with(" " + name);  // `ERROR at setup of NAME`
    });
    if (known != tests_.end()) {
      Finding& finding = findings_[known->second];
      if (finding.path.empty()) finding.path = id.substr(0, id.find("::"));
      return;
    }
    Finding finding;
    finding.rule = groups[1] == "FAILED" ? "test_failure" : "test_error";
    finding.path = id.substr(0, id.find("::"));
    std::string why = text(groups[3]);
    if (groups[1] == "FAILED" && next_line_ < lines_.size()) {
      finding.path = lines_[next_line_].first.path;
      finding.line = lines_[next_line_].first.line;
      why = lines_[next_line_++].second;
    }
    finding.message = why.empty() ? name : fmt::format("{}: {}", name, why);
    findings_.push_back(std::move(finding));
  }

  OutputSources& sources_;
  std::vector<Finding>& findings_;
  Part part_ = Part::kOther;
  std::string test_;  ///< the test of the present section; empty outside
  std::string message_;
  std::vector<Frame> frames_;
  std::vector<std::pair<std::string, size_t>> tests_;  ///< tests that had a section, and their
                                                       ///< findings
  std::vector<std::pair<Frame, std::string>> lines_;   ///< of --tb=line, in the summary's order
  size_t next_line_ = 0;
};

// --- go -----------------------------------------------------------------------------------------

/// Reads output of build and vet, output of tests, and panics. Tests name a file without its
/// directory, which is known only at the end of the package.
class GoReader {
 public:
  GoReader(OutputSources& sources, std::vector<Finding>& findings)
      : sources_(sources), findings_(findings) {}

  void take(std::string_view line) {
    static const re2::RE2 kBuild(R"((?:vet: )?([^\s:][^:]*\.go):(\d+)(?::(\d+))?: (.+)$)");
    static const re2::RE2 kTest(R"(\s*--- FAIL: (\S+))");
    static const re2::RE2 kSaid(R"(\s+([^\s:/]+\.go):(\d+): (.*)$)");
    static const re2::RE2 kFrame(R"(\t(\S.*\.go):(\d+)(?: |$))");
    static const re2::RE2 kPackage(R"(FAIL\t(\S+))");
    Groups groups;
    if (matches(kTest, line, groups)) {
      test_ = text(groups[1]);
    } else if (matches(kFrame, line, groups) && !panic_.empty()) {
      frames_.push_back({text(groups[1]), number(groups[2])});
    } else if (matches(kSaid, line, groups) && panic_.empty()) {
      Finding& finding = add("test_failure", test_ + ": " + text(groups[3]));
      finding.path = text(groups[1]);
      finding.line = number(groups[2]);
    } else if (line.starts_with("panic: ")) {
      if (panic_.empty()) panic_ = line;
    } else if (matches(kPackage, line, groups)) {
      end_panic();
      place_tests(text(groups[1]));
    } else if (matches(kBuild, line, groups)) {
      Finding& finding = add("", text(groups[4]));
      finding.path = text(groups[1]);
      set_place(finding, {number(groups[2]), number(groups[3])}, {}, ColumnUnit::kBytes, sources_);
      first_of_package_ = findings_.size();
    }
  }

  void end_panic() {
    if (panic_.empty()) return;
    constexpr std::string_view kAgain = " [recovered]";
    if (panic_.ends_with(kAgain)) panic_.resize(panic_.size() - kAgain.size());
    // The innermost call comes first.
    std::reverse(frames_.begin(), frames_.end());
    const Frame* frame = own_frame(frames_, sources_);
    Finding& finding = add("panic", test_.empty() ? panic_ : test_ + ": " + panic_);
    if (frame != nullptr) {
      finding.path = frame->path;
      finding.line = frame->line;
    }
    panic_.clear();
    frames_.clear();
  }

 private:
  Finding& add(std::string rule, std::string message) {
    Finding& finding = findings_.emplace_back();
    finding.rule = std::move(rule);
    finding.message = std::move(message);
    return finding;
  }

  /// An absolute path is looked up by its longest existing tail, so the module's name may precede
  /// it.
  void place_tests(const std::string& package) {
    for (; first_of_package_ < findings_.size(); ++first_of_package_) {
      Finding& finding = findings_[first_of_package_];
      if (finding.rule != "test_failure") continue;
      finding.path = fmt::format("/{}/{}", package, finding.path);
    }
  }

  OutputSources& sources_;
  std::vector<Finding>& findings_;
  std::string test_;
  std::string panic_;
  std::vector<Frame> frames_;
  size_t first_of_package_ = 0;
};

// --- javac --------------------------------------------------------------------------------------

/// Reads a message, its source line and the caret below it, and the symbol that was not found.
class JavacReader {
 public:
  JavacReader(OutputSources& sources, std::vector<Finding>& findings)
      : sources_(sources), findings_(findings) {}

  void take(std::string_view line) {
    static const re2::RE2 kMessage(
        R"((.+?\.java):(\d+): (?:(error|warning): )?(?:\[([\w-]+)\] )?(.*)$)");
    static const re2::RE2 kSymbol(R"(\s+symbol:\s+(.+)$)");
    std::array<StringPiece, 6> parts;
    Groups groups;
    if (kMessage.Match({line.data(), line.size()}, 0, line.size(), re2::RE2::ANCHOR_START,
                       parts.data(), static_cast<int>(parts.size()))) {
      Finding& finding = findings_.emplace_back();
      finding.path = text(parts[1]);
      finding.line = number(parts[2]);
      finding.severity = severity_of({parts[3].data(), parts[3].size()});
      finding.rule = text(parts[4]);
      finding.message = text(parts[5]);
      is_open_ = true;
    } else if (!is_open_) {
      return;
    } else if (line.find_first_not_of(" \t") == line.find('^') && line.ends_with('^')) {
      const ToolPlace begin{findings_.back().line, static_cast<uint32_t>(line.size())};
      set_place(findings_.back(), begin, {}, ColumnUnit::kUtf16, sources_);
    } else if (matches(kSymbol, line, groups)) {
      findings_.back().message += ": " + text(groups[1]);
      is_open_ = false;
    }
  }

 private:
  OutputSources& sources_;
  std::vector<Finding>& findings_;
  bool is_open_ = false;  ///< further lines of the last message may follow
};

template <class Reader>
void take_lines(std::string_view output, Reader& reader, const std::vector<Finding>& findings) {
  const Lines lines(output);
  for (size_t i = 0; i < lines.size() && !is_full(findings); ++i) {
    reader.take(without_terminator(lines[i]));
  }
}

}  // namespace

void read_python(std::string_view text, OutputSources& sources, std::vector<Finding>& findings) {
  PythonReader reader(sources, findings);
  take_lines(text, reader, findings);
}

void read_pytest(std::string_view text, OutputSources& sources, std::vector<Finding>& findings) {
  PytestReader reader(sources, findings);
  take_lines(text, reader, findings);
  reader.end();
}

void read_go(std::string_view text, OutputSources& sources, std::vector<Finding>& findings) {
  GoReader reader(sources, findings);
  take_lines(text, reader, findings);
  reader.end_panic();
}

void read_javac(std::string_view text, OutputSources& sources, std::vector<Finding>& findings) {
  JavacReader reader(sources, findings);
  take_lines(text, reader, findings);
}

}  // namespace galley
