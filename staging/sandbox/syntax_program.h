#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "staging/sandbox/syntax/wire.h"

namespace galley {

/// Time limit for parsing a batch of texts.
inline constexpr std::chrono::milliseconds kMaxSyntaxRun{60'000};
/// A larger batch is shared by several children, one per core.
inline constexpr size_t kSyntaxShareBytes = size_t{256} << 10U;

/// A text to parse, and its name in messages.
struct SyntaxText {
  SyntaxLanguage language = SyntaxLanguage::kC;
  std::string_view text;  ///< at most kMaxSyntaxBytes
  std::string name;
};

/// galley-syntax: Tree-sitter with its grammars, which are third-party C. It parses in children
/// that have only their memory, their limits (staging/sandbox/syntax/wire.h) and a socket to this
/// process.
///
/// Threads: safe to share.
/// Errors:  kNotFound `syntax.not_installed`; kTimeout `syntax.timeout` and `syntax.stopped`;
///          kInternal `syntax.died`, which names the text that the child failed on.
class SyntaxProgram {
 public:
  /// Finds the program next to this one or in its libexec directory.
  static Result<SyntaxProgram> find();
  explicit SyntaxProgram(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  /// A text that changes when the program changes.
  [[nodiscard]] std::string identity() const;
  /// Returns an answer for each text, in their order. `should_stop` is called from time to time, on
  /// several threads.
  [[nodiscard]] Result<std::vector<SyntaxAnswer>> parse(
      const std::vector<SyntaxText>& texts, const std::function<bool()>& should_stop) const;

 private:
  std::string path_;
};

}  // namespace galley
