#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "cli/arguments.h"
#include "cli/documents.h"
#include "cli/terminal.h"
#include "engine/pipeline/workspace_state.h"

namespace galley {

/// What every command is given: the arguments, the terminal, and the workspace once it is open.
///
/// Ownership: borrows arguments and terminal; owns the workspace and the command runner.
class Session {
 public:
  Session(const Arguments& arguments, Terminal& terminal);
  ~Session();

  /// Opens the workspace of -C; commands that need none never call it.
  Result<Workspace*> open();
  /// The same without recovering first, for the commands that tell what recovery would do.
  Result<Workspace*> open_without_recovery();

  /// Who answers the gate's questions instead of the person at the terminal; before open().
  void set_approver(Approver approver) { approver_ = std::move(approver); }
  /// Goes where -C says, so that every relative name is meant from there.
  Result<void> enter_directory();
  /// The directory of the workspace in which the command was started.
  Result<RelPath> place();
  /// The path that a name on the command line means (cli/places.h).
  Result<RelPath> path(const std::string& name);
  Result<std::vector<RelPath>> paths(const std::vector<std::string>& names);

  /// Whether a person's words need no terminal here; where their own configuration is looked for.
  [[nodiscard]] bool is_unattended() const { return user_.config.unattended; }
  [[nodiscard]] const UserSettings& user() const { return user_; }

  /// Says what went wrong, as text or as the JSON document; returns the exit status.
  int report(const Error& error);
  /// The exit status, or what report() says of the error.
  int finish(const Result<int>& status) { return status ? *status : report(status.error()); }
  /// Prints a JSON document as the one result.
  void print(const Json& document);
  /// Prints text as the result.
  void print(const std::string& text);
  /// A line for people, whatever is in it; nothing with --json or -q.
  void say(const std::string& line);
  /// Several lines for people whose fields cannot forge one; nothing with --json or -q.
  void say_lines(const std::string& text);
  /// As say_lines, but for what went wrong: -q does not silence it.
  void say_wrong(const std::string& text);
  /// What must be known even when the result cannot be written to standard output.
  void remember(const std::string& outcome) { outcome_ = outcome; }
  [[nodiscard]] const std::string& outcome() const { return outcome_; }
  /// Progress of the gate's validators on stderr.
  [[nodiscard]] std::function<void(const GateProgress&)> gate_progress();
  /// A file that the command line names, `-` being standard input; at a terminal it is said that
  /// `what` is being read from there.
  Result<std::string> read_input(const std::string& path, std::string_view what,
                                 uint64_t max_bytes);
  /// A galley command for a hint, as it works where this one was given: with its -C and --agent.
  [[nodiscard]] std::string hint(const std::string& words) const;
  /// A message of the rooms below with each galley command in it as hint() has it.
  [[nodiscard]] std::string with_hints(const std::string& text) const;

  [[nodiscard]] const Arguments& arguments() const { return *arguments_; }
  [[nodiscard]] Terminal& terminal() { return *terminal_; }
  [[nodiscard]] bool is_json() const { return arguments_->global.is_json; }
  /// -q: neither talk nor the summary of what was done.
  [[nodiscard]] bool is_quiet() const { return arguments_->global.is_quiet; }
  [[nodiscard]] TransactionOptions transaction_options() const {
    return {arguments_->global.agent, arguments_->global.message};
  }
  /// Takes up a stored transaction for --agent: this one, that of --tx or GALLEY_TX, or the only
  /// open one of its own.
  Result<Transaction> resume(const std::string& id);
  Result<Transaction> resume() { return resume(arguments_->tx); }
  /// The same; with --begin a new one where the agent has none of its own. A hook puts
  /// `galley exec` before a command of an agent that knows nothing of transactions.
  Result<Transaction> resume_or_begin();

 private:
  Result<Workspace*> open_workspace(bool recovers);
  void warn_of_bad_configuration();
  Result<void> finish_git_fix();
  /// Says once, on stderr, what of the workspace was not believed.
  void tell_doubt();

  const Arguments* arguments_;
  Terminal* terminal_;
  UserSettings user_;
  std::unique_ptr<Workspace> workspace_;
  Approver approver_;  ///< empty: the person at the terminal
  std::string doubt_;  ///< still to be said
  std::string outcome_;
};

inline constexpr int kExitDone = 0;
inline constexpr int kExitNo = 1;
inline constexpr int kExitMalformed = 2;
inline constexpr int kExitFailure = 3;

/// A command: runs and returns the exit status.
using CommandFunction = int (*)(Session& session);

}  // namespace galley
