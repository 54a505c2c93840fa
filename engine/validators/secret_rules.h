#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace galley {

/// The maximum memory of one compiled pattern, in bytes.
inline constexpr int64_t kMaxPatternMemory = int64_t{32} << 20U;

/// A secret that was found: only its place and its kind, never its text.
struct SecretMatch {
  std::string rule;  ///< id of the rule
  std::string description;
  size_t begin = 0;  ///< byte range of the secret in the text
  size_t end = 0;
};

/// Shannon entropy in bits a byte (Shannon 1948).
[[nodiscard]] double entropy_of(std::string_view text);

/// When the patterns of a rule file are compiled.
enum class PatternCheck : uint8_t {
  kNow,    ///< an invalid one is an error immediately
  kAtUse,  ///< for rules that compiled before: each when a text first needs it
};

/// A set of rules in the format of gitleaks 8: regular expression (RE2, linear time), secretGroup,
/// keywords as a filter, entropy, path, and allowlists.
///
/// Threads: immutable, safe to share.
class SecretRules {
 public:
  /// Galley's own small set: credentials with a recognisable form, and assignments of high-entropy
  /// values to names that suggest a secret.
  [[nodiscard]] static Result<SecretRules> built_in(PatternCheck check = PatternCheck::kAtUse);
  /// Errors: kInvalid `config.syntax` or `config.value`, with FILE:LINE.
  [[nodiscard]] static Result<SecretRules> parse(std::string_view toml, std::string_view file,
                                                 PatternCheck check = PatternCheck::kNow);

  SecretRules(SecretRules&&) noexcept;
  SecretRules& operator=(SecretRules&&) noexcept;
  ~SecretRules();

  /// Finds secrets in a part of a file; the gate handles comments that let them pass.
  /// Errors: kInvalid `config.value` when a pattern fails to compile at its first use.
  [[nodiscard]] Result<std::vector<SecretMatch>> find(std::string_view path,
                                                      std::string_view text) const;
  [[nodiscard]] size_t size() const;

 private:
  struct Rules;
  explicit SecretRules(std::unique_ptr<Rules> rules);
  std::unique_ptr<Rules> rules_;
};

}  // namespace galley
