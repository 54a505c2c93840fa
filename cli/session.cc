#include "cli/session.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "cli/commands.h"
#include "cli/person.h"
#include "cli/places.h"
#include "engine/check/index_fix.h"
#include "engine/commit/stage_directory.h"
#include "engine/pipeline/agent_session.h"
#include "engine/stages/run_folder.h"
#include "staging/fs/host_file.h"
#include "tools/shapes.h"

namespace galley {

Session::Session(const Arguments& arguments, Terminal& terminal)
    : arguments_(&arguments), terminal_(&terminal) {}

Session::~Session() { report_untrusted_state(); }

void Session::report_untrusted_state() {
  if (!doubt_.empty()) terminal_->print_error(printable_line(with_hints(doubt_)));
  doubt_.clear();
}

Result<void> Session::enter_directory() {
  const GlobalArguments& global = arguments_->global;
  if (global.repository.empty() && !global.ref.empty()) {
    return fail(ErrorKind::kUsage, "git.ref_without_repository",
                "--ref names a branch of the repository of --repo: add --repo DIR");
  }
  if (!global.repository.empty() && !works_on_branches(arguments_->command)) {
    return fail(ErrorKind::kUsage, "git.needs_directory",
                fmt::format("galley {} works on a directory, not on a branch: leave out --repo, or "
                            "run it in a work tree of the branch (git worktree add)",
                            arguments_->command));
  }
  for (const std::string& directory : arguments_->global.directories) {
    GALLEY_TRY(galley::enter_directory(directory));
  }
  return {};
}

Result<RelPath> Session::place() {
  GALLEY_ASSIGN(const Workspace* workspace, open());
  // The files of a branch have no place on the disk, so names start at its root.
  if (place_of(*workspace).branch() != nullptr) return RelPath::root();
  return current_place(workspace->root_path());
}

Result<RelPath> Session::path(const std::string& name) {
  GALLEY_ASSIGN(const Workspace* workspace, open());
  GALLEY_ASSIGN(const RelPath here, place());
  return named_path(name, here, workspace->root_path());
}

Result<std::vector<RelPath>> Session::paths(const std::vector<std::string>& names) {
  std::vector<RelPath> found;
  for (const std::string& name : names) {
    GALLEY_ASSIGN(RelPath one, path(name));
    found.push_back(std::move(one));
  }
  return found;
}

Result<Workspace*> Session::open() { return open_workspace(true); }
Result<Workspace*> Session::open_without_recovery() { return open_workspace(false); }

WorkspaceOptions Session::workspace_options() {
  WorkspaceOptions options;
  options.config_file = arguments_->global.config;
  options.approver = approver_ ? approver_ : approver_at_terminal(*this);
  options.session = session_id_.empty() ? arguments_->global.session : session_id_;
  options.only_new = arguments_->check.only_new;
  options.tolerates_bad_configuration = reads_or_repairs(arguments_->command);
  options.user = std::make_shared<const UserSettings>(user_);
  return options;
}

Result<std::unique_ptr<Workspace>> Session::open_other(const std::string& path,
                                                       std::string session_id, bool is_first) {
  GALLEY_ASSIGN(user_, load_user_settings());
  WorkspaceOptions options = workspace_options();
  options.session = std::move(session_id);
  GALLEY_ASSIGN(auto workspace, Workspace::open(path, std::move(options)));
  if (is_first) {
    GALLEY_TRY(finish_git_fix(*workspace));
    if (const Error* doubt = workspace->state_distrust()) doubt_ = doubt->message;
    report_untrusted_state();
  }
  GALLEY_TRY(check_agent_is_known(rules_of(*workspace).config, arguments_->global.agent));
  return workspace;
}

Result<Workspace*> Session::open_workspace(bool recovers) {
  if (workspace_ == nullptr) {
    terminal_->work_on("opening the workspace");
    GALLEY_ASSIGN(user_, load_user_settings());
    WorkspaceOptions options = workspace_options();
    options.recovers = recovers;
    const GlobalArguments& global = arguments_->global;
    if (global.repository.empty()) {
      GALLEY_ASSIGN(workspace_, Workspace::open(".", std::move(options)));
    } else {
      const std::string ref = global.ref.empty() ? "HEAD" : global.ref;
      GALLEY_ASSIGN(workspace_, Workspace::open_git(global.repository, ref, std::move(options)));
    }
    terminal_->keep_pager_outside(workspace_->root_path());
    // As in the workspace: a personal configuration inside the workspace is not trusted.
    if (is_at_or_below(user_.config_path, workspace_->root_path())) user_.config = UserConfig();
    if (recovers) GALLEY_TRY(finish_git_fix(*workspace_));
    say_notices();
    if (const Error* doubt = workspace_->state_distrust()) doubt_ = doubt->message;
    warn_of_bad_configuration();
    // `galley log --agent NAME` shows the actions of NAME, which may no longer be configured.
    if (arguments_->command != "log") {
      GALLEY_TRY(check_agent_is_known(rules_of(*workspace_).config, arguments_->global.agent));
    }
    terminal_->work_on("galley " + arguments_->command);
  }
  return workspace_.get();
}

/// The commands of one session of a hooked agent say once what is not trusted.
void Session::say_notices() {
  if (is_json() || is_quiet()) return;  // it would count as said
  const StateDirectory* state = persistent_of(*workspace_).state();
  const std::string& untrusted = rules_of(*workspace_).trust_notice;
  const std::string& command = arguments().command;
  const bool is_server = command == "mcp" || command == "agent-hook";
  for (const std::string& notice : workspace_->notices()) {
    // The agent does not see what its server or hook says.
    const bool is_noted =
        notice == untrusted && state != nullptr && !hooked_session().empty() && !is_server;
    if (is_noted && !AgentSession(*state, hooked_session()).note_notice(notice)) continue;
    say(with_hints("galley: " + notice));
  }
}

void Session::say_left_out_tools() {
  if (workspace_ == nullptr || is_json() || is_quiet()) return;
  for (const std::string& notice : tools_of(*workspace_).left_out()) say("galley: " + notice);
}

/// Finishes an interrupted `galley check --fix`.
Result<void> Session::finish_git_fix(const Workspace& workspace) {
  const StateDirectory* state = persistent_of(workspace).state();
  if (state == nullptr) return {};
  GALLEY_ASSIGN(const auto notice,
                finish_interrupted_fix(workspace.root_path(), *state, place_of(workspace).clock()));
  if (notice) say("galley: " + *notice);
  return {};
}

/// Also with --json, since the document goes to stdout.
void Session::warn_of_bad_configuration() {
  const Error* flaw = workspace_->configuration_flaw();
  if (flaw == nullptr) return;
  terminal_->print_error(
      "warning: " + printable_line(with_hints(flaw->message)) +
      "; until it is fixed, every change needs a person's approval and agents may do nothing");
}

Result<Transaction> Session::resume(const std::string& wanted) {
  GALLEY_ASSIGN(Workspace * workspace, open());
  return resume(*workspace, wanted);
}

std::string id_of_transaction(Workspace& workspace, const std::string& name) {
  const StateDirectory* state = persistent_of(workspace).state();
  if (state == nullptr || name.empty()) return name;
  return RunFolder::find(*state, name).value_or(name);
}

Result<Transaction> Session::resume(Workspace& workspace, const std::string& id) {
  return workspace.resume(id_of_transaction(workspace, id), arguments_->global.agent,
                          arguments_->global.message);
}

Result<Transaction> Session::resume_or_begin(bool stores) {
  if (!arguments_->exec.begins || !arguments_->tx.empty()) return resume();
  GALLEY_ASSIGN(Workspace * workspace, open());
  PersistentState& persistent = persistent_of(*workspace);
  for (int look = 1;; ++look) {
    GALLEY_ASSIGN(bool has_own, has_own_transaction(*workspace, arguments_->global.agent));
    // A dry run leaves no open transaction behind.
    if (!has_own && (!stores || arguments_->dry_run))
      return workspace->begin(transaction_options());
    if (!has_own) {
      // Of several commands at the same time, one begins the transaction.
      GALLEY_TRY(persistent.ensure());
      GALLEY_ASSIGN(const WriterLock lock, persistent.lock());
      GALLEY_ASSIGN(has_own, has_own_transaction(*workspace, arguments_->global.agent));
      if (!has_own) return workspace->begin_stored(transaction_options());
    }
    auto resumed = resume();
    if (resumed || !is_stage_gone(resumed.error()) || look == kStageLooks) return resumed;
  }
}

void Session::remember(const std::string& outcome) {
  outcome_ = outcome;
  (void)std::signal(SIGPIPE, SIG_IGN);
}

int Session::report(const Error& error) {
  // The refusal has the same information.
  if (error.reason == "state.not_believed") doubt_.clear();
  const auto shape = tool_shape_named(arguments_->command == "call" ? arguments_->shape : "");
  if (shape) {  // an error before the call is a result, too
    print((*shape)->result(**shape, arguments_->name, arguments_->call.call_id,
                           ToolResult::failure(tool_error_from(error))));
  } else if (is_json()) {
    print(error_document(error));
  } else {
    terminal_->print_error(with_hints(error.message));
  }
  return exit_status(error.kind);
}

void Session::print(const Json& document) {
  if (outcome_.empty() && document.contains("message")) {
    outcome_ = document["message"].get<std::string>();
  } else if (outcome_.empty()) {
    // A list in the format of another system does not include a status.
    const bool is_done = !document.is_object() || document.value("ok", true);
    outcome_ = arguments_->command + (is_done ? " was done" : " said no");
  }
  // Escapes in JSON do not change its meaning.
  print(document_text(document, terminal_->escapes()));
}

void Session::print(const std::string& text) {
  report_untrusted_state();
  constexpr std::array<std::string_view, 7> kPaged = {"diff",    "log",  "show", "blame",
                                                      "preview", "undo", "redo"};
  const bool pages = std::find(kPaged.begin(), kPaged.end(), arguments_->command) != kPaged.end();
  terminal_->print(text, pages);
}

void Session::print(const Json& document, const std::string& text) {
  is_json() ? print(document) : print(text);
}

void Session::say(const std::string& line) {
  report_untrusted_state();
  if (!is_json() && !is_quiet()) terminal_->say(printable_line(line));
}

void Session::tell(const Json& document, const std::string& line) {
  is_json() ? print(document) : say(line);
}

void Session::say_lines(const std::string& text) {
  report_untrusted_state();
  if (!is_json() && !is_quiet()) terminal_->say(printable(text));
}

void Session::print_error_lines(const std::string& text) {
  report_untrusted_state();
  if (!is_json()) terminal_->say(printable(text));
}

std::function<void(const GateProgress&)> Session::gate_progress() {
  return [this](const GateProgress& step) {
    const bool is_over = step.done == step.total;
    terminal_->work_on(is_over ? "galley " + arguments_->command
                               : fmt::format("validators: {} of {} done, {}", step.done, step.total,
                                             printable_line(step.validator)));
  };
}

std::function<void(const GateProgress&)> Session::commit_progress() {
  terminal_->work_on("committing");
  return gate_progress();
}

Result<std::string> Session::read_input(const std::string& path, std::string_view what,
                                        uint64_t max_bytes) {
  if (path == "-" && terminal_->is_input_terminal()) {
    say(fmt::format("reading {} from the terminal; end it with Ctrl-D", what));
    terminal_->release_terminal();
  }
  return read_host_file(path, max_bytes);
}

std::string Session::hint(const std::string& words) const {
  const auto quoted = [](const std::string& word) {
    constexpr std::string_view kPlain =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./+:@%,";
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
    std::string text = "'";
    for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + "'";
  };
  const GlobalArguments& global = arguments_->global;
  // A hint for a person must not include an agent's name, and `log` would list only its
  // transactions.
  constexpr std::array<std::string_view, 7> kWithoutAgent = {"approve", "trust",  "recover", "log",
                                                             "grant",   "revoke", "review"};
  const std::string_view command = std::string_view(words).substr(0, words.find(' '));
  const bool has_agent =
      !global.agent.empty() &&
      std::find(kWithoutAgent.begin(), kWithoutAgent.end(), command) == kWithoutAgent.end();
  std::string line = "galley ";
  for (const std::string& directory : global.directories) line += "-C " + quoted(directory) + " ";
  if (!global.repository.empty()) line += "--repo " + quoted(global.repository) + " ";
  if (!global.ref.empty()) line += "--ref " + quoted(global.ref) + " ";
  if (has_agent) line += "--agent " + quoted(global.agent) + " ";
  return line + words;
}

std::string Session::with_hints(const std::string& text) const {
  constexpr std::string_view kName = "galley ";
  std::string out;
  size_t done = 0;
  size_t looked = 0;
  // Names of files are not hints, and the line of a hook works in every clone.
  bool is_quoted = false;
  for (size_t at = text.find(kName); at != std::string::npos; at = text.find(kName, at + 1)) {
    const size_t word = at + kName.size();
    const size_t end = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz", word);
    const std::string command = text.substr(word, end - word);
    for (; looked < at; ++looked) {
      const bool opens = looked == 0 || text[looked - 1] == ' ' || text[looked - 1] == '(';
      if (text[looked] == '\'') is_quoted = !is_quoted && opens;
    }
    const bool is_hint = !is_quoted && (at == 0 || text[at - 1] == '`' || text[at - 1] == ' ') &&
                         is_command(command) && text.compare(word, 8, "hook run") != 0;
    if (!is_hint) continue;
    out += text.substr(done, at - done) + hint(command);
    done = word + command.size();
  }
  return out + text.substr(done);
}

}  // namespace galley
