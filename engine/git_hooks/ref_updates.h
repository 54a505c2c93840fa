#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "staging/git/git_program.h"

namespace galley {

/// One reference that a push changes. An empty id: there is none on that side.
struct RefUpdate {
  std::string ref;     ///< of the side that is pushed to: `refs/heads/main`
  std::string old_id;  ///< what it names there now; empty: it is new
  std::string new_id;  ///< what it is to name; empty: it is deleted

  bool operator==(const RefUpdate&) const = default;
};

inline constexpr size_t kMaxRefUpdates = 100'000;

/// The lines that git gives a hook on standard input (githooks(5)):
///
///     pre-push:    <local ref> SP <local id> SP <ref> SP <old id> LF
///     pre-receive: <old id> SP <new id> SP <ref> LF
///
/// Errors: kInvalid `hook.input`, which names the line; kQuota `limit.ref_updates`.
Result<std::vector<RefUpdate>> parse_pushed_refs(std::string_view text);
Result<std::vector<RefUpdate>> parse_received_refs(std::string_view text);
/// The same from the three arguments of `update`.
Result<RefUpdate> parse_update(const std::vector<std::string>& words);

/// What one updated reference brings, as commits to be judged.
struct PushRange {
  std::string ref;
  std::string from;   ///< a commit that the other side has; empty: it has nothing of this
  std::string to;     ///< empty: nothing is to be judged, and `note` says why
  std::string rules;  ///< the commit whose galley.toml counts; empty: `from`
  /// An existing branch loses commits: what changes for it is all that differs between both trees,
  /// for its rules are among what may be lost.
  bool is_rewound = false;
  /// Commits that the other side has as well and that `to` takes in; what they hold is not new.
  std::vector<std::string> known;
  std::string note;

  [[nodiscard]] bool is_same_work(const PushRange& other) const {
    return from == other.from && to == other.to && rules == other.rules &&
           is_rewound == other.is_rewound && known == other.known;
  }
};

/// What the side that is pushed to has, in words of git-rev-list(1).
struct KnownCommits {
  std::vector<std::string> known;  ///< `--remotes=origin`, or `--all` on the server itself
  std::string main_branch;         ///< `refs/remotes/origin/HEAD`, or `HEAD` on the server itself
};

/// The other side of `git push REMOTE`, as the remote-tracking branches know it; `remote` may be a
/// URL, and then all of them count.
[[nodiscard]] Result<KnownCommits> known_of_remote(const GitProgram& git,
                                                   const std::string& remote);
[[nodiscard]] KnownCommits known_here();

/// What of an update is new to the other side, and by whose rules it is judged:
///
///     an existing branch   from what it was, by the rules that it had then; all that differs if
///                          it loses commits
///     a new branch or tag  from the last commit that is known there, by the rules of its main
///                          branch, or by its own where there is nothing yet
///     a deleted one        nothing
///
/// Content of another branch of the other side is not new if the main branch contains that branch,
/// or if it has the same rules.
/// An existing branch whose old commit is not here (somebody else pushed meanwhile) is taken for a
/// new one.
/// Errors: kRefused `hook.no_commit` for a reference to something else than a commit; those of
///         GitProgram.
[[nodiscard]] Result<PushRange> range_of(const GitProgram& git, const RefUpdate& update,
                                         const KnownCommits& known);

}  // namespace galley
