#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "server/mcp/server.h"

namespace galley {

/// One request of one client, as its features use it.
///
/// Threads: confined to the worker that answers it.
class McpServer::Request final : public McpRequest {
 public:
  Request(McpServer& server, Running& task);

  [[nodiscard]] std::stop_token stop() const override { return task_->stop.get_token(); }
  void progress(double done, std::optional<double> total, std::string_view message) override;
  void log(std::string_view level, const nlohmann::ordered_json& data) override;
  [[nodiscard]] bool client_can(std::string_view capability) const override;
  std::optional<nlohmann::json> ask(std::string_view key, std::string_view method,
                                    nlohmann::ordered_json params) override;
  [[nodiscard]] const nlohmann::json& kept() const override { return kept_; }
  void keep(nlohmann::ordered_json state) override { keeps_ = std::move(state); }
  void come_again() override { comes_again_ = true; }
  void answer_always() override { task_->is_owed = true; }
  [[nodiscard]] const std::string& session() const override { return task_->arrival.session; }

  /// Reads `inputResponses` and `requestState` of a later round.
  /// Errors: kInvalidParams for a state that was not made for this request.
  std::optional<RpcError> take_round();
  /// Waits for the answers to the open questions of a request of the handshake era. Returns whether
  /// there were any.
  bool wait_for_answers();
  /// The answer to a stateless request while questions are open.
  [[nodiscard]] std::optional<McpAnswer> open_questions() const;

 private:
  [[nodiscard]] std::string bound_text() const;
  nlohmann::json wait_for_answer(std::string_view method, const nlohmann::ordered_json& params);

  McpServer* server_;
  Running* task_;
  std::optional<nlohmann::json> progress_token_;
  double last_progress_ = -1;
  bool comes_again_ = false;
  std::map<std::string, nlohmann::json, std::less<>> answers_;  ///< from the client, by key
  nlohmann::ordered_json open_ = nlohmann::ordered_json::object();
  std::optional<std::string> missing_;  ///< a required capability that the client lacks
  nlohmann::json kept_ = nullptr;
  nlohmann::ordered_json keeps_ = nullptr;
};

}  // namespace galley
