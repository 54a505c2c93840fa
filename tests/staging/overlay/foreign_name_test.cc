#include "staging/overlay/stage_checks.h"

#include <gtest/gtest.h>

namespace galley {
namespace {

bool is_foreign(const std::string& name) { return foreign_name(*RelPath::parse(name)).has_value(); }

TEST(ForeignNames, OfShellsAndOtherSystemsAreRecognized) {
  for (const std::string name :
       {"src\\what?.txt", "src\\a*.txt", "\\\\?\\C:\\x", "$PWD/x", "${PWD}/x", "$env:TEMP/x",
        "$(pwd)/x", "%APPDATA%/x", "%cd%/x", "c:new.txt", "C:/x", "~/x", "$HOME"}) {
    EXPECT_TRUE(is_foreign(name)) << name;
  }
}

TEST(ForeignNames, OrdinaryNamesAreNot) {
  for (const std::string name : {"what?.txt", "a*.txt", "$lang/index.tsx", "$page.tsx", "a/$PWD",
                                 "100%/x", "%/x", "ab:c.txt", "a\"b\\c.txt"}) {
    EXPECT_FALSE(is_foreign(name)) << name;
  }
}

TEST(ForeignNames, ANameOnADriveMayMeanAFileOfTheWorkspace) {
  const auto found = foreign_name(*RelPath::parse("c:src/new.txt"));
  ASSERT_TRUE(found);
  ASSERT_FALSE(found->meant.empty());
  EXPECT_EQ(found->meant[0].str(), "src/new.txt");
}

}  // namespace
}  // namespace galley
