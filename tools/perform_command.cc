#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/printable.h"
#include "base/text.h"
#include "staging/sandbox/command_runner.h"
#include "staging/sandbox/sandbox_denials.h"
#include "tools/call_diff.h"
#include "tools/perform.h"
#include "tools/redactor.h"
#include "tools/secrets.h"

namespace galley {
namespace {

using nlohmann::ordered_json;

ToolResult denied(std::string reason, std::string message) {
  return ToolResult::failure(
      {ToolErrorCode::kPermission, std::move(reason), std::move(message), nullptr});
}

/// Replaces `$ENV.NAME` in a shell line by `${NAME}` and puts the value into the environment. A
/// secret is never in the arguments, where other processes could read it.
std::optional<ToolResult> put_secrets(const RunCommand& run, ToolContext& context,
                                      Command& command) {
  for (const std::string& argument : command.argv) {
    for (const std::string& name : secrets_named_in(argument)) {
      if (!run.is_shell) {
        return denied("secret.in_argument",
                      "'$ENV." + name +
                          "' is in an argument, where other processes could read it; give one "
                          "shell line as 'command' without 'args'");
      }
      if (!context.secrets) {
        return denied("secret.unavailable",
                      "'$ENV." + name + "' asks for a secret, but none are provided here");
      }
      const std::optional<std::string> value = context.secrets(name);
      if (!value) {
        return denied("secret.unknown", "the secret '" + name + "' is not provided here");
      }
      command.environment[name] = *value;
    }
  }
  for (std::string& argument : command.argv) {
    argument =
        replace_placeholders(argument, [](const std::string& name) { return "${" + name + "}"; });
  }
  return {};
}

Command command_of(const RunCommand& run, ToolContext& context) {
  Command command;
  command.argv = run.argv;
  command.is_shell = run.is_shell;
  command.working_directory = run.directory.value_or(context.cwd);
  // As in a shell: `sed -i …; grep …` has changed a file, whatever grep found.
  command.effects = run.only_looks ? EffectsRule::kDrop : EffectsRule::kStageAlways;
  if (run.timeout) command.limits.wall = *run.timeout;
  if (!context.deadline.is_never()) {
    const auto left = context.deadline.left(context.clock);
    command.limits.wall = std::min(command.limits.wall.value_or(left), left);
  }
  command.is_deterministic = context.deterministic;
  command.stop = context.stop;
  const bool has_network = std::any_of(context.capabilities.begin(), context.capabilities.end(),
                                       [](const std::string& text) { return text == "net:host"; });
  if (has_network && !context.deterministic) command.network = NetworkAccess::kHost;
  if (context.logger) {
    command.on_output = [&context](OutputStream stream, std::string_view text) {
      context.logger(
          {stream == OutputStream::kStdout ? ToolLog::Stream::kStdout : ToolLog::Stream::kStderr,
           text});
    };
  }
  return command;
}

/// Whether a wall limit in milliseconds is less than the call asked for. The asked time begins with
/// the call, so a part of it is over when the command starts.
bool is_cut_short(std::chrono::milliseconds asked, uint64_t limit) {
  constexpr std::chrono::milliseconds kStart(100);
  const std::chrono::milliseconds least = asked - std::max(kStart, asked / 10);
  return static_cast<int64_t>(limit) < least.count();
}

ordered_json command_data(const CommandResult& result, const RunLocation& where) {
  ordered_json data;
  data["stdout"] = redact_patterns(result.standard_output.text());
  data["stderr"] = redact_patterns(result.standard_error.text());
  const uint64_t omitted =
      result.standard_output.omitted_bytes + result.standard_error.omitted_bytes;
  if (omitted > 0) data["omittedBytes"] = omitted;
  data["exitCode"] = result.exit_code.value_or(kSignalStatusBase + result.exit_signal.value_or(0));
  if (result.exit_signal) data["signal"] = *result.exit_signal;
  data["staged"] = result.effects_staged;
  data["stagedPaths"] = result.staged_paths;
  if (result.ignored_paths > 0) data["ignoredPaths"] = result.ignored_paths;
  if (result.protected_paths > 0) data["protectedPaths"] = result.protected_paths;
  for (const RefusedEffect& refused : result.refused) {
    data["refused"].push_back({{"path", refused.path}, {"why", refused.why}});
  }
  if (auto lost = result.losses(); !lost.empty()) data["lost"] = std::move(lost);
  if (result.level == SandboxLevel::kNamespaces && !where.workspace.empty()) {
    auto denials = sandbox_denials(result.standard_error.text(), where);
    if (!denials.empty()) data["denials"] = std::move(denials);
  }
  data["sandbox"] = sandbox_level_name(result.level);
  if (!result.unchecked.empty()) data["uncheckedRules"] = result.unchecked;
  return data;
}

}  // namespace

std::optional<Error> refusal_of_effects(const CommandResult& result) {
  if (result.refused.empty()) return std::nullopt;
  const RefusedEffect& first = result.refused.front();
  return Error{.kind = ErrorKind::kConflict,
               .reason = "command.effects",
               .message = "nothing that it changed is staged: '" + printable_line(first.path) +
                          "' " + first.why};
}

ToolResult perform_command(const RunCommand& run, ToolContext& context) {
  if (context.commands == nullptr) {
    return denied("sandbox.unavailable",
                  "commands cannot be run here: no sandbox was set up for this session");
  }
  Command command = command_of(run, context);
  if (auto refusal = put_secrets(run, context, command)) return std::move(*refusal);
  CallDiff diff = CallDiff::watch_all(context.overlay);
  const auto result = context.commands->run(command, context.overlay);
  if (!result) return ToolResult::failure(tool_error_from(result.error()));
  ordered_json data = command_data(*result, {context.root, command.working_directory});
  if (context.dry_run) data["staged"] = false;
  if (result->breach) {
    ToolError error = tool_error_from(result->breach->error());
    const bool is_cut = result->breach->kind == LimitKind::kWall && run.timeout &&
                        is_cut_short(*run.timeout, result->breach->limit);
    if (is_cut) {
      error.message += "; it asked for " + std::to_string(run.timeout->count()) +
                       " ms, which is more than sandbox.timeout_ms or the caller allows";
    }
    error.details = std::make_shared<const ordered_json>(std::move(data));
    return ToolResult::failure(std::move(error));
  }
  if (const auto refusal = refusal_of_effects(*result)) {
    ToolError error = tool_error_from(*refusal);
    error.details = std::make_shared<const ordered_json>(std::move(data));
    return ToolResult::failure(std::move(error));
  }
  if (result->effects_staged) {
    const auto finished = diff.finish(data, context.may_read);
    if (!finished) return ToolResult::failure(tool_error_from(finished.error()));
  }
  return ToolResult::success(std::move(data));
}

}  // namespace galley
