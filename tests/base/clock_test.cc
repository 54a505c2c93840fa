#include "base/clock.h"

#include <gtest/gtest.h>

namespace galley {
namespace {

TEST(Clock, ATimeIsWrittenInUtcWithMilliseconds) {
  constexpr int64_t kMs = 1'000'000;
  EXPECT_EQ(rfc3339_utc(0), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(rfc3339_utc(5 * kMs - 1), "1970-01-01T00:00:00.004Z");
  EXPECT_EQ(rfc3339_utc(1'709'210'096'789 * kMs), "2024-02-29T12:34:56.789Z");
  EXPECT_EQ(rfc3339_utc(INT64_MAX), "2262-04-11T23:47:16.854Z");
}

}  // namespace
}  // namespace galley
