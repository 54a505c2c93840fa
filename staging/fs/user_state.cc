#include "staging/fs/user_state.h"

#include <sys/mman.h>
#include <unistd.h>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/file_mode.h"
#include "base/text.h"
#include "staging/fs/disk_directory.h"
#include "staging/fs/disk_file.h"

namespace galley {

namespace {

/// The XDG base directory specification requires that relative paths are ignored.
std::string absolute_variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value == '/' ? value : "";
}

}  // namespace

std::string own_folder(const char* variable, std::string_view usual) {
  std::string base = absolute_variable(variable);
  if (base.empty()) {
    base = absolute_variable("HOME");
    if (base.empty()) return "";
    base += usual;
  }
  return base + "/galley";
}

std::string user_cache_path() { return own_folder("XDG_CACHE_HOME", "/.cache"); }

Result<std::unique_ptr<WritableDirectory>> open_user_state(UserState wanted) {
  const std::string path = own_folder("XDG_STATE_HOME", "/.local/state");
  if (path.empty()) {
    return fail(ErrorKind::kNotFound, "user.no_home",
                "neither XDG_STATE_HOME nor HOME names an absolute path to keep things in");
  }
  if (wanted == UserState::kMake) return make_disk_directory(path, kPrivateDirectory);
  return open_writable_disk_directory(path);
}

uint32_t effective_user() { return ::geteuid(); }
bool is_root_user() { return effective_user() == 0; }

bool is_own_user(uint32_t uid) {
  if (uid == effective_user()) return true;
  const char* sudo = is_root_user() ? std::getenv("SUDO_UID") : nullptr;
  if (sudo == nullptr) return false;
  return number_of<uint32_t>(sudo) == uid;
}

bool may_give_owner(uint32_t owner, uint32_t uid, uint32_t gid) {
  if (!is_root_user() && owner != effective_user()) return false;
  const Descriptor probe(::memfd_create("owner", MFD_CLOEXEC));
  return probe && ::fchown(probe.get(), uid, gid) == 0;
}

bool is_trusted_owner(uint32_t uid) { return uid == 0 || is_own_user(uid); }

}  // namespace galley
