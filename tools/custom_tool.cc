#include "tools/custom_tool.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "base/contains.h"
#include "base/glob.h"
#include "base/printable.h"
#include "base/text.h"
#include "staging/overlay/overlay.h"
#include "staging/overlay/staged_step.h"
#include "staging/sandbox/command_runner.h"
#include "tools/json_input.h"
#include "tools/shapes.h"

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr int kMaxAnswerDepth = 64;
constexpr size_t kMaxShownKeyBytes = 64;
constexpr size_t kMaxWarnings = 100;
constexpr uint64_t kMaxRetryMs = 24ULL * 3600 * 1000;  // of a cool-down

// Each of these functions returns the defect as a clause; an empty text if there is none.

std::string unknown_key(const json& object, const std::vector<std::string>& known) {
  for (const auto& [key, value] : object.items()) {
    if (!contains(known, key)) {
      return "it has the unknown key '" + printable_line(key, kMaxShownKeyBytes) + "'" +
             did_you_mean(key, known);
    }
  }
  return {};
}

std::string read_error(const json& error, CustomAnswer& answer) {
  if (!error.is_object()) return "its 'error' is not an object";
  auto flaw = unknown_key(error, {"code", "message", "details", "retry_after_ms"});
  if (!flaw.empty()) return "in its 'error' " + flaw;
  const auto message = error.find("message");
  if (message == error.end() || !message->is_string()) return "its 'error' has no 'message'";
  answer.message = message->get<std::string>();
  if (const auto code = error.find("code"); code != error.end()) {
    if (!code->is_string()) return "its 'error.code' is not a text";
    answer.code = code->get<std::string>();
  }
  if (const auto retry = error.find("retry_after_ms"); retry != error.end()) {
    const bool is_time =
        retry->is_number_unsigned() || (retry->is_number_integer() && retry->get<int64_t>() >= 0);
    if (!is_time) {
      return "its 'error.retry_after_ms' is not a number of milliseconds";
    }
    answer.retry_after_ms = static_cast<int64_t>(std::min(retry->get<uint64_t>(), kMaxRetryMs));
  }
  if (const auto details = error.find("details"); details != error.end()) {
    answer.details = std::make_shared<const ordered_json>(*details);
  }
  return {};
}

std::string read_fields(const json& document, CustomAnswer& answer) {
  if (!document.is_object()) return "it is not a JSON object";
  auto flaw = unknown_key(document, {"ok", "data", "error", "warnings"});
  if (!flaw.empty()) return flaw;
  const auto ok = document.find("ok");
  if (ok == document.end() || !ok->is_boolean()) return "it has no 'ok' that is true or false";
  answer.ok = ok->get<bool>();
  if (const auto warnings = document.find("warnings"); warnings != document.end()) {
    const bool is_list =
        warnings->is_array() && warnings->size() <= kMaxWarnings &&
        std::ranges::all_of(*warnings, [](const json& one) { return one.is_string(); });
    if (!is_list) return "its 'warnings' is not a list of texts";
    for (const json& one : *warnings) answer.warnings.push_back(one.get<std::string>());
  }
  if (answer.ok) {
    const auto data = document.find("data");
    if (data == document.end() || !data->is_object()) return "it is ok and has no object 'data'";
    if (document.contains("error")) return "it is ok and has an 'error'";
    answer.data = std::make_shared<const ordered_json>(*data);
    return {};
  }
  const auto error = document.find("error");
  return error != document.end() ? read_error(*error, answer)
                                 : std::string("it is not ok and has no 'error'");
}

constexpr size_t kMaxStandardErrorBytes = 2048;  // of its standard error, in a message

/// Whether one of these sorted paths is below `path`.
bool is_parent_of_one(const RelPath& path, const std::vector<RelPath>& paths) {
  const std::string below = path.str() + "/";
  const auto first = std::partition_point(
      paths.begin(), paths.end(), [&](const RelPath& other) { return other.str() < below; });
  return first != paths.end() && first->str().starts_with(below);
}

}  // namespace

