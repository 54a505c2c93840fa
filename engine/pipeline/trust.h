#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/content_id.h"
#include "base/result.h"
#include "engine/policy/trust_part.h"
#include "engine/policy/user_config.h"

namespace galley {

/// What the person who runs this process said outside every workspace.
///
///     $XDG_CONFIG_HOME/galley/config.toml   their own configuration (~/.config)
///     $XDG_STATE_HOME/galley/trust/         a file for each trusted workspace (~/.local/state),
///                                           and for each change of rules that got a yes
///     $XDG_STATE_HOME/galley/tools/         custom tools of each workspace (custom_tools.h)
///     $GALLEY_TRUST                         hashes that are trusted wherever they stand (CI)
///
/// A value; default-constructed nobody said anything, so nothing of a workspace is trusted.
struct UserSettings {
  UserConfig config;
  std::string config_path;         ///< where the configuration is looked for; empty without a home
  std::string trust_path;          ///< folder of the trust records; empty without a home
  std::string tools_path;          ///< folder of the custom tools; empty without a home
  std::vector<ContentId> trusted;  ///< of GALLEY_TRUST
  /// The program that embeds the library vouches for the workspaces it opens.
  bool trusts_workspaces = false;
};

/// Reads the environment and the person's configuration.
/// Errors: as parse_user_config; kRefused `config.foreign_owner` when another user owns the file;
///         kInvalid `trust.bad_hash` for a GALLEY_TRUST that is not a list of hashes.
[[nodiscard]] Result<UserSettings> load_user_settings();

/// One workspace whose part of a certain hash a person trusted.
struct TrustRecord {
  std::string root;  ///< absolute
  ContentId hash;
  int64_t given_ns = 0;
};

/// Whether exactly this part of the configuration of the workspace at `root` is trusted. Records
/// that lie inside that workspace do not count: whoever edits it could write them.
[[nodiscard]] Result<bool> is_trusted(const UserSettings& settings, const std::string& root,
                                      const TrustPart& part);

/// Records a trust in place of an earlier one of the same root.
/// Errors: kRefused `trust.no_place` without a home, or with one inside the workspace; kIo.
Result<void> record_trust(const UserSettings& settings, const TrustRecord& record);

/// All records, by root.
[[nodiscard]] Result<std::vector<TrustRecord>> list_trust(const UserSettings& settings);

/// Takes the trust in a root back; false when there was none.
Result<bool> revoke_trust(const UserSettings& settings, const std::string& root);

/// A change of a configuration file that a person said yes to when it was committed to git.
struct RulesChange {
  std::string root;        ///< of the work tree, absolute
  std::string repository;  ///< the directory that all its work trees share
  std::string path;
  std::string before;  ///< the hash of its bytes; "" where there was no file
  std::string after;
};

/// Keeps that yes beside the trust records, in place of an earlier one that led to the same bytes.
/// Errors: as record_trust().
Result<void> record_rules_change(const UserSettings& settings, const RulesChange& change);

/// Whether a person said yes to it: in one step, or in several of which each begins where the one
/// before it ended.
[[nodiscard]] Result<bool> is_known_rules_change(const UserSettings& settings, RulesChange change);

/// Whether `path` is `folder` or lies below it, as text.
[[nodiscard]] bool is_at_or_below(std::string_view path, std::string_view folder);

/// Whether safe_directories of the person's configuration name this root.
[[nodiscard]] bool is_safe_directory(const UserConfig& config, std::string_view root);

}  // namespace galley
