#include "tools/defined_tool.h"

#include <new>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "staging/overlay/overlay.h"
#include "tools/call_arguments.h"
#include "tools/json_input.h"

namespace galley {

struct ToolRun::State {
  const ToolInfo& info;
  const nlohmann::json& args;
  std::string args_text;
  ToolContext& context;

  [[nodiscard]] Result<RelPath> file(std::string_view text) const {
    return file_argument(std::string(text), context.origin());
  }
  [[nodiscard]] Result<RelPath> directory(std::string_view text) const {
    return directory_argument(std::string(text), context.origin());
  }
  /// Whether who calls may do this.
  [[nodiscard]] Result<void> admit(const Intent& intent) const {
    if (!intent.writes.empty() && info.annotations.read_only) {
      return fail(ErrorKind::kRefused, "tool.read_only",
                  "the tool '" + info.name + "' says of itself that it only reads");
    }
    return context.judge ? context.judge(intent) : Result<void>();
  }
};

namespace {

const nlohmann::json* member(const nlohmann::json& args, std::string_view name) {
  const auto found = args.find(name);
  return found != args.end() ? &*found : nullptr;
}

Intent intent_to(std::vector<RelPath> read, std::vector<RelPath> write) {
  Intent intent;
  intent.reads = std::move(read);
  intent.writes = std::move(write);
  return intent;
}

/// The code that an exception amounts to. What it says is about the inside of the tool or of what
/// the tool uses, so it goes on record; the caller learns code and reason.
ToolErrorCode code_of_exception(const std::exception& thrown) {
  if (const auto* failed = dynamic_cast<const std::system_error*>(&thrown)) {
    if (failed->code() == std::errc::timed_out) return ToolErrorCode::kTimeout;
    if (failed->code() == std::errc::permission_denied ||
        failed->code() == std::errc::operation_not_permitted) {
      return ToolErrorCode::kPermission;
    }
    return ToolErrorCode::kRuntime;
  }
  if (dynamic_cast<const std::bad_alloc*>(&thrown) != nullptr ||
      dynamic_cast<const std::length_error*>(&thrown) != nullptr) {
    return ToolErrorCode::kQuota;
  }
  const bool is_about_arguments = dynamic_cast<const std::invalid_argument*>(&thrown) != nullptr ||
                                  dynamic_cast<const std::domain_error*>(&thrown) != nullptr ||
                                  dynamic_cast<const std::out_of_range*>(&thrown) != nullptr;
  return is_about_arguments ? ToolErrorCode::kValidation : ToolErrorCode::kRuntime;
}

ToolResult threw(const std::string& name, ToolErrorCode code, std::string cause) {
  return ToolResult::failure(
      {code, "tool.threw",
       "the tool '" + name + "' failed inside, nothing was staged; the record has the cause",
       nullptr, std::move(cause)});
}

ToolResult answered_wrongly(const std::string& name, const std::string& why) {
  return ToolResult::failure({ToolErrorCode::kRuntime, "tool.output",
                              "the tool '" + name + "' answered wrongly: " + why, nullptr});
}

}  // namespace

const std::string& ToolRun::arguments() const { return state_->args_text; }

std::string ToolRun::text(std::string_view name, std::string otherwise) const {
  const nlohmann::json* value = member(state_->args, name);
  return value != nullptr && value->is_string() ? value->get<std::string>() : otherwise;
}

int64_t ToolRun::number(std::string_view name, int64_t otherwise) const {
  const nlohmann::json* value = member(state_->args, name);
  return value != nullptr && value->is_number_integer() ? value->get<int64_t>() : otherwise;
}

bool ToolRun::flag(std::string_view name, bool otherwise) const {
  const nlohmann::json* value = member(state_->args, name);
  return value != nullptr && value->is_boolean() ? value->get<bool>() : otherwise;
}

const std::string& ToolRun::agent() const { return state_->context.agent; }
const std::string& ToolRun::call_id() const { return state_->context.call.call_id; }
const std::string& ToolRun::session_id() const { return state_->context.call.session_id; }

std::string ToolRun::cwd() const {
  const RelPath& folder = state_->context.cwd;
  return folder.is_root() ? "." : folder.str();
}

Result<std::string> ToolRun::read(std::string_view path) {
  GALLEY_ASSIGN(const RelPath source, state_->file(path));
  GALLEY_TRY(state_->admit(intent_to({source}, {})));
  GALLEY_ASSIGN(const Content content, state_->context.overlay.read(source));
  return *content;
}

Result<FileKind> ToolRun::kind(std::string_view path) {
  GALLEY_ASSIGN(const RelPath source, state_->directory(path));
  if (source.is_root()) return FileKind::kDirectory;
  GALLEY_TRY(state_->admit(intent_to({source}, {})));
  GALLEY_ASSIGN(const Node node, state_->context.overlay.node_without_content(source));
  return node.kind;
}

Result<std::vector<std::string>> ToolRun::list(std::string_view directory) {
  GALLEY_ASSIGN(const RelPath source, state_->directory(directory));
  GALLEY_TRY(state_->admit(intent_to({source}, {})));
  GALLEY_ASSIGN(const auto entries, state_->context.overlay.list(source));
  std::vector<std::string> names;
  for (const DirectoryEntry& entry : entries) {
    names.push_back(entry.kind == FileKind::kDirectory ? entry.name + "/" : entry.name);
  }
  return names;
}

Result<void> ToolRun::write(std::string_view path, std::string content) {
  GALLEY_ASSIGN(const RelPath target, state_->file(path));
  GALLEY_TRY(state_->admit(intent_to({}, {target})));
  return state_->context.overlay.write(target, std::move(content));
}

Result<void> ToolRun::remove(std::string_view path) {
  GALLEY_ASSIGN(const RelPath target, state_->file(path));
  GALLEY_TRY(state_->admit(intent_to({}, {target})));
  return state_->context.overlay.remove(target);
}

Result<void> ToolRun::move(std::string_view from, std::string_view to) {
  GALLEY_ASSIGN(const RelPath source, state_->file(from));
  GALLEY_ASSIGN(const RelPath target, state_->file(to));
  GALLEY_TRY(state_->admit(intent_to({source}, {source, target})));
  return state_->context.overlay.move(source, target);
}

Result<std::string> ToolRun::call(std::string_view tool, std::string_view json_arguments) {
  if (!state_->context.call_tool) {
    return fail(ErrorKind::kRefused, "call.nested", "no tool can be called from a tool here");
  }
  GALLEY_ASSIGN(const nlohmann::json args, parse_json(json_arguments));
  const ToolResult result = state_->context.call_tool(std::string(tool), args);
  if (!result.ok) return fail(error_from(*result.error));
  return json_text(*result.data);
}

void ToolRun::note(std::string_view line) {
  const auto& logger = state_->context.logger;
  if (logger) logger({ToolLog::Stream::kNote, line});
}

void ToolRun::progress(uint64_t done, uint64_t total) {
  const auto& listener = state_->context.call.progress;
  if (listener) listener(done, total);
}

bool ToolRun::is_late() const { return state_->context.is_over(); }

/// The adapter between what a program defines and what the executor runs.
class DefinedTool final : public Tool {
 public:
  explicit DefinedTool(ToolDefinition definition) : definition_(std::move(definition)) {}

