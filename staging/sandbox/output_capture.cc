#include "staging/sandbox/output_capture.h"

#include <algorithm>
#include <utility>

namespace galley {

size_t OutputCapture::append(std::string_view piece) {
  const auto to_head = std::min<uint64_t>(piece.size(), head_limit_ - head_.size());
  head_.append(piece.substr(0, to_head));
  piece.remove_prefix(to_head);
  if (piece.size() > tail_limit_) {
    omitted_ += tail_.size() + (piece.size() - tail_limit_);
    piece.remove_prefix(piece.size() - tail_limit_);
    tail_.clear();
    tail_start_ = 0;
  }
  const auto grown = std::min<uint64_t>(piece.size(), tail_limit_ - tail_.size());
  tail_.append(piece.substr(0, grown));
  piece.remove_prefix(grown);
  omitted_ += piece.size();
  for (const char byte : piece) {
    tail_[tail_start_] = byte;
    tail_start_ = (tail_start_ + 1) % tail_.size();
  }
  return to_head;
}

CapturedOutput OutputCapture::finish() && {
  std::rotate(tail_.begin(), tail_.begin() + static_cast<std::ptrdiff_t>(tail_start_), tail_.end());
  if (omitted_ == 0) return {head_ + tail_, "", 0};
  return {std::move(head_), std::move(tail_), omitted_};
}

}  // namespace galley
