#include "server/nats/nachos_runner.h"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>

#include "support/manual_clock.h"
#include "support/temp_directory.h"
#include "tools/profiles.h"

namespace galley {
namespace {

/// The time of day is that of the system, as in the audit log.
class SlowClock final : public Clock {
 public:
  [[nodiscard]] int64_t wall_ns() const override { return SystemClock().wall_ns(); }
  [[nodiscard]] std::chrono::steady_clock::time_point steady() const override {
    return steady_.steady();
  }
  void pass(std::chrono::nanoseconds span) { steady_.pass(span); }

 private:
  ManualClock steady_;
};

/// Knows of every call that it began, and of none how it ended.
class BegunCalls final : public SharedAnswers {
 public:
  Result<std::optional<Answer>> begin(const std::string& /*session*/,
                                      const std::string& /*call_id*/, const std::string& hash,
                                      const std::stop_token& /*stop*/) override {
    return std::optional<Answer>(Answer{hash});
  }
  void keep(const std::string& /*session*/, const std::string& /*call_id*/,
            const Answer& /*answer*/) override {}
  void forget(const std::string& /*session*/, const std::string& /*call_id*/) override {}
  Result<void> check() override { return {}; }
};

TEST(NachosRunner, SearchesTheLogForSharedAnswersOnceInTenSeconds) {
  const TempDirectory tree;
  const auto workspace = *Workspace::open(tree.path());
  const ToolProfile& profile = **profile_named("nachos");
  NatsConfig config;
  config.agent = profile.name;
  SlowClock clock;
  NachosRunner alone(*workspace, profile, config, {}, clock);
  NachosRunner sharing(*workspace, profile, config, {}, clock);
  BegunCalls shared;
  sharing.share_answers(&shared);
  const NachosCall call = *alone.parse("filesystem", R"({"id":"r","payload":{"sessionId":"s",
      "callId":"c","action":"write","path":"workspace/b.txt","content":"x"}})");
  const auto shared_answer = [&] { return sharing.answer(call, {}); };
  EXPECT_NE(shared_answer().find("has not told its result"), std::string::npos);
  const std::string made = alone.answer(call, {});
  ASSERT_NE(made.find(R"("success":true)"), std::string::npos) << made;
  EXPECT_NE(shared_answer().find("has not told its result"), std::string::npos);
  clock.pass(std::chrono::seconds(10));
  const std::string found = shared_answer();
  EXPECT_NE(found.find(R"("cached":true)"), std::string::npos) << found;
  EXPECT_NE(found.find(R"("success":true)"), std::string::npos) << found;
}

}  // namespace
}  // namespace galley
