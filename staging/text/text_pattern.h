#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace re2 {
class RE2;
}  // namespace re2

namespace galley {

/// A regular expression (RE2) for texts that are mostly UTF-8. In a text that is not UTF-8, each
/// byte is a character (Latin-1). Each form is compiled at its first use.
///
/// Threads: safe to share.
class TextPattern {
 public:
  struct Options {
    int64_t max_memory = int64_t{8} << 20U;  ///< of one compiled form, in bytes
    bool ignores_case = false;
    bool dot_matches_newline = false;
    bool matches_newlines = true;
  };
  TextPattern(std::string text, const Options& options);
  TextPattern(const TextPattern&) = delete;
  TextPattern& operator=(const TextPattern&) = delete;
  ~TextPattern();

  [[nodiscard]] const std::string& text() const { return text_; }
  /// Compiles the pattern. `error()` of the result is empty if it can be used, and the groups are
  /// those of every form.
  [[nodiscard]] const re2::RE2& compiled() const { return form(utf8_); }
  /// The form to match this text with.
  [[nodiscard]] const re2::RE2& for_text(std::string_view text) const;

 private:
  struct Form {
    mutable std::once_flag once;
    mutable std::unique_ptr<const re2::RE2> compiled;
  };
  [[nodiscard]] const re2::RE2& form(const Form& form) const;

  std::string text_;
  Options options_;
  Form utf8_;
  Form latin1_;
};

}  // namespace galley
