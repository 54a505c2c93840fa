// Reads any bytes with the reader of requests that `galley review` and `galley mcp --http` share.
// Reading ends. A complete request is incomplete without its last byte, and is refused with one
// more byte. The MCP server gives one answer to each, and makes no call without the token.
// Random requests to the routes of the review are in tests/system/test_review_server.py.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "server/http/http.h"
#include "server/mcp/http_door.h"

namespace galley {
namespace {

constexpr size_t kMaxBody = size_t{8} << 20U;
constexpr const char* kToken = "0123456789abcdef";

void check_whole(std::string_view bytes, const HttpRequest& request) {
  GALLEY_CHECK(request.target.starts_with('/'));
  const bool is_chunked = request.headers.contains("transfer-encoding");
  GALLEY_CHECK(is_chunked || bytes.ends_with(request.body));
  GALLEY_CHECK(request.body.size() <= kMaxBody);
  const HttpParse shorter = parse_http(bytes.substr(0, bytes.size() - 1), {kMaxBody, {}});
  GALLEY_CHECK(!shorter.request && shorter.status == 0);
  const HttpParse longer = parse_http(std::string(bytes) + "x", {kMaxBody, {}});
  GALLEY_CHECK(!longer.request && longer.status != 0);
  for (const auto& [name, value] : request.headers) {
    GALLEY_CHECK(request.header(name) == value);
    const auto is_line_end = [](char c) { return c == '\r' || c == '\n' || c == '\0'; };
    GALLEY_CHECK(std::none_of(value.begin(), value.end(), is_line_end));
  }
}

/// Features that must not be used by a request without the token.
class GuardedFeatures final : public McpFeatures {
 public:
  explicit GuardedFeatures(bool may_call) : may_call_(may_call) {}
  [[nodiscard]] Identity identity() const override { return {"fuzz", "", "1", ""}; }
  std::vector<nlohmann::ordered_json> tools() override { return used(); }
  McpAnswer call_tool(const std::string& /*name*/, const nlohmann::json& /*arguments*/,
                      McpRequest& /*request*/) override {
    used();
    return nlohmann::ordered_json::object();
  }
  McpArrival arrive(const std::string& /*method*/, const nlohmann::json& /*params*/) override {
    GALLEY_CHECK(may_call_);
    return {};
  }
  std::vector<nlohmann::ordered_json> resources() override { return used(); }
  std::vector<nlohmann::ordered_json> resource_templates() override { return used(); }
  McpAnswer read_resource(const std::string& /*uri*/, McpRequest& /*request*/) override {
    used();
    return nlohmann::ordered_json::object();
  }
  std::vector<nlohmann::ordered_json> prompts() override { return used(); }
  McpAnswer get_prompt(const std::string& /*name*/, const nlohmann::json& /*arguments*/,
                       McpRequest& /*request*/) override {
    used();
    return nlohmann::ordered_json::object();
  }
  std::vector<std::string> complete(const Completion& /*wanted*/) override { return {}; }
  void on_change(Changed /*changed*/) override {}

 private:
  std::vector<nlohmann::ordered_json> used() const {
    GALLEY_CHECK(may_call_);
    return {};
  }
  bool may_call_;
};

class OneConnection final : public LocalConnection {
 public:
  void send(std::string_view bytes) override {
    GALLEY_CHECK(!is_finished_);
    said += bytes;
  }
  void finish() override { is_finished_ = true; }
  std::string said;

 private:
  bool is_finished_ = false;
};

/// A listener with one request.
class OneRequest final : public LocalListener {
 public:
  OneRequest(std::string_view bytes, std::shared_ptr<OneConnection> connection)
      : bytes_(bytes), connection_(std::move(connection)) {}
  [[nodiscard]] const std::string& name() const override { return name_; }
  Result<Event> next(const Wait& wait) override {
    is_over = true;
    return wait.look(bytes_).missing == 0 ? Event{connection_, bytes_, false} : Event();
  }
  void flush(const Deadline& /*deadline*/) override {}
  bool is_over = false;

 private:
  std::string name_ = "h";
  std::string bytes_;
  std::shared_ptr<OneConnection> connection_;
};

void check_door(std::string_view bytes) {
  const SystemClock clock;
  const auto connection = std::make_shared<OneConnection>();
  OneRequest listener(bytes, connection);
  const bool may_call = bytes.find(kToken) != std::string_view::npos;
  McpHttpDoor::Options options;
  options.host.name = "h";
  options.token = kToken;
  options.must_end = [&listener] { return listener.is_over; };
  options.paths["/mcp"] =
      [=](const McpHttpDoor::Opening& /*opening*/) -> Result<std::shared_ptr<McpFeatures>> {
    return std::make_shared<GuardedFeatures>(may_call);
  };
  McpHttpDoor door(listener, options, clock);
  GALLEY_CHECK(door.open().has_value());
  GALLEY_CHECK(door.serve().has_value());
  const std::string& said = connection->said;
  GALLEY_CHECK(said.empty() || said.starts_with("HTTP/1.1 "));
  GALLEY_CHECK(may_call || said.empty() || said.starts_with("HTTP/1.1 4"));
}

}  // namespace
}  // namespace galley

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const galley::HttpParse parse = galley::parse_http(bytes, {galley::kMaxBody, {}});
  GALLEY_CHECK(!parse.request || parse.status == 0);
  if (parse.request) galley::check_whole(bytes, *parse.request);
  galley::check_door(bytes);
  return 0;
}
