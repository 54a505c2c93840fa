#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"

namespace galley {

inline constexpr size_t kMaxSchemaReferences = 1000;  ///< places of one schema that are referred to
inline constexpr uint64_t kMaxSchemaExpansion = 10'000;  ///< schemas that judge one value together

/// Refuses a schema that refers to more than kMaxSchemaReferences places.
/// Errors: kInvalid, reason `schema.reference`.
Result<void> check_reference_count(size_t count);

/// Refuses a lowered schema whose references lead back to themselves without going down into the
/// instance, since judging one would never end, and one whose references multiply: two in each of
/// thirty definitions ask for a billion judgements of one value.
/// Errors: kInvalid, reason `schema.reference`.
Result<void> check_references_end(const nlohmann::json& lowered);

/// What the lowering of a schema does with a keyword.
enum class SchemaKeyword : uint8_t {
  kAnnotation,   ///< says nothing about validity
  kPlain,        ///< taken over as it is
  kSchema,       ///< holds a schema
  kSchemas,      ///< holds an array of schemas
  kSchemaMap,    ///< holds an object of schemas
  kGrouped,      ///< lowered together with its neighbours
  kUnsupported,  ///< would be ignored or misjudged
};

/// Every keyword that a schema may have, but for those that begin with `x-`.
[[nodiscard]] const std::map<std::string, SchemaKeyword>& schema_keywords();

}  // namespace galley
