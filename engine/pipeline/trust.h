#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/result.h"
#include "engine/policy/trust_part.h"
#include "engine/policy/user_config.h"
#include "staging/fs/host_file.h"

namespace galley {

/// The settings of this user, which are stored outside every workspace.
///
///     $XDG_CONFIG_HOME/galley/config.toml   their own configuration (~/.config)
///     $XDG_STATE_HOME/galley/trust/         a file for each trusted workspace (~/.local/state),
///                                           and for each approved change of rules
///     $XDG_STATE_HOME/galley/tools/         custom tools of each workspace (custom_tools.h)
///     $GALLEY_TRUST                         hashes that are trusted in every workspace (CI)
///
/// A value. Without settings no part of a workspace is trusted.
struct UserSettings {
  UserConfig config;
  std::string config_path;         ///< path of the configuration; empty without a home
  std::string trust_path;          ///< folder of the trust records; empty without a home
  std::string tools_path;          ///< folder of the custom tools; empty without a home
  std::vector<ContentId> trusted;  ///< of GALLEY_TRUST
  /// Set by a program that trusts the workspaces that it opens.
  bool trusts_workspaces = false;
};

/// Reads the environment and the user's configuration.
/// Errors: as parse_user_config; kRefused `config.foreign_owner` when another user owns the file;
///         kInvalid `trust.bad_hash` for a GALLEY_TRUST that is not a list of hashes.
[[nodiscard]] Result<UserSettings> load_user_settings();

/// The maximum number of kept approvals of changed rules. Beyond it the oldest ones are removed,
/// and a push asks again.
inline constexpr size_t kMaxRulesApprovals = 1000;

/// A person's trust in one workspace, for one hash of its configuration.
struct TrustRecord {
  std::string root;  ///< absolute
  ContentId hash;
  int64_t given_ns = 0;
  /// The hash that this one replaced. It still counts for commits of git, because the rules of
  /// their base judge them. record_trust() sets it.
  ContentId before = {};
};

/// Where the rules come from: the work tree, or the base of a git commit. For a base, the hash that
/// the person trusted before the newest one counts, too.
enum class RulesOf : uint8_t { kWorkTree, kBase };

/// Returns whether a person trusts this part of the configuration of the workspace at `root`.
/// Records inside that workspace are ignored, because any agent could write them.
[[nodiscard]] Result<bool> is_trusted(const UserSettings& settings, const std::string& root,
                                      const TrustPart& part, RulesOf whose = RulesOf::kWorkTree);

/// Stores a trust record. Replaces an earlier record of the same root.
/// Errors: kRefused `trust.no_place` without a home, or if the home is inside the workspace; kIo.
Result<void> record_trust(const UserSettings& settings, const TrustRecord& record);

/// Returns all records, by root.
[[nodiscard]] Result<std::vector<TrustRecord>> list_trust(const UserSettings& settings);

/// Removes the trust in a root. Returns false if it was not trusted.
Result<bool> revoke_trust(const UserSettings& settings, const std::string& root);

/// A change of a configuration file that a person approved when it was committed to git.
struct RulesChange {
  std::string root;        ///< of the work tree, absolute
  std::string repository;  ///< the git directory that all its work trees share
  std::string path;
  std::string before;  ///< the hash of the old bytes; empty for a new file
  std::string after;   ///< the hash of the new bytes
};

/// Stores the approval next to the trust records. Replaces an earlier approval of the same result.
/// Removes the oldest approvals beyond kMaxRulesApprovals.
/// Errors: as record_trust().
Result<void> record_rules_change(const UserSettings& settings, const RulesChange& change);

/// An approved change of rules, as it was recorded.
struct RulesApproval {
  std::string root;  ///< empty in a record of an earlier version, like `path`
  std::string path;
  int64_t given_ns = 0;
};

/// Returns all approvals of changed rules, oldest first.
[[nodiscard]] Result<std::vector<RulesApproval>> list_rules_approvals(const UserSettings& settings);

/// Returns whether a person approved the change, in one step or in several consecutive steps.
[[nodiscard]] Result<bool> is_known_rules_change(const UserSettings& settings, RulesChange change);

/// Returns whether safe_directories of the user's configuration includes this root.
[[nodiscard]] bool is_safe_directory(const UserConfig& config, std::string_view root);

}  // namespace galley
