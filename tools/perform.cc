#include "tools/perform.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace galley {
namespace {

ToolResult result_of(Performed performed) {
  if (!performed) return ToolResult::failure(tool_error_from(performed.error()));
  return ToolResult::success(std::move(*performed));
}

}  // namespace

ToolResult perform(const Operation& operation, ToolContext& context) {
  if (const auto* read = std::get_if<ReadFile>(&operation)) {
    return result_of(perform_read(*read, context));
  }
  if (const auto* list = std::get_if<ListDirectory>(&operation)) {
    return result_of(perform_list(*list, context));
  }
  if (const auto* info = std::get_if<FileInfo>(&operation)) {
    return result_of(perform_info(*info, context));
  }
  if (const auto* find = std::get_if<FindFiles>(&operation)) {
    return result_of(perform_find(*find, context));
  }
  if (const auto* search = std::get_if<SearchText>(&operation)) {
    return result_of(perform_search(*search, context));
  }
  if (const auto* edit = std::get_if<EditFiles>(&operation)) return perform_edit(*edit, context);
  if (const auto* run = std::get_if<RunCommand>(&operation)) {
    return perform_command(*run, context);
  }
  return result_of(perform_tree_change(operation, context));
}

}  // namespace galley
