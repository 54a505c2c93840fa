#include "tools/standard_tools.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "tools/adapters.h"
#include "tools/catalogue.h"
#include "tools/perform.h"

namespace galley {
namespace {

using nlohmann::json;

/// Callers of the old/new dialect are answered with what they asked for, as they know it.
void echo_request(const json& args, nlohmann::ordered_json& data) {
  if (!args.contains("old_string") || !args.contains("new_string")) return;
  data["oldString"] = args["old_string"];
  data["newString"] = args["new_string"];
  data["replaceAll"] = args.value("replace_all", args.value("allow_multiple", false));
}

struct ParsedOperation final : ParsedArguments {
  Operation operation;
};

/// A row of the catalogue: its adapter says what a call means, perform() does it.
class StandardTool final : public Tool {
 public:
  explicit StandardTool(ToolInfo info) : info_(std::move(info)) {}

  [[nodiscard]] const ToolInfo& info() const override { return info_; }

  Result<Intent> intent(const json& args, const PathOrigin& origin) const override {
    auto parsed = std::make_shared<ParsedOperation>();
    GALLEY_ASSIGN(parsed->operation, adapt(info_.name, args, origin));
    GALLEY_ASSIGN(Intent intent, intent_of(parsed->operation));
    intent.parsed = std::move(parsed);
    return intent;
  }

  ToolResult run(const json& args, ToolContext& context) const override {
    if (const auto* known = dynamic_cast<const ParsedOperation*>(context.parsed.get())) {
      return run(known->operation, args, context);
    }
    const auto operation = adapt(info_.name, args, context.origin());
    if (!operation) return ToolResult::failure(tool_error_from(operation.error()));
    return run(*operation, args, context);
  }

 private:
  static ToolResult run(const Operation& operation, const json& args, ToolContext& context) {
    ToolResult result = perform(operation, context);
    if (!result.ok || !std::holds_alternative<EditFiles>(operation)) return result;
    nlohmann::ordered_json data = *result.data;
    echo_request(args, data);
    return ToolResult::success(std::move(data));
  }

  ToolInfo info_;
};

/// Tools that answer from the one file or link that they name, and from nothing else.
bool follows_from_contents(const std::string& name) {
  return name == "Read" || name == "read_text_file" || name == "get_file_info";
}

}  // namespace

Result<void> add_standard_tools(ToolRegistry& registry) {
  std::vector<ToolInfo> all = native_tools();
  for (ToolInfo& info : peer_tools()) all.push_back(std::move(info));
  for (ToolInfo& info : all) {
    if (registry.mode() == ToolRegistry::Mode::kReadOnly && !info.annotations.read_only) continue;
    ToolStanding standing;
    standing.follows_from_contents = follows_from_contents(info.name);
    GALLEY_TRY(registry.add(std::make_unique<StandardTool>(std::move(info)), std::move(standing)));
  }
  return {};
}

}  // namespace galley
