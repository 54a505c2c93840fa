#include "server/grpc/question_book.h"

#include <algorithm>
#include <utility>

#include "base/printable.h"

namespace galley {

std::optional<uint64_t> QuestionBook::listen(const ServedPrincipal& who, Listener listener) {
  const std::lock_guard lock(mutex_);
  if (is_over_ || listeners_.size() >= kMostListeners) return {};
  for (const auto& [number, one] : open_) {
    if (one.asker != &who && !one.answer) listener.tell(one.question);
  }
  listeners_[++next_] = {&who, std::move(listener)};
  return next_;
}

void QuestionBook::leave(uint64_t listener) {
  const std::lock_guard lock(mutex_);
  listeners_.erase(listener);
  answered_.notify_all();
}

void QuestionBook::end() {
  const std::lock_guard lock(mutex_);
  is_over_ = true;
  for (const auto& [number, one] : listeners_) one.does.end();
}

bool QuestionBook::can_ask(const ServedPrincipal& asker) const {
  const std::lock_guard lock(mutex_);
  return has_listener(asker);
}

bool QuestionBook::has_listener(const ServedPrincipal& asker) const {
  return std::any_of(listeners_.begin(), listeners_.end(),
                     [&](const auto& one) { return one.second.who != &asker; });
}

Result<bool> QuestionBook::ask(const ServedPrincipal& asker, const CallOptions::Question& question,
                               const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  const auto own = std::count_if(open_.begin(), open_.end(),
                                 [&](const auto& one) { return one.second.asker == &asker; });
  // Without a listener the answer is no, and a person can still approve the call.
  if (static_cast<size_t>(own) >= kMostWaiting || !has_listener(asker)) return false;
  const uint64_t number = ++next_;
  open_[number] = {&asker, question, {}};
  for (const auto& [id, listener] : listeners_) {
    if (listener.who != &asker) listener.does.tell(question);
  }
  answered_.wait(lock, stop,
                 [&] { return open_[number].answer.has_value() || !has_listener(asker); });
  const bool is_stopped = stop.stop_requested();
  const std::optional<bool> answer = open_[number].answer;
  open_.erase(number);
  if (answer) return *answer;
  if (!is_stopped) return false;
  return fail(ErrorKind::kTimeout, "call.cancelled",
              "the call ended before its question had an answer");
}

Result<void> QuestionBook::answer(const ServedPrincipal& who, const std::string& id, bool is_yes) {
  const std::lock_guard lock(mutex_);
  bool is_own = false;
  for (auto& [number, one] : open_) {
    if (one.question.id != id || one.answer) continue;
    is_own = one.asker == &who;
    if (is_own) continue;
    one.answer = is_yes;
    answered_.notify_all();
    return {};
  }
  if (is_own) {
    return fail(ErrorKind::kRefused, "confirmation.own_call",
                "another principal must answer a question about your own call");
  }
  return fail(ErrorKind::kNotFound, "confirmation.not_found",
              "no call waits for an answer to '" + printable_line(id) + "'");
}

}  // namespace galley
