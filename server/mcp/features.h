#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tools/mcp/rpc_message.h"

namespace galley {

/// One request on its way: what the features of a server can say to the client while they answer,
/// the same in both eras of the protocol.
///
/// Threads:   confined to the thread of the request; the stop token may be waited on by others.
/// Ownership: borrowed for one request.
class McpRequest {
 public:
  virtual ~McpRequest() = default;

  /// Requested when the client cancelled, or is gone.
  [[nodiscard]] virtual std::stop_token stop() const = 0;
  /// Tells how far it is; dropped where the client gave no token, or `done` did not grow.
  virtual void progress(double done, std::optional<double> total, std::string_view message) = 0;
  /// A line of the log for the client: `debug`, `info`, `notice`, `warning`, `error`.
  virtual void log(std::string_view level, const nlohmann::ordered_json& data) = 0;
  /// Whether the client declared it: `elicitation`, `sampling`, `roots`.
  [[nodiscard]] virtual bool client_can(std::string_view capability) const = 0;

  /// Asks the client for something (`elicitation/create`, `sampling/createMessage`, `roots/list`).
  ///
  /// Nothing while the answer is not there: then the features return at once, and are asked again
  /// from the beginning when it is. `key` names the question among those of one request and stays
  /// the same then. In the handshake era this waits, and the answer is always there.
  virtual std::optional<nlohmann::json> ask(std::string_view key, std::string_view method,
                                            nlohmann::ordered_json params) = 0;
  /// What was kept for the next round of this request; null in the first.
  [[nodiscard]] virtual const nlohmann::json& kept() const = 0;
  /// Keeps it: the client carries it, and cannot change it.
  virtual void keep(nlohmann::ordered_json state) = 0;
};

/// A result, or why there is none.
using McpAnswer = std::variant<nlohmann::ordered_json, RpcError>;

/// What a server offers, without a word about messages; one implementation is Galley's, another the
/// fixture that the conformance tests ask for.
///
/// Threads: called from several threads at once.
/// Errors:  an RpcError; no exception.
class McpFeatures {
 public:
  struct Identity {
    std::string name;
    std::string title;
    std::string version;
    std::string instructions;  ///< for the model, how to use the server
  };

  virtual ~McpFeatures() = default;
  [[nodiscard]] virtual Identity identity() const = 0;

  /// `Tool` objects in a fixed order.
  virtual std::vector<nlohmann::ordered_json> tools() = 0;
  /// A `CallToolResult`.
  /// Errors: kInvalidParams for a tool that is not there.
  virtual McpAnswer call_tool(const std::string& name, const nlohmann::json& arguments,
                              McpRequest& request) = 0;
  /// What a request works on: requests of one lane are worked on in the order in which they came,
  /// and one at a time. Empty: beside any other. Called from one thread at a time.
  [[nodiscard]] virtual std::string lane_of(const std::string& method,
                                            const nlohmann::json& params) const = 0;
  /// `Resource` and `ResourceTemplate` objects.
  virtual std::vector<nlohmann::ordered_json> resources() = 0;
  virtual std::vector<nlohmann::ordered_json> resource_templates() = 0;
  /// A `ReadResourceResult`.
  /// Errors: kInvalidParams, with the URI in its data, for one that is not there.
  virtual McpAnswer read_resource(const std::string& uri, McpRequest& request) = 0;
  /// `Prompt` objects.
  virtual std::vector<nlohmann::ordered_json> prompts() = 0;
  /// A `GetPromptResult`.
  /// Errors: kInvalidParams.
  virtual McpAnswer get_prompt(const std::string& name, const nlohmann::json& arguments,
                               McpRequest& request) = 0;
  /// What of a prompt or template is to be completed.
  struct Completion {
    nlohmann::json reference;                            ///< the `ref` of the request
    std::string argument;                                ///< its name
    std::string typed;                                   ///< what values have to begin with
    nlohmann::json resolved = nlohmann::json::object();  ///< other arguments, as far as given
  };
  virtual std::vector<std::string> complete(const Completion& wanted) = 0;

  /// Stands for the list of tools where a URI is expected.
  static constexpr std::string_view kListOfTools = "tools/list";
  /// What to call when the resource of a URI, (with an empty URI) the list of them, or (with
  /// kListOfTools) that of the tools changed.
  using Changed = std::function<void(std::string_view uri)>;
  virtual void on_change(Changed changed) = 0;
};

}  // namespace galley
