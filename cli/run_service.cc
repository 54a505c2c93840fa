#include "cli/run_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/printable.h"
#include "cli/outcome.h"
#include "engine/pipeline/inner_transaction.h"
#include "engine/pipeline/run_capture.h"
#include "engine/stages/run_basis.h"
#include "server/agents/agent_needs.h"
#include "staging/sandbox/command_runner.h"
#include "staging/sandbox/egress_proxy.h"
#include "staging/sandbox/host_folders.h"
#include "staging/sandbox/request_builder.h"
#include "staging/sandbox/sandbox.h"
#include "staging/sandbox/sandbox_denials.h"
#include "staging/sandbox/terminal/run_supervisor.h"

namespace galley {
namespace {

constexpr size_t kMaxAllowedWrites = 32;
constexpr size_t kMaxLayers = 16;

/// An option that takes folders of the host.
struct FolderOption {
  std::string_view name;
  size_t most;
  bool may_be_missing;
};

/// Checks the host folders of an option.
Result<std::vector<std::string>> host_folders(const FolderOption& option,
                                              const std::vector<std::string>& paths,
                                              const Workspace& workspace) {
  if (paths.size() > option.most) {
    return fail(ErrorKind::kQuota, "limit.run_folders",
                fmt::format("{} was given {} times, and {} are allowed", option.name, paths.size(),
                            option.most));
  }
  std::vector<std::string> places;
  for (const std::string& path : paths) {
    GALLEY_ASSIGN(std::string place,
                  folder_of_run(option.name, path, workspace.root_path(), option.may_be_missing));
    places.push_back(std::move(place));
  }
  return places;
}

/// Returns the variables of --env. A name without a value that is not set here is reported.
Result<std::map<std::string, std::string>> run_environment(Session& session,
                                                           const std::vector<std::string>& words) {
  std::map<std::string, std::string> environment;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    if (name.empty()) {
      return fail(ErrorKind::kUsage, "run.environment",
                  "--env '" + word + "': write it as NAME=VALUE, or as NAME");
    }
    if (equals != std::string::npos) {
      environment[name] = word.substr(equals + 1);
    } else if (const char* value = std::getenv(name.c_str()); value != nullptr) {
      environment[name] = value;
    } else {
      session.say("--env " + name + " is not set here, so the program does not get it");
    }
  }
  return environment;
}

/// Converts the arguments of `galley run` to a request.
Result<RunRequest> request_of(Session& session, bool is_terminal, const RunScreen& screen) {
  const Arguments& arguments = session.arguments();
  GALLEY_ASSIGN(const Workspace* workspace, session.open());
  RunRequest request;
  request.command.argv = arguments.words;
  if (arguments.run.shares_network) request.command.network = NetworkAccess::kHost;
  request.command.hosts = arguments.run.hosts;
  request.command.propose_ignored = arguments.run.proposes_ignored;
  GALLEY_ASSIGN(request.command.environment, run_environment(session, arguments.run.environment));
  request.command.readable = arguments.run.readable;
  request.has_consent = arguments.run.has_consent;
  request.name = arguments.run.name;
  request.is_terminal = is_terminal;
  request.rows = screen.rows;
  request.columns = screen.columns;
  GALLEY_ASSIGN(request.writable, host_folders({"--allow-write", kMaxAllowedWrites, false},
                                               arguments.run.writable, *workspace));
  GALLEY_ASSIGN(request.layered,
                host_folders({"--layer", kMaxLayers, true}, arguments.run.layered, *workspace));
  return request;
}

/// Returns the transaction of --resume, whose run has ended, or a new one.
Result<Transaction> transaction_of_run(Session& session) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  const std::string& resumed = session.arguments().run.resume;
  if (!resumed.empty()) return session.resume(resumed);
  GALLEY_TRY(check_workspace_place(workspace->root_path()));
  return workspace->begin_stored(session.transaction_options());
}

Result<std::unique_ptr<StartedRun>> start(Session& session, bool is_terminal,
                                          const RunScreen& screen) {
  GALLEY_ASSIGN(RunRequest request, request_of(session, is_terminal, screen));
  GALLEY_ASSIGN(Transaction transaction, transaction_of_run(session));
  GALLEY_ASSIGN(const RelPath place, session.place());
  GALLEY_ASSIGN(const Node node, transaction.look(place));
  if (node.kind == FileKind::kDirectory) request.command.working_directory = place;
  session.terminal().work_on("starting " + printable_line(request.command.argv.front()));
  auto started = inner(transaction).start_run(request);
  if (!started && session.arguments().run.resume.empty()) (void)transaction.rollback();
  if (started) GALLEY_TRY(transaction.save());
  return started;
}

