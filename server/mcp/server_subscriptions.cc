#include <utility>

#include "server/mcp/server.h"

namespace galley {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kSubscriptionKey = "io.modelcontextprotocol/subscriptionId";

bool is_list(std::string_view uri) { return uri.empty() || uri == McpFeatures::kListOfTools; }

ordered_json params_for(std::string_view uri) {
  ordered_json params = ordered_json::object();
  if (!is_list(uri)) params["uri"] = uri;
  return params;
}

/// The subscriptions that a change concerns.
std::vector<std::string> concerned(const std::set<std::string>& uris, std::string_view changed) {
  std::vector<std::string> found;
  if (is_list(changed)) return found;
  for (auto at = uris.lower_bound(std::string(changed)); at != uris.end(); ++at) {
    const bool is_below = changed.ends_with('/') && at->starts_with(changed);
    if (*at != changed && !is_below) break;
    found.push_back(*at);
  }
  return found;
}

const char* notification_for(std::string_view uri) {
  if (uri == McpFeatures::kListOfTools) return "notifications/tools/list_changed";
  return uri.empty() ? "notifications/resources/list_changed" : "notifications/resources/updated";
}

}  // namespace

McpAnswer McpServer::subscribe(const json& params, bool is_on) {
  const auto uri = params.find("uri");
  if (uri == params.end() || !uri->is_string()) {
    return RpcError{rpc::kInvalidParams, "a subscription names a 'uri'"};
  }
  const std::lock_guard lock(mutex_);
  if (is_on && subscribed_.size() >= kMaxSubscriptions) {
    return RpcError{rpc::kInvalidParams, "one client has at most 1000 subscriptions"};
  }
  if (is_on) {
    subscribed_.insert(uri->get<std::string>());
  } else {
    subscribed_.erase(uri->get<std::string>());
  }
  return ordered_json::object();
}

/// Opens a stream of notifications; its first message says which ones it will contain.
void McpServer::listen(const RpcMessage& message, Origin origin) {
  const auto wanted = message.params.find("notifications");
  if (wanted == message.params.end() || !wanted->is_object()) {
    reply(message.id, origin,
          RpcError{rpc::kInvalidParams, "'subscriptions/listen' names 'notifications'"});
    return;
  }
  Listener listener;
  listener.stream = origin.stream;
  ordered_json agreed = ordered_json::object();
  const auto flag = [&](const char* key) {
    const auto found = wanted->find(key);
    return found != wanted->end() && found->is_boolean() && found->get<bool>();
  };
  if (flag("toolsListChanged")) {
    agreed["toolsListChanged"] = true;
    listener.wants_tools = true;
  }
  if (flag("resourcesListChanged")) {
    agreed["resourcesListChanged"] = true;
    listener.wants_resources = true;
  }
  const auto uris = wanted->find("resourceSubscriptions");
  if (uris != wanted->end() && uris->is_array()) {
    agreed["resourceSubscriptions"] = ordered_json::array();
    for (const json& uri : *uris) {
      if (!uri.is_string() || listener.uris.size() >= kMaxSubscriptions) continue;
      listener.uris.insert(uri.get<std::string>());
      agreed["resourceSubscriptions"].push_back(ordered_json(uri));
    }
  }
  ordered_json params;
  params["_meta"][kSubscriptionKey] = to_json(message.id);
  params["notifications"] = std::move(agreed);
  // Held until the first message is sent, so that later changes are reported after it.
  const std::lock_guard sending(send_mutex_);
  if (!add_listener({origin.client, message.id}, std::move(listener))) {
    send_({error_line(message.id, {rpc::kInvalidRequest, "there are too many subscriptions"}),
           origin.stream, true, rpc::kInvalidRequest});
    return;
  }
  send_({notification_line("notifications/subscriptions/acknowledged", params), origin.stream});
}

bool McpServer::add_listener(const Key& key, Listener listener) {
  const std::lock_guard lock(mutex_);
  if (listeners_.size() >= kMaxSubscriptions) return false;
  return listeners_.emplace(key, std::move(listener)).second;
}

/// The features call it from the thread of a request.
void McpServer::changed(std::string_view uri) {
  std::vector<Outgoing> messages;
  const auto add = [&](std::string_view about, const Key* listener, uint64_t stream) {
    ordered_json params = params_for(about);
    if (listener != nullptr) params["_meta"][kSubscriptionKey] = to_json(listener->second);
    messages.push_back({notification_line(notification_for(about), params), stream});
  };
  {
    const std::lock_guard lock(mutex_);
    if (is_initialized_ && is_list(uri)) add(uri, nullptr, 0);
    for (const std::string& each : concerned(subscribed_, uri)) add(each, nullptr, 0);
    for (const auto& [key, listener] : listeners_) {
      const bool wants_list =
          uri == McpFeatures::kListOfTools ? listener.wants_tools : listener.wants_resources;
      if (is_list(uri) && wants_list) add(uri, &key, listener.stream);
      for (const std::string& each : concerned(listener.uris, uri)) {
        add(each, &key, listener.stream);
      }
    }
  }
  for (const Outgoing& message : messages) send(message);
}

/// A stream that the server ends is answered; one that the client cancelled is not.
void McpServer::end_listeners() {
  std::map<Key, Listener> ended;
  {
    const std::lock_guard lock(mutex_);
    ended.swap(listeners_);
  }
  for (const auto& [key, listener] : ended) {
    ordered_json result;
    result["_meta"][kSubscriptionKey] = to_json(key.second);
    result["resultType"] = "complete";
    reply(key.second, {key.first, listener.stream}, result);
  }
}

}  // namespace galley
