#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "server/mcp/server.h"

namespace galley {

using nlohmann::json;
using nlohmann::ordered_json;

/// Server features with one tool, whose work is a function of the test.
class OneTool final : public McpFeatures {
 public:
  std::function<McpAnswer(McpRequest&)> work = [](McpRequest&) { return ordered_json::object(); };

  [[nodiscard]] Identity identity() const override { return {"one", "", "1", ""}; }
  std::vector<ordered_json> tools() override { return {{{"name", "work"}}}; }
  McpAnswer call_tool(const std::string& name, const json& arguments,
                      McpRequest& request) override {
    {
      const std::lock_guard lock(mutex_);
      begun.push_back(arguments);
    }
    if (name != "work") return RpcError{rpc::kInvalidParams, "there is no such tool"};
    return work(request);
  }
  McpArrival arrive(const std::string& /*method*/, const json& params) override {
    return {params.contains("arguments") ? params["arguments"].value("lane", "") : std::string()};
  }
  std::vector<ordered_json> resources() override {
    return std::vector<ordered_json>(McpServer::kPageItems + 1, ordered_json::object());
  }
  std::vector<ordered_json> resource_templates() override { return {}; }
  McpAnswer read_resource(const std::string& /*uri*/, McpRequest& /*request*/) override {
    return ordered_json::object();
  }
  std::vector<ordered_json> prompts() override { return {}; }
  McpAnswer get_prompt(const std::string& /*name*/, const json& /*arguments*/,
                       McpRequest& request) override {
    return work(request);
  }
  std::vector<std::string> complete(const Completion& wanted) override {
    completed = wanted.resolved;
    return std::vector<std::string>(101, "x");
  }
  void on_change(Changed changed) override { changed_ = std::move(changed); }
  void change(std::string_view uri) { changed_(uri); }
  std::vector<json> begun;  ///< arguments of all calls, in the order in which the calls began
  json completed;           ///< the other arguments that came with a completion request

 private:
  Changed changed_;
  std::mutex mutex_;
};

/// A server and every message that it sent.
class McpServerFacts : public ::testing::Test {
 protected:
  OneTool features;
  SystemClock clock;
  std::mutex mutex;
  std::condition_variable said_more;
  std::vector<json> said;
  McpServer server{features, clock, [this](const McpServer::Outgoing& message) {
                     const std::lock_guard lock(mutex);
                     said.push_back(json::parse(message.line));
                     said_more.notify_all();
                   }};

  void take(const json& message) { server.take(message.dump()); }
  void shake_hands(const json& capabilities = json::object()) {
    take({{"jsonrpc", "2.0"},
          {"id", "hello"},
          {"method", "initialize"},
          {"params", {{"protocolVersion", "2025-11-25"}, {"capabilities", capabilities}}}});
  }
  static json request(const json& id, const std::string& method, json params = json::object()) {
    return {{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", std::move(params)}};
  }
  static json call(const json& id) { return request(id, "tools/call", {{"name", "work"}}); }
  static json stateless(json message, const json& capabilities = json::object()) {
    message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28";
    message["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = capabilities;
    return message;
  }
  /// Waits for a message that satisfies `is_it`, and returns the last such message.
  json wait_for(const std::function<bool(const json&)>& is_it) {
    std::unique_lock lock(mutex);
    json found;
    said_more.wait(lock, [&] {
      for (const json& message : said) {
        if (is_it(message)) found = message;
      }
      return !found.is_null();
    });
    return found;
  }
  json answer_to(const json& id) {
    return wait_for([&](const json& message) {
      return !message.contains("method") && message.contains("id") && message["id"] == id;
    });
  }
  size_t answers_to(const json& id) {
    const std::lock_guard lock(mutex);
    return static_cast<size_t>(std::count_if(said.begin(), said.end(), [&](const json& message) {
      return !message.contains("method") && message.contains("id") && message["id"] == id;
    }));
  }
};

/// A door that blocks a call until the test opens it.
class Door {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    moved_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    moved_.wait(lock, [this] { return is_open_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable moved_;
  bool is_open_ = false;
};

}  // namespace galley
