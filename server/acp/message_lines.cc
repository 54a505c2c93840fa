#include "server/acp/message_lines.h"

#include <utility>

namespace galley {
namespace {

constexpr size_t kBeginningBytes = size_t{4} << 10U;

}  // namespace

void MessageLines::feed(std::string_view bytes) {
  pending_.erase(0, begin_);
  searched_ -= begin_;
  begin_ = 0;
  pending_ += bytes;
}

std::optional<MessageLines::Line> MessageLines::next() {
  const size_t end = pending_.find('\n', searched_);
  if (end == std::string::npos) {
    searched_ = pending_.size();
    if (pending_.size() - begin_ > max_bytes_) {
      if (!skips_) beginning_ = pending_.substr(begin_, kBeginningBytes);
      skips_ = true;
      pending_.clear();
      begin_ = searched_ = 0;
    }
    return {};
  }
  const size_t size = end - begin_;
  Line line;
  line.is_too_long = skips_ || size > max_bytes_;
  line.text = skips_ ? std::exchange(beginning_, {})
                     : pending_.substr(begin_, line.is_too_long ? kBeginningBytes : size);
  skips_ = false;
  begin_ = searched_ = end + 1;
  return line;
}

}  // namespace galley
