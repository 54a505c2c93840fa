#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <galley/path.h>
#include "base/clock.h"
#include "base/result.h"
#include "engine/commit/outcome.h"
#include "engine/commit/state_directory.h"
#include "engine/stages/run_folder.h"
#include "staging/fs/directory.h"
#include "staging/overlay/change_set.h"

namespace galley {

class Workspace;

/// The state of an agent's session between the calls of its hook, below
/// `.galley/sessions/<workspace id>/<hash of the session's id>/`:
///
///     turn          lines with `galley turn 1`, the number of the turn, the start of its prompt,
///                   and `ended` after the agent's answer
///     <hash>.j      the paths of one edit before it and as judged: a journal that is never
///                   published; empty for an edit that could not be kept
///     <hash>.lost   empty: this edit was made and is not on record
///     told          the hash of a notice that the agent was told
///
/// and `.galley/sessions/<workspace id>/processes/<pid>`: lines with `galley process 1`, the start
/// time of an agent's process, the id of the session that it worked in last.
///
/// A lost or damaged file costs only what it says: the turn or the edit is not known.
/// Ownership: borrows the state. Threads: any; each call of an agent has files of its own.
class AgentSession {
 public:
  /// A prompt of a person, and the work of the agent until its answer or the next prompt.
  struct Turn {
    uint64_t number = 0;  ///< from 1; 0: no prompt is known
    std::string prompt;   ///< its beginning
    bool has_ended = false;
    int64_t begun_ns = 0;  ///< known if it has ended
  };

  AgentSession(const StateDirectory& state, std::string_view id);

  [[nodiscard]] Turn turn() const;
  /// When turn() began; 0: not known.
  [[nodiscard]] int64_t turn_begun_ns() const;
  /// Begins the next turn. The cost is constant.
  [[nodiscard]] Result<void> begin_turn(std::string_view prompt) const;
  /// Ends the turn: later commits are not of it. Does nothing if no turn is known.
  [[nodiscard]] Result<void> end_turn() const;

  /// Notes the first turn of a session in a folder without a state, which a prompt must not make:
  /// `turns/<hash of the folder>/<hash of the session's id>` in the state of the user, as `turn`.
  /// Removes notes of folders that are older than 30 days: their sessions did not end.
  [[nodiscard]] static Result<void> note_first_turn(const std::string& folder, std::string_view id,
                                                    std::string_view prompt);
  /// note_process() in a folder without a state: `turns/<hash of the folder>/<pid>`.
  [[nodiscard]] static Result<void> note_first_process(const std::string& folder,
                                                       std::string_view id,
                                                       const ProcessIdentity& process);
  /// Forgets the turn and the processes of the session: it ended before there was a state.
  [[nodiscard]] static Result<void> forget_first_turn(const std::string& folder,
                                                      std::string_view id);
  /// Moves what was noted for this folder into its new state.
  [[nodiscard]] static Result<void> take_first_turns(const StateDirectory& state,
                                                     const std::string& folder);

  /// What is known of an edit that the agent reports.
  struct MadeEdit {
    /// From the state without the edit to the present one. Changes that others made since the edit
    /// was judged are in both.
    Proposal change;
    /// Why the edit cannot be recorded; else empty. `change` then begins at the judged state, and
    /// may have changes of others.
    std::string problem;
    CommitMeta meta;  ///< as keep_edit() got it
  };
  /// Notes what the session is told. Returns whether it is another notice than the last one.
  [[nodiscard]] bool note_notice(std::string_view notice) const;

  /// The name of what is kept of one edit.
  using EditName = std::string;
  /// The name of the edit that the call `call` of the agent makes.
  [[nodiscard]] static EditName edit_of(std::string_view call);
  enum class EditReport : uint8_t {
    kCame,     ///< the agent reported the edit
    kMissing,  ///< it may not have made it, so a new file must be exactly the judged one
  };

