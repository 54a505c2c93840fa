#pragma once

#include <span>
#include <string_view>

namespace galley {

/// The texts about one key in help and in docs/reference/configuration.md.
struct ConfigKeyText {
  std::string_view key;
  std::string_view meaning;
  std::string_view untrusted;  ///< as ConfigKey::untrusted
};

/// Returns the texts of the keys of galley.toml. A test checks that each key has one.
[[nodiscard]] std::span<const ConfigKeyText> config_key_texts();

/// Returns the texts of the keys of a person's own configuration.
[[nodiscard]] std::span<const ConfigKeyText> user_config_key_texts();

}  // namespace galley
