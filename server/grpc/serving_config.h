#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "server/telemetry/telemetry.h"

namespace galley {

/// A caller whom the system or a certificate identifies, and what it may do.
struct ServedPrincipal {
  std::optional<uint32_t> user;          ///< the user of a process at a socket file
  std::string subject = {};              ///< of a client certificate, as RFC 2253 writes it
  std::vector<std::string> agents;       ///< the agent ids that it may speak for; `*` and `?` match
  std::vector<std::string> rights = {};  ///< kApproveRight and so on

  [[nodiscard]] bool speaks_for(std::string_view agent) const;
  [[nodiscard]] bool has(std::string_view right) const;
};

inline constexpr std::string_view kApproveRight = "approve";
inline constexpr std::string_view kRegisterRight = "tool:register";
/// To call `sec.grant` and `sec.revoke` as the person who gave the right.
inline constexpr std::string_view kGrantRight = "sec:grant";
inline constexpr size_t kMostPrincipals = 64;  ///< each user has a gRPC server of its own

/// The configuration of the person who serves a workspace (docs/grpc.md). It is never a file of the
/// workspace.
struct ServingConfig {
  /// What happens to the changes of a call that is in no open transaction.
  enum class CommitRule : uint8_t { kEachCall, kExplicit };

  CommitRule commit = CommitRule::kEachCall;
  std::string certificate;  ///< files in PEM, of the server
  std::string key;
  std::string client_authority;  ///< the certificates that sign those of clients
  std::vector<ServedPrincipal> principals;
  TelemetryOptions telemetry = {};
};

/// Parses such a file. Messages call it `file`.
/// Errors: kInvalid `config.*`; kQuota `limit.config_size`.
[[nodiscard]] Result<ServingConfig> parse_serving_config(std::string_view text,
                                                         std::string_view file);

/// The configuration without a file: the user of this process may speak for every agent.
[[nodiscard]] ServingConfig serving_config_of_user(uint32_t user);

}  // namespace galley
