#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

/// Galley's own rules, as the build embeds them (cmake/embed.cmake).
namespace galley::secret_rule_text {

extern const std::string_view kDefault;

}  // namespace galley::secret_rule_text

namespace galley {

/// The maximum memory of one compiled pattern, in bytes.
inline constexpr int64_t kMaxPatternMemory = int64_t{32} << 20U;

/// A found secret: its place and kind, but not its text.
struct SecretMatch {
  std::string rule;  ///< id of the rule
  std::string description;
  size_t begin = 0;  ///< byte range of the secret in the text
  size_t end = 0;
  bool is_over_limit = false;  ///< the rule has further matches, which are not looked for
};

/// Returns the Shannon entropy in bits per byte (Shannon 1948).
[[nodiscard]] double entropy_of(std::string_view text);

/// The time when the patterns of a rule file are compiled.
enum class PatternCheck : uint8_t {
  kNow,    ///< at once: an invalid pattern is an error
  kAtUse,  ///< when a text first needs a pattern; for rules that have compiled before
};

/// A set of rules in the format of gitleaks 8: regular expressions (RE2, linear time), secretGroup,
/// keywords as a filter, entropy, path, and allowlists.
///
/// Threads: immutable, safe to share.
class SecretRules {
 public:
  /// Returns Galley's own rules (default_secret_rules.toml).
  [[nodiscard]] static Result<SecretRules> built_in(PatternCheck check = PatternCheck::kAtUse);
  /// Parses a rule file.
  /// Errors: kInvalid `config.syntax` or `config.value`, with FILE:LINE.
  [[nodiscard]] static Result<SecretRules> parse(std::string_view toml, std::string_view file,
                                                 PatternCheck check = PatternCheck::kNow);

  SecretRules(SecretRules&&) noexcept;
  SecretRules& operator=(SecretRules&&) noexcept;
  ~SecretRules();

  /// Finds secrets in a part of a file. The gate handles comments that suppress findings.
  /// Errors: kInvalid `config.value` if a pattern does not compile at its first use.
  [[nodiscard]] Result<std::vector<SecretMatch>> find(std::string_view path,
                                                      std::string_view text) const;
  /// Finds the rules that are about the path alone, whatever the file has.
  /// Errors: as find().
  [[nodiscard]] Result<std::vector<SecretMatch>> find_path(std::string_view path) const;
  [[nodiscard]] size_t size() const;

 private:
  struct Rules;
  explicit SecretRules(std::unique_ptr<Rules> rules);
  std::unique_ptr<Rules> rules_;
};

}  // namespace galley
