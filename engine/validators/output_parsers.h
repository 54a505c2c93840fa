#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/policy/config.h"
#include "engine/policy/finding.h"
#include "engine/validators/output_places.h"

namespace galley {

/// Turns the output of a command into findings. It knows the formats of many programs
/// (docs/validators.md), regular expressions, SARIF 2.1.0 and JUnit XML.
///
/// The path of a finding is the path in the output. The rule is empty if the output has none.
/// Columns are in bytes if the file is available.
///
/// Threads: immutable, safe to share.
class OutputReader {
 public:
  /// Makes the reader of a validator.
  /// Errors: kInvalid `config.value` for a pattern that does not compile or lacks its groups.
  [[nodiscard]] static Result<OutputReader> make(const ValidatorConfig& config);

  OutputReader(OutputReader&&) noexcept;
  OutputReader& operator=(OutputReader&&) noexcept;
  ~OutputReader();

  /// Parses an output. `text` finds the files in the output. Without it, parts of findings that
  /// need a file are missing.
  /// Errors: kInvalid `validator.output` for a document that the parser cannot read.
  [[nodiscard]] Result<std::vector<Finding>> read(std::string_view output,
                                                  const SourceText& text = {}) const;
  /// Whether this standard output is one document instead of lines. A document must be complete and
  /// not mixed with standard error.
  [[nodiscard]] bool reads_document(std::string_view standard_output) const;

 private:
  struct LinePatterns;
  OutputReader();
  void read_lines(std::string_view output, OutputSources& sources,
                  std::vector<Finding>& findings) const;

  OutputParser parser_ = OutputParser::kNone;
  std::unique_ptr<LinePatterns> patterns_;
};

using FindingsOfOutput = Result<std::vector<Finding>>;

/// Readers of whole documents, one for each format.
[[nodiscard]] FindingsOfOutput read_sarif(std::string_view text);
[[nodiscard]] FindingsOfOutput read_junit(std::string_view text);
[[nodiscard]] FindingsOfOutput read_eslint(std::string_view text, OutputSources& sources);
[[nodiscard]] FindingsOfOutput read_ruff(std::string_view text, OutputSources& sources);
[[nodiscard]] FindingsOfOutput read_shellcheck(std::string_view text, OutputSources& sources);

/// Readers of groups of lines. They skip other lines.
void read_rustc(std::string_view text, OutputSources& sources, std::vector<Finding>& findings);
void read_python(std::string_view text, OutputSources& sources, std::vector<Finding>& findings);
void read_pytest(std::string_view text, OutputSources& sources, std::vector<Finding>& findings);
void read_go(std::string_view text, OutputSources& sources, std::vector<Finding>& findings);
void read_javac(std::string_view text, OutputSources& sources, std::vector<Finding>& findings);

/// Returns the severity for a program's word; kError for an unknown word.
[[nodiscard]] Severity severity_of(std::string_view word);

}  // namespace galley
