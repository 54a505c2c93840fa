#include "engine/review/review_page.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <string>

#include "base/encoding.h"
#include "base/hash.h"

namespace galley {
namespace {

using Json = nlohmann::ordered_json;

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(ReviewPage, DataCannotEndItsElement) {
  const Json data = {{"title", "</script><script>alert(1)</script><!--"}};
  const std::string page = review_page(data, PageHome::kFile);
  EXPECT_EQ(count(page, "<script"), 2U);
  EXPECT_EQ(count(page, "alert(1)<"), 0U);
  const size_t begin = page.find("id=\"galley-data\">") + 17;
  const std::string text = page.substr(begin, page.find("</script>", begin) - begin);
  EXPECT_EQ(Json::parse(text), data);
}

TEST(ReviewPage, APlaceholderInTheDataIsText) {
  const Json data = {{"title", "@SCRIPT@ @DATA@ @STYLE@ @POLICY@"}};
  const std::string page = review_page(data, PageHome::kFile);
  EXPECT_EQ(count(page, "@SCRIPT@ @DATA@ @STYLE@ @POLICY@"), 1U);
}

TEST(ReviewPage, ThePolicyAllowsOnlyScriptsWithTheHash) {
  const std::string policy = review_page_policy(PageHome::kFile);
  EXPECT_EQ(count(policy, "unsafe"), 0U);
  EXPECT_EQ(count(policy, "default-src 'none'"), 1U);
  EXPECT_EQ(count(policy, "connect-src 'none'"), 1U);
  EXPECT_TRUE(std::regex_search(policy, std::regex("script-src 'sha256-[A-Za-z0-9+/]{43}='")));
  EXPECT_EQ(count(review_page_policy(PageHome::kLoopback), "connect-src 'self'"), 1U);
}

TEST(ReviewPage, LoadsNothing) {
  const std::string page = review_page(Json::object(), PageHome::kFile);
  EXPECT_FALSE(std::regex_search(page, std::regex("(src|href)=\"(?!#|data:,)")));
  EXPECT_EQ(count(page, "innerHTML"), 0U);
  EXPECT_EQ(count(page, "document.write"), 0U);
}

}  // namespace
}  // namespace galley
