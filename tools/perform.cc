#include "tools/perform.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace galley {
namespace {

ToolResult result_of(Performed performed) {
  if (!performed) return ToolResult::failure(tool_error_from(performed.error()));
  return ToolResult::success(std::move(*performed));
}

struct Perform {
  const Operation& operation;
  ToolContext& context;

  ToolResult operator()(const ReadFile& op) { return result_of(perform_read(op, context)); }
  ToolResult operator()(const ListDirectory& op) { return result_of(perform_list(op, context)); }
  ToolResult operator()(const FileInfo& op) { return result_of(perform_info(op, context)); }
  ToolResult operator()(const MeasureUsage& op) { return result_of(perform_usage(op, context)); }
  ToolResult operator()(const ChangeOwner& op) { return result_of(perform_owner(op, context)); }
  ToolResult operator()(const FindFiles& op) { return result_of(perform_find(op, context)); }
  ToolResult operator()(const SearchText& op) { return result_of(perform_search(op, context)); }
  ToolResult operator()(const FindReferences& op) {
    return result_of(perform_references(op, context));
  }
  ToolResult operator()(const ListImports& op) { return result_of(perform_imports(op, context)); }
  ToolResult operator()(const FindAgents& op) { return result_of(perform_agents(op, context)); }
  ToolResult operator()(const EditFiles& op) { return perform_edit(op, context); }
  ToolResult operator()(const RunCommand& op) { return perform_command(op, context); }
  template <class Change>
  ToolResult operator()(const Change&) {
    return result_of(perform_tree_change(operation, context));
  }
};

}  // namespace

ToolResult perform(const Operation& operation, ToolContext& context) {
  return std::visit(Perform{operation, context}, operation);
}

}  // namespace galley
