#include "staging/fs/owner.h"

#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>

namespace galley {

uint32_t effective_user() { return ::geteuid(); }

bool is_believed_owner(uint32_t uid) {
  const uid_t self = ::geteuid();
  if (uid == self || uid == 0) return true;
  const char* sudo = self == 0 ? std::getenv("SUDO_UID") : nullptr;
  if (sudo == nullptr) return false;
  uint32_t caller = 0;
  const char* end = sudo + std::strlen(sudo);
  const auto [rest, code] = std::from_chars(sudo, end, caller);
  return code == std::errc() && rest == end && uid == caller;
}

}  // namespace galley
