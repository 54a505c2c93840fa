#include "engine/calls/seen_contents.h"

#include <gtest/gtest.h>

#include <string>

namespace galley {
namespace {

RelPath seen_path(const std::string& text) { return *RelPath::parse(text); }
ContentId content(size_t number) { return ContentId::of(std::to_string(number)); }

TEST(SeenContentsTest, KnowsOnlyContentsThatTheSessionHasSeen) {
  SeenContents seen;
  EXPECT_TRUE(seen.knows("a", seen_path("f"), content(1))) << "nothing was shown of it";
  seen.note("a", seen_path("f"), content(1));
  EXPECT_TRUE(seen.knows("a", seen_path("f"), content(1)));
  EXPECT_FALSE(seen.knows("a", seen_path("f"), content(2)));
  EXPECT_TRUE(seen.knows("b", seen_path("f"), content(2))) << "another session";
  seen.note("a", seen_path("f"), content(2));
  EXPECT_TRUE(seen.knows("a", seen_path("f"), content(1))) << "it is known still";
}

TEST(SeenContentsTest, KnowsWhenASessionLookedFirst) {
  SeenContents seen;
  EXPECT_FALSE(seen.looked_before("a", seen_path("f"), 100)) << "it never looked";
  seen.note_look("a", 10);
  seen.note_look("a", 50);
  EXPECT_TRUE(seen.looked_before("a", seen_path("f"), 20));
  EXPECT_FALSE(seen.looked_before("a", seen_path("f"), 10));
  EXPECT_FALSE(seen.looked_before("b", seen_path("f"), 20)) << "another session";
  seen.note("a", seen_path("f"), content(1));
  EXPECT_FALSE(seen.looked_before("a", seen_path("f"), 20)) << "its content counts now";
}

// Limit: kMaxSeenFiles of engine/calls/seen_contents.h
// Limit: kMaxSeenVersions of engine/calls/seen_contents.h
TEST(SeenContentsTest, IsBounded) {
  SeenContents seen;
  for (size_t i = 0; i <= kMaxSeenVersions; ++i) seen.note("a", seen_path("f"), content(i));
  EXPECT_FALSE(seen.knows("a", seen_path("f"), content(0))) << "the oldest was forgotten";
  EXPECT_TRUE(seen.knows("a", seen_path("f"), content(1)));
  for (size_t i = 0; i < kMaxSeenFiles; ++i) {
    seen.note("a", seen_path("file" + std::to_string(i)), content(0));
  }
  EXPECT_TRUE(seen.knows("a", seen_path("f"), content(0))) << "the file was forgotten";
  EXPECT_FALSE(seen.knows("a", seen_path("file0"), content(1)));
}

// Limit: kMaxSeenText of engine/calls/seen_contents.h
// Limit: kMaxSeenTexts of engine/calls/seen_contents.h
TEST(SeenContentsTest, KeepsTheNewestTextsUpToALimit) {
  const auto text = [](size_t bytes) { return std::make_shared<const std::string>(bytes, 'x'); };
  SeenContents seen;
  seen.note("a", seen_path("f"), content(1), text(1));
  seen.note("a", seen_path("f"), content(2), text(2));
  EXPECT_EQ(seen.last_text("a", seen_path("f"))->size(), 2u);
  EXPECT_EQ(seen.last_text("b", seen_path("f")), nullptr) << "another session";
  for (size_t i = 0; i < kMaxSeenTexts / kMaxSeenText; ++i) {
    seen.note("a", seen_path("file" + std::to_string(i)), content(0), text(kMaxSeenText));
  }
  EXPECT_EQ(seen.last_text("a", seen_path("f")), nullptr) << "the oldest was dropped";
  EXPECT_NE(seen.last_text("a", seen_path("file0")), nullptr);
  seen.note("a", seen_path("file0"), content(3), text(kMaxSeenText + 1));
  EXPECT_EQ(seen.last_text("a", seen_path("file0")), nullptr) << "too long";
}

}  // namespace
}  // namespace galley
