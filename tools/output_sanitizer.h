#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include <galley/tool.h>
#include "base/result.h"
#include "tools/tool.h"

namespace galley {

/// The most bytes of one text after sanitized_text(). It cuts the rest and states its size.
inline constexpr size_t kMaxSanitizedTextBytes = size_t{1} << 20U;
/// The same for all texts of one answer together.
inline constexpr size_t kMaxSanitizedAnswerBytes = size_t{8} << 20U;

/// Cleans each text and each member name of an answer.
/// Errors: kQuota `limit.answer_bytes` when it is larger than kMaxSanitizedAnswerBytes.
[[nodiscard]] Result<nlohmann::ordered_json> sanitized_answer(const nlohmann::ordered_json& answer,
                                                              const TextSanitizer& clean);

/// Whether a tool of this category can be added only with a sanitizer, since its answers come from
/// outside Galley.
[[nodiscard]] bool needs_sanitizer(ToolInfo::Category category);

}  // namespace galley
