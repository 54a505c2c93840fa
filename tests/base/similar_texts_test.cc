#include "base/similar_texts.h"

#include <gtest/gtest.h>

namespace galley {
namespace {

void say(SimilarTexts& texts, const std::string& name, const std::string& text) {
  texts.add(key_without(text, name), name, text);
}

TEST(SimilarTexts, ThreeAlikeTextsArePrintedOnceWithTheOtherNames) {
  SimilarTexts texts;
  say(texts, "a.txt", "a.txt is closed\n");
  say(texts, "b.txt", "b.txt is gone\n");
  for (const char* name : {"c.txt", "d.txt"}) say(texts, name, std::string(name) + " is closed\n");
  EXPECT_EQ(texts.str(), "a.txt is closed\n  the same for 2 more: c.txt, d.txt\nb.txt is gone\n");
}

TEST(SimilarTexts, TextsWithoutANameAreOnlyCounted) {
  SimilarTexts texts;
  for (int i = 0; i < 3; ++i) say(texts, "", "undefined reference\n");
  EXPECT_EQ(texts.str(), "undefined reference\n  the same for 2 more\n");
}

TEST(SimilarTexts, OneOrTwoAlikeTextsArePrintedUnchangedAndInOrder) {
  SimilarTexts texts;
  for (const char* text : {"a is closed\n", "b is gone\n", "c is closed\n"}) {
    say(texts, std::string(text, 1), text);
  }
  EXPECT_EQ(texts.str(), "a is closed\nb is gone\nc is closed\n");
}

TEST(SimilarTexts, OfManyAlikeTextsTwentyNamesArePrinted) {
  SimilarTexts texts;
  for (int i = 100; i < 160; ++i) say(texts, std::to_string(i), std::to_string(i) + " is no\n");
  const std::string all = texts.str();
  EXPECT_NE(all.find("the same for 59 more: 101, 102, "), all.npos) << all;
  EXPECT_TRUE(all.ends_with("119, 120 and 39 more\n")) << all;
}

}  // namespace
}  // namespace galley
