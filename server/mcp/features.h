#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tools/mcp/rpc_message.h"

namespace galley {

/// One request in progress. The features of a server use it to send messages to the client while
/// they handle the request. It is the same in both eras of the protocol.
///
/// Threads:   confined to the thread of the request; the stop token may be waited on by others.
/// Ownership: borrowed for one request.
class McpRequest {
 public:
  virtual ~McpRequest() = default;

  /// Stop is requested when the client cancels or disconnects.
  [[nodiscard]] virtual std::stop_token stop() const = 0;
  /// Reports progress; dropped if the client gave no token, or `done` did not grow.
  virtual void progress(double done, std::optional<double> total, std::string_view message) = 0;
  /// Sends a log line to the client: `debug`, `info`, `notice`, `warning`, `error`.
  virtual void log(std::string_view level, const nlohmann::ordered_json& data) = 0;
  /// Whether the client declared the capability: `elicitation` with forms, `sampling`, `roots`.
  [[nodiscard]] virtual bool client_can(std::string_view capability) const = 0;

  /// Asks the client for something (`elicitation/create`, `sampling/createMessage`, `roots/list`).
  ///
  /// Returns nullopt if the answer must come in a later round. Then the features must return at
  /// once. They are called again from the beginning when the answer arrives. `key` identifies the
  /// question within the request and must stay the same. In the handshake era this call waits for
  /// the answer and returns nullopt only after come_again(). While a request waits for an answer,
  /// other requests of its lane that only read are handled.
  virtual std::optional<nlohmann::json> ask(std::string_view key, std::string_view method,
                                            nlohmann::ordered_json params) = 0;
  /// From now on, the features are called again after each question in the handshake era too, so
  /// that they hold nothing while it is open.
  virtual void come_again() = 0;
  /// The state that was kept for the next round of this request; null in the first round.
  [[nodiscard]] virtual const nlohmann::json& kept() const = 0;
  /// Keeps a state for the next round. The client stores it, but cannot change it.
  virtual void keep(nlohmann::ordered_json state) = 0;
  /// The request has an effect that its client must know, so it is answered even if it was
  /// cancelled.
  virtual void answer_always() = 0;
  /// The session of McpArrival.
  [[nodiscard]] virtual const std::string& session() const = 0;
};

/// What features say about a request when it arrives.
struct McpArrival {
  /// Requests of one lane are handled in order, one at a time (but see McpRequest::ask). A request
  /// without a lane (an empty text) runs in parallel with all others.
  std::string lane = {};
  bool only_reads = false;  ///< it may run while another request of its lane waits for an answer
  /// The session in which the client sent it, if features tell sessions of one client apart.
  std::string session = {};
};

/// A result or an error.
using McpAnswer = std::variant<nlohmann::ordered_json, RpcError>;

/// The tools, resources and prompts of a server, independent of messages. Galley has one
/// implementation; the conformance tests have another.
///
/// Threads: called from several threads at once.
/// Errors:  an RpcError; no exception.
class McpFeatures {
 public:
  struct Identity {
    std::string name;
    std::string title;
    std::string version;
    std::string instructions;  ///< for the model: how to use the server
  };

  virtual ~McpFeatures() = default;
  [[nodiscard]] virtual Identity identity() const = 0;

  /// `Tool` objects in a fixed order.
  virtual std::vector<nlohmann::ordered_json> tools() = 0;
  /// A `CallToolResult`.
  /// Errors: kInvalidParams for an unknown tool.
  virtual McpAnswer call_tool(const std::string& name, const nlohmann::json& arguments,
                              McpRequest& request) = 0;
  /// Called for each request when it arrives, from one thread at a time.
  virtual McpArrival arrive(const std::string& method, const nlohmann::json& params) = 0;
  /// `Resource` and `ResourceTemplate` objects.
  virtual std::vector<nlohmann::ordered_json> resources() = 0;
  virtual std::vector<nlohmann::ordered_json> resource_templates() = 0;
  /// A `ReadResourceResult`.
  /// Errors: kInvalidParams, with the URI in its data, for an unknown one.
  virtual McpAnswer read_resource(const std::string& uri, McpRequest& request) = 0;
  /// `Prompt` objects.
  virtual std::vector<nlohmann::ordered_json> prompts() = 0;
  /// A `GetPromptResult`.
  /// Errors: kInvalidParams.
  virtual McpAnswer get_prompt(const std::string& name, const nlohmann::json& arguments,
                               McpRequest& request) = 0;
  /// A request to complete an argument of a prompt or template.
  struct Completion {
    nlohmann::json reference;                            ///< the `ref` of the request
    std::string argument;                                ///< its name
    std::string typed;                                   ///< the beginning that values must have
    nlohmann::json resolved = nlohmann::json::object();  ///< the other arguments that were given
  };
  virtual std::vector<std::string> complete(const Completion& wanted) = 0;

  /// Stands for the list of tools in place of a URI.
  static constexpr std::string_view kListOfTools = "tools/list";
  /// A function to call after a change of the resource with that URI, of the list of resources (an
  /// empty URI), or of the list of tools (kListOfTools). A URI that ends with a slash stands for
  /// all resources below it.
  using Changed = std::function<void(std::string_view uri)>;
  virtual void on_change(Changed changed) = 0;
};

}  // namespace galley
