#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace galley {

/// Replaces secret values by `[REDACTED:name]`: each value as it is, in base64 of both alphabets
/// wherever it stands in the encoded text, in hexadecimal, and as URLs and JSON write it.
///
/// Threads: confined to one thread while secrets are added; then immutable, safe to share.
class Redactor {
 public:
  /// Values shorter than this would tear ordinary text apart and are left alone.
  static constexpr size_t kMinSecretBytes = 6;

  void add(const std::string& name, const std::string& value);
  /// Takes in what the other knows.
  void add_all(const Redactor& other);
  [[nodiscard]] bool is_empty() const { return forms_.empty(); }

  /// Where the text ends with base64 of a secret, `last_digits` gets what the digit behind it can
  /// be that has the secret's last bits.
  [[nodiscard]] std::string redact(std::string_view text, std::string* last_digits = nullptr) const;
  /// Whether redact() would change the text.
  [[nodiscard]] bool finds(std::string_view text) const;
  /// Every string and key of a document.
  [[nodiscard]] nlohmann::ordered_json redact_document(
      const nlohmann::ordered_json& document) const;

  /// Bytes at the end of `text` that may be the beginning of a secret still to come.
  [[nodiscard]] size_t undecided_suffix(std::string_view text) const;

 private:
  struct Form {
    std::string text;
    std::string replacement;
    std::string last;  ///< one of these may follow and is replaced with it
  };
  void take_in(std::vector<Form> forms);

  std::vector<Form> forms_;  ///< longest first
};

/// Redacts a stream that arrives in pieces, wherever the cuts fall.
///
/// Ownership: borrows the redactor. Threads: confined to one thread.
class StreamRedactor {
 public:
  explicit StreamRedactor(const Redactor& redactor) : redactor_(&redactor) {}
  /// Takes a piece and returns what may be shown so far.
  std::string feed(std::string_view piece);
  /// What was held back.
  std::string finish();

 private:
  const Redactor* redactor_;
  std::string held_;
  std::string last_digits_;  ///< the next piece may begin with one, which is still the secret's
};

/// Replaces what looks like a secret (keys, tokens, passwords in URLs) by `[REDACTED:rule]`: for
/// records, logs and the output of commands, never for texts that an agent goes on working with.
[[nodiscard]] std::string redact_patterns(std::string_view text);

/// redact_patterns for a stream that arrives in pieces. A line is shown when it is whole, or when
/// more of it is held than kMaxHeldLineBytes; a private key is hidden to its last line.
///
/// Threads: confined to one thread.
class PatternStream {
 public:
  static constexpr size_t kMaxHeldLineBytes = size_t{16} << 10U;

  std::string feed(std::string_view piece);
  /// What was held back.
  std::string finish();

 private:
  std::string shown(std::string_view line);

  std::string held_;
  bool is_in_key_ = false;
};

/// How many times `[REDACTED:name]` stands in a text.
[[nodiscard]] size_t count_redaction_markers(std::string_view text);

/// Whether a value under this key is a secret by its name: `password`, `api_key`, `Authorization` …
[[nodiscard]] bool is_secret_key(std::string_view key);

}  // namespace galley
