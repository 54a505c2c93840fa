#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>

namespace galley {

/// Characters of one structured answer, as JSON text: clients cut longer ones, in the middle or at
/// the end, where the cut makes no sense.
inline constexpr size_t kMaxStructureText = 38'000;

/// An answer that is no longer than that: its long texts and lists keep their beginning, and the
/// member `leftOut`, which then stands first, says where something is missing and how much. One
/// that is short enough is as it was.
[[nodiscard]] nlohmann::ordered_json bounded_structure(nlohmann::ordered_json structure);

}  // namespace galley
