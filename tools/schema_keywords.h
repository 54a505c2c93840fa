#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace galley {

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
