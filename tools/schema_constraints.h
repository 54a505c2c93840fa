#pragma once

// Only tools/schema*.cc include this: it shows the schema library.

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include "base/result.h"

namespace galley {

/// Definitions of a lowered schema that our own constraints use, compiled one by one.
using CompiledDefinitions = std::map<std::string, valijson::Schema>;

/// Adds the constraints for the keywords of tools/schema_lowering.h. They keep a pointer to
/// `definitions`, which must outlive every schema that the parser fills.
void add_own_constraints(valijson::SchemaParser& parser, const CompiledDefinitions& definitions);

/// The names under `definitions` that kMembers and kContains of this document use. It also checks
/// that every pattern compiles.
/// Errors: kInvalid, reason `schema.pattern`.
Result<CompiledDefinitions> definitions_of_own_constraints(const nlohmann::json& lowered);

}  // namespace galley
