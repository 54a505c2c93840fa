#include "engine/pipeline/disk_validator_cache.h"

#include <gtest/gtest.h>

#include "doubles/memory_directory.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

TEST(DiskValidatorCache, ResultsAreFoundAfterReopening) {
  const auto root = make_memory_directory();
  ASSERT_TRUE(root->make_directory(rel("cache"), 0700));
  const ContentId key = ContentId::of("key");
  {
    DiskValidatorCache cache(*root->open_writable_directory(rel("cache")));
    EXPECT_FALSE(cache.get(key));
    cache.put(key, {});
  }
  DiskValidatorCache cache(*root->open_writable_directory(rel("cache")));
  ASSERT_TRUE(cache.get(key));
  EXPECT_TRUE(cache.get(key)->empty());
}

}  // namespace
}  // namespace galley
