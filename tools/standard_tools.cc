#include "tools/standard_tools.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "staging/overlay/overlay.h"
#include "tools/perform.h"
#include "tools/verbs.h"

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using Operations = std::vector<Operation>;

struct ParsedOperations final : ParsedArguments {
  Operations operations;
};

/// Appends the intent of another operation of the call.
void add(Intent more, Intent& intent) {
  const auto append = [](auto& from, auto& to) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  append(more.reads, intent.reads);
  append(more.writes, intent.writes);
  append(more.programs, intent.programs);
  intent.is_open_ended |= more.is_open_ended;
}

/// A row of the catalogue as a tool. It translates a call to operations, and perform() does them. A
/// call does all of its operations or none.
class CatalogueTool final : public Tool {
 public:
  CatalogueTool(const CatalogueRow& row, std::shared_ptr<const ToolSetting> setting)
      : row_(row), setting_(std::move(setting)) {}

  [[nodiscard]] const ToolInfo& info() const override { return row_.info; }

  Result<Intent> intent(const json& args, const PathOrigin& origin) const override {
    auto parsed = std::make_shared<ParsedOperations>();
    GALLEY_ASSIGN(parsed->operations, plan(args, origin));
    Intent all;
    for (size_t i = 0; i < parsed->operations.size(); ++i) {
      GALLEY_ASSIGN(Intent one, intent_of(parsed->operations[i]));
      if (i == 0) {
        all = std::move(one);
      } else {
        add(std::move(one), all);
      }
    }
    all.parsed = std::move(parsed);
    return all;
  }

  ToolResult run(const json& args, ToolContext& context) const override {
    if (row_.with != nullptr && row_.with->admit != nullptr) {
      const auto admitted = row_.with->admit(context.agent, *setting_);
      if (!admitted) return failure(admitted.error());
    }
    if (const auto* known = dynamic_cast<const ParsedOperations*>(context.parsed.get())) {
      return run(known->operations, args, context);
    }
    const auto operations = plan(args, context.origin());
    if (!operations) return failure(operations.error());
    return run(*operations, args, context);
  }

 private:
  static ToolResult failure(const Error& error) {
    return ToolResult::failure(tool_error_from(error));
  }

  Result<Operations> plan(const json& args, const PathOrigin& origin) const {
    if (row_.with != nullptr) return row_.with->plan({args, origin, *setting_});
    return operations_of(*row_.steps, args, origin);
  }

  ToolResult run(const Operations& operations, const json& args, ToolContext& context) const {
    Overlay::Entries before;
    if (operations.size() > 1) before = context.overlay.entries();
    std::vector<JsonDocument> results;
    context.args = operations.size() == 1 ? &args : nullptr;
    for (const Operation& operation : operations) {
      ToolResult result = perform(operation, context);
      if (!result.ok) {
        if (!results.empty()) context.overlay.restore(std::move(before));
        return result;
      }
      results.push_back(std::move(result.data));
    }
    if (row_.with != nullptr && row_.with->answer != nullptr) {
      const PathOrigin origin = context.origin();
      auto answer = row_.with->answer({args, origin, *setting_}, *results.front());
      return answer ? ToolResult::success(*std::move(answer)) : failure(answer.error());
    }
    if (row_.answer != nullptr) return ToolResult::success(answer_of(*row_.answer, results));
    ToolResult result;
    result.ok = true;
    result.data = std::move(results.front());
    return result;
  }

  const CatalogueRow& row_;
  std::shared_ptr<const ToolSetting> setting_;
};

Result<void> add_rows(ToolRegistry& registry, bool is_standard, ToolSetting setting) {
  const auto shared = std::make_shared<const ToolSetting>(std::move(setting));
  for (const CatalogueRow& row : catalogue()) {
    const bool is_refused =
        registry.mode() == ToolRegistry::Mode::kReadOnly && !row.info.annotations.read_only;
    if (row.is_standard != is_standard || is_refused) continue;
    ToolPrecedence precedence;
    precedence.depends_only_on_contents = row.depends_only_on_contents;
    GALLEY_TRY(registry.add(std::make_unique<CatalogueTool>(row, shared), std::move(precedence)));
  }
  return {};
}

}  // namespace

Result<void> add_standard_tools(ToolRegistry& registry) { return add_rows(registry, true, {}); }

Result<void> add_dialect_tools(ToolRegistry& registry, ToolSetting setting) {
  return add_rows(registry, false, std::move(setting));
}

}  // namespace galley
