#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace galley {

// One argument of a call by its name. One that is absent or of another type counts as not given:
// the schema has refused the latter.

/// The first of these keys that is there.
[[nodiscard]] std::string first_of(const nlohmann::json& args,
                                   std::initializer_list<const char*> keys);
[[nodiscard]] bool flag_of(const nlohmann::json& args, const char* key, bool otherwise = false);
/// A negative number counts as 0.
[[nodiscard]] std::optional<uint64_t> count_of(const nlohmann::json& args, const char* key);
/// Permission bits in octal; the schema has the pattern.
[[nodiscard]] std::optional<uint32_t> mode_of(const nlohmann::json& args, const char* key);

}  // namespace galley
