#include "staging/fs/user_state.h"

#include <cstdlib>
#include <string>

#include "staging/fs/disk_directory.h"

namespace galley {
namespace {

constexpr uint32_t kPrivateDirectory = 0700;

/// The XDG base directory specification has relative paths ignored.
std::string absolute_variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value == '/' ? value : "";
}

std::string user_state_path() {
  std::string base = absolute_variable("XDG_STATE_HOME");
  if (base.empty()) {
    base = absolute_variable("HOME");
    if (base.empty()) return "";
    base += "/.local/state";
  }
  return base + "/galley";
}

}  // namespace

Result<std::unique_ptr<WritableDirectory>> open_user_state(UserState wanted) {
  const std::string path = user_state_path();
  if (path.empty()) {
    return fail(ErrorKind::kNotFound, "user.no_home",
                "neither XDG_STATE_HOME nor HOME names an absolute path to keep things in");
  }
  if (wanted == UserState::kMake) return make_disk_directory(path, kPrivateDirectory);
  return open_writable_disk_directory(path);
}

}  // namespace galley
