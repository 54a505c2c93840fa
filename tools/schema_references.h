#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"

namespace galley {

inline constexpr size_t kMaxSchemaReferences = 1000;     ///< distinct references in one schema
inline constexpr uint64_t kMaxSchemaExpansion = 10'000;  ///< schemas that judge one value together

/// Refuses a schema that refers to more than kMaxSchemaReferences places.
/// Errors: kInvalid, reason `schema.reference`.
Result<void> check_reference_count(size_t count);

/// Refuses a lowered schema with endless or multiplying references. An endless reference leads back
/// to itself without descending into the document. Multiplying references, such as two in each of
/// thirty definitions, need a billion checks of one value.
/// Errors: kInvalid, reason `schema.reference`.
Result<void> check_references_end(const nlohmann::json& lowered);

/// How the lowering of a schema treats a keyword.
enum class SchemaKeyword : uint8_t {
  kAnnotation,   ///< has no effect on validity
  kPlain,        ///< copied unchanged
  kSchema,       ///< holds a schema
  kSchemas,      ///< holds an array of schemas
  kSchemaMap,    ///< holds an object of schemas
  kGrouped,      ///< lowered together with its neighbours
  kUnsupported,  ///< would be ignored or misjudged
};

/// Every keyword that a schema may have, except those that begin with `x-`.
[[nodiscard]] const std::map<std::string, SchemaKeyword>& schema_keywords();

}  // namespace galley
