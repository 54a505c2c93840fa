#pragma once

#include <galley/tool.h>

#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace galley {

/// `$ENV.NAME` in a text is replaced by the secret NAME (letters, digits and `_`, not beginning
/// with a digit). Returns the names in a text, each once, in their order.
[[nodiscard]] std::vector<std::string> secrets_named_in(std::string_view text);

/// The text with `put(NAME)` in place of each placeholder.
[[nodiscard]] std::string replace_placeholders(
    std::string_view text, const std::function<std::string(const std::string& name)>& put);

/// Whether a string anywhere in the document has a placeholder.
[[nodiscard]] bool has_secret_placeholders(const nlohmann::json& document);

/// The document with the secrets in place of their placeholders.
/// Errors: kRefused `secret.unknown`, which names the first secret that the provider does not know.
[[nodiscard]] Result<nlohmann::json> with_secrets(const nlohmann::json& document,
                                                  const SecretProvider& provider);

/// The secrets of a file, one line `NAME=value` each. Empty lines and lines that begin with `#` are
/// ignored. A value extends unchanged to the end of its line.
/// Errors: kInvalid `secret.file_malformed`, with the line's number and never its text.
[[nodiscard]] Result<std::map<std::string, std::string>> parse_secrets(std::string_view text);

/// The most bytes of a file of secrets.
inline constexpr size_t kMaxSecretFileBytes = size_t{1} << 20U;

}  // namespace galley
