#include "engine/calls/call_supervisor.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "support/manual_clock.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

class QuietTool final : public Tool {
 public:
  explicit QuietTool(ToolInfo info) : info_(std::move(info)) {}
  [[nodiscard]] const ToolInfo& info() const override { return info_; }
  [[nodiscard]] TextSanitizer sanitizer() const override { return sanitized_text; }
  Result<Intent> intent(const json&, const PathOrigin&) const override { return Intent(); }
  ToolResult run(const json&, ToolContext&) const override {
    return ToolResult::success(nlohmann::ordered_json::object());
  }

 private:
  ToolInfo info_;
};

class CallSupervisorTest : public ::testing::Test {
 protected:
  CallSupervisorTest() {
    tree_.write("a.txt", "one\n");
    info_.name = "Api";
    info_.description = "Does what the test wants.";
    info_.input_schema = info_.output_schema = R"({"type":"object"})";
    info_.category = ToolInfo::Category::kApi;
    info_.annotations.idempotent = true;
    intent_.is_open_ended = true;
    retry_.jitter = [] { return 1.0; };
    retry_.pause = [this](milliseconds span, const std::stop_token&) {
      pauses_.push_back(span.count());
      clock_.pass(span);
      return true;
    };
  }

  /// A call whose attempts are answered in turn with these reasons; an empty one is a success.
  ToolResult run(std::vector<std::string> answers, const ToolPrecedence& precedence = {}) {
    if (supervisor_ == nullptr) {
      EXPECT_TRUE(registry_.add(std::make_unique<QuietTool>(info_), precedence));
      supervisor_ = std::make_unique<CallSupervisor>(clock_, configs_, retry_);
    }
    const auto entry = *registry_.get(info_.name);
    CallSupervisor::Call call{*entry, args_, overlay_, intent_.reads, intent_.is_open_ended};
    call.deadline = deadline_;
    size_t next = 0;
    CallSupervisor::SupervisedCall supervised = supervisor_->take(call);
    const auto attempt = [&] {
      ++attempts_;
      if (reads_) supervised.notes().note(overlay_, rel("a.txt"));
      const bool is_written = !writes_ || overlay_.write(rel("left"), "by an attempt").has_value();
      EXPECT_TRUE(is_written);
      const std::string reason = answers.at(std::min(next++, answers.size() - 1));
      if (reason.empty()) return ToolResult::success({{"answer", attempts_}});
      JsonDocument details;
      if (retry_after_ms_ > 0) {
        details = std::make_shared<const nlohmann::ordered_json>(
            nlohmann::ordered_json{{"retry_after_ms", retry_after_ms_}});
      }
      return ToolResult::failure({ToolErrorCode::kRuntime, reason, "why", details});
    };
    while (!supervised.answer()) supervised.note(attempt());
    return *std::move(supervised.answer());
  }
  static std::string said(const ToolResult& result) {
    return result.ok ? "ok" : result.error->reason;
  }

  int64_t retry_after_ms_ = 0;  ///< that a failed attempt names
  TempDirectory tree_;
  ManualClock clock_;
  Overlay overlay_{tree_.directory(), make_memory_store(), clock_};
  ToolRegistry registry_;
  std::map<std::string, ToolConfig> configs_;
  ToolInfo info_;
  Intent intent_;
  json args_ = json::object();
  RetryRule retry_;
  Deadline deadline_;
  std::vector<int64_t> pauses_;
  int attempts_ = 0;
  bool reads_ = false;
  bool writes_ = false;
  std::unique_ptr<CallSupervisor> supervisor_;
};

TEST_F(CallSupervisorTest, ATransientErrorIsTriedAgainAndTheResultSaysSo) {
  const ToolResult result = run({"service.unavailable", "service.timeout", ""});
  EXPECT_EQ(said(result), "ok");
  EXPECT_EQ(result.meta.attempts, 3U);
  EXPECT_EQ(pauses_, (std::vector<int64_t>{100, 200}));
}

TEST_F(CallSupervisorTest, TheErrorOfTheLastAttemptIsReturned) {
  const ToolResult result = run({"service.unavailable"});
  EXPECT_EQ(said(result), "service.unavailable");
  EXPECT_EQ(result.meta.attempts, 3U);
}

TEST_F(CallSupervisorTest, AToolThatIsNotIdempotentIsTriedOnce) {
  info_.annotations.idempotent = false;
  EXPECT_EQ(run({"service.unavailable"}).meta.attempts, 1U);
}

TEST_F(CallSupervisorTest, APermanentErrorIsTriedOnce) {
  EXPECT_EQ(run({"path.not_found"}).meta.attempts, 1U);
}

TEST_F(CallSupervisorTest, ChangesOfAFailedAttemptAreReverted) {
  writes_ = true;
  retry_.pause = [this](milliseconds, const std::stop_token&) {
    EXPECT_FALSE(overlay_.changes().empty());
    return true;
  };
  ASSERT_EQ(said(run({"tool.busy", ""})), "ok");
  EXPECT_EQ(overlay_.changes().size(), 1U);
}

