#include "cli/session.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "staging/fs/controlling_terminal.h"

namespace galley {

Session::Session(const Arguments& arguments, Terminal& terminal)
    : arguments_(&arguments), terminal_(&terminal) {}

Session::~Session() = default;

Result<Workspace*> Session::open() { return open_workspace(true); }
Result<Workspace*> Session::open_without_recovery() { return open_workspace(false); }

Result<Workspace*> Session::open_workspace(bool recovers) {
  if (workspace_ == nullptr) {
    WorkspaceOptions options;
    options.config_file = arguments_->global.config;
    options.approver = approver();
    options.recovers = recovers;
    GALLEY_ASSIGN(user_, load_user_settings());
    options.user = user_;
    GALLEY_ASSIGN(workspace_, Workspace::open(arguments_->global.directory, std::move(options)));
    for (const std::string& notice : workspace_->notices()) say("galley: " + notice);
  }
  return workspace_.get();
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
  terminal_->print(document_text(document, terminal_->escapes()));
}

void Session::say(const std::string& line) {
  if (!is_json()) terminal_->say(printable_line(line));
}

void Session::say_lines(const std::string& text) {
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
