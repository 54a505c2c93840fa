#include "staging/placing/edited_text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace galley {
namespace {

/// Enough for blocks.
constexpr size_t kManySearches = 1000;

std::vector<size_t> places_by_reading(const std::string& text, const std::string& wanted,
                                      bool whole_lines, size_t step) {
  std::vector<size_t> out;
  for (size_t at = text.find(wanted); at != std::string::npos;) {
    const bool is_place = !whole_lines || at == 0 || text[at - 1] == '\n';
    if (is_place) out.push_back(at);
    at = text.find(wanted, at + (is_place ? step : 1));
  }
  return out;
}

/// Words of a small vocabulary, so that strings stand at many places.
std::string random_text(std::mt19937& random, size_t bytes) {
  static const std::vector<std::string> kWords = {"if ", "(a",  " == ", "b)\n", "\n",  "return ",
                                                  "x",   ";\n", "\t",   "}\n",  "foo", "ab"};
  std::string out;
  while (out.size() < bytes) {
    out += random() % 40 == 0 ? std::to_string(random()) : kWords[random() % kWords.size()];
  }
  out.resize(bytes);
  return out;
}

void expect_equal_to_reading(const EditedText& edited, const std::string& wanted) {
  for (const bool whole_lines : {false, true}) {
    ASSERT_EQ(edited.find(wanted, whole_lines, SIZE_MAX),
              places_by_reading(edited.text(), wanted, whole_lines, wanted.size()))
        << "'" << wanted << "'";
    ASSERT_EQ(edited.find(wanted, whole_lines, SIZE_MAX, EditedText::Overlap::kAllowed),
              places_by_reading(edited.text(), wanted, whole_lines, 1))
        << "'" << wanted << "'";
  }
}

void expect_lines_right(const EditedText& edited, std::mt19937& random) {
  const std::string& text = edited.text();
  const size_t at = random() % (text.size() + 1);
  const auto line =
      static_cast<size_t>(std::count(text.begin(), text.begin() + static_cast<int64_t>(at), '\n'));
  ASSERT_EQ(edited.line_at(at), line);
  const size_t newline = at == 0 ? std::string::npos : text.rfind('\n', at - 1);
  ASSERT_EQ(edited.line_offset(line), newline == std::string::npos ? 0 : newline + 1);
  ASSERT_EQ(edited.line_offset(edited.line_count()), text.size());
}

/// Random splices, most of them small and some that take or give several blocks.
Splices random_splices(std::mt19937& random, const std::string& text) {
  std::vector<Splice> out;
  const size_t count = random() % 5 == 0 ? 50 : 1 + random() % 3;
  const size_t room = text.size() / count;
  for (size_t i = 0; i < count; ++i) {
    const size_t widest = random() % 8 == 0 ? room : std::min<size_t>(room, 60);
    const size_t length = random() % (widest + 1);
    const size_t offset = i * room + random() % (room - length + 1);
    const size_t added = random() % 8 == 0 ? 9000 : random() % 60;
    if (length + added > 0) out.push_back({offset, length, random_text(random, added)});
  }
  auto splices = Splices::from(text.size(), std::move(out));
  EXPECT_TRUE(splices.has_value());
  return *splices;
}

TEST(EditedText, FindsTheSamePlacesAsAFullSearchAfterEveryChange) {
  for (uint32_t seed = 0; seed < 12; ++seed) {
    std::mt19937 random(seed);
    std::string model = random_text(random, 70000 + random() % 30000);
    EditedText edited(model, kManySearches);
    for (int round = 0; round < 40 && model.size() > 200; ++round) {
      const Splices splices = random_splices(random, model);
      model = splices.apply(model);
      edited.apply(splices);
      ASSERT_EQ(edited.text(), model) << "seed " << seed << " round " << round;
      for (int k = 0; k < 10; ++k) {
        const size_t at = random() % (model.size() - 120);
        expect_equal_to_reading(edited, model.substr(at, 1 + random() % 120));
      }
      expect_equal_to_reading(edited, random_text(random, 1 + random() % 9));
      expect_lines_right(edited, random);
    }
  }
}

TEST(EditedText, TextsWithoutBlocksAreSearchedCompletely) {
  std::mt19937 random(7);
  for (const size_t bytes : {size_t{1}, size_t{5}, size_t{3000}, size_t{66000}}) {
    const std::string text = random_text(random, bytes);
    EditedText edited(text, 1);
    expect_equal_to_reading(edited, text.substr(text.size() / 2, 7));
    expect_equal_to_reading(edited, "a");
    expect_lines_right(edited, random);
  }
}

TEST(EditedText, AStringThatSpansManyBlocksIsFound) {
  std::mt19937 random(3);
  const std::string text = random_text(random, 100000);
  EditedText edited(text, kManySearches);
  expect_equal_to_reading(edited, text.substr(4000, 50000));
  expect_equal_to_reading(edited, text.substr(99990));
  expect_equal_to_reading(edited, text);
}

TEST(EditedText, ATextThatWasRemovedAndInsertedAgainIsSearched) {
  std::mt19937 random(4);
  const std::string text = random_text(random, 80000);
  EditedText edited(text, kManySearches);
  edited.apply(*Splices::from(text.size(), {{0, text.size(), ""}}));
  EXPECT_EQ(edited.line_count(), 0U);
  EXPECT_TRUE(edited.find("abc", false, 9).empty());
  edited.apply(*Splices::from(0, {{0, 0, text}}));
  expect_equal_to_reading(edited, text.substr(60000, 30));
}

TEST(EditedText, ASearchStopsAtItsLimit) {
  const EditedText edited(std::string(100000, 'a'), kManySearches);
  EXPECT_EQ(edited.find("a", false, 3), (std::vector<size_t>{0, 1, 2}));
  EXPECT_LT(edited.work(), 1000U);
}

TEST(EditedText, SearchingForAnAbsentStringDoesNotReadTheWholeText) {
  std::string text;
  for (int i = 0; text.size() < 1000000; ++i) text += "line " + std::to_string(i) + " of a file\n";
  const EditedText edited(text, kManySearches);
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(edited.find("line " + std::to_string(i) + " of no file\n", false, 9).empty());
  }
  EXPECT_LT(edited.work(), text.size());
}

}  // namespace
}  // namespace galley