  [[nodiscard]] const ToolInfo& info() const override { return definition_.info; }
  [[nodiscard]] TextSanitizer sanitizer() const override { return definition_.sanitize; }

  Result<Intent> intent(const nlohmann::json& /*args*/,
                        const PathOrigin& /*origin*/) const override {
    Intent intent;
    intent.is_open_ended = true;
    return intent;
  }

  ToolResult run(const nlohmann::json& args, ToolContext& context) const override {
    try {
      return run_function(args, context);
    } catch (const std::exception& thrown) {
      return threw(info().name, code_of_exception(thrown), thrown.what());
    } catch (...) {
      return threw(info().name, ToolErrorCode::kRuntime, "an exception of an unknown type");
    }
  }

 private:
  ToolResult run_function(const nlohmann::json& args, ToolContext& context) const {
    ToolRun::State state{info(), args, json_text(args), context};
    ToolRun call(state);
    const auto answer = definition_.run(call);
    if (!answer) return ToolResult::failure(tool_error_from(answer.error()));
    const auto document = parse_json(*answer);
    if (!document) return answered_wrongly(info().name, document.error().message);
    if (!document->is_object()) return answered_wrongly(info().name, "it is no JSON object");
    return ToolResult::success(*document);
  }

  ToolDefinition definition_;
};

Result<std::unique_ptr<const Tool>> make_defined_tool(ToolDefinition definition) {
  if (!definition.run) {
    return fail(ErrorKind::kInvalid, "tool.no_function",
                "the tool '" + definition.info.name + "' has no function to run");
  }
  return std::unique_ptr<const Tool>(std::make_unique<DefinedTool>(std::move(definition)));
}

}  // namespace galley
