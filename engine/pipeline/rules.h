#pragma once

#include <galley/workspace.h>

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/pipeline/place.h"
#include "engine/pipeline/trust.h"
#include "engine/policy/config.h"
#include "engine/policy/grant_book.h"
#include "engine/policy/proposed_tree.h"
#include "tools/tool_view.h"

namespace galley {

class PersistentState;

/// The rules of a workspace: the trusted part of galley.toml, the settings of this user, and
/// grants.
///
/// Threads: constant after read(), except the grants (`config.grants`), whose updates a lock
///          serialises.
class Rules {
 public:
  Config config;
  std::optional<Error> flaw;  ///< why galley.toml cannot be read; then `config` has strict defaults
  TrustPart trust_part;       ///< of the whole file, trusted or not
  std::string trust_notice;   ///< what is ignored because it is not trusted; empty: nothing
  UserSettings user;          ///< set before read()

  /// Reads galley.toml and ignores its untrusted part. Returns notices, one line each. After an
  /// error the rules are those from before.
  /// Errors: those of load_config, parse_config and is_trusted.
  Result<std::vector<std::string>> read(const Place& place, const WorkspaceOptions& options);
  /// Whether galley.toml or the trust in it changed since read(). Costs two stats, and reads the
  /// file if they differ. The file of --config and the rules of a git branch are not watched.
  [[nodiscard]] bool are_outdated(const Place& place, const WorkspaceOptions& options) const;
  /// Reads new grants and revocations. Costs one stat if nothing changed.
  /// Errors: those of GrantStore; after one, agents may do nothing.
  Result<void> refresh_grants(const PersistentState& persistent) const;
  /// Returns the agent as a caller of tools, with its capabilities.
  [[nodiscard]] ToolCaller caller(const std::string& agent, const std::string& session = {}) const;

 private:
  /// The state of galley.toml and of the folder of the trust records.
  struct Sources {
    std::optional<FileStat> file;
    std::optional<FileStat> trust;
    int64_t seen_ns = 0;  ///< when, by the system's clock

    /// Whether both are the same and had not just changed when the other one was made.
    [[nodiscard]] bool prove_unchanged_since(const Sources& other) const;
  };
  [[nodiscard]] Sources sources(const Place& place) const;

  ContentId text_;             ///< of galley.toml, as read() found it; none without the file
  bool is_trusted_ = false;    ///< with `trust_part`
  mutable Sources last_seen_;  ///< guarded by mutex_; `text_` and `is_trusted_` were right then
  std::shared_ptr<GrantBook> grant_book_ = std::make_shared<GrantBook>();
  mutable std::mutex mutex_;                     ///< guards what follows
  mutable std::optional<FileStat> grants_seen_;  ///< state of the folder when it was last read
};

/// Returns the configuration that is used while galley.toml cannot be read. Every change then needs
/// a person's approval, agents may do nothing, and no command runs. A person can still undo the
/// change of galley.toml itself.
[[nodiscard]] Config strict_defaults();

/// Returns why the proposed galley.toml is not valid, or nothing. After a commit of such a file
/// every command would fail.
/// Errors: those of reading the proposed tree.
[[nodiscard]] Result<std::optional<Error>> proposed_configuration_flaw(const ProposedTree& tree);

/// Creates all validators of a configuration to find flaws that the parser does not find.
[[nodiscard]] Result<void> check_validators(const Config& config, const Directory& root);

}  // namespace galley
