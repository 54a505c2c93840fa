#include "server/grpc/custom_handlers.h"

#include <grpcpp/create_channel_posix.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <optional>
#include <utility>

#include "base/printable.h"
#include "staging/fs/socket_file.h"

namespace galley {

using aios::tools::ExecuteRequest;
using aios::tools::ExecuteResponse;
using aios::tools::RegisterRequest;
using aios::tools::ToolHandler;

namespace {

constexpr std::string_view kFileAddress = "unix:";
constexpr std::string_view kNamespace = "custom";
constexpr std::chrono::seconds kConnectTime{5};
constexpr std::chrono::minutes kMostHandlerTime{10};
/// How long a call that was stopped goes on, at most.
constexpr std::chrono::milliseconds kStopTime{50};

Result<ToolInfo::Risk> risk_of(const std::string& word) {
  using Risk = ToolInfo::Risk;
  if (word.empty() || word == "medium") return Risk::kMedium;
  if (word == "low") return Risk::kLow;
  if (word == "high") return Risk::kHigh;
  if (word == "critical") return Risk::kCritical;
  return fail(ErrorKind::kUsage, "handler.risk",
              "risk_level is low, medium, high or critical, not '" + printable_line(word) + "'");
}

/// The tier follows from the risk, because nothing that the program does can be reverted here.
ToolInfo::Tier tier_of(ToolInfo::Risk risk) {
  if (risk == ToolInfo::Risk::kLow) return ToolInfo::Tier::kStandard;
  return risk == ToolInfo::Risk::kMedium ? ToolInfo::Tier::kElevated : ToolInfo::Tier::kRestricted;
}

Result<ToolInfo> info_of(const aios::tools::ToolDefinition& message) {
  ToolInfo info;
  info.name = message.name();
  info.title = info.name;
  info.description = message.description();
  if (!message.version().empty()) info.version = message.version();
  if (!message.namespace_().empty() && message.namespace_() != kNamespace) {
    return fail(ErrorKind::kUsage, "handler.name",
                "the namespace of a registered tool is custom or empty, not '" +
                    printable_line(message.namespace_()) + "'");
  }
  info.namespace_name = message.namespace_();
  info.input_schema = message.input_schema();
  info.output_schema =
      message.output_schema().empty() ? R"({"type": "object"})" : message.output_schema();
  info.annotations.idempotent = message.idempotent();
  info.annotations.open_world = true;
  info.capabilities.assign(message.required_capabilities().begin(),
                           message.required_capabilities().end());
  info.category = ToolInfo::Category::kApi;
  GALLEY_ASSIGN(info.risk_level, risk_of(message.risk_level()));
  info.security_tier = tier_of(info.risk_level);
  info.requires_confirmation = message.requires_confirmation();
  info.is_reversible = message.reversible();
  info.rollback_tool = message.rollback_tool();
  if (message.timeout_ms() < 0) {
    return fail(ErrorKind::kUsage, "handler.timeout",
                "timeout_ms is a number of milliseconds, or 0, not " +
                    std::to_string(message.timeout_ms()));
  }
  if (message.timeout_ms() > 0) {
    info.timeout = std::min<std::chrono::milliseconds>(
        std::chrono::milliseconds(message.timeout_ms()), kMostHandlerTime);
  }
  return info;
}

}  // namespace

/// The way to the program of a tool.
class CustomHandlers::Connection {
 public:
  /// Takes the descriptor.
  explicit Connection(int descriptor)
      : watched_(::dup(descriptor)),
        channel_(grpc::CreateInsecureChannelFromFd("handler", descriptor)) {}
  explicit Connection(std::shared_ptr<grpc::Channel> channel) : channel_(std::move(channel)) {}
  ~Connection() {
    if (watched_ >= 0) close_connection(watched_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  [[nodiscard]] bool is_alive() const {
    if (watched_ < 0) return channel_->GetState(false) == GRPC_CHANNEL_READY;
    pollfd look = {watched_, POLLRDHUP, 0};
    return ::poll(&look, 1, 0) == 0;
  }

  /// Calls the program, and gives up when the call should stop.
  Result<std::string> call(const std::string& tool, std::chrono::milliseconds limit,
                           const ToolRun& run) const {
    const auto stub = ToolHandler::NewStub(channel_);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + limit);
    ExecuteRequest request;
    request.set_tool_name(tool);
    request.set_agent_id(run.agent());
    request.set_input_json(run.arguments());
    ExecuteResponse response;
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<grpc::Status> status;
    stub->async()->Execute(&context, &request, &response, [&](grpc::Status said) {
      const std::lock_guard lock(mutex);
      status = std::move(said);
      changed.notify_all();
    });
    std::unique_lock lock(mutex);
    while (!changed.wait_for(lock, kStopTime, [&] { return status.has_value(); })) {
      if (run.should_stop()) context.TryCancel();
    }
    if (status->ok() && response.success()) return response.output_json();
    if (status->ok()) {
      return fail(ErrorKind::kConflict, "tool.failed", sanitized_text(response.error()));
    }
    const bool is_late = status->error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
    return fail(is_late ? ErrorKind::kTimeout : ErrorKind::kIo,
                is_late ? "tool.timeout" : "service.unavailable",
                "the program of the tool '" + tool +
                    "' gave no answer: " + sanitized_text(status->error_message()));
  }

 private:
  int watched_ = -1;  ///< the connection of a socket file; -1: TCP
  std::shared_ptr<grpc::Channel> channel_;
};

/// The program of a tool, and the connection to it.
class CustomHandlers::Program {
 public:
  /// `persists`: connect again, if the program has left, when it is called.
  Program(const CustomHandlers& handlers, const ServedPrincipal& who, std::string address,
          bool persists)
      : handlers_(&handlers), who_(&who), address_(std::move(address)), persists_(persists) {}

