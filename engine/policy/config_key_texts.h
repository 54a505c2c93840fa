#pragma once

#include <span>
#include <string_view>

namespace galley {

/// What help and docs/reference/configuration.md say about a key.
struct ConfigKeyText {
  std::string_view key;
  std::string_view meaning;
  std::string_view untrusted;  ///< as ConfigKey::untrusted
};

/// The texts of the keys of galley.toml. Each key has one (a test compares).
[[nodiscard]] std::span<const ConfigKeyText> config_key_texts();

/// The same for the keys of a person's own configuration.
[[nodiscard]] std::span<const ConfigKeyText> user_config_key_texts();

}  // namespace galley
