#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tools/operation.h"
#include "tools/tool.h"

namespace galley {

/// The paths and programs that an operation names before it runs.
Result<Intent> intent_of(const Operation& operation);

/// Performs an operation on the overlay of the context. If it fails, the overlay is unchanged.
[[nodiscard]] ToolResult perform(const Operation& operation, ToolContext& context);

// One function for each family of operations. Each returns the data of a ToolResult.
using Performed = Result<nlohmann::ordered_json>;
Performed perform_read(const ReadFile& read, ToolContext& context);
Performed perform_list(const ListDirectory& list, ToolContext& context);
Performed perform_info(const FileInfo& info, ToolContext& context);
Performed perform_usage(const MeasureUsage& usage, ToolContext& context);
Performed perform_find(const FindFiles& find, ToolContext& context);
Performed perform_search(const SearchText& search, ToolContext& context);
Performed perform_references(const FindReferences& find, ToolContext& context);
Performed perform_imports(const ListImports& list, ToolContext& context);
Performed perform_agents(const FindAgents& find, ToolContext& context);
Performed perform_tree_change(const Operation& operation, ToolContext& context);
[[nodiscard]] ToolResult perform_edit(const EditFiles& edit, ToolContext& context);
[[nodiscard]] ToolResult perform_command(const RunCommand& run, ToolContext& context);

/// Permission bits in octal: `0644`.
[[nodiscard]] std::string octal_mode(uint32_t mode);

}  // namespace galley
