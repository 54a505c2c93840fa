#include "staging/fs/posix_acl.h"

namespace galley {

namespace {

constexpr uint32_t kAclVersion = 2;
constexpr size_t kAclHeaderBytes = 4;
constexpr size_t kAclEntryBytes = 8;
constexpr size_t kRightsAt = 2;
constexpr uint32_t kRights = 7;

enum Tag : uint32_t {
  kUserObject = 0x01,
  kUser = 0x02,
  kGroupObject = 0x04,
  kGroup = 0x08,
  kMask = 0x10,
  kOther = 0x20,
};

uint32_t little_endian(std::string_view bytes) {
  uint32_t value = 0;
  for (size_t i = bytes.size(); i > 0; --i)
    value = value << 8U | static_cast<uint8_t>(bytes[i - 1]);
  return value;
}

bool is_acl(std::string_view bytes) {
  return bytes.size() > kAclHeaderBytes && (bytes.size() - kAclHeaderBytes) % kAclEntryBytes == 0 &&
         little_endian(bytes.substr(0, kAclHeaderBytes)) == kAclVersion;
}

uint32_t tag_at(std::string_view acl, size_t entry) {
  return little_endian(acl.substr(entry, kRightsAt));
}

uint32_t rights_at(std::string_view acl, size_t entry) {
  return little_endian(acl.substr(entry + kRightsAt, 2)) & kRights;
}

/// The permission class of the mode that corresponds to an entry, as a shift. Returns nullopt for
/// entries of named users and groups, and for the owning group's entry when a mask represents its
/// class.
std::optional<uint32_t> shift_of(uint32_t tag, bool has_mask) {
  switch (tag) {
    case kUserObject:
      return kOwnerShift;
    case kGroupObject:
      return has_mask ? std::nullopt : std::optional<uint32_t>(kGroupShift);
    case kMask:
      return kGroupShift;
    case kOther:
      return 0;
    default:
      return std::nullopt;
  }
}

}  // namespace

// As posix_acl_create_masq() of the kernel.
std::optional<InheritedAcl> inherit_acl(std::string_view default_acl, uint32_t mode) {
  if (!is_acl(default_acl)) return std::nullopt;
  InheritedAcl result{std::string(default_acl), mode};
  bool has_mask = false;
  bool is_minimal = true;
  for (size_t at = kAclHeaderBytes; at < default_acl.size(); at += kAclEntryBytes) {
    const uint32_t tag = tag_at(default_acl, at);
    has_mask = has_mask || tag == kMask;
    is_minimal = is_minimal && (tag == kUserObject || tag == kGroupObject || tag == kOther);
  }
  for (size_t at = kAclHeaderBytes; at < default_acl.size(); at += kAclEntryBytes) {
    const auto shift = shift_of(tag_at(default_acl, at), has_mask);
    if (!shift) continue;
    const uint32_t rights = rights_at(default_acl, at) & (mode >> *shift);
    result.access[at + kRightsAt] = static_cast<char>(rights);
    result.mode &= ~(kRights << *shift) | rights << *shift;
  }
  if (is_minimal) result.access.clear();
  return result;
}

std::optional<uint32_t> owning_group_rights(std::string_view acl) {
  if (!is_acl(acl)) return std::nullopt;
  for (size_t at = kAclHeaderBytes; at < acl.size(); at += kAclEntryBytes) {
    if (tag_at(acl, at) == kGroupObject) return rights_at(acl, at);
  }
  return std::nullopt;
}

}  // namespace galley
