#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace galley {

/// The direction of the documents that a schema describes.
enum class SchemaSide : uint8_t {
  kInput,   ///< callers write them: documents that conformed must still conform
  kOutput,  ///< callers read them: promised members must still be present
};

/// One difference between two versions of a schema.
struct SchemaDifference {
  std::string pointer;  ///< JSON Pointer into the schemas, empty for the whole
  std::string message;  ///< one clause: old and new value
  bool is_breaking = false;
  bool operator==(const SchemaDifference&) const = default;
};

/// The changes from one version of a schema to the next; empty when they are equal.
///
/// Breaking for an input: a property that was removed or is newly required, a type, list of values
/// or bound that accepts less. Breaking for an output: a field that was removed or is no longer
/// always present, a type, list of values or bound that allows more than callers know. Any change
/// of a keyword that cannot be judged by itself (`anyOf`, `pattern`, `$ref` …) is breaking. Titles,
/// descriptions, examples and comments are never breaking.
[[nodiscard]] std::vector<SchemaDifference> schema_differences(const nlohmann::json& before,
                                                               const nlohmann::json& after,
                                                               SchemaSide side);

/// The contract of a tool under one version.
struct ToolContract {
  std::string_view version;  ///< semantic
  const nlohmann::json& input;
  const nlohmann::json& output;
};

/// The reasons why the second contract may not replace the first; empty when it may. Either a
/// schema changed and the version did not, or a breaking change stays within a major version (below
/// 1.0.0: within a minor version).
[[nodiscard]] std::vector<std::string> contract_breaches(const ToolContract& before,
                                                         const ToolContract& after);

}  // namespace galley
