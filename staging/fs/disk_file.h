#pragma once

#include <sys/types.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "staging/fs/directory.h"

namespace galley {

/// Owns one kernel descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = other.release();
    }
    return *this;
  }
  ~Descriptor() { reset(); }

  explicit operator bool() const { return fd_ >= 0; }
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }

 private:
  void reset();
  int fd_ = -1;
};

/// Makes a file of an open descriptor. `name` is only for messages. `stat` is the state when it was
/// opened, if known.
[[nodiscard]] std::unique_ptr<WritableFile> make_disk_file(Descriptor descriptor, std::string name,
                                                           std::optional<FileStat> stat = {});

/// statx of `name` in `directory`; `follows` a link at the end or not. Returns false and sets errno
/// if it fails. An empty name means the descriptor itself.
bool disk_stat(int directory, const char* name, FileStat& result, bool follows = false);

/// Reads all extended attributes by the two given calls (flistxattr/fgetxattr or the l-forms). The
/// result is empty if the file system does not support them.
Result<std::vector<ExtendedAttribute>> read_attributes(
    std::string_view name, const std::function<ssize_t(char*, size_t)>& list,
    const std::function<ssize_t(const char*, void*, size_t)>& get);

}  // namespace galley
