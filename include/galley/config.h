#pragma once

#include <galley/error.h>
#include <string>
#include <string_view>
#include <vector>

/// The keys of galley.toml, for programs that write or check this file
/// (docs/reference/configuration.md).
namespace galley {

/// The name of the configuration file at the root of a workspace.
inline constexpr std::string_view kConfigFileName = "galley.toml";

/// One key of galley.toml, as the parser reads it.
struct ConfigKey {
  std::string key;  ///< `policy.rule[].paths`, `agents.NAME.tools`
  std::string type;
  std::string default_value;
  std::string meaning;    ///< a sentence or two, in Markdown
  std::string untrusted;  ///< the value in effect without trust; empty: the file's own
  bool operator==(const ConfigKey&) const = default;
};

/// Returns every key, in the order in which the parser reads them.
[[nodiscard]] std::vector<ConfigKey> config_keys();

/// Returns the allowed values of the key `validator[].builtin`, sorted.
[[nodiscard]] const std::vector<std::string>& builtin_validator_names();

/// Checks that a text is a valid galley.toml. Messages call it `file`.
/// Errors: kInvalid, reason `config.syntax`, `config.unknown_key`, `config.type`, `config.value`;
///         each message is `galley.toml:LINE:COLUMN: …` and says what is expected.
[[nodiscard]] Result<void> check_config(std::string_view text,
                                        std::string_view file = kConfigFileName);

}  // namespace galley
