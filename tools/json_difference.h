#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace galley {

/// One place at which two JSON documents differ.
struct JsonDifference {
  std::string pointer;   ///< RFC 6901; empty: the whole document
  std::string expected;  ///< as JSON, shortened; empty: nothing was expected there
  std::string found;     ///< as JSON, shortened; empty: there is nothing
};

/// The search stops at this number of differences.
inline constexpr size_t kMaxJsonDifferences = 100;

/// How documents are compared.
struct JsonComparison {
  bool ignores_times = false;  ///< two RFC 3339 times are always equal
};

/// The places where `found` differs from `expected`, in the order of the expected document; empty
/// when they are equal. Numbers are equal by value, and members may be in any order.
[[nodiscard]] std::vector<JsonDifference> json_differences(const nlohmann::ordered_json& expected,
                                                           const nlohmann::ordered_json& found,
                                                           const JsonComparison& how = {});

/// One line for each difference: "/a/b: expected 1, found 2".
[[nodiscard]] std::string describe(const std::vector<JsonDifference>& differences);

}  // namespace galley
