#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_map>

#include "base/clock.h"
#include "base/result.h"

namespace galley {

/// The results of calls that several processes share.
class SharedAnswers {
 public:
  struct Answer {
    std::string call;         ///< the hash of tool and arguments
    std::string result = {};  ///< JSON text; empty: the call began, and its end is not known
  };
  virtual ~SharedAnswers() = default;
  /// Notes that a call begins. Returns what is known of it if it began before. If another process
  /// that takes calls performs it, may wait for its end until `stop`, at most kMostWait.
  virtual Result<std::optional<Answer>> begin(const std::string& session,
                                              const std::string& call_id, const std::string& hash,
                                              const std::stop_token& stop) = 0;
  static constexpr std::chrono::seconds kMostWait{60};
  virtual void keep(const std::string& session, const std::string& call_id,
                    const Answer& answer) = 0;
  /// Notes that a call that began has not run, so that it may be made again.
  virtual void forget(const std::string& session, const std::string& call_id) = 0;
  /// Whether results can be shared now.
  virtual Result<void> check() = 0;
};

/// The results of earlier calls, by session and call id, so that a call that is delivered twice is
/// made once.
///
/// Invariant: at most kMostAnswers results with kMostBytes of text, none older than kLast. The
///            oldest are dropped first.
/// Threads:   safe to share.
class AnswerBook {
 public:
  static constexpr size_t kMostAnswers = 10'000;
  static constexpr size_t kMostBytes = size_t{64} << 20U;
  static constexpr std::chrono::hours kLast{1};

  explicit AnswerBook(const Clock& clock) : clock_(&clock) {}

  using Answer = SharedAnswers::Answer;
  /// Returns the result of a call, if it is kept.
  [[nodiscard]] std::optional<Answer> find(const std::string& session, const std::string& call_id);
  /// Keeps the result of a call that ended some time ago, unless the call has one.
  void keep(const std::string& session, const std::string& call_id, Answer answer,
            std::chrono::nanoseconds age = {});

 private:
  struct Row {
    std::string key;
    Answer answer;
    std::chrono::steady_clock::time_point made;
  };
  void drop_oldest();
  void drop_stale();

  const Clock* clock_;
  std::mutex mutex_;
  std::list<Row> rows_;  ///< oldest first
  std::unordered_map<std::string, std::list<Row>::iterator> by_key_;
  size_t bytes_ = 0;
};

}  // namespace galley