  [[nodiscard]] bool is_offered() {
    if (persists_) return true;
    const std::lock_guard lock(mutex_);
    return connection_ != nullptr && connection_->is_alive();
  }
  Result<std::shared_ptr<Connection>> connected() {
    const std::lock_guard lock(mutex_);
    const bool is_first = connection_ == nullptr;
    if (is_first || (persists_ && !connection_->is_alive())) {
      GALLEY_ASSIGN(connection_, handlers_->connect(*who_, address_));
    }
    return connection_;
  }

 private:
  const CustomHandlers* handlers_;
  const ServedPrincipal* who_;
  std::string address_;
  bool persists_;
  std::mutex mutex_;
  std::shared_ptr<Connection> connection_;  ///< guarded by mutex_
};

CustomHandlers::CustomHandlers(Workspace& workspace,
                               std::shared_ptr<grpc::ChannelCredentials> credentials)
    : workspace_(&workspace), credentials_(std::move(credentials)) {}
CustomHandlers::~CustomHandlers() = default;

Result<std::shared_ptr<CustomHandlers::Connection>> CustomHandlers::connect(
    const ServedPrincipal& who, const std::string& address) const {
  if (who.user && address.starts_with(kFileAddress) && address[kFileAddress.size()] == '/') {
    GALLEY_ASSIGN(const SocketFile::Peer peer,
                  connect_socket_file(address.substr(kFileAddress.size())));
    if (peer.user == *who.user) return std::make_shared<Connection>(peer.descriptor);
    close_connection(peer.descriptor);
    return fail(ErrorKind::kRefused, "handler.other_owner",
                "another user listens at '" + printable_line(address) + "'");
  }
  if (!who.user && credentials_ != nullptr && !address.starts_with(kFileAddress)) {
    auto channel = grpc::CreateChannel("dns:" + address, credentials_);
    if (channel->WaitForConnected(std::chrono::system_clock::now() + kConnectTime)) {
      return std::make_shared<Connection>(std::move(channel));
    }
    return fail(ErrorKind::kIo, "service.unavailable",
                "nothing with a certificate of the client authority answers at '" +
                    printable_line(address) + "'");
  }
  return fail(
      ErrorKind::kUsage, "handler.address",
      "handler_address is unix:/absolute/path for callers at the socket file, and HOST:PORT "
      "for callers with a certificate");
}

Result<void> CustomHandlers::add(const ServedPrincipal& who, const RegisterRequest& request) {
  const std::string& name = request.tool().name();
  constexpr std::string_view kNameBytes =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
  if (!name.starts_with(kPrefix) || name.size() == kPrefix.size() ||
      name.find_first_not_of(kNameBytes) != std::string::npos) {
    return fail(ErrorKind::kUsage, "handler.name",
                "the name of a registered tool is custom. and letters, digits, '_', '-' and '.', "
                "unlike '" +
                    printable_line(name) + "'");
  }
  ToolDefinition tool;
  GALLEY_ASSIGN(tool.info, info_of(request.tool()));
  const std::lock_guard lock(mutex_);
  std::erase_if(handlers_, [&](const auto& entry) {
    if (entry.second.program->is_offered()) return false;
    (void)workspace_->remove_tool(entry.first);
    return true;
  });
  const auto old = handlers_.find(name);
  if (old != handlers_.end() && old->second.owner != &who) {
    return fail(ErrorKind::kRefused, "handler.other_owner",
                "another principal has registered the tool '" + name + "'");
  }
  if (old == handlers_.end() && handlers_.size() >= kMostTools) {
    return fail(ErrorKind::kQuota, "limit.handlers",
                "at most " + std::to_string(kMostTools) + " tools can be registered");
  }
  const auto program =
      std::make_shared<Program>(*this, who, request.handler_address(), request.persist());
  GALLEY_TRY(program->connected());
  const std::chrono::milliseconds limit = tool.info.timeout.value_or(kMostHandlerTime);
  tool.run = [program, name, limit](ToolRun& run) -> Result<std::string> {
    GALLEY_ASSIGN(const auto connection, program->connected());
    return connection->call(name, limit, run);
  };
  tool.is_available = [program](const std::string&, const std::string&) {
    return program->is_offered();
  };
  tool.sanitize = sanitized_text;
  if (old != handlers_.end()) GALLEY_TRY(workspace_->remove_tool(name));
  const Result<void> added = workspace_->add_tool(tool);
  if (added) {
    handlers_[name] = {&who, program, std::move(tool)};
  } else if (old != handlers_.end()) {
    GALLEY_TRY(workspace_->add_tool(old->second.tool));
  }
  return added;
}

}  // namespace galley
