#pragma once

#include <galley/tool.h>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "tools/tool.h"

namespace galley {

/// Replaces secret values by `[REDACTED:name]`. It finds each value as it is, in hexadecimal, as
/// written in URLs and JSON, and in base64 of both alphabets at any offset of the encoded text.
/// Hexadecimal and base64 may be broken into lines.
///
/// Threads: confined to one thread while secrets are added; then immutable, safe to share.
class Redactor {
 public:
  /// Shorter values occur in ordinary text and are not replaced.
  static constexpr size_t kMinSecretBytes = 6;

  void add(const std::string& name, const std::string& value);
  [[nodiscard]] bool is_empty() const { return forms_.empty(); }

  /// Returns the text with every secret replaced. If the text ends with a secret in base64,
  /// `last_digits` gets the possible next digits, which have the secret's last bits.
  [[nodiscard]] std::string redact(std::string_view text, std::string* last_digits = nullptr) const;
  /// Whether redact() would change the text.
  [[nodiscard]] bool finds(std::string_view text) const;
  /// Redacts every string and key of a document.
  [[nodiscard]] nlohmann::ordered_json redact_document(
      const nlohmann::ordered_json& document) const;

  /// The number of bytes at the end of `text` that may begin a secret.
  [[nodiscard]] size_t undecided_suffix(std::string_view text) const;

 private:
  struct Form {
    std::string text;
    std::string replacement;
    std::string last;         ///< one of these characters may follow, and is replaced too
    bool has_digits = false;  ///< hexadecimal or base64, which programs break into lines
  };
  /// Where a text has a form: [begin, end); begin is npos if it has not.
  struct Match {
    size_t begin = std::string_view::npos;
    size_t end = 0;
  };
  [[nodiscard]] static Match find(const Form& form, std::string_view text, size_t from = 0);
  void take_in(std::vector<Form> forms);

  std::vector<Form> forms_;  ///< longest first
};

/// Redacts a stream that arrives in pieces, even if a piece ends inside a secret.
///
/// Ownership: borrows the redactor. Threads: confined to one thread.
class StreamRedactor {
 public:
  explicit StreamRedactor(const Redactor& redactor) : redactor_(&redactor) {}
  /// Takes a piece. Returns the redacted text before any part that may begin a secret.
  std::string feed(std::string_view piece);
  /// Returns the rest of the text.
  std::string finish();

 private:
  const Redactor* redactor_;
  std::string held_;
  std::string last_digits_;  ///< digits of the secret that the next piece may begin with
};

/// Replaces text that looks like a secret (keys, tokens, passwords in URLs) by `[REDACTED:rule]`.
/// It is for records, logs and the output of commands, never for texts that an agent edits.
[[nodiscard]] std::string redact_patterns(std::string_view text);
/// Whether redact_patterns() may change the text. Most texts have no mark of a pattern.
[[nodiscard]] bool may_have_pattern(std::string_view text);

/// redact_patterns for a stream that arrives in pieces. It returns a line when the line is
/// complete, or longer than kMaxHeldLineBytes. A private key is hidden to its last line.
///
/// Threads: confined to one thread.
class PatternStream {
 public:
  static constexpr size_t kMaxHeldLineBytes = size_t{16} << 10U;  ///< an incomplete line of a log

  std::string feed(std::string_view piece);
  /// Returns the rest of the text.
  std::string finish();

 private:
  std::string shown(std::string_view line);

  std::string held_;
  bool is_in_key_ = false;
};

/// The number of `[REDACTED:name]` in a text.
[[nodiscard]] size_t count_redaction_markers(std::string_view text);

/// Whether the name of a key marks its value as a secret: `password`, `api_key`, `Authorization` …
[[nodiscard]] bool is_secret_key(std::string_view key);

/// The most bytes of one text after sanitized_text(). It cuts the rest and states its size.
inline constexpr size_t kMaxSanitizedTextBytes = size_t{1} << 20U;
/// The same for all texts of one answer together.
inline constexpr size_t kMaxSanitizedAnswerBytes = size_t{8} << 20U;

/// Cleans each text and each member name of an answer.
/// Errors: kQuota `limit.answer_bytes` when it is larger than kMaxSanitizedAnswerBytes.
[[nodiscard]] Result<nlohmann::ordered_json> sanitized_answer(const nlohmann::ordered_json& answer,
                                                              const TextSanitizer& clean);

/// Whether a tool of this category can be added only with a sanitizer, since its answers come from
/// outside Galley.
[[nodiscard]] bool needs_sanitizer(ToolInfo::Category category);

}  // namespace galley
