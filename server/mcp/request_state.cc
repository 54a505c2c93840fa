#include "server/mcp/request_state.h"

#include "base/encoding.h"
#include "base/hash.h"
#include "tools/json_input.h"

namespace galley {
namespace {

constexpr size_t kKeyDigits = 64;

int64_t lifetime_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(RequestState::kLifetime).count();
}

}  // namespace

RequestState::RequestState(const Clock& clock) : clock_(&clock), key_(random_hex(kKeyDigits)) {}

std::string RequestState::signature(std::string_view method, const std::string& arguments,
                                    std::string_view payload) const {
  // A length before each part, so that different triples have different texts.
  std::string text;
  for (const std::string_view part : {method, std::string_view(arguments), payload}) {
    text += std::to_string(part.size());
    text += ':';
    text += part;
  }
  return base64(hmac_sha256(key_, text));
}

std::string RequestState::seal(std::string_view method, const std::string& arguments,
                               const nlohmann::ordered_json& state) const {
  nlohmann::ordered_json document;
  document["state"] = state;
  document["until"] = clock_->wall_ns() + lifetime_ns();
  const std::string payload = base64(json_text(document));
  return payload + "." + signature(method, arguments, payload);
}

std::optional<nlohmann::json> RequestState::open(std::string_view method,
                                                 const std::string& arguments,
                                                 std::string_view sealed) const {
  const size_t dot = sealed.find('.');
  if (sealed.size() > kMaxBytes || dot == std::string_view::npos) return {};
  const std::string_view payload = sealed.substr(0, dot);
  if (!equal_in_constant_time(signature(method, arguments, payload), sealed.substr(dot + 1))) {
    return {};
  }
  std::string text;
  if (!from_base64(payload, text)) return {};
  const auto document = parse_json(text);
  if (!document || !document->is_object()) return {};
  const auto until = document->find("until");
  const auto state = document->find("state");
  if (until == document->end() || state == document->end()) return {};
  if (clock_->wall_ns() > until->get<int64_t>()) return {};
  return *state;
}

}  // namespace galley