TEST_F(CallSupervisorTest, APauseBeyondTheDeadlineIsNotBegun) {
  deadline_ = Deadline::after(clock_, milliseconds(250));
  const ToolResult result = run({"service.unavailable"});
  EXPECT_EQ(result.meta.attempts, 2U);
  EXPECT_EQ(pauses_, (std::vector<int64_t>{100}));
}

TEST_F(CallSupervisorTest, AToolWithInvalidResultsIsDisabledAndTriedAgain) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(said(run({"tool.output"})), "tool.output");
  const int before = attempts_;
  EXPECT_EQ(said(run({""})), "tool.unhealthy");
  EXPECT_EQ(attempts_, before) << "it was not called";
  EXPECT_EQ(supervisor_->health_of("Api"), ToolHealth::State::kOut);
  clock_.pass(seconds(60));
  EXPECT_EQ(said(run({""})), "ok");
  EXPECT_EQ(supervisor_->health_of("Api"), ToolHealth::State::kHealthy);
}

TEST_F(CallSupervisorTest, AStandardToolIsNeverDisabled) {
  info_.category = ToolInfo::Category::kDirect;
  intent_.is_open_ended = false;
  for (int i = 0; i < 9; ++i) EXPECT_EQ(said(run({"tool.timeout"})), "tool.timeout");
  EXPECT_EQ(said(run({""})), "ok");
}

TEST_F(CallSupervisorTest, ARateLimitedServiceIsNotCalledDuringTheCoolDown) {
  configs_["Api"].cool_down_ms = 5'000;
  EXPECT_EQ(said(run({"service.rate_limited"})), "service.rate_limited");
  EXPECT_EQ(said(run({""})), "limit.rate");
  clock_.pass(seconds(5));
  EXPECT_EQ(said(run({""})), "ok");
}

TEST_F(CallSupervisorTest, APauseThatTheServiceRequestsIsObserved) {
  retry_after_ms_ = 3'600'000;
  EXPECT_EQ(said(run({"service.rate_limited"})), "service.rate_limited");
  clock_.pass(seconds(3'599));
  const ToolResult early = run({""});
  EXPECT_EQ(said(early), "limit.rate");
  EXPECT_EQ((*early.error->details)["retry_after_ms"], 1'000);
  clock_.pass(seconds(1));
  EXPECT_EQ(said(run({""})), "ok");
}

TEST_F(CallSupervisorTest, ConfiguredRatesApply) {
  configs_["Api"].calls_per_minute = 1;
  EXPECT_EQ(said(run({""})), "ok");
  EXPECT_EQ(said(run({""})), "limit.rate");
}

TEST_F(CallSupervisorTest, AResultIsReusedWhileTheContentsAreUnchanged) {
  info_.category = ToolInfo::Category::kDirect;
  info_.annotations.read_only = true;
  reads_ = true;
  const ToolPrecedence precedence{0, {}, true};
  EXPECT_FALSE(run({""}, precedence).meta.cached);
  const ToolResult again = run({""}, precedence);
  EXPECT_TRUE(again.meta.cached);
  EXPECT_EQ((*again.data)["answer"], 1);
  ASSERT_TRUE(overlay_.write(rel("a.txt"), "changed\n"));
  const ToolResult anew = run({""}, precedence);
  EXPECT_FALSE(anew.meta.cached);
  EXPECT_EQ((*anew.data)["answer"], 2);
}

TEST_F(CallSupervisorTest, AToolThatDependsOnMoreThanContentsIsNotCached) {
  info_.annotations.read_only = true;
  EXPECT_FALSE(run({""}).meta.cached);
  EXPECT_FALSE(run({""}).meta.cached);
  EXPECT_EQ(attempts_, 2);
}

TEST_F(CallSupervisorTest, TheConfigurationTurnsTheCacheOff) {
  info_.annotations.read_only = true;
  configs_["Api"].is_cached = false;
  const ToolPrecedence precedence{0, {}, true};
  EXPECT_FALSE(run({""}, precedence).meta.cached);
  EXPECT_FALSE(run({""}, precedence).meta.cached);
}

TEST_F(CallSupervisorTest, AnUntrustedConfigurationCanOnlyShortenTheTimeout) {
  ToolConfig& config = configs_["Api"];
  const CallSupervisor supervisor(clock_, configs_);
  EXPECT_EQ(supervisor.time_for("Other", seconds(7)), seconds(7));
  config.timeout_ms = 60'000;
  EXPECT_EQ(supervisor.time_for("Api", seconds(7)), seconds(60));
  config.only_narrows = true;
  EXPECT_EQ(supervisor.time_for("Api", seconds(7)), seconds(7));
  config.timeout_ms = 1'000;
  EXPECT_EQ(supervisor.time_for("Api", seconds(7)), seconds(1));
}

}  // namespace
}  // namespace galley
