#include <algorithm>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/calls/executor.h"
#include "engine/calls/fallbacks.h"
#include "engine/calls/secrets.h"
#include "tools/tool_definition.h"
#include "tools/tool_view.h"

namespace galley {
namespace {

using nlohmann::json;

void add_missing(std::vector<std::string>& all, const std::vector<std::string>& more) {
  for (const std::string& one : more) {
    if (std::find(all.begin(), all.end(), one) == all.end()) all.push_back(one);
  }
}

}  // namespace

Result<std::vector<ToolRegistry::EntryPointer>> Executor::find_tools(std::string_view name) const {
  const ToolCaller caller{options_.agent, options_.session_id, options_.has_capability};
  return ToolView(*registry_, caller, options_.tools).find(name);
}

/// The tool that is called, and while those that were tried cannot answer, the next of its name.
ToolResult Executor::run_first_that_works(const std::vector<ToolRegistry::EntryPointer>& tools,
                                          const Prepared& prepared, CallPlace place,
                                          AuditEvent& record) {
  std::optional<Overlay::Entries> before;
  if (tools.size() > 1) before = place.overlay.entries();
  ToolResult result = run_supervised(*tools.front(), prepared, place.overlay, place.secrets);
  std::vector<std::string> warnings;
  for (size_t next = 1; next < tools.size(); ++next) {
    const ToolRegistry::Entry& tried = *tools[next - 1];
    if (result.ok || !may_fall_back(tried.tool->info(), *result.error)) break;
    place.overlay.restore(*before);
    const ToolRegistry::Entry& entry = *tools[next];
    Action action;
    Prepared again;
    again.args = again.given = prepared.given;
    again.execution_id = prepared.execution_id;
    prepare(entry, place.overlay, again, action);
    if (action.record.error || refusal(action)) continue;
    if (options_.confirmation && options_.confirmation(action)) continue;
    warnings.push_back(passed_over(tried, *result.error, entry));
    add_missing(record.capabilities_used, entry.tool->info().capabilities);
    result = run_supervised(entry, again, place.overlay, place.secrets);
  }
  result.meta.warnings.insert(result.meta.warnings.end(), warnings.begin(), warnings.end());
  return result;
}

/// Through queue, health, cache and retries, where there are any.
ToolResult Executor::run_supervised(const ToolRegistry::Entry& entry, const Prepared& prepared,
                                    Overlay& overlay, CallSecrets& secrets) {
  if (options_.supervisor == nullptr) return run_with_secrets(entry, prepared, overlay, secrets);
  const ToolInfo& info = entry.tool->info();
  CallSupervisor::Call call{entry, *prepared.args, overlay, prepared.reads, prepared.is_open_ended};
  call.cwd = scope_->cwd().str();
  call.deadline = Deadline::after(*clock_, time_of(info, prepared));
  call.stop = options_.stop;
  call.is_nested = stack_.is_nested();
  if (prepared.runs_programs) call.memory_bytes = memory_of(info);
  if (prepared.is_open_ended) {
    // What it reads was judged for who asked first, not for who asks now.
    call.may_read = [this, &info](const RelPath& path) {
      Action look;
      look.tools = {info.name};
      look.capabilities = info.capabilities;
      look.only_looks = true;
      look.intent.reads = {path};
      return !refusal(look);
    };
  }
  return options_.supervisor->run(call, [&](ReadNotes& notes) {
    Prepared noted = prepared;
    noted.notes = &notes;
    ToolResult result = run_with_secrets(entry, noted, overlay, secrets);
    if (!secrets.names().empty()) notes.spoil();
    return result;
  });
}

/// How long a call may take: what the caller says, else its arguments, else the tool; never longer
/// than `[tools.NAME]` lets it, nor than the tool that makes it has left.
std::chrono::milliseconds Executor::time_of(const ToolInfo& info, const Prepared& prepared) const {
  const std::chrono::milliseconds usual = timeout_of(info);
  const bool is_configured = config_of(info).timeout_ms > 0;
  const std::chrono::milliseconds most =
      is_configured ? options_.supervisor->time_for(info.name, usual) : usual;
  std::chrono::milliseconds time =
      options_.timeout ? *options_.timeout : prepared.time.value_or(most);
  if (is_configured) time = std::min(time, most);
  return stack_.bounded(time, *clock_);
}

const ToolConfig& Executor::config_of(const ToolInfo& info) const {
  static const ToolConfig kUsual;
  return options_.supervisor != nullptr ? options_.supervisor->config_of(info.name) : kUsual;
}

/// What the programs of one call may take; `[sandbox]` bounds it, too.
uint64_t Executor::memory_of(const ToolInfo& info) const {
  const ToolConfig& config = config_of(info);
  const uint64_t usual = memory_limit_of(info);
  if (config.max_memory_bytes == 0) return usual;
  return config.only_narrows ? std::min(usual, config.max_memory_bytes) : config.max_memory_bytes;
}

/// What the tool reads is noted, and it can call others. On a thread of its own (executor_reads.cc)
/// it can not, and who judges waits for the others.
void Executor::watch_context(const Prepared& prepared, ToolContext& context) {
  if (prepared.policy_mutex != nullptr) {
    context.call.progress = {};
    context.logger = context.call.logger = {};
    context.judge = [judge = context.judge, mutex = prepared.policy_mutex](const Intent& access) {
      const std::lock_guard lock(*mutex);
      return judge(access);
    };
    return;
  }
  Overlay& overlay = context.overlay;
  context.call_tool = [this, &overlay](const std::string& tool, const json& args) {
    return call_from_tool(overlay, tool, args);
  };
  if (prepared.notes == nullptr) return;
  context.judge = [judge = context.judge, notes = prepared.notes,
                   &overlay](const Intent& access) -> Result<void> {
    GALLEY_TRY(judge(access));
    for (const RelPath& path : access.reads) notes->note(overlay, path);
    return {};
  };
}

/// A tool calls another: on the same road, with a record of its own that names its caller's.
ToolResult Executor::call_from_tool(Overlay& overlay, const std::string& tool, const json& args) {
  ToolCall call;
  call.tool = tool;
  call.args = std::make_shared<const json>(args);
  call.reason = "called by the tool " + stack_.caller();
  const Overlay::Entries before = overlay.entries();
  return call_once(overlay, before, call);
}

}  // namespace galley
