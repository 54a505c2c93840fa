#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace galley {

/// The `default` values of a schema, for properties that a document leaves out.
///
/// A default counts in `properties`, at any depth of `properties`, `items`, `allOf` and local
/// `$ref`. Below `anyOf`, `oneOf`, `not` and `if` it is only an annotation, as in 2020-12, because
/// its value would depend on the branch.
///
/// Invariant: every default conforms to its own schema; compile() refuses others.
/// Ownership: self-contained. Threads: immutable, safe to share.
class SchemaDefaults {
 public:
  /// Has no defaults.
  SchemaDefaults() = default;
  /// `schema_text` must be valid for JsonSchema::compile.
  /// Errors: kInvalid `schema.default`, with the place.
  static Result<SchemaDefaults> compile(std::string_view schema_text);

  /// The document with its defaults filled in; nullopt when it leaves nothing out. The document
  /// must conform to the schema.
  /// Errors: kQuota `limit.defaults`.
  [[nodiscard]] Result<std::optional<nlohmann::json>> fill(const nlohmann::json& document) const;

 private:
  struct Place;
  struct Walk;
  explicit SchemaDefaults(std::shared_ptr<const Place> root) : root_(std::move(root)) {}
  std::shared_ptr<const Place> root_;  ///< null: no defaults
};

/// The most defaults in one document.
inline constexpr size_t kMaxFilledDefaults = 100'000;

}  // namespace galley
