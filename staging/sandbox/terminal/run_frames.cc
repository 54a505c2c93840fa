#include "staging/sandbox/terminal/run_frames.h"

#include <cstring>

namespace galley {
namespace {

constexpr size_t kHeaderBytes = 1 + sizeof(uint32_t);

}  // namespace

std::string RunScreen::encode() const {
  std::string bytes(2 * sizeof(uint16_t), '\0');
  std::memcpy(bytes.data(), &rows, sizeof rows);
  std::memcpy(bytes.data() + sizeof rows, &columns, sizeof columns);
  return bytes;
}

std::optional<RunScreen> RunScreen::decode(std::string_view bytes) {
  RunScreen screen;
  if (bytes.size() != sizeof screen.rows + sizeof screen.columns) return std::nullopt;
  std::memcpy(&screen.rows, bytes.data(), sizeof screen.rows);
  std::memcpy(&screen.columns, bytes.data() + sizeof screen.rows, sizeof screen.columns);
  return screen;
}

std::string run_frame(RunMessage kind, std::string_view text) {
  const auto size = static_cast<uint32_t>(text.size());
  std::string bytes(kHeaderBytes, static_cast<char>(kind));
  std::memcpy(bytes.data() + 1, &size, sizeof size);
  return bytes.append(text);
}

std::optional<RunFrameReader::Frame> RunFrameReader::next() {
  if (is_broken_ || pending_.size() < kHeaderBytes) return std::nullopt;
  uint32_t size = 0;
  std::memcpy(&size, pending_.data() + 1, sizeof size);
  is_broken_ = size > kMaxRunFrameBytes;
  if (is_broken_ || pending_.size() < kHeaderBytes + size) return std::nullopt;
  Frame frame{static_cast<RunMessage>(pending_.front()), pending_.substr(kHeaderBytes, size)};
  pending_.erase(0, kHeaderBytes + size);
  return frame;
}

}  // namespace galley
