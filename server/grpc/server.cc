#include "server/grpc/server.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/server_posix.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <thread>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "base/printable.h"
#include "engine/pipeline/trust.h"
#include "server/grpc/transactions_service.h"
#include "staging/fs/host_file.h"
#include "staging/fs/socket_file.h"
#include "staging/fs/user_state.h"

namespace galley {
namespace {

constexpr std::string_view kServedFile = "unix:";
constexpr const char* kHealthName = "aios-tools";
constexpr int kMostMessageBytes = 16 << 20;
constexpr size_t kMostBufferBytes = size_t{256} << 20U;  // of all connections
constexpr int kMostThreads = 128;                        // of gRPC
constexpr int kMostStreams = 128;                        // of one connection
constexpr int kIdleMs = 600'000;                         // then a connection is closed
constexpr uint64_t kMaxConfigFileBytes = uint64_t{1} << 20U;

void log_line(const std::string& text) {
  const std::string line = "galley-serve-grpc: " + printable_line(text) + "\n";
  std::fputs(line.c_str(), stderr);
}

/// The gRPC server of one principal, or of all that have certificates.
struct Door {
  Door(const ServingParts& parts, const CallerCheck& callers)
      : registry(parts, callers), transactions(parts, callers), approvals(parts, callers) {}

  RegistryService registry;
  TransactionsService transactions;
  ApprovalsService approvals;
  std::unique_ptr<grpc::Server> server;
};

Result<std::string> read_part(const std::string& file, std::string_view key, bool is_private) {
  if (file.empty()) {
    return fail(ErrorKind::kRefused, "serve.no_tls",
                "a server at HOST:PORT needs certificates: --server-config names a file with "
                "[tls] certificate, key and client_authority; tls." +
                    std::string(key) + " is missing");
  }
  return is_private ? read_private_file(file, kMaxConfigFileBytes)
                    : read_unshared_file(file, kMaxConfigFileBytes);
}

/// The texts of the certificates, for a server and as a client.
Result<grpc::SslServerCredentialsOptions> tls_of(const ServingConfig& config) {
  grpc::SslServerCredentialsOptions tls(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  GALLEY_ASSIGN(std::string certificate, read_part(config.certificate, "certificate", false));
  GALLEY_ASSIGN(std::string key, read_part(config.key, "key", true));
  GALLEY_ASSIGN(tls.pem_root_certs, read_part(config.client_authority, "client_authority", false));
  tls.pem_key_cert_pairs.push_back({std::move(key), std::move(certificate)});
  return tls;
}

class Server final : public GrpcServer {
 public:
  Server(std::unique_ptr<Workspace> workspace, ServingConfig config, const ToolProfile& profile,
         std::shared_ptr<grpc::ChannelCredentials> credentials)
      : serving_(std::move(workspace), std::move(config), profile),
        handlers_(serving_.workspace(), std::move(credentials)) {
    quota_.Resize(kMostBufferBytes).SetMaxThreads(kMostThreads);
  }
  ~Server() override { drain(); }

  [[nodiscard]] const std::string& address() const override { return address_; }

  [[nodiscard]] bool has_calls() const override { return pool_.has_calls(); }

  Result<void> open_telemetry() {
    GALLEY_ASSIGN(telemetry_, Telemetry::open(serving_.config().telemetry,
                                              {"galley-serve-grpc", "call"}, clock_, log_line));
    serving_.report_to(telemetry_.get());
    return {};
  }

  Result<void> listen_at_file(const std::string& path) {
    GALLEY_ASSIGN(file_, SocketFile::make(path));
    address_ = std::string(kServedFile) + path;
    for (const ServedPrincipal& one : serving_.config().principals) {
      if (!one.user) continue;
      GALLEY_ASSIGN(by_user_[*one.user],
                    open_door(CallerCheck::of_principal(serving_.config(), &one)));
    }
    GALLEY_ASSIGN(Door * of_unknown,
                  open_door(CallerCheck::of_principal(serving_.config(), nullptr)));
    acceptor_ = std::thread([this, of_unknown] {
      for (;;) {
        const auto peer = file_->accept();
        if (!peer || !*peer) return;
        const auto found = by_user_.find((*peer)->user);
        Door& door = found == by_user_.end() ? *of_unknown : *found->second;
        grpc::AddInsecureChannelFromFd(door.server.get(), (*peer)->descriptor);
      }
    });
    return {};
  }

  Result<void> listen_at_port(const std::string& address,
                              const grpc::SslServerCredentialsOptions& tls) {
    const Listening port = {address, grpc::SslServerCredentials(tls)};
    GALLEY_TRY(open_door(CallerCheck::by_certificate(serving_.config()), &port));
    return {};
  }

  void drain() override {
    if (file_ != nullptr) file_->stop();
    if (acceptor_.joinable()) acceptor_.join();
    questions_.end();
    const auto until = std::chrono::system_clock::now() + kDrainTime;
    for (const auto& door : doors_) {
      door->server->GetHealthCheckService()->SetServingStatus(false);
      door->server->Shutdown(until);
    }
  }

 private:
  struct Listening {
    std::string address;
    std::shared_ptr<grpc::ServerCredentials> credentials;
  };

  Result<Door*> open_door(const CallerCheck& callers, const Listening* port = nullptr) {
    auto door =
        std::make_unique<Door>(ServingParts{serving_, questions_, handlers_, pool_}, callers);
    grpc::ServerBuilder builder;
    builder.RegisterService(&door->registry);
    builder.RegisterService(&door->transactions);
    builder.RegisterService(&door->approvals);
    builder.SetMaxReceiveMessageSize(kMostMessageBytes);
    builder.SetMaxSendMessageSize(limits::kMaxJsonBytes);
    builder.SetResourceQuota(quota_);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMostStreams);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleMs);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    int number = 0;
    if (port != nullptr) builder.AddListeningPort(port->address, port->credentials, &number);
    door->server = builder.BuildAndStart();
    if (door->server == nullptr) {
      const std::string where = port == nullptr ? "the socket file" : printable_line(port->address);
      return fail(ErrorKind::kIo, "serve.failed", "gRPC cannot serve at " + where);
    }
    if (port != nullptr) {
      address_ = port->address.substr(0, port->address.rfind(':') + 1) + std::to_string(number);
    }
    door->server->GetHealthCheckService()->SetServingStatus(kHealthName, true);
    doors_.push_back(std::move(door));
    return doors_.back().get();
  }

