#pragma once

#include <cstddef>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace galley {

/// One place where a document violates its schema.
struct SchemaViolation {
  std::string pointer;  ///< JSON Pointer (RFC 6901) into the document; empty for the whole
  std::string message;  ///< one sentence: found and expected
  bool operator==(const SchemaViolation&) const = default;
};

inline constexpr size_t kMaxSchemaBytes = size_t{4} << 20U;  ///< the text of one schema

/// A compiled JSON Schema (2020-12 or draft 7), and the only door to the schema library.
///
/// Invariant: it checks every keyword that it accepted. Keywords of 2020-12 that the library does
///            not know are lowered to draft 7; compile() refuses those that cannot be lowered.
///            Patterns run in linear time (RE2). `format` is checked for uri, date-time, email,
///            uuid and regex. Other formats, `title`, `default` and the like are annotations.
/// Ownership: self-contained. Threads: safe to share. The library compiles a plain schema
///            once, when a document must be explained.
class JsonSchema {
 public:
  /// Errors: kInvalid, reason `schema.syntax`, `schema.unsupported` (names keyword and place),
  ///         `schema.reference` (missing, remote, circular or multiplying), `schema.pattern`;
  ///         kQuota `limit.schema_bytes`, `limit.schema_places`.
  static Result<JsonSchema> compile(std::string_view schema_text);

  JsonSchema(JsonSchema&&) noexcept;
  JsonSchema& operator=(JsonSchema&&) noexcept;
  ~JsonSchema();

  /// Every violation, each with its innermost place; empty when the document conforms.
  [[nodiscard]] std::vector<SchemaViolation> check(const nlohmann::json& document) const;
  [[nodiscard]] std::vector<SchemaViolation> check(const nlohmann::ordered_json& document) const;

 private:
  struct Compiled;
  explicit JsonSchema(std::unique_ptr<Compiled> compiled);
  std::unique_ptr<Compiled> compiled_;
};

/// The violations as one message: "/edits/0/oldText: …; /path: …", limited to a few.
[[nodiscard]] std::string describe(const std::vector<SchemaViolation>& violations);

}  // namespace galley
