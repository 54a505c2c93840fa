#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include <galley/tool.h>
#include "base/result.h"

namespace galley {

/// `$ENV.NAME` in a text stands for the secret NAME (letters, digits and `_`, no digit first).
/// Returns the names that a text asks for, each once, in their order.
[[nodiscard]] std::vector<std::string> secrets_named_in(std::string_view text);

/// The text with `put(NAME)` in place of each placeholder.
[[nodiscard]] std::string replace_placeholders(
    std::string_view text, const std::function<std::string(const std::string& name)>& put);

/// Whether a string anywhere in the document asks for a secret.
[[nodiscard]] bool asks_for_secrets(const nlohmann::json& document);

/// The document with the values in place of the placeholders of its strings.
/// Errors: kRefused `secret.unknown`, which names the first that the provider does not answer.
[[nodiscard]] Result<nlohmann::json> with_secrets(const nlohmann::json& document,
                                                  const SecretProvider& provider);

}  // namespace galley
