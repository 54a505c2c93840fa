#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "base/result.h"

namespace galley {

/// Keywords that our own constraints check instead of the library's.
namespace lowered {
inline constexpr const char* kFormat = "x-galley-format";      ///< name of a judged format
inline constexpr const char* kPattern = "x-galley-pattern";    ///< RE2 text
inline constexpr const char* kMembers = "x-galley-members";    ///< patternProperties and rest
inline constexpr const char* kContains = "x-galley-contains";  ///< {schema, min, max}
inline constexpr const char* kUniqueItems = "x-galley-unique-items";  ///< true
}  // namespace lowered

/// Schemas inside one schema. The schema of each member or item counts as one.
inline constexpr size_t kMaxSchemaPlaces = 12'000;

/// Rewrites a JSON Schema of 2020-12, 2019-09 or draft 7 to the part of draft 7 that the schema
/// library checks correctly, plus the keywords above. All referenced schemas are under
/// `definitions`; every `$ref` in the result is `#/definitions/<name>`. Draft 3's `required: true`
/// inside a property becomes a name in its parent's list, and a `$comment` records that.
///
/// Source of the rules: "JSON Schema: A Media Type for Describing JSON Documents" 2020-12 and its
/// appendix on changes since draft 7.
/// Errors: kInvalid, reason `schema.syntax`, `schema.unsupported`, `schema.reference`; kQuota
///         `limit.schema_places`.
Result<nlohmann::json> lower_schema(const nlohmann::json& schema);

/// Whether `format` with this name is checked: uri, date-time, email, uuid, regex. Any other one is
/// an annotation, as in 2020-12.
[[nodiscard]] bool is_checked_format(std::string_view name);

/// Whether a text has a checked format. Takes linear time.
///
/// uri: RFC 3986, with a scheme. date-time: RFC 3339, with valid calendar days. email: a dot-atom
/// at a host name (RFC 5321 without quoted names and addresses in brackets). uuid: RFC 4122. regex:
/// RE2's syntax.
[[nodiscard]] bool has_format(std::string_view name, std::string_view text);

}  // namespace galley