Result<CustomAnswer> CustomAnswer::read(std::string_view text) {
  const auto wrong = [](std::string clause) {
    return fail(ErrorKind::kInvalid, "tool.output", std::move(clause));
  };
  if (text.empty()) return wrong("it wrote nothing on its standard output");
  const auto document = parse_json(text, {limits::kMaxJsonBytes, kMaxAnswerDepth});
  if (!document) return wrong(document.error().message);
  CustomAnswer answer;
  std::string flaw = read_fields(*document, answer);
  if (!flaw.empty()) return wrong(std::move(flaw));
  return answer;
}

namespace {

using std::chrono::milliseconds;

constexpr const char* kProtocol = "galley.tool/1";
constexpr int64_t kMsPerSecond = 1000;

ToolResult failure(ToolErrorCode code, std::string reason, std::string message,
                   JsonDocument details = nullptr) {
  return ToolResult::failure({code, std::move(reason), std::move(message), std::move(details)});
}

JsonDocument details_of(ordered_json details) {
  return std::make_shared<const ordered_json>(std::move(details));
}

/// The error code for a code of SAGE or Nachos; nullopt for the tool's own codes.
std::optional<ToolErrorCode> code_named(const std::string& name) {
  for (const char* system : {"sage", "nachos"}) {
    const auto& codes = (*tool_shape_named(system))->codes;
    const auto* found = std::ranges::find(codes, name);
    if (found != codes.end()) return static_cast<ToolErrorCode>(found - codes.begin());
  }
  return {};
}

class CustomTool final : public Tool {
 public:
  CustomTool(CustomManifest manifest, CustomToolFiles files)
      : manifest_(std::move(manifest)), files_(std::move(files)) {}

  [[nodiscard]] const ToolInfo& info() const override { return manifest_.info; }
  /// The output of a program is untrusted.
  [[nodiscard]] TextSanitizer sanitizer() const override { return sanitized_text; }

  Result<Intent> intent(const json& /*args*/, const PathOrigin& /*origin*/) const override {
    Intent intent;
    intent.is_open_ended = true;
    if (!manifest_.executable.empty()) intent.programs = {program_name()};
    return intent;
  }

  [[nodiscard]] std::optional<Error> missing_program() const {
    if (!manifest_.executable.empty()) return {};
    return Error{ErrorKind::kInternal, "tool.no_program",
                 named() +
                     " cannot be called: its manifest names no 'executable'; give it one and add "
                     "the tool again with galley tools add"};
  }

  ToolResult run(const json& args, ToolContext& context) const override {
    if (const auto missing = missing_program()) {
      return ToolResult::failure(tool_error_from(*missing));
    }
    if (context.commands == nullptr) {
      return failure(ToolErrorCode::kPermission, "sandbox.unavailable",
                     named() + " is a program, and none can be run here: no sandbox was set up");
    }
    if (const auto sound = files_.check(); !sound) {
      return ToolResult::failure(tool_error_from(sound.error()));
    }
    auto command = command_for(args, context);
    if (!command) return ToolResult::failure(tool_error_from(command.error()));
    const Overlay::Entries before = context.overlay.entries();
    const auto ran = context.commands->run(*command, context.overlay);
    if (!ran) return ToolResult::failure(tool_error_from(ran.error()));
    ToolResult result = judged(*ran, command->limits);
    if (result.ok) {
      auto refusal = check_program_effects(before, manifest_.writable, named(), context);
      if (refusal) return ToolResult::failure(*std::move(refusal));
    }
    result.meta.cpu_ms = std::chrono::duration_cast<milliseconds>(ran->cpu).count();
    result.meta.peak_memory = static_cast<int64_t>(ran->peak_memory_bytes);
    return result;
  }

 private:
  [[nodiscard]] std::string named() const { return "the tool '" + manifest_.info.name + "'"; }
  [[nodiscard]] std::string program_name() const {
    return manifest_.executable.substr(manifest_.executable.rfind('/') + 1);
  }
  Result<Command> command_for(const json& args, const ToolContext& context) const;
  Result<void> put_secrets(const ToolContext& context, Command& command) const;
  [[nodiscard]] std::string request(const json& args, const ToolContext& context,
                                    milliseconds time) const;
  [[nodiscard]] ToolResult judged(const CommandResult& ran, const AskedLimits& asked) const;
  [[nodiscard]] ToolResult said_no(const CustomAnswer& answer) const;
  [[nodiscard]] ToolResult broke_limit(const LimitBreach& breach) const;