  /// Keeps both sides of an edit that the agent is about to make. `meta` says who will have made
  /// it. An edit that cannot be kept leaves an empty file, so that made_edit() can say so.
  /// Errors: kQuota `limit.kept_edit` above kMaxKeptEditBytes.
  [[nodiscard]] Result<void> keep_edit(const EditName& edit, const Proposal& proposal,
                                       const CommitMeta& meta, int64_t now_ns) const;
  /// The edits of which something is kept: their agent has not reported them.
  [[nodiscard]] std::vector<EditName> kept_edits() const;
  /// The sessions with kept_edits(), sorted. Reads each kept edit.
  [[nodiscard]] static std::set<std::string> with_kept_edits(const StateDirectory& state);
  /// Holds what is kept of the edit, as long as the returned file lives. Null if nothing is kept or
  /// another process holds it: two hooks may report one call.
  [[nodiscard]] Result<std::unique_ptr<File>> hold_edit(const EditName& edit) const;
  /// Compares the present state with the kept one. Empty if nothing is kept of this edit. The
  /// caller ends with forget_edit(), lose_edit() or both.
  [[nodiscard]] Result<std::optional<MadeEdit>> made_edit(const EditName& edit, EditReport report,
                                                          const Directory& workspace,
                                                          const Clock& clock) const;
  /// Notes that the process of an agent works in this session. Its `galley mcp` asks for it.
  [[nodiscard]] Result<void> note_process(const ProcessIdentity& process) const;
  /// The session that one of these processes noted last; empty if none is known. The first process
  /// that noted one counts.
  [[nodiscard]] static std::string of_processes(const StateDirectory& state,
                                                const std::vector<ProcessIdentity>& processes);
  /// The same in a folder without a state.
  [[nodiscard]] static std::string of_first_processes(
      const std::string& folder, const std::vector<ProcessIdentity>& processes);

  /// Keeps the old contents of an edit that cannot be recorded below rescue/. Returns their names
  /// there, as `galley rescue` takes them.
  [[nodiscard]] Result<std::vector<std::string>> rescue_old(const EditName& edit,
                                                            const MadeEdit& made) const;
  /// Removes what is kept of an edit: it is on record, or nothing was changed.
  [[nodiscard]] Result<void> forget_edit(const EditName& edit) const;
  /// Notes that an edit was made and is not on record.
  [[nodiscard]] Result<void> lose_edit(const EditName& edit) const;
  /// The edits of this session that are not on record, as far as is known.
  [[nodiscard]] size_t lost_edits() const;

 private:
  [[nodiscard]] RelPath place(const std::string& name) const;
  [[nodiscard]] Result<void> write_turn(const Turn& turn) const;

  const StateDirectory* state_;
  std::string id_;
  std::string folder_;
};

/// The old and new contents of one edit of an agent; a larger edit is made, but not recorded.
inline constexpr uint64_t kMaxKeptEditBytes = uint64_t{64} << 20U;
/// An agent whose call takes longer is treated as gone.
inline constexpr int64_t kKeptEditLastsNs = int64_t{24} * 3600 * 1'000'000'000;

/// The result of removing stale files of sessions, or of a dry run of that.
struct SessionCleaning {
  size_t files = 0;
  uint64_t bytes = 0;
};

/// Removes kept edits that count no more, and sessions that had no prompt for 30 days. Keeps the
/// numbers of turns of `remembered` sessions, whose commits the history has: the next turn must
/// have another number.
Result<SessionCleaning> clear_sessions(const StateDirectory& state, int64_t now_ns, bool dry_run,
                                       const std::set<std::string>& remembered);

/// The first line of a text with a character other than a blank, at most `max_bytes` long.
[[nodiscard]] std::string first_words(std::string_view text, size_t max_bytes);

/// Errors: kUsage `session.bad_id` for a text that is neither empty nor the id of a session.
[[nodiscard]] Result<void> check_session_id(std::string_view id);

/// The id of the newest open transaction that `agent` began in this session; empty if there is
/// none, or if `session` is empty.
[[nodiscard]] Result<std::string> transaction_of_session(const Workspace& workspace,
                                                         const std::string& agent,
                                                         const std::string& session);
/// Whether `agent` has an open transaction: in that session if both are known, else in any. The
/// caller may hold the writer lock.
[[nodiscard]] Result<bool> has_own_transaction(const Workspace& workspace,
                                               const std::string& agent);

}  // namespace galley
