#pragma once

#include <nats/nats.h>

#include <memory>
#include <string>

#include "base/result.h"
#include "server/nats/nats_config.h"

namespace galley {

struct NatsOptionsDeleter {
  void operator()(natsOptions* options) const { natsOptions_Destroy(options); }
};
using NatsOptions = std::unique_ptr<natsOptions, NatsOptionsDeleter>;

/// The options of cnats for a connection to `address` with the credentials of `config`. It
/// reconnects for ever.
/// Errors: kIo `nats.connection`.
[[nodiscard]] Result<NatsOptions> connection_options(const std::string& address,
                                                     const NatsConfig& config);
/// Connects with those options. If a key of `config` signs, a refused connection is tried again,
/// because cnats leaves some signatures out.
[[nodiscard]] natsStatus open_connection(natsConnection** connection, natsOptions* options,
                                         const NatsConfig& config);
/// kIo `nats.jetstream`.
[[nodiscard]] Error jetstream_error(const std::string& what, natsStatus status);
/// kIo `nats.connection`.
[[nodiscard]] Error connection_error(const std::string& what, natsStatus status);
/// The address without user, password and token.
[[nodiscard]] std::string shown_address(const std::string& address);

}  // namespace galley
