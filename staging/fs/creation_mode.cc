#include "staging/fs/creation_mode.h"

#include <sys/stat.h>

namespace galley {
namespace {

constexpr uint32_t kFile = 0666;
constexpr uint32_t kAll = 0777;
constexpr mode_t kStrict = 0077;  ///< set while the umask is read: another thread may create a file

uint32_t creation_mask() {
  static const uint32_t kMask = [] {
    const mode_t mask = umask(kStrict);
    static_cast<void>(umask(mask));
    return static_cast<uint32_t>(mask);
  }();
  return kMask;
}

}  // namespace

uint32_t created_file_mode(bool is_executable) {
  return (is_executable ? kAll : kFile) & ~creation_mask();
}

uint32_t created_directory_mode() { return kAll & ~creation_mask(); }

}  // namespace galley
