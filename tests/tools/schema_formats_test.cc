#include "tools/schema_lowering.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace galley {
namespace {

struct Samples {
  const char* format;
  std::vector<std::string> good;
  std::vector<std::string> bad;
};

void expect_judged(const Samples& samples) {
  EXPECT_TRUE(is_checked_format(samples.format));
  for (const std::string& text : samples.good) {
    EXPECT_TRUE(has_format(samples.format, text)) << samples.format << " " << text;
  }
  for (const std::string& text : samples.bad) {
    EXPECT_FALSE(has_format(samples.format, text)) << samples.format << " " << text;
  }
}

TEST(SchemaFormats, AUriHasASchemeAndValidCharacters) {
  expect_judged(
      {"uri",
       {"https://example.com/a?b=c#d", "http://user:p%20w@[::1]:8080/", "urn:isbn:0451450523",
        "mailto:a@b.c", "file:///etc/x", "x:", "http://h:", "tel:+1-816-555-1212"},
       {"", "example.com", "/path", "http://a b", "http://a/%zz", "1http://a", "http://[::1",
        "http://a/\n", "http://a:port/", "http://\\ue000", "http://ä.de", "http://a\"b"}});
}

TEST(SchemaFormats, ADateTimeIsValidInTheCalendar) {
  expect_judged({"date-time",
                 {"2026-11-22T07:20:00Z", "2024-02-29t00:00:00.123456789+02:00",
                  "1998-12-31T23:59:60Z", "2000-02-29T12:00:00-00:00"},
                 {"2026-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2026-13-01T00:00:00Z",
                  "2026-00-01T00:00:00Z", "2026-04-31T00:00:00Z", "2026-01-01T24:00:00Z",
                  "2026-01-01T00:60:00Z", "2026-01-01T00:00:61Z", "2026-01-01 00:00:00Z",
                  "2026-01-01T00:00:00", "2026-01-01", "2026-01-01T00:00:00Z\n"}});
}

TEST(SchemaFormats, AnEmailIsANameAtAHost) {
  expect_judged({"email",
                 {"a@b", "first.last+tag@sub.example.org", "o'neil@x-y.io"},
                 {"", "a", "@b", "a@", ".a@b", "a.@b", "a..b@c", "a@-b", "a@b-", "a b@c", "a@b@c",
                  "a@b..c", "a@b\n", std::string(65, 'a') + "@b", "a@" + std::string(64, 'b'),
                  "a@" + std::string(300, 'b')}});
}

TEST(SchemaFormats, AUuidHasFiveGroups) {
  expect_judged({"uuid",
                 {"123e4567-e89b-12d3-a456-426614174000", "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF"},
                 {"", "123e4567e89b12d3a456426614174000", "123e4567-e89b-12d3-a456-42661417400g",
                  "{123e4567-e89b-12d3-a456-426614174000}"}});
}

TEST(SchemaFormats, ARegexIsValidForRe2) {
  expect_judged({"regex",
                 {"", "^a+$", "(?i)x|y", "[[:alpha:]]"},
                 {"(", "(?=x)", "\\1", "(a{1000}){1000}", std::string(1 << 17, 'a')}});
}

TEST(SchemaFormats, LongTextsTakeLinearTime) {
  const std::string many(1'000'000, 'a');
  EXPECT_TRUE(has_format("uri", "x:" + many));
  EXPECT_FALSE(has_format("uri", "x:" + many + " "));
  EXPECT_FALSE(has_format("email", many + "@"));
  EXPECT_FALSE(has_format("date-time", many));
}

TEST(SchemaFormats, OtherFormatsAreNotChecked) {
  EXPECT_FALSE(is_checked_format("hostname"));
  EXPECT_TRUE(has_format("hostname", "a b"));
}

}  // namespace
}  // namespace galley
