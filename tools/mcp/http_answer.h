#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace galley {

/// One answer of a server over HTTP, as `curl --include` prints it, without any I/O: a head for
/// each status line, then the body. It returns the messages of the body, one a line.
///
/// A body is one JSON document, or server-sent events (WHATWG HTML, section 9.2), whose data are
/// documents. A line break in a document is whitespace, and becomes a blank.
///
/// Invariant: keeps at most a head and one message.
/// Threads:   confined to one thread.
class HttpAnswer {
 public:
  static constexpr size_t kMaxHttpHeadBytes = size_t{64} << 10U;  ///< all heads of one HTTP answer
  static constexpr size_t kMaxHttpTextBytes = size_t{8} << 10U;   ///< kept of a body for people

  /// Reads a piece of any size. Returns the messages that it completes.
  [[nodiscard]] std::string take(std::string_view piece);
  /// Returns the message that the end of the answer completes.
  [[nodiscard]] std::string end();

  /// The status of the last head; 0 before the end of a head.
  [[nodiscard]] int status() const { return is_body_ ? status_ : 0; }
  /// The value of a header; empty if there is none. The name is in lower case.
  [[nodiscard]] std::string header(const std::string& name) const;
  /// Whether the answer cannot be read: its head is too long or not of HTTP.
  [[nodiscard]] bool is_garbage() const { return is_garbage_; }
  /// Whether a message is longer than McpDialogue reads.
  [[nodiscard]] bool is_too_long() const { return is_too_long_; }
  /// The begin of a body that has no messages for the dialogue.
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  enum class Body : uint8_t { kText, kJson, kEvents };

  void take_head_line(std::string_view line);
  void begin_body();
  void take_events(std::string_view piece, std::string& messages);
  void take_event_line(std::string_view line, std::string& messages);

  bool is_body_ = false;
  bool is_garbage_ = false;
  bool is_too_long_ = false;
  int status_ = 0;
  size_t head_bytes_ = 0;
  std::map<std::string, std::string> headers_;
  Body body_ = Body::kText;
  std::string pending_;      ///< the begin of a line of the head or of events
  bool skips_feed_ = false;  ///< the last line of events ended with CR; LF may follow
  std::string data_;         ///< of the event that is being read, or the JSON document
  std::string event_;        ///< its type; empty: a message
  std::string text_;
};

}  // namespace galley
