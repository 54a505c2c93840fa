#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/outcome.h"
#include "engine/calls/early_policy.h"
#include "engine/commit/state_directory.h"
#include "engine/history/history.h"
#include "engine/pipeline/agent_session.h"
#include "engine/pipeline/inner_transaction.h"
#include "engine/policy/policy.h"
#include "staging/overlay/view_times.h"
#include "staging/sandbox/command_runner.h"
#include "staging/sandbox/early_end.h"
#include "staging/sandbox/egress_proxy.h"
#include "staging/sandbox/process_streams.h"
#include "staging/sandbox/sandbox_denials.h"
#include "tools/perform.h"

namespace galley {
namespace {

AskedLimits limits_of(const ExecArguments& exec) {
  AskedLimits limits;
  const auto set = [](auto& limit, auto wanted) {
    if (wanted > 0) limit = wanted;
  };
  if (exec.timeout_s > 0) limits.wall = time_of_option(exec.timeout_s);
  if (exec.cpu_s > 0) limits.cpu = std::chrono::seconds(std::min<uint64_t>(exec.cpu_s, kLongestS));
  set(limits.max_memory_bytes, exec.memory_bytes);
  set(limits.max_processes, exec.processes);
  set(limits.max_file_bytes, exec.file_bytes);
  set(limits.max_written_bytes, exec.written_bytes);
  set(limits.max_stdout_bytes, exec.output_bytes);
  set(limits.max_stderr_bytes, exec.output_bytes);
  return limits;
}

/// A wanted limit of a command, with the key of `[sandbox]` that bounds it.
struct WantedLimit {
  std::string_view option;
  std::string_view key;
  uint64_t wanted;
  uint64_t allowed;  ///< 0: any
  std::string_view unit;
};

/// Refuses a limit above the configured one. It would be reduced without a word, and the effects
/// dropped when the command reaches it.
Result<void> check_limits(Session& session, const AskedLimits& asked) {
  GALLEY_ASSIGN(const Workspace* workspace, session.open());
  const SandboxConfig& most = rules_of(*workspace).config.sandbox;
  const auto count = [](const auto& time) {
    return time ? static_cast<uint64_t>(time->count()) : uint64_t{0};
  };
  const std::array<WantedLimit, 7> all = {{
      {"--timeout", "timeout_ms", count(asked.wall), most.timeout_ms, " ms"},
      {"--cpu", "max_cpu_seconds", count(asked.cpu), most.max_cpu_seconds, " s"},
      {"--processes", "max_processes", asked.max_processes.value_or(0), most.max_processes, ""},
      {"--memory", "max_memory_bytes", asked.max_memory_bytes.value_or(0), most.max_memory_bytes,
       " bytes"},
      {"--file-size", "max_file_bytes", asked.max_file_bytes.value_or(0), most.max_file_bytes,
       " bytes"},
      {"--written", "max_written_bytes", asked.max_written_bytes.value_or(0),
       most.max_written_bytes, " bytes"},
      {"--output", "max_output_bytes", asked.max_stdout_bytes.value_or(0), most.max_output_bytes,
       " bytes"},
  }};
  for (const WantedLimit& one : all) {
    if (one.allowed == 0 || one.wanted <= one.allowed) continue;
    return fail(ErrorKind::kUsage, one.option == "--timeout" ? "exec.timeout" : "exec.limit",
                fmt::format("{} asks for {}{} and sandbox.{} allows {}: ask for less, or raise it "
                            "in galley.toml and run galley trust",
                            one.option, one.wanted, one.unit, one.key, one.allowed));
  }
  return {};
}

/// Forwards the output of a command: escaped on a terminal, unchanged elsewhere.
class OutputView {
 public:
  explicit OutputView(Terminal& terminal) : terminal_(&terminal) {}

  void take(OutputStream stream, std::string_view text) {
    const bool is_output = stream == OutputStream::kStdout;
    const bool escapes = is_output ? terminal_->escapes() : terminal_->escapes_errors();
    PrintableStream& filter = is_output ? output_ : errors_;
    show(stream, escapes ? filter.feed(text) : std::string(text));
  }
  void finish() {
    show(OutputStream::kStdout, output_.finish());
    show(OutputStream::kStderr, errors_.finish());
  }

