#include "server/session/call_results.h"

#include <gmock/gmock.h>

#include <string>

namespace galley {
namespace {

using nlohmann::ordered_json;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string lines(size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += "line " + std::to_string(i) + " of many\n";
  return text;
}

TEST(BoundedStructures, ShortAnswersStayUnchanged) {
  const ordered_json short_one = {{"content", lines(100)}, {"n", 1}};
  EXPECT_EQ(bounded_structure(short_one), short_one);
}

// Limit: kMaxStructureText of server/session/call_results.h
TEST(BoundedStructures, LongAnswersStayBelowTheLimit) {
  ordered_json many_texts = ordered_json::object();
  for (int i = 0; i < 5000; ++i) many_texts["key" + std::to_string(i)] = lines(20);
  ordered_json deep = lines(3000);
  for (int i = 0; i < 50; ++i) deep = ordered_json::array({std::move(deep), lines(50)});
  for (const ordered_json& large :
       {ordered_json{{"content", lines(100'000)}},
        ordered_json{{"entries", std::vector(20'000, 7)}},
        ordered_json{{"all", std::vector(500, lines(30))}}, many_texts, ordered_json{{"d", deep}},
        ordered_json{{"content", std::string(90'000, '"')}},
        ordered_json{{"content", std::string(90'000, '\x01')}}}) {
    const ordered_json bounded = bounded_structure(large);
    EXPECT_LE(bounded.dump().size(), kMaxStructureText);
    EXPECT_EQ(bounded.begin().key(), "leftOut") << "what is missing stands first";
  }
}

TEST(BoundedStructures, LongAnswersKeepTheBeginningAndReportTheRest) {
  const std::string text = lines(10'000);
  const ordered_json bounded = bounded_structure({{"exitCode", 1}, {"stdout", text}});
  EXPECT_EQ(bounded["exitCode"], 1);
  const auto kept = bounded["stdout"].get<std::string>();
  EXPECT_THAT(text, StartsWith(kept));
  EXPECT_EQ(kept.back(), '\n') << "cut between lines";
  EXPECT_THAT(bounded["leftOut"]["/stdout"].get<std::string>(),
              HasSubstr(std::to_string(text.size() - kept.size()) + " bytes"));
  const ordered_json list = bounded_structure({{"entries", std::vector<int>(20'000, 123'456)}});
  EXPECT_THAT(list["leftOut"]["/entries"].get<std::string>(),
              HasSubstr(std::to_string(20'000 - list["entries"].size()) + " items"));
}

TEST(BoundedStructures, NoCharacterIsCutInTwo) {
  std::string text;
  for (int i = 0; i < 30'000; ++i) text += "é€";
  const ordered_json bounded = bounded_structure({{"x", text}});
  EXPECT_NO_THROW((void)bounded.dump());
}

}  // namespace
}  // namespace galley
