#include "base/shared_map.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace galley {
namespace {

using Shared = SharedMap<std::string, int>;
using Plain = std::map<std::string, int>;

Plain plain(const Shared& map) { return {map.begin(), map.end()}; }

struct Difference {
  std::string key;
  int a = -1;
  int b = -1;
  bool operator==(const Difference&) const = default;
};

std::vector<Difference> differences(const Shared& a, const Shared& b) {
  std::vector<Difference> found;
  Shared::differences(a, b, [&found](const std::string& key, const int* x, const int* y) {
    found.push_back({key, x != nullptr ? *x : -1, y != nullptr ? *y : -1});
  });
  return found;
}

std::vector<Difference> differences(const Plain& a, const Plain& b) {
  std::map<std::string, Difference> found;
  for (const auto& [key, value] : a) {
    const auto other = b.find(key);
    if (other == b.end()) found[key] = {key, value, -1};
    if (other != b.end() && other->second != value) found[key] = {key, value, other->second};
  }
  for (const auto& [key, value] : b) {
    if (!a.contains(key)) found[key] = {key, -1, value};
  }
  std::vector<Difference> sorted;
  for (const auto& [_, difference] : found) sorted.push_back(difference);
  return sorted;
}

TEST(SharedMap, BehavesLikeAMapAndCopiesStayUnchanged) {
  std::mt19937 random(7);  // NOLINT(bugprone-random-generator-seed): the same each time
  Shared shared;
  Plain expected;
  std::vector<std::pair<Shared, Plain>> copies;
  for (int step = 0; step < 20'000; ++step) {
    const std::string key = std::to_string(random() % 500);
    const int value = static_cast<int>(random() % 1000);
    const unsigned what = random() % 10;
    if (what < 5) {
      shared.insert_or_assign(key, value);
      expected[key] = value;
    } else if (what < 8) {
      ASSERT_EQ(shared.erase(key), expected.erase(key));
    } else if (what == 8 && expected.contains(key)) {
      shared.change(key) = value;
      expected[key] = value;
    } else if (what == 9) {
      ASSERT_EQ(shared.emplace(key, value).second, expected.emplace(key, value).second);
    }
    const auto found = shared.lower_bound(key);
    const auto wanted = expected.lower_bound(key);
    ASSERT_EQ(found == shared.end(), wanted == expected.end());
    if (wanted != expected.end()) {
      ASSERT_EQ(found->first, wanted->first);
    }
    const auto after = shared.upper_bound(key);
    ASSERT_EQ(after == shared.end(), expected.upper_bound(key) == expected.end());
    if (after != shared.end()) {
      ASSERT_EQ(after->first, expected.upper_bound(key)->first);
    }
    if (step % 1000 == 0) copies.emplace_back(shared, expected);
  }
  ASSERT_EQ(plain(shared), expected);
  ASSERT_EQ(shared.size(), expected.size());
  for (const auto& [copy, was] : copies) {
    ASSERT_EQ(plain(copy), was);
    ASSERT_EQ(differences(copy, shared), differences(was, expected));
    ASSERT_EQ(copy == shared, was == expected);
  }
}

/// A value that counts how often one is compared.
struct Counted {
  int value = 0;
  static inline int compared = 0;
  bool operator==(const Counted& other) const {
    ++compared;
    return value == other.value;
  }
};

TEST(SharedMap, AssigningToAnExistingKeyStoresTheWholeNewValue) {
  const std::string longer(100, 'x');
  SharedMap<int, std::string> map;
  map.insert_or_assign(1, "old");
  const auto copy = map;
  map.insert_or_assign(1, longer);
  EXPECT_EQ(map.at(1), longer);
  EXPECT_EQ(copy.at(1), "old");
}

TEST(SharedMap, AChangeOfACopiedMapMakesFewNodesInAMapOfAnySize) {
  Shared map;
  uint64_t most = 0;
  for (int i = 0; i < 20'000; ++i) {
    const Shared copy = map;
    const uint64_t before = shared_map_nodes_made;
    map.insert_or_assign(std::to_string(i), i);
    most = std::max(most, shared_map_nodes_made - before);
    ASSERT_EQ(copy.size() + 1, map.size());
  }
  EXPECT_LE(most, 22U) << "1.44 times the logarithm of 20,000, and the new one";
  const uint64_t before = shared_map_nodes_made;
  for (int i = 0; i < 20'000; ++i) map.change(std::to_string(i)) = 0;
  EXPECT_EQ(shared_map_nodes_made, before) << "no copy has them any more";
}

TEST(SharedMap, SharedSubtreesAreNotCompared) {
  SharedMap<int, Counted> map;
  for (int i = 0; i < 10'000; ++i) map.emplace(i, {i});
  const auto copy = map;
  for (int i = 0; i < 10; ++i) map.change(i * 997).value = -1;
  for (int i = 0; i < 10; ++i) map.emplace(20'000 + i, {i});
  for (int i = 0; i < 10; ++i) map.erase(500 + i);
  Counted::compared = 0;
  int told = 0;
  SharedMap<int, Counted>::differences(copy, map,
                                       [&told](int, const Counted*, const Counted*) { ++told; });
  EXPECT_EQ(told, 30);
  EXPECT_LE(Counted::compared, 30 * 20);
}

TEST(SharedMap, CopiesCanBeChangedOnSeveralThreads) {
  Shared map;
  for (int i = 0; i < 1000; ++i) map.emplace(std::to_string(i), i);
  std::vector<Shared> copies(4, map);
  std::vector<std::thread> threads;
  for (Shared& copy : copies) {
    threads.emplace_back([&copy] {
      for (int i = 0; i < 1000; ++i) copy.change(std::to_string(i)) += 1;
      for (int i = 0; i < 1000; i += 2) copy.erase(std::to_string(i));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Shared& copy : copies) {
    EXPECT_EQ(copy.size(), 500U);
    EXPECT_EQ(copy.at("999"), 1000);
  }
  EXPECT_EQ(map.size(), 1000U);
  EXPECT_EQ(map.at("999"), 999);
}

}  // namespace
}  // namespace galley