 private:
  void show(OutputStream stream, const std::string& text) {
    if (text.empty()) return;
    if (stream == OutputStream::kStderr) return terminal_->print_message(text);
    terminal_->print(text);
    std::fflush(stdout);  // the reader of a pipe gets it immediately
  }
  Terminal* terminal_;
  PrintableStream output_;
  PrintableStream errors_;
};

/// Forwards standard input. A terminal is forwarded only on request, because a command that reads
/// would wait for input that the person does not know about.
Result<std::shared_ptr<InputRelay>> relay_of(Session& session) {
  if (session.terminal().is_input_terminal() && !session.arguments().exec.is_interactive) {
    return nullptr;
  }
  return InputRelay::from(STDIN_FILENO);
}

Result<Command> command_of(Session& session, OutputView& view) {
  const Arguments& arguments = session.arguments();
  Command command;
  command.argv = arguments.words;
  const ExecArguments& exec = arguments.exec;
  if (exec.shares_network) command.network = NetworkAccess::kHost;
  command.hosts = exec.hosts;
  if (exec.keep_on_failure || (exec.commits && !exec.drops_on_failure)) {
    command.effects = EffectsRule::kStageAlways;
  }
  command.is_deterministic = exec.is_deterministic;
  command.propose_ignored = exec.proposes_ignored;
  command.limits = limits_of(exec);
  GALLEY_TRY(check_limits(session, command.limits));
  GALLEY_ASSIGN(command.input_relay, relay_of(session));
  if (!session.is_json()) {
    command.on_output = [&view](OutputStream stream, std::string_view text) {
      view.take(stream, text);
    };
    // Not to stdout, whose reader expects only the output of the command.
    command.on_left_out = [&session](OutputStream stream, uint64_t bytes) {
      session.terminal().print_message(
          fmt::format("\n[... {} bytes of {} left out ...]\n", bytes,
                      stream == OutputStream::kStdout ? "stdout" : "stderr"));
    };
  }
  return command;
}

Json result_json(const CommandResult& result, const std::string& tx) {
  const std::optional<Error> refusal = refusal_of_effects(result);
  const bool is_ok = result.succeeded() && !refusal;
  Json document = {{"schema", "galley.exec/1"}, {"ok", is_ok}, {"tx", tx}};
  if (result.exit_code) document["exit_code"] = *result.exit_code;
  if (result.exit_signal) document["signal"] = *result.exit_signal;
  document["level"] = sandbox_level_name(result.level);
  document["walls"] = result.walls;
  document["unchecked"] = result.unchecked;
  document["staged"] = result.effects_staged;
  document["staged_paths"] = result.staged_paths;
  document["ignored_paths"] = result.ignored_paths;
  document["stdout"] = result.standard_output.text();
  document["stderr"] = result.standard_error.text();
  if (result.breach) {
    const Error error = result.breach->error();
    document["reason"] = error.reason;
    document["message"] = error.message;
  } else if (refusal) {
    document["reason"] = refusal->reason;
    document["message"] = refusal->message;
  }
  const auto lost = result.losses();
  if (!lost.empty()) document["lost"] = lost;
  document["refused"] = Json::array();
  for (const RefusedEffect& effect : result.refused) {
    document["refused"].push_back({{"path", effect.path}, {"why", effect.why}});
  }
  return document;
}

/// The command's arguments in one text; of `sh -c` only the script.
std::string words_of(const std::vector<std::string>& words) {
  if (words.size() == 3 && words[1] == "-c") return words.back();
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

void say_result(Session& session, const CommandResult& result, const RelPath& place) {
  for (const RefusedEffect& effect : result.refused) {
    session.print_error_lines(
        printable_line(fmt::format("refused: {} {}", effect.path, effect.why)));
  }
  if (result.breach) session.print_error_lines(printable_line(result.breach->error().message));
  if (result.level == SandboxLevel::kCopy) {
    session.say(
        "not guaranteed at this level: it could read the host's files and see its processes; the "
        "copy has no git repository");
  }
  for (const std::string& rule : result.unchecked) {
    session.say("only the first program was checked against: " + rule);
  }
  const auto workspace = session.open();
  if (workspace && result.level == SandboxLevel::kNamespaces) {
    const RunLocation where{(*workspace)->root_path(), place};
    // git stash fails without a word.
    std::string said = result.standard_error.text();
    if (!result.succeeded()) said += "\n" + words_of(session.arguments().words);
    for (const std::string& wall : sandbox_denials(said, where)) {
      session.say(wall);
    }
  }
  for (const std::string& host : result.refused_hosts) session.say(refused_host_text(host));
  for (const std::string& lost : result.losses()) session.say(lost);
  if (result.restricts_programs && result.exit_code == kCannotExecute) {
    session.say(
        "sandbox.allow and exec capabilities hold for what a program starts, too: add what "
        "it needs there, or a directory of programs as `dir/`");
  }
  const std::string ended = result.exit_code
                                ? fmt::format("exit {}", *result.exit_code)
                                : fmt::format("signal {}", result.exit_signal.value_or(0));
  const bool is_plain =
      !session.arguments().exec.is_verbose && result.level == SandboxLevel::kNamespaces;
  const bool has_failed = !result.succeeded();
  if (is_plain && result.staged_paths == 0 && !has_failed && result.refused.empty()) return;
  // With --commit the outcome of the commit is said instead.
  if (is_plain && session.arguments().exec.commits && result.effects_staged) return;
  session.say(fmt::format("{}{}; {} staged{}", ended, is_plain ? "" : " in " + result.walls,
                          counted(result.staged_paths, "path"),
                          result.effects_staged ? "" : ", effects dropped"));
}

/// Returns the command's exit status, as in a shell, or 1 if its effects could not be staged.
int exec_exit_status(const CommandResult& result) {
  if (result.breach) return kExitFailure;
  if (result.exit_signal) return kSignalStatusBase + *result.exit_signal;
  if (!result.refused.empty()) return kExitNo;
  return result.exit_code.value_or(kExitFailure);
}

/// Returns the directory where a command runs: the current one, in the staged tree.
Result<RelPath> working_place(Session& session, Transaction& transaction) {
  GALLEY_ASSIGN(RelPath place, session.place());
  GALLEY_ASSIGN(const Node node, transaction.look(place));
  if (node.kind == FileKind::kDirectory) return place;
  GALLEY_ASSIGN(const Workspace* workspace, session.open());
  return fail(ErrorKind::kNotFound, "path.not_found",
              fmt::format("the tree that the command would see has no directory '{}', in which you "
                          "are; run it from {}",
                          place.str(), workspace->root_path()),
              place.str());
}

/// The commit's reason, if none was given: the command.
std::string commit_reason(const std::vector<std::string>& words) {
  constexpr size_t kMaxReasonBytes = 200;
  return first_words(words_of(words), kMaxReasonBytes);
}

/// With --commit, the command has a transaction of its own: no other changes are committed with it,
/// and commands run side by side.
Result<Transaction> transaction_of_exec(Session& session) {
  const Arguments& arguments = session.arguments();
  if (!arguments.exec.commits) return session.resume_or_begin();
  // The variable is for commands that take a transaction.
  const char* of_environment = std::getenv("GALLEY_TX");
  if (!arguments.tx.empty() && (of_environment == nullptr || arguments.tx != of_environment)) {
    return fail(ErrorKind::kUsage, "exec.commit_tx",
                "--commit commits only what this command changes, so it takes no --tx; to commit "
                "the whole transaction, use: galley commit --tx " +
                    arguments.tx);
  }
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  TransactionOptions who = session.transaction_options();
  if (who.message.empty()) who.message = commit_reason(arguments.words);
  return workspace->begin(who);
}

/// Begins to watch a command. A command whose changes are committed also ends early enough before
/// its time limit.
Result<std::unique_ptr<EarlyEnd>> early_end_of(Session& session, Command& command) {
  if (!session.arguments().exec.commits) {
    GALLEY_ASSIGN(auto end, EarlyEnd::begin(std::chrono::milliseconds(0)));
    command.end = end->token();
    return end;
  }
  GALLEY_ASSIGN(const Workspace* workspace, session.open());
  const std::chrono::milliseconds most(rules_of(*workspace).config.sandbox.timeout_ms);
  GALLEY_ASSIGN(auto end, EarlyEnd::begin(command.limits.wall.value_or(most)));
  // On a busy machine the end may come late, and the sandbox drops the changes at its own limit.
  constexpr std::chrono::milliseconds kReserve{5000};
  if (command.limits.wall) {
    const auto later = *command.limits.wall + kReserve;
    command.limits.wall = most.count() == 0 ? later : std::min(later, most);
  }
  command.end = end->token();
  return end;
}

/// Says why the command was stopped, if it was. Returns the exit status.
int stopped_exit_status(Session& session, EarlyEnd& end, const CommandResult& result) {
  end.finish();
  const char* const kept =
      result.effects_staged ? "what it changed before is kept" : "what it changed is dropped";
  if (end.signal() == SIGPIPE) {
    session.terminal().forget_output();
    session.say(
        fmt::format("the reader of the output ended, so the command was stopped; {}", kept));
  } else if (end.signal() != 0) {
    session.say(fmt::format("signal {} stopped the command; {}", end.signal(), kept));
  }
  if (end.signal() != 0) return kSignalStatusBase + end.signal();
  if (end.was_late()) {
    session.print_error_lines(
        fmt::format("the time limit stopped the command; {}. A longer limit: --timeout, or "
                    "sandbox.timeout_ms in galley.toml",
                    kept));
  }
  return exec_exit_status(result);
}

/// Commits the changes of the command. If the gate refuses them or they conflict, they are dropped
/// with the transaction.
Result<int> commit_effects(Session& session, Transaction& transaction, const CommandResult& result,
                           int status) {
  GALLEY_ASSIGN(const CommitOutcome outcome,
                transaction.commit({.tool = "exec", .on_progress = session.commit_progress()}));
  Json document = result_json(result, transaction.id());
  if (const auto* receipt = std::get_if<Receipt>(&outcome)) {
    if (session.is_json()) {
      document["receipt"] = receipt_json(*receipt);
      session.print(document);
      return status;
    }
    for (const std::string& warning : receipt->warnings)
      session.say(session.with_hints("warning: " + warning));
    session.say(fmt::format("committed {}: {}; take it back with: {}", receipt->id.str(),
                            counted(result.staged_paths, "path"),
                            session.hint("undo " + receipt->id.str())));
    return status;
  }
  GALLEY_ASSIGN(const int said, finish_commit(session, outcome, document));
  session.say("the changes of the command were dropped");
  return status == kExitDone ? said : status;
}

Result<int> exec(Session& session) {
  OutputView view(session.terminal());
  GALLEY_ASSIGN(Command command, command_of(session, view));
  // --begin begins nothing for a command that is refused.
  GALLEY_ASSIGN(Transaction transaction, transaction_of_exec(session));
  session.terminal().work_on("running " + printable_line(command.argv.front()));
  GALLEY_ASSIGN(command.working_directory, working_place(session, transaction));
  GALLEY_ASSIGN(const auto early_end, early_end_of(session, command));
  const Overlay::Entries before = overlay_of(transaction).entries();
  GALLEY_ASSIGN(const CommandResult result, inner(transaction).run(command));
  view.finish();
  const int status = stopped_exit_status(session, *early_end, result);
  // Saving an unchanged overlay takes longer than the rest of a short command.
  const bool is_changed = !is_shown_alike(before, overlay_of(transaction).entries());
  if (result.staged_paths > 0 || is_changed) GALLEY_TRY(transaction.save());
  if (session.arguments().exec.commits && result.staged_paths > 0) {
    if (!session.is_json()) say_result(session, result, command.working_directory);
    return commit_effects(session, transaction, result, status);
  }
  if (session.is_json()) {
    session.print(result_json(result, transaction.id()));
  } else {
    say_result(session, result, command.working_directory);
    // With --begin this is the only message about a transaction.
    if (session.arguments().exec.begins && result.staged_paths > 0) {
      session.say(fmt::format("staged in transaction {}, not on disk before: {}", transaction.id(),
                              session.hint("commit")));
    }
  }
  return status;
}

/// Runs a command on an earlier tree, in a view that is dropped afterwards.
Result<int> at(Session& session) {
  GALLEY_ASSIGN(Workspace * workspace, session.open());
  if (persistent_of(*workspace).state() == nullptr) {
    return fail(ErrorKind::kNotFound, "history.empty", "nothing was committed here yet");
  }
  const History history(*persistent_of(*workspace).state());
  GALLEY_ASSIGN(const TxId id, history.resolve(session.arguments().id));
  GALLEY_ASSIGN(const Proposal past, proposal_to_tree_after(history, place_of(*workspace).files(),
                                                            id, place_of(*workspace).clock()));
  const ReadablePart part =
      readable_part(past, Policy(rules_of(*workspace).config), session.arguments().global.agent);
  for (const RelPath& path : part.left_out) {
    session.say(fmt::format("left out: {} as it was then, which {} may not read", path.str(),
                            session.arguments().global.agent));
  }
  GALLEY_ASSIGN(Transaction transaction,
                workspace->begin_view(part.proposal, session.transaction_options()));
  OutputView view(session.terminal());
  GALLEY_ASSIGN(Command command, command_of(session, view));
  session.terminal().work_on("running " + printable_line(command.argv.front()));
  command.effects = EffectsRule::kDrop;
  GALLEY_ASSIGN(command.working_directory, working_place(session, transaction));
  const auto ran = inner(transaction).run(command);
  GALLEY_TRY(transaction.rollback());  // this also records the command
  GALLEY_ASSIGN(const CommandResult result, ran);
  view.finish();
  if (session.is_json()) {
    session.print(result_json(result, id.str()));
  } else {
    say_result(session, result, command.working_directory);
  }
  return exec_exit_status(result);
}

int finish_command(Session& session, const Result<int>& status) {
  return status ? *status : start_exit_status(status.error(), session.report(status.error()));
}

}  // namespace

Result<int> run_at(Session& session) { return finish_command(session, at(session)); }
Result<int> run_exec(Session& session) { return finish_command(session, exec(session)); }

}  // namespace galley
