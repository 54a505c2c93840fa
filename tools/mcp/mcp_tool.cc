#include "tools/mcp/mcp_tool.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "staging/overlay/overlay.h"
#include "tools/json_input.h"
#include "tools/mcp/mcp_server_run.h"
#include "tools/program_effects.h"
#include "tools/schema.h"

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;
using std::chrono::milliseconds;

/// The texts of a list of content blocks.
std::string texts_of(const json& content) {
  std::string text;
  for (const json& block : content) {
    const auto words = block.find("text");
    if (words == block.end() || !words->is_string()) continue;
    text += (text.empty() ? "" : "\n") + words->get<std::string>();
  }
  return text;
}

class McpTool final : public Tool {
 public:
  McpTool(std::shared_ptr<const TrustedMcpServer> server, std::string own_name, ToolInfo info,
          std::optional<JsonSchema> structured)
      : server_(std::move(server)),
        own_name_(std::move(own_name)),
        info_(std::move(info)),
        structured_(std::move(structured)) {}

  [[nodiscard]] const ToolInfo& info() const override { return info_; }
  [[nodiscard]] TextSanitizer sanitizer() const override { return sanitized_text; }

  Result<Intent> intent(const json& /*args*/, const PathOrigin& /*origin*/) const override {
    Intent intent;
    intent.is_open_ended = true;
    const std::string program = mcp_server_command(*server_).argv.front();
    intent.programs = {program.substr(program.rfind('/') + 1)};
    return intent;
  }

  ToolResult run(const json& args, ToolContext& context) const override {
    if (context.commands == nullptr) {
      return failure({ErrorKind::kRefused, "sandbox.unavailable",
                      named() + " asks a program, and none can be run here: no sandbox was set up",
                      "", 0});
    }
    auto command = command_for(context);
    if (!command) return failure(command.error());
    const Overlay::Entries before = context.overlay.entries();
    auto done = run_mcp_server(
        *server_, errand(args, context), *std::move(command),
        [&](const Command& one) { return context.commands->run(one, context.overlay); });
    if (!done) return failure(done.error());
    if (!done->reply) return failure(done->reply.error());
    ToolResult result = result_of(done->reply->result);
    if (result.ok) {
      auto refusal = check_program_effects(before, {}, named(), context);
      if (refusal) return ToolResult::failure(*std::move(refusal));
    }
    result.meta.cpu_ms = std::chrono::duration_cast<milliseconds>(done->ran.cpu).count();
    result.meta.peak_memory = static_cast<int64_t>(done->ran.peak_memory_bytes);
    return result;
  }

 private:
  [[nodiscard]] std::string named() const { return "the tool '" + info_.name + "'"; }
  static ToolResult failure(const Error& error) {
    return ToolResult::failure(tool_error_from(error));
  }

  Result<Command> command_for(const ToolContext& context) const {
    Command command = mcp_server_command(*server_);
    command.working_directory = context.cwd;
    command.is_deterministic = context.deterministic;
    if (context.deterministic) command.network = NetworkAccess::kNone;
    if (!context.deadline.is_never()) {
      command.limits.wall = std::min(server_->timeout, context.deadline.left(context.clock));
    }
    command.stop = context.stop;
    for (const std::string& name : server_->secrets) {
      const auto value = context.secrets ? context.secrets(name) : std::nullopt;
      if (!value) {
        return fail(ErrorKind::kRefused, "secret.unavailable",
                    named() + " needs the secret '" + name +
                        "', which is not provided here; give it with --secret " + name);
      }
      command.environment[name] = *value;
    }
    if (context.logger) {
      command.on_output = [&context](OutputStream stream, std::string_view text) {
        if (stream == OutputStream::kStderr) context.logger({ToolLog::Stream::kStderr, text});
      };
    }
    return command;
  }

  McpClientTask errand(const json& args, const ToolContext& context) const {
    McpClientTask errand;
    errand.version = server_->version;
    errand.root = context.root;
    errand.call = McpClientTask::Call{own_name_, args};
    errand.check = [this](const std::vector<json>& now) { return server_->check_definitions(now); };
    if (context.logger) {
      errand.on_log = [&context](const std::string& line) {
        context.logger({ToolLog::Stream::kNote, line});
      };
    }
    return errand;
  }

  ToolResult result_of(const json& answer) const {
    const json& content = answer.at("content");
    if (answer.value("isError", json()) == true) {
      std::string said = texts_of(content);
      if (said.empty()) said = "it gives no reason";
      return failure({ErrorKind::kIo, "tool.failed", named() + " says: " + said, "", 0});
    }
    ordered_json data;
    data["content"] = ordered_json(content);
    const auto structured = answer.find("structuredContent");
    const bool has_structure = structured != answer.end() && !structured->is_null();
    if (has_structure) data["structuredContent"] = ordered_json(*structured);
    if (structured_) {
      const auto violations =
          has_structure ? structured_->check(*structured)
                        : std::vector<SchemaViolation>{{"", "there is no structuredContent"}};
      if (!violations.empty()) {
        return failure({ErrorKind::kIo, "tool.output",
                        named() + " gave a result that does not match its own outputSchema: " +
                            describe(violations),
                        "", 0});
      }
    }
    return ToolResult::success(std::move(data));
  }

  std::shared_ptr<const TrustedMcpServer> server_;
  std::string own_name_;
  ToolInfo info_;
  std::optional<JsonSchema> structured_;
};

}  // namespace

Result<std::unique_ptr<const Tool>> make_mcp_tool(std::shared_ptr<const TrustedMcpServer> server,
                                                  const json& definition) {
  GALLEY_ASSIGN(ToolInfo info, server->tool_info(definition));
  std::optional<JsonSchema> structured;
  if (const auto schema = definition.find("outputSchema"); schema != definition.end()) {
    auto compiled = JsonSchema::compile(json_text(*schema));
    if (!compiled) {
      return fail(ErrorKind::kInvalid, "tool.schema",
                  "the output schema of '" + printable_line(info.name) +
                      "' cannot be checked: " + compiled.error().message);
    }
    structured = *std::move(compiled);
  }
  return std::unique_ptr<const Tool>(
      std::make_unique<McpTool>(std::move(server), definition.at("name").get<std::string>(),
                                std::move(info), std::move(structured)));
}

}  // namespace galley
