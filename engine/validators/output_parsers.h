#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/policy/config.h"
#include "engine/policy/finding.h"
#include "engine/validators/output_places.h"

namespace galley {

/// Turns the output of a command into findings: by the program that wrote it (docs/validators.md
/// has the list), by a regular expression, SARIF 2.1.0, JUnit XML.
///
/// A finding's path is what the output says; its rule is empty when the output names none. Columns
/// are in bytes, as far as the file is there to count them in.
/// Threads: immutable, safe to share.
class OutputReader {
 public:
  /// Errors: kInvalid `config.value` for a pattern that does not compile or lacks its groups.
  [[nodiscard]] static Result<OutputReader> make(const ValidatorConfig& config);

  OutputReader(OutputReader&&) noexcept;
  OutputReader& operator=(OutputReader&&) noexcept;
  ~OutputReader();

  /// `text` finds the files that the output names; without it, what needs them is left out.
  /// Errors: kInvalid `validator.output` for a document that is not what the parser reads.
  [[nodiscard]] Result<std::vector<Finding>> read(std::string_view output,
                                                  const SourceText& text = {}) const;
  /// Whether this standard output is a whole document, which must not be cut off and has nothing of
  /// standard error in it, instead of lines.
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

/// One reader of whole documents each.
[[nodiscard]] FindingsOfOutput read_sarif(std::string_view text);
[[nodiscard]] FindingsOfOutput read_junit(std::string_view text);
[[nodiscard]] FindingsOfOutput read_eslint(std::string_view text, OutputSources& sources);
[[nodiscard]] FindingsOfOutput read_ruff(std::string_view text, OutputSources& sources);
[[nodiscard]] FindingsOfOutput read_shellcheck(std::string_view text, OutputSources& sources);

/// Readers of lines that belong together; what is nothing of theirs is passed over.
void read_rustc(std::string_view text, OutputSources& sources, std::vector<Finding>& findings);
void read_python(std::string_view text, OutputSources& sources, std::vector<Finding>& findings);
void read_pytest(std::string_view text, OutputSources& sources, std::vector<Finding>& findings);
void read_go(std::string_view text, OutputSources& sources, std::vector<Finding>& findings);
void read_javac(std::string_view text, OutputSources& sources, std::vector<Finding>& findings);

/// The severity that a word of a program means; an error when it means none.
[[nodiscard]] Severity severity_of(std::string_view word);

}  // namespace galley
