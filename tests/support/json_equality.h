#pragma once

#include <concepts>
#include <nlohmann/json.hpp>

// Compares the two types of nlohmann/json, so that a test can write what it expects as json.
// Without this, g++ converts one side to the other's type, and clang finds the comparison
// ambiguous.

namespace nlohmann {

template <std::same_as<json> Json>
bool operator==(const ordered_json& got, const Json& expected) {
  return json(got) == expected;
}

}  // namespace nlohmann
