#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

/// Reads the JSON that programs write: members that are missing or of another type are empty, never
/// an exception.

namespace galley {

/// The document in `text`, no deeper than limits::kMaxJsonDepth.
/// Errors: kInvalid `validator.output`: the text is not `format`, and why.
[[nodiscard]] Result<nlohmann::json> parse_output(std::string_view text, std::string_view format);

/// The Error for an output that a parser cannot read.
[[nodiscard]] tl::unexpected<Error> unreadable_as(std::string_view format, std::string_view why);

/// A member of an object, or null.
[[nodiscard]] const nlohmann::json& at(const nlohmann::json& node, const char* key);
[[nodiscard]] std::string text_of(const nlohmann::json& node);
[[nodiscard]] uint32_t number_of(const nlohmann::json& node);

}  // namespace galley
