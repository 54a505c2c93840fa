#include "server/nats/nats_connection.h"

#include <functional>

#include "base/printable.h"

namespace galley {
namespace {

constexpr int64_t kConnectMs = 5'000;
constexpr int64_t kReconnectWaitMs = 250;
constexpr int64_t kWriteMs = 10'000;  ///< a server that takes nothing for so long is gone
constexpr int kReconnectBufferBytes = 8 << 20;
/// cnats does not send a signature whose first byte is zero: one of 256. Each connection signs
/// another nonce.
constexpr int kMostSignatures = 4;

}  // namespace

Error jetstream_error(const std::string& what, natsStatus status) {
  std::string why = natsStatus_GetText(status);
  if (status == NATS_NO_RESPONDERS) {
    why = "JetStream does not answer; it may be off in the server (nats-server -js) or the account";
  } else if (status == NATS_ERR) {
    // The words of the server, which the library keeps for each thread.
    natsStatus last = NATS_OK;
    const char* said = nats_GetLastError(&last);
    if (last == status && said != nullptr && *said != '\0') why = printable_line(said);
    const size_t end_of_place = why.find("): ");  // "(js.c:535): ", of the library's own code
    if (why.starts_with('(') && end_of_place != why.npos) why.erase(0, end_of_place + 3);
  }
  return {ErrorKind::kIo, "nats.jetstream", what + ": " + why, "", 0};
}

Error connection_error(const std::string& what, natsStatus status) {
  return {ErrorKind::kIo, "nats.connection", what + ": " + natsStatus_GetText(status), "", 0};
}

/// Runs the setters of cnats in order and keeps the first failure.
Result<NatsOptions> connection_options(const std::string& address, const NatsConfig& config) {
  const bool is_tls = address.starts_with("tls://");
  // The library takes any other scheme for plain NATS.
  if (!is_tls && !address.starts_with("nats://") && address.find("://") != address.npos) {
    return fail(ErrorKind::kUsage, "nats.address",
                "the address of a NATS server is nats://HOST:PORT or tls://HOST:PORT");
  }
  natsOptions* made = nullptr;
  if (const natsStatus s = natsOptions_Create(&made); s != NATS_OK) {
    return connection_error("the NATS library cannot start", s);
  }
  NatsOptions options(made);
  natsStatus s = natsOptions_SetURL(made, address.c_str());
  const auto set = [&](bool wanted, const std::function<natsStatus()>& setter) {
    if (wanted && s == NATS_OK) s = setter();
  };
  set(true, [&] { return natsOptions_SetName(made, "galley"); });
  set(true, [&] { return natsOptions_SetTimeout(made, kConnectMs); });
  set(true, [&] { return natsOptions_SetMaxReconnect(made, -1); });
  set(true, [&] { return natsOptions_SetReconnectWait(made, kReconnectWaitMs); });
  set(true, [&] { return natsOptions_SetReconnectBufSize(made, kReconnectBufferBytes); });
  set(true, [&] { return natsOptions_SetWriteDeadline(made, kWriteMs); });
  set(true, [&] { return natsOptions_SetNoEcho(made, true); });
  set(true, [&] { return natsOptions_SetSendAsap(made, true); });
  set(true, [&] { return natsOptions_UseGlobalMessageDelivery(made, true); });
  set(!config.credentials.empty(), [&] {
    return natsOptions_SetUserCredentialsFromFiles(made, config.credentials.c_str(), nullptr);
  });
  set(!config.nkey.empty(), [&] {
    return natsOptions_SetNKeyFromSeed(made, config.nkey.c_str(), config.nkey_seed.c_str());
  });
  const bool is_secure = is_tls || !config.ca.empty() || !config.certificate.empty();
  set(is_secure, [&] { return natsOptions_SetSecure(made, true); });
  set(!config.ca.empty(),
      [&] { return natsOptions_LoadCATrustedCertificates(made, config.ca.c_str()); });
  set(!config.certificate.empty(), [&] {
    return natsOptions_LoadCertificatesChain(made, config.certificate.c_str(), config.key.c_str());
  });
  if (s != NATS_OK) {
    return connection_error("the address, certificates or keys cannot be used", s);
  }
  return options;
}

natsStatus open_connection(natsConnection** connection, natsOptions* options,
                           const NatsConfig& config) {
  const bool signs = !config.credentials.empty() || !config.nkey.empty();
  natsStatus s = natsConnection_Connect(connection, options);
  for (int made = 1; signs && s == NATS_CONNECTION_AUTH_FAILED && made < kMostSignatures; ++made) {
    s = natsConnection_Connect(connection, options);
  }
  return s;
}

std::string shown_address(const std::string& address) {
  const size_t scheme = address.find("://");
  const size_t begin = scheme == std::string::npos ? 0 : scheme + 3;
  const size_t secret = address.rfind('@');
  if (secret == std::string::npos || secret < begin) return printable_line(address);
  return printable_line(address.substr(0, begin) + address.substr(secret + 1));
}

}  // namespace galley
