#include "base/text.h"

#include <gtest/gtest.h>

namespace galley {
namespace {

TEST(NearestName, FindsSwappedAndMissingLettersAndOtherCase) {
  const std::vector<std::string> names = {"preview", "apply", "commit"};
  EXPECT_EQ(nearest_name("perview", names), "preview");
  EXPECT_EQ(nearest_name("comit", names), "commit");
  EXPECT_EQ(nearest_name("APPLY", names), "apply");
}

TEST(NearestName, ReturnsNothingWhenNoCandidateIsNear) {
  EXPECT_EQ(nearest_name("zzzzzz", {"preview", "apply"}), std::nullopt);
  EXPECT_EQ(nearest_name("", {"a"}), std::nullopt);
  EXPECT_EQ(nearest_name(std::string(5000, 'a'), {"a"}), std::nullopt);
}

TEST(NearestName, TheFirstOfEquallyNearCandidatesWins) {
  EXPECT_EQ(nearest_name("cat", {"bat", "hat"}), "bat");
  EXPECT_EQ(did_you_mean("cat", {"bat", "hat"}), "; did you mean 'bat'?");
}

}  // namespace
}  // namespace galley
