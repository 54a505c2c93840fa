#include "staging/fs/controlling_terminal.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>

namespace galley {
namespace {

class DeviceTerminal final : public ControllingTerminal {
 public:
  explicit DeviceTerminal(int descriptor) : descriptor_(descriptor) {}
  ~DeviceTerminal() override { ::close(descriptor_); }
  DeviceTerminal(const DeviceTerminal&) = delete;
  DeviceTerminal& operator=(const DeviceTerminal&) = delete;

  Result<void> write(std::string_view text) override {
    while (!text.empty()) {
      const ssize_t count = ::write(descriptor_, text.data(), text.size());
      if (count < 0 && errno != EINTR) return os_error(errno, "writing to", kPath);
      if (count > 0) text.remove_prefix(static_cast<size_t>(count));
    }
    return {};
  }

  Result<std::string> ask(std::string_view question) override {
    // Discards input that was typed before the question was visible: it cannot be the answer.
    (void)::tcflush(descriptor_, TCIFLUSH);
    GALLEY_TRY(write(question));
    std::string answer;
    for (char c = '\0'; answer.size() < kMaxAnswerBytes;) {
      const ssize_t count = ::read(descriptor_, &c, 1);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return os_error(errno, "reading from", kPath);
      if (count == 0 || c == '\n') break;
      answer.push_back(c);
    }
    return answer;
  }

  [[nodiscard]] size_t rows() const override {
    winsize size{};
    return ::ioctl(descriptor_, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
  }

 private:
  int descriptor_;
};

}  // namespace

Result<std::unique_ptr<ControllingTerminal>> ControllingTerminal::open() {
  const int descriptor = ::open(kPath, O_RDWR | O_CLOEXEC | O_NOCTTY);
  if (descriptor < 0) {
    return fail(ErrorKind::kNotFound, "terminal.none", "there is no terminal to ask a person at");
  }
  return std::make_unique<DeviceTerminal>(descriptor);
}

}  // namespace galley
