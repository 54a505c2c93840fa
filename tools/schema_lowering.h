#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/result.h"

namespace galley {

/// Keywords that our own constraints judge in place of the library's.
namespace lowered {
inline constexpr const char* kFormat = "x-galley-format";      ///< name of a judged format
inline constexpr const char* kPattern = "x-galley-pattern";    ///< RE2 text
inline constexpr const char* kMembers = "x-galley-members";    ///< patternProperties and rest
inline constexpr const char* kContains = "x-galley-contains";  ///< {schema, min, max}
inline constexpr const char* kUniqueItems = "x-galley-unique-items";  ///< true
}  // namespace lowered

/// Schemas in one schema, each member and item of it one.
inline constexpr size_t kMaxSchemaPlaces = 12'000;

/// Rewrites a JSON Schema of 2020-12, 2019-09 or draft 7 into the part of draft 7 that the schema
/// library judges rightly, plus the keywords above. Everything that is referred to stands under
/// `definitions`; every `$ref` in the result is `#/definitions/<name>`. `required: true` inside a
/// property, as draft 3 has it, becomes a name in the list of its parent, and a `$comment` says so.
///
/// Source of the rules: "JSON Schema: A Media Type for Describing JSON Documents" 2020-12 and its
/// appendix on changes since draft 7.
/// Errors: kInvalid, reason `schema.syntax`, `schema.unsupported`, `schema.reference`; kQuota
///         `limit.schema_places`.
Result<nlohmann::json> lower_schema(const nlohmann::json& schema);

}  // namespace galley