  CustomManifest manifest_;
  CustomToolFiles files_;
};

Result<void> CustomTool::put_secrets(const ToolContext& context, Command& command) const {
  for (const std::string& name : manifest_.secrets) {
    const auto value = context.secrets ? context.secrets(name) : std::nullopt;
    if (!value) {
      return fail(ErrorKind::kRefused, "secret.unavailable",
                  named() + " needs the secret '" + name +
                      "', which is not provided here; give it with --secret " + name);
    }
    command.environment[name] = *value;
  }
  return {};
}

Result<Command> CustomTool::command_for(const json& args, const ToolContext& context) const {
  Command command;
  command.argv = {files_.folder + "/" + manifest_.executable};
  command.readable = {files_.folder};
  command.working_directory = context.cwd;
  milliseconds time = *manifest_.info.timeout;
  if (!context.deadline.is_never()) time = std::min(time, context.deadline.left(context.clock));
  GALLEY_TRY(put_secrets(context, command));
  command.input = request(args, context, time);
  command.limits.wall = time;
  command.limits.max_memory_bytes = manifest_.memory_bytes;
  if (manifest_.processor_ms) {
    const auto whole = (*manifest_.processor_ms + kMsPerSecond - 1) / kMsPerSecond;
    command.limits.cpu = std::chrono::seconds(whole);
  }
  // In a dry run, the executor reverts the staged changes.
  command.effects = manifest_.writes ? EffectsRule::kStageOnSuccess : EffectsRule::kDrop;
  command.is_deterministic = context.deterministic;
  command.hosts = manifest_.hosts;
  if (manifest_.uses_network && manifest_.hosts.empty() && !context.deterministic) {
    command.network = NetworkAccess::kHost;
  }
  command.stop = context.stop;
  if (context.logger) {
    // Standard output is the answer, so it is not shown while the tool runs.
    command.on_output = [&context](OutputStream stream, std::string_view text) {
      if (stream == OutputStream::kStderr) context.logger({ToolLog::Stream::kStderr, text});
    };
  }
  return command;
}

std::string CustomTool::request(const json& args, const ToolContext& context,
                                milliseconds time) const {
  ordered_json out;
  out["protocol"] = kProtocol;
  out["tool"] = manifest_.info.name;
  out["version"] = manifest_.info.version;
  out["arguments"] = ordered_json(args);
  out["context"] = {{"agent", context.agent},
                    {"session_id", context.call.session_id},
                    {"call_id", context.call.call_id},
                    {"task_id", context.call.task_id},
                    {"goal_id", context.call.goal_id},
                    {"reason", context.call.reason},
                    {"workspace", context.root},
                    {"dry_run", context.dry_run},
                    {"deterministic", context.deterministic},
                    {"timeout_ms", time.count()}};
  return json_text(out) + "\n";
}

/// The result of a run, without its effects.
ToolResult CustomTool::judged(const CommandResult& ran, const AskedLimits& asked) const {
  if (ran.breach) return broke_limit(*ran.breach);
  if (ran.standard_output.omitted_bytes > 0) {
    const uint64_t whole = ran.standard_output.head.size() + ran.standard_output.tail.size() +
                           ran.standard_output.omitted_bytes;
    const std::string most = asked.max_stdout_bytes ? std::to_string(*asked.max_stdout_bytes)
                                                    : "sandbox.max_output_bytes";
    return failure(ToolErrorCode::kQuota, "limit.tool_output",
                   named() + " answered with " + std::to_string(whole) + " bytes, more than " +
                       most + " allows; ask it for less");
  }
  if (!ran.refused.empty()) {
    return failure(ToolErrorCode::kRuntime, "tool.effects",
                   named() + " left '" + printable_line(ran.refused.front().path) + "', which " +
                       ran.refused.front().why + "; nothing was staged");
  }
  const auto read = CustomAnswer::read(ran.standard_output.head);
  if (read && !read->ok) return said_no(*read);
  if (!ran.succeeded()) {
    return failure(ToolErrorCode::kRuntime, "tool.exit",
                   named() + " " + end_of_program(ran) + "; nothing was staged",
                   details_of({{"stderr", output_tail(ran.standard_error)}}));
  }
  if (!read) {
    return failure(ToolErrorCode::kRuntime, "tool.output",
                   named() + " gave no answer as the protocol has it: " + read.error().message,
                   details_of({{"stderr", output_tail(ran.standard_error)}}));
  }
  ToolResult result = ToolResult::success(*read->data);
  result.meta.warnings = read->warnings;
  return result;
}

ToolResult CustomTool::broke_limit(const LimitBreach& breach) const {
  const Error error = breach.error();
  if (breach.kind == LimitKind::kWall) {
    return failure(ToolErrorCode::kTimeout, "tool.timeout",
                   named() + " gave no answer in the " + std::to_string(breach.limit) +
                       " ms it has; it was ended, and nothing was staged");
  }
  ToolError said = tool_error_from(error);
  said.message = named() + ": " + said.message;
  return ToolResult::failure(std::move(said));
}

ToolResult CustomTool::said_no(const CustomAnswer& answer) const {
  if (answer.retry_after_ms) {
    const milliseconds time(*answer.retry_after_ms);
    return failure(ToolErrorCode::kQuota, "service.rate_limited",
                   named() + " says: " + answer.message + " (ask again in " +
                       std::to_string(time.count()) + " ms)",
                   details_of({{"retry_after_ms", time.count()}}));
  }
  const auto code = code_named(answer.code);
  ToolError error{code.value_or(ToolErrorCode::kRuntime), answer.code,
                  named() + " says: " + answer.message, answer.details};
  if (is_transient(error)) return ToolResult::failure(std::move(error));
  error.reason = "tool.failed";
  if (!code && !answer.code.empty()) {
    ordered_json details = {{"code", answer.code}};
    if (answer.details) details["details"] = *answer.details;
    error.details = details_of(std::move(details));
  }
  return ToolResult::failure(std::move(error));
}

}  // namespace

