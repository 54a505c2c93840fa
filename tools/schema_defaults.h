#pragma once

#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace galley {

/// What a schema says of properties that a document leaves out (`default`), ready to be put in.
///
/// A default counts in `properties`, at any depth of `properties`, `items`, `allOf` and local
/// `$ref`. Below `anyOf`, `oneOf`, `not` and `if` it is the annotation that 2020-12 has: there it
/// would depend on which branch is meant.
///
/// Invariant: every default conforms to its own schema; one that does not is refused by compile().
/// Ownership: self-contained. Threads: immutable, safe to share.
class SchemaDefaults {
 public:
  /// None at all.
  SchemaDefaults() = default;
  /// `schema_text` is one that JsonSchema::compile takes.
  /// Errors: kInvalid `schema.default`, with the place.
  static Result<SchemaDefaults> compile(std::string_view schema_text);

  /// The document with what it leaves out; nothing when it leaves nothing out. It conforms to the
  /// schema already.
  /// Errors: kQuota `limit.defaults`.
  [[nodiscard]] Result<std::optional<nlohmann::json>> fill(const nlohmann::json& document) const;

 private:
  struct Place;
  struct Walk;
  explicit SchemaDefaults(std::shared_ptr<const Place> root) : root_(std::move(root)) {}
  std::shared_ptr<const Place> root_;  ///< null: there are none
};

/// Defaults put into one document.
inline constexpr size_t kMaxFilledDefaults = 100'000;

}  // namespace galley
