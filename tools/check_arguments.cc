#include "tools/check_arguments.h"

#include <nlohmann/json.hpp>

#include "tools/json_input.h"

namespace galley {

std::vector<SchemaViolation> check_arguments(const ToolRegistry::Entry& entry,
                                             std::string_view json_arguments,
                                             const std::string& root) {
  const auto args = parse_json(json_arguments);
  if (!args) return {{"", args.error().message}};
  std::vector<SchemaViolation> violations = entry.input.check(*args);
  if (!violations.empty() || entry.factory != nullptr) return violations;
  const auto filled = entry.defaults.fill(*args);
  if (!filled) return {{"", filled.error().message}};
  const auto intent = entry.tool->intent(*filled ? **filled : *args, {root});
  if (!intent) violations.push_back({"", intent.error().message});
  return violations;
}

}  // namespace galley
