#pragma once

#include <re2/re2.h>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace galley {

/// A regular expression (RE2) for texts that are mostly UTF-8. In a text that is not UTF-8, each
/// byte is a character (Latin-1). Each form is compiled at its first use.
///
/// Threads: safe to share.
class TextPattern {
 public:
  /// The encoding in `options` does not count.
  TextPattern(std::string text, const re2::RE2::Options& options);

  [[nodiscard]] const std::string& text() const { return text_; }
  /// Compiles the pattern. `error()` of the result is empty if it can be used, and the groups are
  /// those of every form.
  [[nodiscard]] const re2::RE2& compiled() const { return form(utf8_); }
  /// The form to match this text with.
  [[nodiscard]] const re2::RE2& for_text(std::string_view text) const;

 private:
  struct Form {
    re2::RE2::Options options;
    mutable std::once_flag once;
    mutable std::unique_ptr<const re2::RE2> compiled;
  };
  [[nodiscard]] const re2::RE2& form(const Form& form) const;

  std::string text_;
  Form utf8_;
  Form latin1_;
};

}  // namespace galley
