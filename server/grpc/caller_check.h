#pragma once

#include <grpcpp/grpcpp.h>

#include <string>

#include "server/grpc/serving_config.h"

namespace galley {

/// Finds the principal of a call, and what it may do.
///
/// A connection to a socket file belongs to the gRPC server of its user, so the principal is known
/// when the server is made. Over TCP it is the subject of the verified client certificate.
///
/// Ownership: borrows the configuration. Threads: a value.
class CallerCheck {
 public:
  /// For connections of one principal; null: of unknown users.
  static CallerCheck of_principal(const ServingConfig& config, const ServedPrincipal* principal) {
    return {config, principal, false};
  }
  static CallerCheck by_certificate(const ServingConfig& config) { return {config, nullptr, true}; }

  /// Sets `who`.
  /// Errors: UNAUTHENTICATED.
  grpc::Status identify(const grpc::CallbackServerContext& context,
                        const ServedPrincipal*& who) const;
  /// The same for a principal that speaks for an agent.
  /// Errors: UNAUTHENTICATED, PERMISSION_DENIED; INVALID_ARGUMENT for an impossible agent id.
  grpc::Status admit(const grpc::CallbackServerContext& context, const std::string& agent,
                     const ServedPrincipal*& who) const;
  /// The same for a principal that has a right.
  grpc::Status admit_with(const grpc::CallbackServerContext& context, std::string_view right,
                          const ServedPrincipal*& who) const;

 private:
  CallerCheck(const ServingConfig& config, const ServedPrincipal* principal, bool by_certificate)
      : config_(&config), principal_(principal), is_by_certificate_(by_certificate) {}

  const ServingConfig* config_;
  const ServedPrincipal* principal_;
  bool is_by_certificate_;
};

inline constexpr size_t kMostNameBytes = 256;      ///< of an agent, a task or a tool
inline constexpr size_t kMostReasonBytes = 4'096;  ///< of a reason

/// Checks the texts of a request.
/// Errors: INVALID_ARGUMENT, with the name of the field.
grpc::Status check_name(std::string_view field, const std::string& text, bool may_be_empty = false);
grpc::Status check_reason(const std::string& text);

}  // namespace galley
