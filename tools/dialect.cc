#include "tools/dialect.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "staging/overlay/overlay.h"
#include "tools/adapters.h"
#include "tools/dialect_examples.h"
#include "tools/perform.h"

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

struct ParsedOperations final : ParsedArguments {
  std::vector<Operation> operations;
};

/// Puts the paths of `more` behind those of `intent`.
void add(Intent more, Intent& intent) {
  const auto append = [](auto from, auto& to) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  append(std::move(more.reads), intent.reads);
  append(std::move(more.writes), intent.writes);
  append(std::move(more.programs), intent.programs);
  intent.is_open_ended |= more.is_open_ended;
}

class DialectTool final : public Tool {
 public:
  explicit DialectTool(Dialect dialect) : dialect_(std::move(dialect)) {}

  [[nodiscard]] const ToolInfo& info() const override { return dialect_.info; }

  Result<Intent> intent(const json& args, const PathOrigin& origin) const override {
    auto parsed = std::make_shared<ParsedOperations>();
    GALLEY_ASSIGN(parsed->operations, dialect_.plan(args, origin));
    Intent all;
    for (const Operation& operation : parsed->operations) {
      GALLEY_ASSIGN(Intent one, intent_of(operation));
      add(std::move(one), all);
    }
    all.parsed = std::move(parsed);
    return all;
  }

  ToolResult run(const json& args, ToolContext& context) const override {
    if (dialect_.admit) {
      const auto admitted = dialect_.admit(context.agent);
      if (!admitted) return ToolResult::failure(tool_error_from(admitted.error()));
    }
    if (const auto* known = dynamic_cast<const ParsedOperations*>(context.parsed.get())) {
      return run(known->operations, args, context);
    }
    const auto operations = dialect_.plan(args, context.origin());
    if (!operations) return ToolResult::failure(tool_error_from(operations.error()));
    return run(*operations, args, context);
  }

 private:
  ToolResult run(const std::vector<Operation>& operations, const json& args,
                 ToolContext& context) const {
    Overlay::Entries before;
    if (operations.size() > 1) before = context.overlay.entries();
    std::vector<ordered_json> results;
    for (const Operation& operation : operations) {
      ToolResult result = perform(operation, context);
      if (!result.ok) {
        if (!results.empty()) context.overlay.restore(std::move(before));
        return result;
      }
      results.push_back(*result.data);
    }
    auto answer = dialect_.answer(args, results);
    if (!answer) return ToolResult::failure(tool_error_from(answer.error()));
    return ToolResult::success(*std::move(answer));
  }

  Dialect dialect_;
};

}  // namespace

ordered_json as_it_is(const json& /*args*/, const std::vector<ordered_json>& results) {
  return results.front();
}

std::unique_ptr<const Tool> make_dialect_tool(Dialect dialect) {
  ToolInfo& info = dialect.info;
  if (info.examples.empty()) info.examples = dialect_examples(info.name);
  return std::make_unique<DialectTool>(std::move(dialect));
}

}  // namespace galley
