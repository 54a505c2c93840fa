#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "engine/audit/recorder.h"

namespace galley {
namespace {

/// 2024-01-01T12:34:56.789Z, for good.
class StandingClock final : public Clock {
 public:
  [[nodiscard]] int64_t wall_ns() const override { return 1'704'112'496'789'000'000; }
  [[nodiscard]] std::chrono::steady_clock::time_point steady() const override { return {}; }
};

TEST(ExecutionId, HasTheFormOfAios) {
  const std::string id = new_execution_id(StandingClock());
  EXPECT_TRUE(std::regex_match(id, std::regex("exec-20240101-123456-[0-9a-z]{6}"))) << id;
}

TEST(ExecutionId, AreUniqueForAHundredThousandCallsInOneSecond) {
  const StandingClock clock;
  std::set<std::string> ids;
  constexpr size_t kIdsMade = 100'000;
  for (size_t i = 0; i < kIdsMade; ++i) ids.insert(new_execution_id(clock));
  EXPECT_EQ(ids.size(), kIdsMade);
}

}  // namespace
}  // namespace galley
