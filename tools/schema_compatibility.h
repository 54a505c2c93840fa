#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace galley {

/// Who meets the documents that a schema describes.
enum class SchemaSide : uint8_t {
  kInput,   ///< callers write them: what was taken must be taken still
  kOutput,  ///< callers read them: what was promised must be there still
};

/// One difference between two versions of a schema.
struct SchemaDifference {
  std::string pointer;  ///< JSON Pointer into the schemas, empty for the whole
  std::string message;  ///< one clause: what it was, what it is
  bool is_breaking = false;
  bool operator==(const SchemaDifference&) const = default;
};

/// What changed from one version of a schema to the next; empty when they are equal.
///
/// Breaking for an input: a property that is gone or newly required, a type, list of values or
/// bound that takes less. For an output: a field that is gone or no longer always there, a type,
/// list of values or bound that says more than callers know. A keyword that cannot be judged by
/// itself (`anyOf`, `pattern`, `$ref` …) is breaking whenever it changed; titles, descriptions,
/// examples and comments never are.
[[nodiscard]] std::vector<SchemaDifference> schema_differences(const nlohmann::json& before,
                                                               const nlohmann::json& after,
                                                               SchemaSide side);

/// What a tool promised under one version.
struct ToolContract {
  std::string_view version;  ///< semantic
  const nlohmann::json& input;
  const nlohmann::json& output;
};

/// Why the second may not stand for the first under its version: a schema that changed and a
/// version that did not, or a breaking change within a major version (below 1.0.0 within a minor
/// one). Empty when it may.
[[nodiscard]] std::vector<std::string> contract_breaches(const ToolContract& before,
                                                         const ToolContract& after);

}  // namespace galley
