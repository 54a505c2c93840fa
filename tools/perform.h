#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "tools/operation.h"
#include "tools/tool.h"

namespace galley {

/// What an operation will touch, as far as it says.
Result<Intent> intent_of(const Operation& operation);

/// Does an operation on the overlay of the context. A failed one leaves the overlay as it was.
[[nodiscard]] ToolResult perform(const Operation& operation, ToolContext& context);

// One function a family of operations; each returns the data of a ToolResult.
using Performed = Result<nlohmann::ordered_json>;
Performed perform_read(const ReadFile& read, ToolContext& context);
Performed perform_list(const ListDirectory& list, ToolContext& context);
Performed perform_info(const FileInfo& info, ToolContext& context);
Performed perform_usage(const MeasureUsage& usage, ToolContext& context);
Performed perform_owner(const ChangeOwner& owner, ToolContext& context);
Performed perform_find(const FindFiles& find, ToolContext& context);
Performed perform_search(const SearchText& search, ToolContext& context);
Performed perform_references(const FindReferences& find, ToolContext& context);
Performed perform_imports(const ListImports& list, ToolContext& context);
Performed perform_agents(const FindAgents& find, ToolContext& context);
Performed perform_tree_change(const Operation& operation, ToolContext& context);
[[nodiscard]] ToolResult perform_edit(const EditFiles& edit, ToolContext& context);
[[nodiscard]] ToolResult perform_command(const RunCommand& run, ToolContext& context);

/// Permission bits as people write them: `0644`.
[[nodiscard]] std::string octal_mode(uint32_t mode);

}  // namespace galley
