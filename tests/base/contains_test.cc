#include "base/contains.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace galley {
namespace {

struct Person {
  std::string name;
  int age = 0;
};

TEST(Contains, AValueOfTheRangeIsFound) {
  constexpr std::string_view kNames[] = {"edit", "read"};
  EXPECT_TRUE(contains(kNames, "read"));
  EXPECT_FALSE(contains(kNames, "rea"));
  EXPECT_FALSE(contains(std::vector<int>(), 0));
}

TEST(Contains, AProjectionNamesTheMemberThatIsCompared) {
  const std::vector<Person> people = {{"Ada", 36}, {"Alan", 41}};
  EXPECT_TRUE(contains(people, std::string_view("Alan"), &Person::name));
  EXPECT_TRUE(contains(people, 36, &Person::age));
  EXPECT_FALSE(contains(people, 37, &Person::age));
}

}  // namespace
}  // namespace galley
