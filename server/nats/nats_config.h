#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "server/telemetry/telemetry.h"

namespace galley {

/// When the changes of calls are committed.
enum class CommitRule : uint8_t {
  kEachCall,  ///< each call commits, except in a session that began a transaction
  kSession,   ///< the calls of a session are one transaction, which the session commits
};

/// The configuration of `galley-serve-nats` (docs/nats.md): a TOML file of the person who serves.
struct NatsConfig {
  std::string path;   ///< absolute; empty: the defaults
  std::string agent;  ///< the name of all callers for galley.toml; empty: that of the profile
  std::string group = "galley";  ///< the queue group
  std::string galley_toml;       ///< replaces the galley.toml of the workspace, and is trusted
  std::string secrets_file;      ///< lines NAME=value: the secrets of tools
  CommitRule commit = CommitRule::kEachCall;
  /// The processes of the group share sessions and results of calls in JetStream.
  bool jetstream = false;
  uint32_t calls_at_once = 4;
  uint32_t most_waiting = 256;  ///< requests; a further one is refused
  uint64_t most_request_bytes = uint64_t{1} << 20U;
  uint32_t drain_ms = 10'000;  ///< time of the running calls after SIGTERM

  std::string cache;                      ///< of a worker: its folder, for repositories
  uint32_t most_repositories = 1000;      ///< in the cache
  std::vector<std::string> repositories;  ///< of a worker: the addresses that jobs may name
  std::string validators;                 ///< of a worker: file of validators that jobs may name

  TelemetryOptions telemetry;

  std::string credentials;  ///< file of a user: its JWT and seed
  std::string nkey;         ///< public key of a user
  std::string nkey_seed;    ///< file with the seed of `nkey`
  std::string ca;  ///< file of the authorities of the server's certificate; also turns TLS on
  std::string certificate;  ///< file of this client's certificate
  std::string key;          ///< file of its key
};

/// Reads such a file. Files with secrets must be private (0600).
/// Errors: kInvalid `config.*`, with a message `FILE:LINE:COLUMN: …`; kRefused `file.not_private`,
///         `file.others_write`; kNotFound, kIo.
Result<NatsConfig> read_nats_config(const std::string& path);
/// Checks that no file of the configuration is inside the workspace, where calls could change it,
/// also through a link. `workspace` has no links.
/// Errors: kRefused `nats.config_inside`.
Result<void> check_outside(const NatsConfig& config, std::string_view workspace);

}  // namespace galley
