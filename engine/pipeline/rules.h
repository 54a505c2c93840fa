#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <galley/workspace.h>
#include "engine/pipeline/place.h"
#include "engine/pipeline/trust.h"
#include "engine/policy/config.h"
#include "engine/policy/grant_book.h"
#include "tools/tool_view.h"

namespace galley {

class KeptState;

/// What is allowed in a workspace and to whom: galley.toml as far as it is trusted, what its person
/// said outside of it, and what people granted and revoked.
///
/// Threads: nothing changes after read() but the grants, which are brought up to date behind a lock
///          and read through `config`.
class Rules {
 public:
  Config config;
  std::optional<Error> flaw;  ///< why galley.toml cannot be read; `config` is then strict
  TrustPart trust_part;       ///< of the configuration as it stands in the file
  UserSettings user;          ///< to be filled in before read()

  /// Reads galley.toml and takes out what nobody trusted. Returns notices of that, a line each.
  /// Errors: those of load_config, parse_config and is_trusted.
  Result<std::vector<std::string>> read(const Place& place, const WorkspaceOptions& options);
  /// Takes in what was granted and revoked since, by whomever. One look at a folder when nothing
  /// changed.
  /// Errors: KeptGrants'; then nobody but people may do anything.
  Result<void> refresh_grants(const KeptState& kept) const;
  /// Who asks for a tool, with what galley.toml gives it.
  [[nodiscard]] ToolCaller caller(const std::string& agent, const std::string& session = {}) const;

 private:
  /// What `config.grants` shows.
  std::shared_ptr<GrantBook> grant_book_ = std::make_shared<GrantBook>();
  mutable std::mutex mutex_;                     ///< guards what follows
  mutable std::optional<FileStat> grants_seen_;  ///< the folder, when it was read and settled
};

}  // namespace galley