std::unique_ptr<const Tool> make_custom_tool(CustomManifest manifest, CustomToolFiles files) {
  return std::make_unique<CustomTool>(std::move(manifest), std::move(files));
}

std::optional<Error> missing_tool_program(const Tool& tool) {
  const auto* custom = dynamic_cast<const CustomTool*>(&tool);
  return custom == nullptr ? std::nullopt : custom->missing_program();
}

bool is_transient(const ToolError& error) {
  static constexpr std::array<std::string_view, 5> kTransient = {
      "service.unavailable", "service.timeout", "net.unreachable", "net.timeout", "tool.busy"};
  return contains(kTransient, error.reason);
}

bool is_tool_defect(const ToolError& error) {
  constexpr std::array<std::string_view, 6> kFaults = {"tool.timeout", "limit.tool_output",
                                                       "tool.output",  "tool.exit",
                                                       "tool.threw",   "tool.effects"};
  return contains(kFaults, error.reason) || error.reason.starts_with("sandbox.quota_");
}

std::optional<ToolError> check_program_effects(const Overlay::Entries& before,
                                               const std::vector<std::string>& writable,
                                               const std::string& named,
                                               const ToolContext& context) {
  std::vector<RelPath> changed = restaged_paths(before, context.overlay.entries());
  if (changed.empty()) return {};
  std::ranges::sort(changed);
  const auto patterns = GlobList::parse(writable);
  for (const RelPath& path : changed) {
    if (writable.empty() || (patterns && patterns->selects(path))) continue;
    if (is_parent_of_one(path, changed)) continue;  // it is a parent of a changed path
    return ToolError{ToolErrorCode::kPermission, "tool.effects",
                     named + " changed '" + printable_line(path.str()) +
                         "', which its manifest does not list; nothing was staged",
                     nullptr};
  }
  if (!context.judge) return {};
  Intent intent;
  intent.writes = std::move(changed);
  const auto allowed = context.judge(intent);
  if (allowed) return {};
  return tool_error_from(allowed.error());
}

std::string output_tail(const CapturedOutput& output) {
  const std::string text = output.text();
  const size_t from =
      text.size() > kMaxStandardErrorBytes ? text.size() - kMaxStandardErrorBytes : 0;
  return printable(std::string_view(text).substr(from));
}

std::string end_of_program(const CommandResult& ran) {
  if (ran.exit_signal) return "was ended by signal " + std::to_string(*ran.exit_signal);
  return "ended with status " + std::to_string(ran.exit_code.value_or(-1));
}

}  // namespace galley
