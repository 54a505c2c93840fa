#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace galley {

/// The state that a client carries from one round of a request to the next. It is sealed, so that
/// the client cannot change it, bound to its method and arguments, and valid for a limited time.
///
/// Format: base64(JSON {state, until}) "." base64(HMAC-SHA256 of method, arguments and the former).
/// Threads: immutable, safe to share.
class RequestState {
 public:
  /// The key is random and never leaves the process.
  explicit RequestState(const Clock& clock);

  static constexpr std::chrono::minutes kLifetime{30};
  static constexpr size_t kMaxBytes = size_t{256} << 10U;  ///< the state of a request

  [[nodiscard]] std::string seal(std::string_view method, const std::string& arguments,
                                 const nlohmann::ordered_json& state) const;
  /// Returns nullopt when it is not ours, belongs to another request, or has expired.
  [[nodiscard]] std::optional<nlohmann::json> open(std::string_view method,
                                                   const std::string& arguments,
                                                   std::string_view sealed) const;

 private:
  [[nodiscard]] std::string signature(std::string_view method, const std::string& arguments,
                                      std::string_view payload) const;
  const Clock* clock_;
  std::string key_;
};

}  // namespace galley