int run_exit_status(const CommandResult& result) {
  if (result.exit_signal) return kSignalStatusBase + *result.exit_signal;
  return result.exit_code.value_or(kExitFailure);
}

std::string words_for(const CommandResult& result) {
  if (result.exit_signal) return fmt::format("signal {}", *result.exit_signal);
  return fmt::format("exit {}", result.exit_code.value_or(kExitFailure));
}

/// Opens the transaction with the changes of its run.
Result<Transaction> resume(Session& session, const std::string& tx) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  const Arguments& arguments = session.arguments();
  return workspace->resume(tx, arguments.global.agent, arguments.global.message);
}

/// Whether the transaction is without staged changes and without layers over host folders.
bool is_empty(Session& session, Transaction& transaction) {
  const auto workspace = session.open();
  if (!workspace || !transaction.proposal().is_empty()) return false;
  const auto layers = written_layers(*persistent_of(**workspace).state(), transaction.id());
  return layers && layers->empty();
}

/// Stages the changes after the program ended. A new transaction without
/// changes is removed.
RunEnding end_run(Session& session, StartedRun& started, const RunSupervisor& supervisor) {
  RunEnding ending;
  const auto opened = session.open();
  const auto place = session.place();
  if (opened && place) {
    ending.walls = sandbox_denials(supervisor.terminal_output(), {(*opened)->root_path(), *place});
  }
  ending.tx = started.note.tx;
  ending.was_begun = session.arguments().run.resume.empty();
  const auto result = started.live->result();
  const AgentProgram* agent = agent_of_program(started.note.argv.front());
  if (result) {
    ending.status = run_exit_status(*result);
    ending.ended = words_for(*result);
    if (result->breach) ending.breach = result->breach->error().message;
    for (const std::string& host : result->refused_hosts) {
      ending.walls.push_back(refused_host_text(host));
    }
  } else {
    ending.status = start_exit_status(result.error(), kExitFailure);
    ending.ended = "ended: " + result.error().message;
  }
  if (agent != nullptr && ending.status != kExitDone) {
    std::vector<std::string> missing = missing_settings(
        *agent, supervisor.terminal_output() + "\n" + supervisor.last_output(), home_folder());
    std::move(missing.begin(), missing.end(), std::back_inserter(ending.walls));
  }
  started.note.ended = ending.ended;
  started.note.mount_fd = -1;
  (void)started.folder.write_note(started.note);
  started.folder.release_lock();
  auto transaction = resume(session, ending.tx);
  if (!transaction) {
    ending.error = transaction.error();
  } else if (const Error* why = transaction->unstaged_run(); why != nullptr) {
    ending.error = *why;
  } else if (const RunReport* report = inner(*transaction).ended_run(); report != nullptr) {
    ending.ignored_paths = report->ignored_paths;
    ending.first_ignored = report->first_ignored;
    ending.protected_paths = report->protected_paths;
    if (!report->git_failure.empty()) {
      ending.walls.push_back("its git commits could not be kept: " + report->git_failure);
    }
    ending.head = report->head;
    for (const std::string& note : report->notes) ending.walls.push_back(printable_line(note));
    ending.is_dropped = ending.was_begun && report->git_refs == 0 &&
                        is_empty(session, *transaction) && transaction->rollback().has_value();
  }
  return ending;
}

}  // namespace

std::string encode_error(const Error& error) {
  return Json{{"kind", static_cast<int>(error.kind)},
              {"reason", error.reason},
              {"message", error.message},
              {"path", error.path}}
      .dump(-1, ' ', false, Json::error_handler_t::replace);
}

Error decode_error(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  // A client that cannot attach gets plain text.
  if (!json.is_object()) return {ErrorKind::kRefused, "run.refused", text, "", 0};
  return {static_cast<ErrorKind>(json.value("kind", static_cast<int>(ErrorKind::kInternal))),
          json.value("reason", std::string("run.failed")), json.value("message", text),
          json.value("path", std::string()), 0};
}

