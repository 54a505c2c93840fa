#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include <galley/tool.h>
#include "base/result.h"
#include "tools/tool.h"

namespace galley {

/// One text of an answer, as sanitized_text() leaves it at most; what is beyond is cut and counted.
inline constexpr size_t kMaxSanitizedTextBytes = size_t{1} << 20U;
/// All texts of one answer together.
inline constexpr size_t kMaxSanitizedAnswerBytes = size_t{8} << 20U;

/// An answer with each of its texts cleaned, names of members too.
/// Errors: kQuota `limit.answer_bytes` when it is larger than kMaxSanitizedAnswerBytes.
[[nodiscard]] Result<nlohmann::ordered_json> sanitized_answer(const nlohmann::ordered_json& answer,
                                                              const TextSanitizer& clean);

/// Whether a tool of this category may be added without something that cleans its answers: what it
/// asks is not Galley's.
[[nodiscard]] bool needs_sanitizer(ToolInfo::Category category);

}  // namespace galley
