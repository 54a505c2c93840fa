#include "server/telemetry/telemetry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "staging/fs/host_file.h"
#include "tests/support/manual_clock.h"

namespace galley {
namespace {

using testing::HasSubstr;
using testing::Not;

const Telemetry::Service kWorker = {"galley-worker", "job", true};

std::unique_ptr<Telemetry> opened(const Clock& clock, TelemetryOptions options = {}) {
  auto made = Telemetry::open(std::move(options), kWorker, clock, [](const std::string&) {});
  EXPECT_TRUE(made);
  return *std::move(made);
}

TEST(Telemetry, CountsOutcomesAndTimesAndWhatIsInWork) {
  ManualClock clock;
  const auto telemetry = opened(clock);
  const Telemetry::Work present(telemetry.get());
  for (const char* word : {"committed", "committed", "refused"}) {
    const Telemetry::Work work(telemetry.get());
    clock.pass(std::chrono::milliseconds(300));
    work.end({word});
  }
  const std::string text = telemetry->metrics();
  for (const char* line :
       {"# TYPE galley_jobs_total counter\n", "\ngalley_jobs_total{outcome=\"committed\"} 2\n",
        "\ngalley_jobs_total{outcome=\"refused\"} 1\n", "\ngalley_jobs_in_work 1\n",
        "\ngalley_job_duration_seconds_bucket{le=\"0.25\"} 0\n",
        "\ngalley_job_duration_seconds_bucket{le=\"0.5\"} 3\n",
        "\ngalley_job_duration_seconds_bucket{le=\"+Inf\"} 3\n",
        "\ngalley_job_duration_seconds_sum 0.900000\n",
        "\ngalley_job_duration_seconds_count 3\n"}) {
    EXPECT_THAT("\n" + text, HasSubstr(line));
  }
}

TEST(Telemetry, ManyOutcomesMakeFewSeries) {
  const ManualClock clock;
  const auto telemetry = opened(clock);
  for (int i = 0; i < 100; ++i) {
    Telemetry::Work(telemetry.get()).end({"outcome" + std::to_string(i)});
  }
  const std::string text = telemetry->metrics();
  EXPECT_THAT(text, HasSubstr("{outcome=\"outcome14\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("outcome15")));
  EXPECT_THAT(text, HasSubstr("{outcome=\"other\"} 85\n"));
}

TEST(Telemetry, SpansOfOneTraceAreLinesOfOtlp) {
  ManualClock clock;
  const std::string file = testing::TempDir() + "spans.jsonl";
  ASSERT_TRUE(write_host_file(file, ""));
  const auto telemetry = opened(clock, {"", file});
  for (const bool is_failure : {true, false}) {
    const Telemetry::Work work(telemetry.get());
    clock.pass(std::chrono::milliseconds(2));
    work.end({"word", is_failure, "job-j1", {{"galley.job", "j1"}, {"galley.reason", ""}}});
  }
  std::istringstream lines(*read_host_file(file, 1U << 20U));
  std::vector<nlohmann::json> spans;
  for (std::string line; std::getline(lines, line);) {
    const auto resource = nlohmann::json::parse(line).at("resourceSpans").at(0);
    EXPECT_EQ(resource.at("resource").dump(),
              R"({"attributes":[{"key":"service.name","value":{"stringValue":"galley-worker"}}]})");
    spans.push_back(resource.at("scopeSpans").at(0).at("spans").at(0));
  }
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0].at("traceId"), spans[1].at("traceId"));
  EXPECT_NE(spans[0].at("spanId"), spans[1].at("spanId"));
  EXPECT_EQ(spans[0].at("status").at("code"), 2);
  EXPECT_FALSE(spans[1].contains("status"));
  EXPECT_EQ(spans[0].at("kind"), 5);
  EXPECT_EQ(std::stoll(spans[0].at("endTimeUnixNano").get<std::string>()) -
                std::stoll(spans[0].at("startTimeUnixNano").get<std::string>()),
            2'000'000);
  EXPECT_EQ(spans[0].at("attributes").size(), 2U);
}

TEST(Telemetry, OnlyAddressesOfThisMachineAreServed) {
  const ManualClock clock;
  for (const char* address : {"0.0.0.0:0", "192.0.2.1:9", "host", "unix:", "127.0.0.1:99999"}) {
    EXPECT_FALSE(Telemetry::open({address, ""}, kWorker, clock, [](const std::string&) {}))
        << address;
  }
}

}  // namespace
}  // namespace galley
