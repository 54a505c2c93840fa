#include "staging/fs/owner.h"

#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace galley {

uint32_t effective_user() { return ::geteuid(); }
bool is_root_user() { return effective_user() == 0; }

bool is_own_user(uint32_t uid) {
  if (uid == effective_user()) return true;
  const char* sudo = is_root_user() ? std::getenv("SUDO_UID") : nullptr;
  if (sudo == nullptr) return false;
  uint32_t caller = 0;
  const char* end = sudo + std::strlen(sudo);
  const auto [rest, code] = std::from_chars(sudo, end, caller);
  return code == std::errc() && rest == end && uid == caller;
}

bool is_believed_owner(uint32_t uid) { return uid == 0 || is_own_user(uid); }

}  // namespace galley
