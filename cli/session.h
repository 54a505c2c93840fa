#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "cli/arguments.h"
#include "cli/documents.h"
#include "cli/terminal.h"
#include "engine/pipeline/workspace_state.h"

namespace galley {

/// The inputs of every command: the arguments, the terminal, and the workspace once it is open.
///
/// Ownership: borrows arguments and terminal; owns the workspace and the command runner.
class Session {
 public:
  Session(const Arguments& arguments, Terminal& terminal);
  ~Session();

  /// Opens the workspace of -C, or the branch of --repo and --ref. Commands that need no workspace
  /// never call it.
  Result<Workspace*> open();
  /// Opens another workspace, or the same one again, for a session of its own. `is_first`: finishes
  /// and says what open() does, once for each directory.
  Result<std::unique_ptr<Workspace>> open_other(const std::string& path, std::string session_id,
                                                bool is_first);
  /// The same without recovery, for commands that show what recovery would do.
  Result<Workspace*> open_without_recovery();

  /// Sets an approver that answers the gate instead of the person at the terminal. Call it before
  /// open().
  void set_approver(Approver approver) { approver_ = std::move(approver); }
  /// Replaces the id of --session. Call it before open().
  void set_session_id(std::string id) { session_id_ = std::move(id); }
  /// Changes to the directory of -C. Relative names start in it.
  /// Errors: also kUsage if the command does not work with --repo.
  Result<void> enter_directory();
  /// Returns the directory of the workspace in which the command was started.
  Result<RelPath> place();
  /// Returns the path for a name on the command line (cli/places.h).
  Result<RelPath> path(const std::string& name);
  Result<std::vector<RelPath>> paths(const std::vector<std::string>& names);

  /// Whether a person can decide here without a terminal.
  [[nodiscard]] bool is_unattended() const { return user_.config.unattended; }
  [[nodiscard]] const UserSettings& user() const { return user_; }

  /// Prints an error, as text or as the JSON document. Returns the exit status.
  int report(const Error& error);
  /// Returns the exit status, or that of report() for an error.
  int finish(const Result<int>& status) { return status ? *status : report(status.error()); }
  /// Prints a JSON document as the only result.
  void print(const Json& document);
  /// Prints text as the result.
  void print(const std::string& text);
  /// Prints the document with --json, else the text.
  void print(const Json& document, const std::string& text);
  /// Prints a line for people, escaped; nothing with --json or -q.
  void say(const std::string& line);
  /// Prints the document with --json, else a line for people as say() does.
  void tell(const Json& document, const std::string& line);
  /// Prints several lines for people; the caller escapes their fields. Nothing with --json or -q.
  void say_lines(const std::string& text);
  /// Like say_lines, but for errors: -q does not silence it.
  void print_error_lines(const std::string& text);
  /// Stores a message that must be shown even if standard output cannot be written. From then on, a
  /// pipe without a reader does not end the process.
  void remember(const std::string& outcome);
  [[nodiscard]] const std::string& outcome() const { return outcome_; }
  /// Progress of the gate's validators on stderr.
  [[nodiscard]] std::function<void(const GateProgress&)> gate_progress();
  /// The same for a commit that follows at once, which is shown as the current work.
  [[nodiscard]] std::function<void(const GateProgress&)> commit_progress();
  /// Reads a file that the command line names; `-` is standard input. At a terminal it first says
  /// that it reads `what` from standard input.
  Result<std::string> read_input(const std::string& path, std::string_view what,
                                 uint64_t max_bytes);
  /// Returns a galley command for a hint that works here: with the -C and --agent of this call.
  [[nodiscard]] std::string hint(const std::string& words) const;
  /// Applies hint() to each galley command in a message of the engine.
  [[nodiscard]] std::string with_hints(const std::string& text) const;

  [[nodiscard]] const Arguments& arguments() const { return *arguments_; }
  [[nodiscard]] Terminal& terminal() { return *terminal_; }
  /// The session of a command by a hooked agent, which names both; else empty.
  [[nodiscard]] std::string hooked_session() const {
    return arguments_->global.agent.empty() ? "" : arguments_->global.session;
  }
  /// The session that `--session` names for an undo, a redo or a turn; may be empty.
  [[nodiscard]] const std::string& named_session() const {
    return arguments_->of_session.empty() ? arguments_->global.session : arguments_->of_session;
  }
  [[nodiscard]] bool is_json() const { return arguments_->global.is_json; }
  /// -q: no messages and no summary.
  [[nodiscard]] bool is_quiet() const { return arguments_->global.is_quiet; }
  [[nodiscard]] TransactionOptions transaction_options() const {
    return {arguments_->global.agent, arguments_->global.message};
  }
  /// Opens a stored transaction for --agent: the one with this id or run name. If `id` is empty, it
  /// opens the only one of this agent. resume() uses the id in --tx or GALLEY_TX.
  Result<Transaction> resume(const std::string& id);
  Result<Transaction> resume() { return resume(arguments_->tx); }
  /// The same, but with --begin it begins a transaction if the agent has none. Agents that do not
  /// know transactions need this: their hooks put `galley exec` before their commands.
  /// Without `stores` that transaction is in memory, as with -n.
  Result<Transaction> resume_or_begin(bool stores = true);
  /// Says which custom tools are left out, if the command used tools.
  void say_left_out_tools();

 private:
  Result<Workspace*> open_workspace(bool recovers);
  Result<Transaction> resume(Workspace& workspace, const std::string& id);
  [[nodiscard]] WorkspaceOptions workspace_options();
  void warn_of_bad_configuration();
  void say_notices();
  Result<void> finish_git_fix(const Workspace& workspace);
  /// Says once, on stderr, which parts of the workspace are not trusted.
  void report_untrusted_state();

  const Arguments* arguments_;
  Terminal* terminal_;
  UserSettings user_;
  std::unique_ptr<Workspace> workspace_;
  Approver approver_;  ///< empty: the person at the terminal
  std::string session_id_;
  std::string doubt_;  ///< not printed yet
  std::string outcome_;
};

/// Returns the id of the transaction of the run with this name, else the name itself.
[[nodiscard]] std::string id_of_transaction(Workspace& workspace, const std::string& name);

inline constexpr int kExitDone = 0;
inline constexpr int kExitNo = 1;
inline constexpr int kExitMalformed = 2;
inline constexpr int kExitFailure = 3;

/// The function of a command. Returns the exit status, or an error that is still to be reported.
using CommandFunction = Result<int> (*)(Session& session);

}  // namespace galley
