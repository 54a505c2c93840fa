#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "staging/sandbox/syntax/wire.h"

namespace galley {

/// The most that a batch of texts may take to be parsed.
inline constexpr std::chrono::milliseconds kMaxSyntaxRun{60'000};
/// A batch with more bytes than this is shared by several children, one a core.
inline constexpr size_t kSyntaxShareBytes = size_t{256} << 10U;

/// A text to be parsed, and what messages call it.
struct SyntaxText {
  SyntaxLanguage language = SyntaxLanguage::kC;
  std::string_view text;  ///< kMaxSyntaxBytes at most
  std::string name;
};

/// galley-syntax: Tree-sitter with its grammars, which are foreign C. It parses in children that
/// have nothing but their memory, their limits (staging/sandbox/syntax/wire.h) and a socket to us.
///
/// Threads: safe to share.
/// Errors:  kNotFound `syntax.not_installed`; kTimeout `syntax.timeout` and `syntax.stopped`;
///          kInternal `syntax.died`, which names the text that it could not cope with.
class SyntaxProgram {
 public:
  /// Finds the program beside this one or in its libexec directory.
  static Result<SyntaxProgram> find();
  explicit SyntaxProgram(std::string path) : path_(std::move(path)) {}

  [[nodiscard]] const std::string& path() const { return path_; }
  /// A text that changes when the program does.
  [[nodiscard]] std::string identity() const;
  /// Returns an answer for each text, in their order. `should_stop` is asked now and then, from
  /// several threads.
  [[nodiscard]] Result<std::vector<SyntaxAnswer>> parse(
      const std::vector<SyntaxText>& texts, const std::function<bool()>& should_stop) const;

 private:
  std::string path_;
};

}  // namespace galley
