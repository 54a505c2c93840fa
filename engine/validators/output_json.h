#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

/// Reads the JSON output of programs. A member that is missing or has another type is empty. It
/// never throws an exception.

namespace galley {

/// Parses a document of at most limits::kMaxJsonDepth levels.
/// Errors: kInvalid `validator.output`, which names `format` and the reason.
[[nodiscard]] Result<nlohmann::json> parse_output(std::string_view text, std::string_view format);

/// Returns the Error for an output that a parser cannot read.
[[nodiscard]] tl::unexpected<Error> unreadable_as(std::string_view format, std::string_view why);

/// Returns a member of an object, or JSON's null.
[[nodiscard]] const nlohmann::json& at(const nlohmann::json& node, const char* key);
[[nodiscard]] std::string text_of(const nlohmann::json& node);
[[nodiscard]] uint32_t number_of(const nlohmann::json& node);

}  // namespace galley
