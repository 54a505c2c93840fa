#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "staging/git/git_branch.h"

namespace galley {

/// One reference that a push changes. An empty id means that it does not exist on that side.
struct RefUpdate {
  std::string ref;     ///< on the receiving side: `refs/heads/main`
  std::string old_id;  ///< its commit there before the push; empty: it is new
  std::string new_id;  ///< its new commit; empty: it is deleted

  bool operator==(const RefUpdate&) const = default;
};

inline constexpr size_t kMaxRefUpdates = 100'000;  ///< references that one push updates

/// The lines that git gives a hook on standard input (githooks(5)):
///
///     pre-push:    <local ref> SP <local id> SP <ref> SP <old id> LF
///     pre-receive: <old id> SP <new id> SP <ref> LF
///
/// Errors: kInvalid `hook.input`, which names the line; kQuota `limit.ref_updates`.
Result<std::vector<RefUpdate>> parse_pushed_refs(std::string_view text);
Result<std::vector<RefUpdate>> parse_received_refs(std::string_view text);
/// Parses the three arguments of `update` in the same way.
Result<RefUpdate> parse_update(const std::vector<std::string>& words);

/// The commits to judge for one updated reference.
struct PushRange {
  std::string ref;
  /// A commit that the other side has; empty: unknown there. If it is not an ancestor of `to`, a
  /// branch loses commits. Then all differences between both trees are judged, because the lost
  /// commits may contain the rules.
  std::string from;
  std::string to;     ///< empty: nothing must be judged, and `note` says why
  std::string rules;  ///< the commit whose galley.toml counts; empty: `from`
  /// Further commits in `to` that were judged on the other side; their contents are not new.
  std::vector<std::string> known;
  /// The last commit of the main branch there, and those of branches that contain a commit of `to`
  /// that nobody judged. A file of `to` that is equal in one of them is not new, for example after
  /// `git cherry-pick`.
  std::vector<std::string> same;
  std::string note;

  [[nodiscard]] bool is_same_work(const PushRange& other) const {
    return from == other.from && to == other.to && rules == other.rules && known == other.known &&
           same == other.same;
  }
};

/// The commits of the receiving side.
struct KnownCommits {
  std::vector<std::string> known;  ///< `--remotes=origin`, or `--all`: for git-rev-list(1)
  std::string refs;                ///< the same for git-for-each-ref(1): a prefix of names
  /// `refs/remotes/origin/HEAD`, or `HEAD` on the server itself; empty: nothing is known of that
  /// side.
  std::string main_branch;
  std::string remedy;             ///< the command that makes its main branch known
  bool has_updated_refs = false;  ///< the push updates references of this repository
};

/// The other side of `git push REMOTE`, according to its remote-tracking branches. If `remote` is
/// a URL or was never fetched, the branches of all remotes count.
[[nodiscard]] Result<KnownCommits> known_of_remote(const GitProgram& git,
                                                   const std::string& remote);
[[nodiscard]] KnownCommits known_on_server();

/// The part of each update that is new to the other side, and the rules that judge it:
///
///     an existing branch   from its old commit, by the rules of that commit, or if it has none, of
///                          the main branch; all differences if it loses commits
///     a new branch or tag  from the last commit that was judged there, by the rules of its main
///                          branch, or by its own rules if there is nothing yet
///     a deleted one        nothing
///
/// The other side may have the content in another branch. That content is not new if it was judged,
/// as the last commit of a reference, in the main branch or by the same rules. So is that of a
/// commit to which another reference of this push moves: if one is refused, all are. An existing
/// branch whose old commit is not here (another user pushed meanwhile) counts as new, and on the
/// server one that is not at its old commit.
/// Errors: kRefused `hook.no_commit` for a reference to an object other than a commit; those of
///         GitProgram.
[[nodiscard]] Result<std::vector<PushRange>> ranges_of(const GitAccess& repository,
                                                       std::vector<RefUpdate> updates,
                                                       const KnownCommits& known);

}  // namespace galley
