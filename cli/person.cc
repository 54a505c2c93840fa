#include "cli/person.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "base/printable.h"
#include "cli/outcome.h"
#include "staging/fs/controlling_terminal.h"
#include "staging/sandbox/sandbox_probe.h"

namespace galley {
namespace {

constexpr size_t kRowsWithoutScreen = 24;
constexpr size_t kRowsForQuestion = 6;

/// Returns as many lines as fit above the question, and how many were omitted.
std::string first_lines(const std::string& text, size_t rows) {
  const size_t usable = rows == 0 ? kRowsWithoutScreen : rows;
  const size_t most = usable > 2 * kRowsForQuestion ? usable - kRowsForQuestion : kRowsForQuestion;
  size_t end = 0;
  for (size_t line = 0; line < most; ++line) {
    const size_t next = text.find('\n', end);
    if (next == std::string::npos) return text;
    end = next + 1;
  }
  const auto left = std::count(text.begin() + static_cast<std::ptrdiff_t>(end), text.end(), '\n');
  if (left == 0) return text;
  return text.substr(0, end) + fmt::format("… {} more lines; d shows them all\n", left);
}

Result<void> show_all(const Terminal& output, ControllingTerminal& terminal,
                      const std::string& text) {
  const auto pager = output.start_pager(ControllingTerminal::kPath);
  if (pager == nullptr) return terminal.write(text);
  (void)pager->write(text);
  GALLEY_TRY(pager->wait());
  return {};
}

/// Asks about a change: shows its diff as far as it fits; `d` shows the whole diff.
Result<bool> ask_about(Session& session, ControllingTerminal& terminal, const std::string& diff,
                       const std::string& text, const std::string& question) {
  session.terminal().release_terminal();
  GALLEY_TRY(terminal.write(first_lines(diff, terminal.rows()) + text));
  for (;;) {
    const auto said = terminal.ask(question + (diff.empty() ? " [y/N] " : " [y/N/d] "));
    if (!said) return fail(said.error());
    const std::string_view answer = *said;
    const bool wants_diff = !diff.empty() && (answer == "d" || answer == "D");
    if (!wants_diff) return answer == "y" || answer == "yes";
    GALLEY_TRY(show_all(session.terminal(), terminal, diff));
  }
}

/// The hook of an agent names its session. The terminal of such a call is the agent's own, so that
/// the agent would answer.
bool is_terminal_of_agent(const Session& session) {
  return session.arguments().command == "agent-hook" || !session.hooked_session().empty();
}

Result<ApprovalAnswer> ask_person(Session& session, const ApprovalQuestion& question) {
  auto terminal = ControllingTerminal::open();
  const ContentId& proposal = question.proposed.id();
  if (!terminal) return ApprovalAnswer{proposal, false, "nobody"};
  std::string text;
  for (const std::string& asked : question.questions) text += printable_line(asked) + "\n";
  GALLEY_ASSIGN(const std::string diff, diff_on_screen(session, question.proposed));
  GALLEY_ASSIGN(
      const bool is_yes,
      ask_about(session, **terminal, diff, text,
                "Approve proposal " + proposal.hex().substr(0, kShownProposalDigits) + "?"));
  return ApprovalAnswer{proposal, is_yes, "terminal"};
}

}  // namespace

bool may_be_inside_exec() {
  return std::getenv("GALLEY_SANDBOX") != nullptr || may_be_inside_sandbox();
}

Result<void> refuse_inside_exec(const std::string& command) {
  if (!may_be_inside_exec()) return {};
  return fail(
      ErrorKind::kRefused, "person.inside_exec",
      "only a person may use `galley " + command + "`, and not inside a command that Galley runs");
}

Result<void> refuse_to_agents(const Arguments& arguments, const std::string& why) {
  if (arguments.dry_run || arguments.global.agent.empty()) return {};
  return fail(ErrorKind::kRefused, "person.agent", why);
}

Approver approver_at_terminal(Session& session) {
  if (session.is_json() || !session.terminal().is_error_terminal()) return {};
  if (is_terminal_of_agent(session)) return {};
  // Commands that only look do not ask, since the answer would have no effect. A review is an
  // answer itself.
  const std::string& command = session.arguments().command;
  constexpr std::array<std::string_view, 5> kLooking = {"preview", "validate", "check", "diff",
                                                        "review"};
  if (std::find(kLooking.begin(), kLooking.end(), command) != kLooking.end()) return {};
  return [&session](const ApprovalQuestion& question) { return ask_person(session, question); };
}

std::string shown_call(const CallOptions::Question& question) {
  const std::string agent = question.agent.empty() ? "a person" : question.agent;
  return fmt::format("{}\n{} calls {} with\n{}\n", printable_line(question.why),
                     printable_line(agent), printable_line(question.tool),
                     printable(question.arguments));
}

std::function<Result<bool>(const CallOptions::Question&)> confirmer_at_terminal(Session& session) {
  if (session.is_json() || !session.terminal().is_error_terminal()) return {};
  if (may_be_inside_exec() || is_terminal_of_agent(session)) return {};
  if (!ControllingTerminal::open()) return {};
  return [&session](const CallOptions::Question& question) -> Result<bool> {
    auto terminal = ControllingTerminal::open();
    if (!terminal) return false;
    return ask_about(session, **terminal, "", shown_call(question), "Let this call run?");
  };
}

Result<std::string> diff_on_screen(Session& session, const Proposal& proposal) {
  const Terminal& terminal = session.terminal();
  return diff_for_caller(session, proposal, {terminal.has_error_color(), terminal.width(), true});
}

Result<void> require_person(Session& session, const std::string& text, const std::string& question,
                            const std::string& diff) {
  const std::string& command = session.arguments().command;
  GALLEY_TRY(refuse_inside_exec(command));
  if (!session.arguments().global.agent.empty()) {
    return fail(ErrorKind::kRefused, "person.agent",
                "only a person may use `galley " + command + "`: leave out --agent");
  }
  if (session.is_unattended()) return {};
  auto terminal = ControllingTerminal::open();
  if (!terminal) {
    return fail(ErrorKind::kRefused, "person.no_terminal",
                "only a person may use `galley " + command +
                    "`, at a terminal. On a machine without people, "
                    "put `unattended = true` into your own configuration (" +
                    session.user().config_path + ")");
  }
  GALLEY_ASSIGN(const bool is_yes, ask_about(session, **terminal, diff, text, question));
  if (is_yes) return {};
  return fail(ErrorKind::kRefused, "person.said_no", "you answered no, so nothing was done");
}

bool is_trusted_in_advance(const UserSettings& user, const ContentId& hash) {
  return std::find(user.trusted.begin(), user.trusted.end(), hash) != user.trusted.end();
}

}  // namespace galley
