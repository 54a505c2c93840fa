#include "base/hash.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace galley {
namespace {

/// Contents of every length around the edges of a block, and some of many blocks.
std::vector<std::string> contents_of_many_lengths() {
  std::mt19937 random(1);
  std::vector<std::string> contents;
  const auto add = [&](size_t length) {
    std::string content(length, '\0');
    for (char& c : content) c = static_cast<char>(random());
    contents.push_back(std::move(content));
  };
  for (size_t length = 0; length < 200; ++length) add(length);
  for (int i = 0; i < 60; ++i) add(random() % 20'000);
  add(size_t{300'000});
  return contents;
}

TEST(HashMany, SomeContentsGetTheSameIdsAsOneByOne) {
  const auto contents = contents_of_many_lengths();
  for (size_t first = 0; first < contents.size(); first += 13) {
    // Few and many: those that leave lanes empty, too.
    const size_t count = std::min(contents.size() - first, first % 41);
    const std::vector<std::string_view> some(
        contents.begin() + static_cast<ptrdiff_t>(first),
        contents.begin() + static_cast<ptrdiff_t>(first + count));
    const auto ids = content_ids(some);
    const auto names = blob_names(some);
    ASSERT_EQ(ids.size(), count);
    ASSERT_EQ(names.size(), count);
    for (size_t i = 0; i < count; ++i) {
      EXPECT_EQ(ids[i], ContentId::of(some[i])) << some[i].size() << " bytes";
      EXPECT_EQ(names[i], GitOid::of_blob(some[i])) << some[i].size() << " bytes";
    }
  }
}

TEST(HashMany, AllContentsTogetherGetTheSameIdsAsOneByOne) {
  const auto contents = contents_of_many_lengths();
  const std::vector<std::string_view> all(contents.begin(), contents.end());
  const auto ids = content_ids(all);
  const auto names = blob_names(all);
  for (size_t i = 0; i < all.size(); ++i) {
    ASSERT_EQ(ids[i], ContentId::of(all[i]));
    ASSERT_EQ(names[i], GitOid::of_blob(all[i]));
  }
}

}  // namespace
}  // namespace galley
