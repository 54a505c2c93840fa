#include "staging/overlay/git_header.h"

#include "base/file_mode.h"
#include "base/git_oid.h"

namespace galley {
namespace {

constexpr uint32_t kTypeMask = 0170000;
constexpr size_t kMinBlobDigits = 4;

}  // namespace

bool is_kind(const std::optional<uint32_t>& mode, uint32_t type) {
  return mode && (*mode & kTypeMask) == type;
}

uint32_t with_git_mode(uint32_t permissions, uint32_t git_mode) {
  if ((git_mode & kAnyExecute) == 0) return permissions & ~kAnyExecute;
  return permissions | ((permissions & 0444U) >> 2U);
}

bool names_blob(std::string_view digits) {
  return digits.size() >= kMinBlobDigits && digits.find_first_not_of('0') != digits.npos;
}

bool is_blob(std::string_view digits, std::string_view content) {
  return GitOid::of_blob(content).hex().starts_with(digits);
}

}  // namespace galley