std::string RunEnding::encode() const {
  Json json = {{"tx", tx},
               {"status", status},
               {"ended", ended},
               {"breach", breach},
               {"was_begun", was_begun},
               {"dropped", is_dropped},
               {"ignored", ignored_paths},
               {"first_ignored", first_ignored},
               {"protected", protected_paths},
               {"walls", walls}};
  if (error) json["error"] = encode_error(*error);
  if (head) json["head"] = {{"name", head->name}, {"id", head->id}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<RunEnding> RunEnding::decode(const std::string& text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("tx")) return std::nullopt;
  RunEnding ending;
  ending.tx = json.value("tx", std::string());
  ending.status = json.value("status", kExitFailure);
  ending.ended = json.value("ended", std::string());
  ending.breach = json.value("breach", std::string());
  ending.was_begun = json.value("was_begun", false);
  ending.is_dropped = json.value("dropped", false);
  ending.ignored_paths = json.value("ignored", uint64_t{0});
  ending.first_ignored = json.value("first_ignored", std::string());
  ending.protected_paths = json.value("protected", uint64_t{0});
  ending.walls = json.value("walls", std::vector<std::string>());
  if (const auto head = json.find("head"); head != json.end() && head->is_object()) {
    ending.head = RunRef{head->value("name", std::string()), head->value("id", std::string())};
  }
  if (json.contains("error")) ending.error = decode_error(json.value("error", std::string()));
  return ending;
}

void supervise_run(Session& session, Fd client, bool is_terminal, const RunScreen& screen) {
  start_first_helper();  // it makes its namespaces in the meantime
  RunPeer first(std::move(client));
  auto started = start(session, is_terminal, screen);
  session.terminal().release_terminal();
  auto listener = started ? listen_for_clients((*started)->folder.directory().descriptor())
                          : Result<Fd>(started.error());
  if (!listener) return first.send(RunMessage::kFailed, encode_error(listener.error()));
  StartedRun run = std::move(**started);
  leave_terminal();
  first.send(RunMessage::kBegun, run.note.tx);
  RunSupervisor supervisor(*run.live, *std::move(listener), std::move(first));
  supervisor.on_attached = [&run](bool is_attached) {
    run.note.is_attached = is_attached;
    (void)run.folder.write_note(run.note);
  };
  supervisor.watch();
  const auto workspace = session.open();
  const auto held =
      workspace ? RunFolder::hold_directories(*persistent_of(**workspace).state(), run.note.tx)
                : std::vector<std::unique_ptr<Directory>>();
  const Error stopped{
      ErrorKind::kTimeout, "run.stopped",
      "stopped while the changes of the ended program were staged; they are kept in "
      "the run's layer, and " +
          session.hint("commit --tx " + run.note.tx) + " stages and commits them",
      "", 0};
  RunEnding ending;
  supervisor.finish([&] { ending = end_run(session, run, supervisor); }, encode_error(stopped));
  supervisor.announce(RunMessage::kEnded, ending.encode());
  // The view is unmounted only now, since no client waits and no process uses it.
}

std::optional<ListedRun> run_of(Session& session, const std::string& tx) {
  const auto workspace = session.open();
  if (!workspace || persistent_of(**workspace).state() == nullptr) return std::nullopt;
  const StateDirectory& state = *persistent_of(**workspace).state();
  const auto folder = RunFolder::open(state, tx);
  auto note = folder ? folder->note() : fail(folder.error());
  const auto is_live = folder ? folder->is_live() : fail(folder.error());
  if (note && is_live) return ListedRun{*std::move(note), *is_live};
  if (auto last = last_run(state, tx)) return ListedRun{*std::move(last), false, true};
  return std::nullopt;
}

std::string run_text(Session& session, const ListedRun& run) {
  const RunNote& note = run.note;
  std::string program;
  for (const std::string& word : note.argv) program += (program.empty() ? "" : " ") + word;
  std::string text = "    run";
  if (!note.name.empty()) text += " " + note.name;
  text += ": " + printable_line(program) + "  since " + rfc3339_utc(note.since_ns);
  if (run.has_ended) {
    return text + "  ended: " + (note.ended.empty() ? "cut off" : printable_line(note.ended)) +
           (note.is_terminal && !note.is_attached ? ", while it was detached" : "") + "\n";
  }
  if (!run.is_live) {
    return text + "  interrupted; go on with: " + session.hint("run --resume " + note.tx) +
           " -- PROGRAM\n";
  }
  text += fmt::format("  process {}  ", note.supervisor.pid);
  if (!note.is_terminal) return text + "without a terminal\n";
  return text + (note.is_attached ? "attached\n"
                                  : "detached; " + session.hint("attach " + note.tx) + "\n");
}

Json run_json(const ListedRun& run) {
  const RunNote& note = run.note;
  Json json = {{"argv", note.argv}, {"since", rfc3339_utc(note.since_ns)}, {"live", run.is_live}};
  if (!note.name.empty()) json["name"] = note.name;
  if (run.is_live) json["pid"] = note.supervisor.pid;
  json["terminal"] = note.is_terminal;
  if (run.has_ended) json["ended"] = note.ended.empty() ? "cut off" : note.ended;
  json["attached"] = run.is_live && note.is_attached;
  json["network"] = note.shares_network;
  json["allow_write"] = note.writable;
  json["layers"] = note.layered;
  return json;
}

}  // namespace galley
