#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace galley {

/// What a client carries from one round of a request to the next: sealed, so that it is what we
/// gave it, bound to the method and arguments it was given for, and good for a while only.
///
/// Format: base64(JSON {state, until}) "." base64(HMAC-SHA256 of method, arguments and the former).
/// Threads: immutable, safe to share.
class RequestState {
 public:
  /// The key is made at random and never leaves the process.
  explicit RequestState(const Clock& clock);

  static constexpr std::chrono::minutes kLifetime{30};
  static constexpr size_t kMaxBytes = size_t{256} << 10U;

  [[nodiscard]] std::string seal(std::string_view method, const std::string& arguments,
                                 const nlohmann::ordered_json& state) const;
  /// Nothing when it is not ours, is of another request, or has expired.
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
