#include "tools/mcp/http_answer.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "tools/mcp/mcp_dialogue.h"

namespace galley {
namespace {

constexpr size_t kMaxBodyMessageBytes = McpDialogue::kMaxMcpMessageBytes;

constexpr int kFirstFinalStatus = 200;
constexpr int kFirstWithoutMessages = 300;

/// The status of a line such as `HTTP/1.1 200 OK`; 0 if it is another line.
int status_of(std::string_view line) {
  if (!line.starts_with("HTTP/")) return 0;
  const size_t blank = line.find(' ');
  if (blank == std::string_view::npos || line.size() < blank + 4) return 0;
  int status = 0;
  for (const char digit : line.substr(blank + 1, 3)) {
    if (digit < '0' || digit > '9') return 0;
    status = status * 10 + (digit - '0');
  }
  return status;
}

}  // namespace

std::string HttpAnswer::header(const std::string& name) const {
  const auto found = headers_.find(name);
  return found == headers_.end() ? std::string() : found->second;
}

std::string HttpAnswer::take(std::string_view piece) {
  std::string messages;
  while (!is_body_ && !is_garbage_ && !piece.empty()) {
    const size_t line_end = piece.find('\n');
    const size_t size = line_end == std::string_view::npos ? piece.size() : line_end + 1;
    head_bytes_ += size;
    if (head_bytes_ > kMaxHttpHeadBytes) is_garbage_ = true;
    pending_.append(piece.substr(0, size));
    piece.remove_prefix(size);
    if (line_end == std::string_view::npos || is_garbage_) continue;
    const std::string line = std::exchange(pending_, {});
    take_head_line(std::string_view(line).substr(0, line.find_last_not_of("\r\n") + 1));
  }
  if (!is_body_ || is_garbage_ || is_too_long_) return messages;
  if (body_ == Body::kEvents) {
    take_events(piece, messages);
  } else if (body_ == Body::kJson) {
    is_too_long_ = data_.size() + piece.size() > kMaxBodyMessageBytes;
    if (!is_too_long_) data_ += piece;
  } else {
    text_ += piece.substr(0, kMaxHttpTextBytes - text_.size());
  }
  return messages;
}

void HttpAnswer::take_head_line(std::string_view line) {
  if (line.empty()) {
    if (status_ == 0) {
      is_garbage_ = true;
    } else if (status_ < kFirstFinalStatus) {
      status_ = 0;  // an interim answer: another head follows
      headers_.clear();
    } else {
      begin_body();
    }
    return;
  }
  if (status_ == 0) {
    status_ = status_of(line);
    is_garbage_ = status_ == 0;
    return;
  }
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  headers_[to_lower(line.substr(0, colon))] = trim(line.substr(colon + 1));
}

void HttpAnswer::begin_body() {
  is_body_ = true;
  if (status_ >= kFirstWithoutMessages) return;
  const std::string media = to_lower(header("content-type"));
  const std::string_view type = trim(std::string_view(media).substr(0, media.find(';')));
  if (type == "text/event-stream") body_ = Body::kEvents;
  if (type == "application/json") body_ = Body::kJson;
}

void HttpAnswer::take_events(std::string_view piece, std::string& messages) {
  while (!piece.empty() && !is_too_long_) {
    if (std::exchange(skips_feed_, false) && piece.front() == '\n') {
      piece.remove_prefix(1);
      continue;
    }
    const size_t line_end = piece.find_first_of("\r\n");
    const std::string_view part = piece.substr(0, line_end);
    is_too_long_ = pending_.size() + data_.size() + part.size() > kMaxBodyMessageBytes;
    if (is_too_long_) return;
    pending_ += part;
    if (line_end == std::string_view::npos) return;
    skips_feed_ = piece[line_end] == '\r';
    piece.remove_prefix(line_end + 1);
    take_event_line(std::exchange(pending_, {}), messages);
  }
}

void HttpAnswer::take_event_line(std::string_view line, std::string& messages) {
  if (line.empty()) {
    if (!data_.empty() && (event_.empty() || event_ == "message")) messages += data_ + "\n";
    data_.clear();
    event_.clear();
    return;
  }
  const size_t colon = line.find(':');
  const std::string_view field = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? "" : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "event") event_ = value;
  if (field != "data") return;
  if (!data_.empty()) data_ += ' ';
  data_ += value;
}

std::string HttpAnswer::end() {
  if (body_ != Body::kJson || is_too_long_ || data_.empty()) return {};
  std::string message = std::exchange(data_, {});
  std::replace(message.begin(), message.end(), '\n', ' ');
  return message + "\n";
}

}  // namespace galley
