#include "engine/calls/result_cache.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/calls/call_supervisor.h"
#include "support/manual_clock.h"
#include "support/temp_directory.h"
#include "tools/standard_tools.h"

namespace galley {
namespace {

using nlohmann::json;

class ResultCacheTest : public ::testing::Test {
 protected:
  ResultCacheTest() {
    EXPECT_TRUE(add_standard_tools(registry_));
    tree_.write("a.txt", "one\n");
    tree_.write("d/b.txt", "two\n");
  }
  ContentId question(const json& args, const std::string& cwd = {}) {
    return ResultCache::question(**registry_.get("Read"), args, cwd);
  }
  void keep(const ContentId& asked, const std::vector<std::string>& paths,
            const std::string& text = "x") {
    std::vector<ReadContent> reads;
    for (const std::string& path : paths)
      reads.push_back({rel(path), *fingerprint(overlay_, rel(path))});
    cache_.keep(
        asked, std::move(reads),
        std::make_shared<const nlohmann::ordered_json>(nlohmann::ordered_json{{"text", text}}));
  }
  bool knows(const ContentId& asked, Overlay& overlay) {
    return cache_.find(asked, overlay, {}) != nullptr;
  }
  Overlay fresh() { return {tree_.directory(), make_memory_store(), clock_}; }

  TempDirectory tree_;
  ManualClock clock_;
  Overlay overlay_{tree_.directory(), make_memory_store(), clock_};
  ToolRegistry registry_;
  ResultCache cache_;
};

TEST_F(ResultCacheTest, AResultIsValidInAnyTransactionWithTheSameContents) {
  keep(question({{"file", "a.txt"}}), {"a.txt"});
  EXPECT_TRUE(knows(question({{"file", "a.txt"}}), overlay_));
  Overlay other = fresh();
  EXPECT_TRUE(knows(question({{"file", "a.txt"}}), other));
  ASSERT_TRUE(other.write(rel("a.txt"), "changed\n"));
  EXPECT_FALSE(knows(question({{"file", "a.txt"}}), other));
  EXPECT_TRUE(knows(question({{"file", "a.txt"}}), overlay_)) << "there it is as it was";
  ASSERT_TRUE(other.write(rel("a.txt"), "one\n"));
  EXPECT_TRUE(knows(question({{"file", "a.txt"}}), other)) << "the same content again";
}

TEST_F(ResultCacheTest, OtherArgumentsFoldersAndToolsHaveOtherKeys) {
  keep(question({{"file", "a.txt"}}), {"a.txt"});
  EXPECT_FALSE(knows(question({{"file", "a.txt"}, {"limit", 1}}), overlay_));
  EXPECT_FALSE(knows(question({{"file", "a.txt"}}, "d"), overlay_)) << "from another directory";
  const auto read = *registry_.get("Read");
  const auto other = *registry_.get("read_text_file");
  EXPECT_NE(ResultCache::question(*read, json::object(), ""),
            ResultCache::question(*other, json::object(), ""));
}

TEST_F(ResultCacheTest, NewNamesAndCreatedPathsInvalidateAResult) {
  keep(question({{"file", "d"}}), {"d", "new.txt"});
  Overlay other = fresh();
  EXPECT_TRUE(knows(question({{"file", "d"}}), other));
  ASSERT_TRUE(other.write(rel("new.txt"), "now there"));
  EXPECT_FALSE(knows(question({{"file", "d"}}), other));
  Overlay third = fresh();
  ASSERT_TRUE(third.write(rel("d/c.txt"), "another name"));
  EXPECT_FALSE(knows(question({{"file", "d"}}), third));
}

TEST_F(ResultCacheTest, AChangedModeInvalidatesAResult) {
  keep(question({{"file", "a.txt"}}), {"a.txt"});
  Overlay other = fresh();
  ASSERT_TRUE(other.set_mode(rel("a.txt"), 0755));
  EXPECT_FALSE(knows(question({{"file", "a.txt"}}), other));
}

TEST_F(ResultCacheTest, ACallerThatMayNotReadAPathGetsNoCachedResultOfIt) {
  keep(question({{"file", "a.txt"}}), {"a.txt"});
  EXPECT_EQ(cache_.find(question({{"file", "a.txt"}}), overlay_,
                        [](const RelPath& path) { return path.str() != "a.txt"; }),
            nullptr);
}

// Limit: kMaxCachedAnswers of engine/calls/result_cache.h
TEST_F(ResultCacheTest, TheLeastRecentlyUsedResultIsDropped) {
  for (size_t i = 0; i <= kMaxCachedAnswers; ++i) {
    keep(question({{"offset", i}}), {});
    EXPECT_TRUE(knows(question({{"offset", 0}}), overlay_)) << "it is asked for again and again";
  }
  EXPECT_EQ(cache_.size(), kMaxCachedAnswers);
  EXPECT_FALSE(knows(question({{"offset", 1}}), overlay_));
}

// Limit: kMaxCachedReads of engine/calls/result_cache.h
TEST_F(ResultCacheTest, ACallThatReadTooMuchIsNotCached) {
  ReadNotes notes(true);
  for (size_t i = 0; i < kMaxCachedReads; ++i) notes.note(overlay_, rel("a.txt"));
  EXPECT_TRUE(notes.is_whole());
  notes.note(overlay_, rel("a.txt"));
  EXPECT_FALSE(notes.is_whole());
}

// Limit: kMaxCachedAnswerBytes of engine/calls/result_cache.h
TEST_F(ResultCacheTest, TheSizeOfAllResultsIsLimited) {
  keep(question({{"offset", 0}}), {}, std::string(kMaxCachedAnswerBytes / 4 + 1, 'x'));
  EXPECT_EQ(cache_.size(), 0U) << "too large for one";
  for (size_t i = 0; i < 8; ++i) {
    keep(question({{"offset", i}}), {}, std::string(kMaxCachedAnswerBytes / 5, 'x'));
  }
  EXPECT_EQ(cache_.size(), 4U);
}

}  // namespace
}  // namespace galley
