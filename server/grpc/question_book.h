#pragma once

#include <galley/tool.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>

#include "base/result.h"
#include "server/grpc/serving_config.h"

namespace galley {

/// The open questions about calls, and the principals who listen for them.
///
/// A call asks only while a listener could answer. Otherwise it is refused as a call at a terminal
/// without a person is, and `galley approve` can answer later.
///
/// Threads: safe to share.
class QuestionBook {
 public:
  static constexpr size_t kMostListeners = 64;
  static constexpr size_t kMostWaiting = 8;  ///< calls of one principal that wait for an answer

  /// Both functions must not wait, and must not call the book.
  struct Listener {
    std::function<void(const CallOptions::Question&)> tell;
    std::function<void()> end;  ///< the server ends
  };
  /// Adds a listener, which first receives the questions that are open. Returns its number, or
  /// nothing if there are too many.
  std::optional<uint64_t> listen(const ServedPrincipal& who, Listener listener);
  void leave(uint64_t listener);
  /// Ends all listeners, and takes no more.
  void end();

  /// Whether a principal other than `asker` listens.
  [[nodiscard]] bool can_ask(const ServedPrincipal& asker) const;
  /// Asks the listeners and waits for one answer, or for the stop of the call. The answer is no if
  /// the last listener leaves, or too many calls of the principal wait.
  /// Errors: kTimeout `call.cancelled`.
  Result<bool> ask(const ServedPrincipal& asker, const CallOptions::Question& question,
                   const std::stop_token& stop);
  /// Answers a question.
  /// Errors: kNotFound `confirmation.not_found`; kRefused `confirmation.own_call` if `who` made the
  ///         call.
  Result<void> answer(const ServedPrincipal& who, const std::string& id, bool is_yes);

 private:
  /// The same as can_ask(), with the lock held.
  [[nodiscard]] bool has_listener(const ServedPrincipal& asker) const;

  struct Open {
    const ServedPrincipal* asker = nullptr;
    CallOptions::Question question;
    std::optional<bool> answer;
  };
  struct Listening {
    const ServedPrincipal* who = nullptr;
    Listener does;
  };
  mutable std::mutex mutex_;  ///< guards all of the following
  std::condition_variable_any answered_;
  std::map<uint64_t, Open> open_;
  std::map<uint64_t, Listening> listeners_;
  uint64_t next_ = 0;
  bool is_over_ = false;
};

}  // namespace galley
