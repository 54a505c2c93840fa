#include "server/nats/answer_book.h"

#include <utility>

namespace galley {
namespace {

/// Session ids do not contain newlines, so two pairs never have the same key.
std::string key_of(const std::string& session, const std::string& call_id) {
  return session + "\n" + call_id;
}

}  // namespace

std::optional<AnswerBook::Answer> AnswerBook::find(const std::string& session,
                                                   const std::string& call_id) {
  const std::lock_guard guard(mutex_);
  drop_stale();
  const auto found = by_key_.find(key_of(session, call_id));
  if (found == by_key_.end()) return std::nullopt;
  return found->second->answer;
}

void AnswerBook::keep(const std::string& session, const std::string& call_id, Answer answer,
                      std::chrono::nanoseconds age) {
  const std::lock_guard guard(mutex_);
  std::string key = key_of(session, call_id);
  if (answer.result.size() > kMostBytes || by_key_.contains(key)) return;
  bytes_ += answer.result.size();
  const auto made = clock_->steady() - age;
  auto next = rows_.end();
  while (next != rows_.begin() && std::prev(next)->made > made) --next;
  const auto row = rows_.insert(next, {key, std::move(answer), made});
  by_key_.emplace(std::move(key), row);
  while (rows_.size() > kMostAnswers || bytes_ > kMostBytes) drop_oldest();
}

void AnswerBook::drop_oldest() {
  bytes_ -= rows_.front().answer.result.size();
  by_key_.erase(rows_.front().key);
  rows_.pop_front();
}

void AnswerBook::drop_stale() {
  const auto now = clock_->steady();
  while (!rows_.empty() && now - rows_.front().made > kLast) drop_oldest();
}

}  // namespace galley
