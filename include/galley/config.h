#pragma once

#include <galley/error.h>
#include <string>
#include <string_view>
#include <vector>

/// The keys of galley.toml (docs/reference/configuration.md), for programs that write or check the
/// file.
namespace galley {

/// The name of a workspace's configuration, at its root.
inline constexpr std::string_view kConfigFileName = "galley.toml";

/// One key of galley.toml, as the parser knows it.
struct ConfigKey {
  std::string key;  ///< `policy.rule[].paths`, `agents.NAME.tools`
  std::string type;
  std::string default_value;
  std::string meaning;    ///< a sentence or two, in Markdown
  std::string untrusted;  ///< what counts until a person trusts the workspace; empty: the value
  bool operator==(const ConfigKey&) const = default;
};

/// Every key, in the order in which the parser asks for them.
[[nodiscard]] std::vector<ConfigKey> config_keys();

/// Names that a validator's `builtin` takes, sorted.
[[nodiscard]] const std::vector<std::string>& builtin_validator_names();

/// Whether a text can be used as galley.toml; `file` is the name used in messages.
/// Errors: kInvalid, reason `config.syntax`, `config.unknown_key`, `config.type`, `config.value`;
///         each message is `galley.toml:LINE:COLUMN: …` and says what would be right.
[[nodiscard]] Result<void> check_config(std::string_view text,
                                        std::string_view file = kConfigFileName);

}  // namespace galley
