#include "cli/session.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "cli/commands.h"
#include "staging/fs/controlling_terminal.h"

namespace galley {

Session::Session(const Arguments& arguments, Terminal& terminal)
    : arguments_(&arguments), terminal_(&terminal) {}

Session::~Session() { tell_doubt(); }

void Session::tell_doubt() {
  if (!doubt_.empty()) terminal_->complain(printable_line(doubt_));
  doubt_.clear();
}

Result<Workspace*> Session::open() { return open_workspace(true); }
Result<Workspace*> Session::open_without_recovery() { return open_workspace(false); }

Result<Workspace*> Session::open_workspace(bool recovers) {
  if (workspace_ == nullptr) {
    WorkspaceOptions options;
    options.config_file = arguments_->global.config;
    options.approver = approver();
    options.recovers = recovers;
    options.tolerates_bad_configuration = reads_or_repairs(arguments_->command);
    GALLEY_ASSIGN(user_, load_user_settings());
    options.user = user_;
    GALLEY_ASSIGN(workspace_, Workspace::open(arguments_->global.directory, std::move(options)));
    // As the workspace itself has it: a person's word is not lent by a file inside.
    if (is_at_or_below(user_.config_path, workspace_->root_path())) user_.config = UserConfig();
    for (const std::string& notice : workspace_->notices()) say("galley: " + notice);
    if (const Error* doubt = workspace_->state_doubt()) doubt_ = doubt->message;
    warn_of_bad_configuration();
    warn_of_unknown_agent();
  }
  return workspace_.get();
}

/// Also with --json: the document is on stdout.
void Session::warn_of_bad_configuration() {
  const Error* flaw = workspace_->configuration_flaw();
  if (flaw == nullptr) return;
  terminal_->complain("warning: " + printable_line(flaw->message) +
                      "; until it is mended every change needs a person's yes and agents may do "
                      "nothing");
}

/// With a mistyped name no profile holds and no rule that names the agent: not an error, since
/// names are labels, but never in silence. Also with --json: the document is on stdout.
void Session::warn_of_unknown_agent() {
  const std::string warning = unknown_agent(workspace_->config(), arguments_->global.agent);
  if (!warning.empty()) terminal_->complain("warning: " + printable_line(warning));
}

Result<Transaction> Session::resume(const std::string& id) {
  GALLEY_ASSIGN(Workspace * workspace, open());
  return workspace->resume(id, arguments_->global.agent);
}

/// Asks at the controlling terminal; with none there is nobody to ask, which the gate takes as a
/// no. What is piped into us is no answer: it may be an agent's.
Approver Session::approver() {
  if (is_json() || !terminal_->is_error_terminal()) return {};
  return [](const ApprovalQuestion& question) -> Result<ApprovalAnswer> {
    auto terminal = ControllingTerminal::open();
    if (!terminal) return ApprovalAnswer{question.proposal, false, "nobody"};
    std::string text;
    for (const Judgement& judgement : question.judgements) {
      text += printable_line(judgement.message) + "\n";
    }
    GALLEY_TRY((*terminal)->write(text));
    GALLEY_ASSIGN(
        const std::string answer,
        (*terminal)->ask("Commit proposal " + question.proposal.hex().substr(0, 12) + "? [y/N] "));
    return ApprovalAnswer{question.proposal, answer == "y" || answer == "yes", "terminal"};
  };
}

int Session::report(const Error& error) {
  progress_.reset();
  // The refusal says it all: one clear error.
  if (error.reason == "state.not_believed") doubt_.clear();
  if (is_json()) {
    print(error_document(error));
  } else {
    terminal_->complain(error.message);
  }
  return exit_status(error.kind);
}

void Session::print(const Json& document) {
  if (outcome_.empty() && document.contains("message")) {
    outcome_ = document["message"].get<std::string>();
  } else if (outcome_.empty()) {
    outcome_ = arguments_->command + (document.value("ok", true) ? " was done" : " said no");
  }
  // The escapes of JSON mean the same to a program.
  print(document_text(document, terminal_->escapes()));
}

void Session::print(const std::string& text) {
  tell_doubt();
  terminal_->print(text);
}

void Session::say(const std::string& line) {
  tell_doubt();
  if (!is_json()) terminal_->say(printable_line(line));
}

void Session::say_lines(const std::string& text) {
  tell_doubt();
  if (!is_json()) terminal_->say(printable(text));
}

std::function<void(const GateProgress&)> Session::gate_progress() {
  if (is_json() || !terminal_->is_error_terminal()) return {};
  progress_ = std::make_unique<Progress>(true);
  return [this](const GateProgress& step) {
    if (step.done == step.total) {
      progress_.reset();
    } else if (progress_ != nullptr) {
      progress_->show(fmt::format("validators: {} of {} done, {}", step.done, step.total,
                                  printable_line(step.validator)));
    }
  };
}

}  // namespace galley
