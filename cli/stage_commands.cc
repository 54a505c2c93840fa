#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>

#include "base/limits.h"
#include "base/printable.h"
#include "cli/commands.h"
#include "cli/person.h"
#include "cli/staged.h"
#include "cli/tool_calls.h"
#include "engine/calls/transcript.h"
#include "engine/pipeline/inner_transaction.h"
#include "engine/pipeline/replay.h"
#include "staging/sandbox/host_process.h"
#include "tools/json_input.h"
#include "tools/shapes.h"

namespace galley {

namespace {

// --- call ---------------------------------------------------------------------------------------

/// Returns the answer of a tool that reads or runs, for people; nothing for other tools.
std::optional<std::string> answer_text(const Json& data) {
  const auto text_of = [&data](const char* field) { return text_member(data, field); };
  if (data.contains("encoding")) return std::nullopt;
  if (data.contains("stdout")) return text_of("stdout") + text_of("stderr");
  if (data.contains("content")) return text_of("content");
  if (!data.contains("filenames")) return std::nullopt;
  std::string names;
  for (const Json& name : data["filenames"]) {
    if (name.is_string()) names += printable_line(name.get<std::string>()) + "\n";
  }
  return names;
}

/// Prints one or two lines for a person at a terminal.
Result<void> show_answer(Session& session, Transaction& transaction, const Overlay::Entries& before,
                         const ToolResult& result) {
  Json document = to_json(result);
  const std::optional<std::string> answer = answer_text(*result.data);
  const bool has_staged = overlay_of(transaction).entries() != before;
  if (answer) {
    session.print(session.terminal().content(*answer));
    if (!answer->empty() && !answer->ends_with('\n')) session.print(std::string("\n"));
  }
  const int exit_code = result.data->value("exitCode", 0);
  if (exit_code != 0) {
    const bool is_dropped = result.data->contains("staged") && (*result.data)["staged"] == false;
    session.say(fmt::format("exit {}{}", exit_code, is_dropped ? ", effects dropped" : ""));
  }
  if (has_staged) return show_staged(session, transaction, before, document);
  if (!answer) session.print(document);
  return {};
}

std::string work_of(const Arguments& arguments) {
  return "running the tool " + printable_line(arguments.name);
}

Result<std::map<std::string, std::string>> call_environment(const CallArguments& about) {
  std::map<std::string, std::string> environment;
  for (const std::string& text : about.environment) {
    const size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return fail(ErrorKind::kUsage, "call.environment",
                  "--env " + text + ": write it as NAME=VALUE");
    }
    environment[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return environment;
}

Result<CallOptions> call_options(Session& session) {
  const Arguments& arguments = session.arguments();
  const CallArguments& about = arguments.call;
  CallOptions options;
  options.dry_run = arguments.dry_run;
  options.confirm = confirmer_at_terminal(session);
  options.call_id = about.call_id;
  options.session_id = session.arguments().global.session;
  options.task_id = about.task;
  options.goal_id = about.goal;
  options.cwd = about.cwd;
  options.deterministic = about.is_deterministic;
  if (!about.capabilities.empty()) options.only_capabilities = about.capabilities;
  if (!about.programs.empty()) options.only_programs = about.programs;
  if (about.timeout_s > 0) options.timeout = time_of_option(about.timeout_s);
  GALLEY_ASSIGN(options.environment, call_environment(about));
  GALLEY_ASSIGN(options.secrets, secrets_of_command(session));
  if (session.is_json() || !session.terminal().is_terminal()) return options;
  const std::string work = work_of(arguments);
  options.progress = [&session, work](uint64_t done, uint64_t total) {
    std::string text = fmt::format("{}: {}", work, done);
    if (total > 0) text += fmt::format(" of {}", total);
    session.terminal().work_on(std::move(text));
  };
  return options;
}

// --- edit ---------------------------------------------------------------------------------------

/// Returns $VISUAL, $EDITOR, or vi if there is a terminal.
Result<std::string> editor_line(Session& session) {
  for (const char* name : {"VISUAL", "EDITOR"}) {
    const char* line = std::getenv(name);
    if (line != nullptr && *line != '\0') return std::string(line);
  }
  if (session.terminal().is_terminal() && session.terminal().is_input_terminal()) return "vi";
  return fail(ErrorKind::kUsage, "editor.none",
              "no editor is set and there is no terminal to open one at: set EDITOR");
}

}  // namespace

Result<int> run_call(Session& session) {
  const Arguments& arguments = session.arguments();
  std::string json = arguments.input;
  if (json == "-") {
    GALLEY_ASSIGN(json, session.read_input("-", "the arguments", limits::kMaxJsonBytes));
  }
  GALLEY_ASSIGN(const Workspace* workspace, session.open());
  GALLEY_ASSIGN(const ToolProfile* profile, chosen_profile(session, *workspace));
  ToolCall one = ToolCall::parse(arguments.name, json);
  if (profile != nullptr) one.refuse_unless(profile->check_shows(arguments.name));
  auto opened = session.resume_or_begin(!one.flaw);
  if (!opened) return fail(one.flaw.value_or(opened.error()));
  Transaction& transaction = *opened;
  const Overlay::Entries before = overlay_of(transaction).entries();
  GALLEY_ASSIGN(const CallOptions options, call_options(session));
  session.terminal().work_on(work_of(arguments));
  GALLEY_TRY(begin_transcript(session, transaction));
  const ToolResult result = inner(transaction).call_all({std::move(one)}, options).front();
  if (result.ok && !options.dry_run) GALLEY_TRY(transaction.save());
  warn_of_unrecorded(session, transaction);
  if (!arguments.shape.empty()) {
    GALLEY_ASSIGN(const ToolShape* shape, tool_shape_named(arguments.shape));
    session.print(shape->result(*shape, arguments.name, options.call_id, result));
  } else if (!session.is_json() && result.ok && session.terminal().is_terminal()) {
    GALLEY_TRY(show_answer(session, transaction, before, result));
  } else if (session.is_json() || result.ok) {
    session.print(to_json(result));
  } else {
    session.terminal().print_error(result.error->message);
  }
  if (result.ok) return kExitDone;
  return result.error->code == ToolErrorCode::kValidation ? kExitMalformed : kExitNo;
}

Result<int> run_edit(Session& session) {
  GALLEY_TRY(refuse_inside_exec("edit"));
  GALLEY_ASSIGN(std::string editor, editor_line(session));
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(const RelPath file, session.path(session.arguments().name));
  const std::string path = file.str();
  const EditorRequest request{std::move(editor), path.substr(path.rfind('/') + 1),
                              workspace->root_path()};
  GALLEY_ASSIGN(Transaction transaction, session.resume_or_begin());
  GALLEY_ASSIGN(const std::string text, transaction.text_to_edit(path));
  session.terminal().release_terminal();
  GALLEY_ASSIGN(std::string edited, edit_by_person(request, text));
  Json document = {{"schema", "galley.edit/1"}, {"ok", true}, {"tx", transaction.id()}};
  const Overlay::Entries before = overlay_of(transaction).entries();
  if (edited != text) {
    GALLEY_TRY(transaction.stage_edited(path, std::move(edited)));
    GALLEY_TRY(transaction.save());
  }
  GALLEY_TRY(show_staged(session, transaction, before, document));
  return kExitDone;
}

// --- replay -------------------------------------------------------------------------------------

namespace {

Json difference_json(const ReplayDifference& one) {
  Json out = {{"what", one.what}, {"call", one.call}, {"tool", one.tool}};
  if (!one.where.empty()) out["where"] = one.where;
  if (one.what == "not_replayed") {
    out["reason"] = one.reason;
    out["message"] = one.message;
    return out;
  }
  out["expected"] = one.expected;
  out["found"] = one.found;
  return out;
}

Json report_json(const ReplayReport& report) {
  Json document = {{"schema", "galley.replay/1"},
                   {"ok", report.is_equal()},
                   {"calls", report.calls},
                   {"replayed", report.replayed},
                   {"differences", Json::array()}};
  for (const ReplayDifference& one : report.differences) {
    document["differences"].push_back(difference_json(one));
  }
  if (report.more > 0) document["more"] = report.more;
  return document;
}

/// Uses the open transaction of --tx, or one in memory that is dropped afterwards.
Result<Transaction> begin_replay(Session& session, Workspace& workspace) {
  if (!session.arguments().tx.empty()) return session.resume();
  return workspace.begin(session.transaction_options());
}

}  // namespace

Result<int> run_replay(Session& session) {
  const Arguments& arguments = session.arguments();
  GALLEY_ASSIGN(const std::string text,
                session.read_input(arguments.input, "the transcript", kMaxTranscriptReadBytes));
  GALLEY_ASSIGN(const auto calls, read_transcript(text));
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  GALLEY_ASSIGN(Transaction transaction, begin_replay(session, *workspace));
  ReplayOptions options;
  GALLEY_ASSIGN(options.secrets, secrets_of_environment(arguments.call.secrets));
  GALLEY_ASSIGN(const ReplayReport report, replay(*workspace, transaction, calls, options));
  if (!arguments.tx.empty()) GALLEY_TRY(transaction.save());
  if (session.is_json()) {
    Json document = report_json(report);
    if (!arguments.tx.empty()) document["tx"] = transaction.id();
    session.print(document);
  } else {
    session.say_lines(describe(report));
  }
  return report.is_equal() ? kExitDone : kExitNo;
}

}  // namespace galley