  const SystemClock clock_;
  std::unique_ptr<Telemetry> telemetry_;
  Serving serving_;
  CustomHandlers handlers_;
  QuestionBook questions_;
  CallPool pool_;
  grpc::ResourceQuota quota_;
  std::string address_;
  std::unique_ptr<SocketFile> file_;
  std::vector<std::unique_ptr<Door>> doors_;  ///< their calls use all of the above
  std::map<uint32_t, Door*> by_user_;
  std::thread acceptor_;
};

Result<ServingConfig> config_of(const GrpcServerOptions& options) {
  if (options.config.empty()) return serving_config_of_user(effective_user());
  GALLEY_ASSIGN(const std::string text, read_unshared_file(options.config, kMaxConfigFileBytes));
  return parse_serving_config(text, options.config);
}

/// Calls could read and change files inside the workspace.
Result<void> check_outside(const std::string& file, std::string_view workspace) {
  if (file.empty() || file == "-") return {};
  const std::string real = absolute_path(file).value_or("");
  if (!is_at_or_below(normalized_path(file), workspace) && !is_at_or_below(real, workspace)) {
    return {};
  }
  return fail(ErrorKind::kRefused, "serve.config_inside",
              "'" + printable_line(file) +
                  "' is inside the workspace, where calls could read and change it: keep it "
                  "elsewhere");
}

}  // namespace

Result<std::unique_ptr<GrpcServer>> GrpcServer::open(const GrpcServerOptions& options) {
  GALLEY_ASSIGN(const ToolProfile* profile, profile_named(options.profile));
  GALLEY_ASSIGN(ServingConfig config, config_of(options));
  const bool is_file = options.address.starts_with(kServedFile);
  std::shared_ptr<grpc::ChannelCredentials> credentials;
  grpc::SslServerCredentialsOptions tls;
  if (!is_file) {
    if (options.address.find(':') == std::string::npos) {
      return fail(
          ErrorKind::kUsage, "serve.address",
          "the address is unix:PATH or HOST:PORT, not '" + printable_line(options.address) + "'");
    }
    GALLEY_ASSIGN(tls, tls_of(config));
    credentials =
        grpc::SslCredentials({tls.pem_root_certs, tls.pem_key_cert_pairs.front().private_key,
                              tls.pem_key_cert_pairs.front().cert_chain});
  }
  WorkspaceOptions asked;
  asked.uses_personal_settings = true;
  GALLEY_ASSIGN(auto workspace, Workspace::open(options.workspace, std::move(asked)));
  std::vector<std::string> files = config.telemetry.places();
  files.insert(files.end(),
               {options.config, config.certificate, config.key, config.client_authority});
  for (const std::string& file : files) {
    GALLEY_TRY(check_outside(file, workspace->root_path()));
  }
  for (const std::string& notice : workspace->notices()) log_line(notice);
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  auto server = std::make_unique<Server>(std::move(workspace), std::move(config), *profile,
                                         std::move(credentials));
  GALLEY_TRY(server->open_telemetry());
  if (is_file) {
    GALLEY_TRY(server->listen_at_file(options.address.substr(kServedFile.size())));
  } else {
    GALLEY_TRY(server->listen_at_port(options.address, tls));
  }
  return std::unique_ptr<GrpcServer>(std::move(server));
}

}  // namespace galley
