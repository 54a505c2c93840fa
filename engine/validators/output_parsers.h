#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/policy/config.h"
#include "engine/policy/finding.h"

namespace galley {

/// Turns the output of a command into findings: GCC and Clang diagnostics, any line format by a
/// regular expression, SARIF 2.1.0, JUnit XML.
///
/// A finding's path is what the output says; its rule is empty when the output names none.
/// Threads: immutable, safe to share.
class OutputReader {
 public:
  /// Errors: kInvalid `config.value` for a pattern that does not compile or lacks its groups.
  [[nodiscard]] static Result<OutputReader> make(const ValidatorConfig& config);

  OutputReader(OutputReader&&) noexcept;
  OutputReader& operator=(OutputReader&&) noexcept;
  ~OutputReader();

  /// Errors: kInvalid `validator.output` for a document that is not what the parser reads.
  [[nodiscard]] Result<std::vector<Finding>> read(std::string_view output) const;
  /// Whether it reads whole documents, which must not be cut off, instead of lines.
  [[nodiscard]] bool needs_whole_output() const;

 private:
  struct LinePattern;
  OutputReader();
  OutputParser parser_ = OutputParser::kNone;
  std::unique_ptr<LinePattern> pattern_;
};

/// One reader of whole documents each.
[[nodiscard]] Result<std::vector<Finding>> read_sarif(std::string_view text);
[[nodiscard]] Result<std::vector<Finding>> read_junit(std::string_view text);

}  // namespace galley
