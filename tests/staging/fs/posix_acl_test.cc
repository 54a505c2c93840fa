#include "staging/fs/posix_acl.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace galley {
namespace {

struct Entry {
  uint8_t tag;
  uint8_t rights;
};
constexpr uint8_t kUserObject = 0x01, kUser = 0x02, kGroupObject = 0x04, kMask = 0x10,
                  kOther = 0x20;

std::string acl_of(std::initializer_list<Entry> entries) {
  std::string bytes("\2\0\0\0", 4);
  for (const Entry& entry : entries) {
    const char id = entry.tag == kUser ? '\7' : '\xff';
    bytes +=
        {static_cast<char>(entry.tag), '\0', static_cast<char>(entry.rights), '\0', id, id, id, id};
  }
  return bytes;
}

const std::string kShared =
    acl_of({{kUserObject, 7}, {kUser, 7}, {kGroupObject, 5}, {kMask, 7}, {kOther, 0}});

TEST(Acl, AFileGetsTheDefaultAclReducedByItsMode) {
  const auto got = inherit_acl(kShared, 0666);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->mode, 0660U);
  EXPECT_EQ(got->access,
            acl_of({{kUserObject, 6}, {kUser, 7}, {kGroupObject, 5}, {kMask, 6}, {kOther, 0}}));
}

TEST(Acl, ADirectoryGetsTheWholeDefaultAcl) {
  const auto got = inherit_acl(kShared, 0777);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->mode, 0770U);
  EXPECT_EQ(got->access, kShared);
}

TEST(Acl, WithoutNamedUsersTheModeExpressesTheAcl) {
  const auto got = inherit_acl(acl_of({{kUserObject, 7}, {kGroupObject, 5}, {kOther, 1}}), 0666);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->mode, 0640U);
  EXPECT_EQ(got->access, "");
}

TEST(Acl, TheOwningGroupHasItsOwnRightsInsteadOfTheMask) {
  EXPECT_EQ(owning_group_rights(kShared), 5U);
}

TEST(Acl, OtherBytesAreNotAnAcl) {
  for (const std::string& bytes : {std::string(), std::string("\2\0\0\0", 4), kShared.substr(0, 11),
                                   "\3" + kShared.substr(1)}) {
    EXPECT_FALSE(inherit_acl(bytes, 0666));
    EXPECT_FALSE(owning_group_rights(bytes));
  }
}

}  // namespace
}  // namespace galley
