#pragma once

#include <map>
#include <string>
#include <string_view>

namespace galley {

/// A TOML basic string in printable ASCII. TOML is UTF-8, so every text of a configuration has one.
[[nodiscard]] std::string toml_quoted(std::string_view text);

/// `{"NAME" = "value", …}`, in the same way.
[[nodiscard]] std::string toml_inline_table(const std::map<std::string, std::string>& texts);

}  // namespace galley
