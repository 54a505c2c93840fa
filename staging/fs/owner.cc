#include "staging/fs/owner.h"

#include <unistd.h>

#include <cstdlib>

#include "base/number.h"

namespace galley {

uint32_t effective_user() { return ::geteuid(); }
bool is_root_user() { return effective_user() == 0; }

bool is_own_user(uint32_t uid) {
  if (uid == effective_user()) return true;
  const char* sudo = is_root_user() ? std::getenv("SUDO_UID") : nullptr;
  if (sudo == nullptr) return false;
  return number_of<uint32_t>(sudo) == uid;
}

bool is_believed_owner(uint32_t uid) { return uid == 0 || is_own_user(uid); }

}  // namespace galley
