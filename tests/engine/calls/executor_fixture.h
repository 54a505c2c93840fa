#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/limits.h"
#include "doubles/memory_directory.h"
#include "engine/calls/executor.h"
#include "tools/json_input.h"
#include "tools/redactor.h"
#include "tools/standard_tools.h"

namespace galley {

using nlohmann::json;

/// A clock that advances each time it is read, by one millisecond unless told otherwise.
class SteppingClock final : public Clock {
 public:
  [[nodiscard]] int64_t wall_ns() const override { return 1'795'000'000'000'000'000; }
  [[nodiscard]] std::chrono::steady_clock::time_point steady() const override {
    return std::chrono::steady_clock::time_point() + (now_ += step_);
  }
  void step_by(std::chrono::milliseconds step) { step_ = step; }
  void pass(std::chrono::milliseconds time) { now_ += time; }

 private:
  mutable std::chrono::milliseconds now_{0};
  std::chrono::milliseconds step_{1};
};

/// A tool whose run is a function, for behaviour that no standard tool has.
class FunctionTool final : public Tool {
 public:
  using Run = std::function<ToolResult(const json&, ToolContext&)>;
  FunctionTool(std::string name, Run run, std::string output = R"({"type":"object"})")
      : run_(std::move(run)) {
    info_.name = std::move(name);
    info_.description = "Does what the test wants.";
    info_.input_schema = R"({"type":"object"})";
    info_.output_schema = std::move(output);
  }
  [[nodiscard]] const ToolInfo& info() const override { return info_; }
  [[nodiscard]] TextSanitizer sanitizer() const override {
    return needs_sanitizer(info_.category) ? sanitized_text : TextSanitizer();
  }
  Result<Intent> intent(const json&, const PathOrigin&) const override { return Intent(); }
  ToolResult run(const json& args, ToolContext& context) const override {
    return run_(args, context);
  }
  [[nodiscard]] ToolInfo& definition() { return info_; }
  void need(std::string capability) { info_.capabilities.push_back(std::move(capability)); }

 private:
  ToolInfo info_;
  Run run_;
};

class ExecutorTest : public ::testing::Test {
 protected:
  ExecutorTest() {
    EXPECT_TRUE(add_standard_tools(registry_));
    options_.root = "/ws";
    options_.agent = "bot";
  }

  ToolResult call(const std::string& tool, const json& args) {
    Executor executor(&registry_, recorder_, clock_, options_);
    return std::move(executor.stage_calls(overlay_, {make(tool, args)}).results.front());
  }
  /// Judges all later calls by the policy of this galley.toml.
  void judge_by(const std::string& toml) {
    auto parsed = parse_config(toml, "galley.toml");
    ASSERT_TRUE(parsed) << parsed.error().message;
    config_ = *std::move(parsed);
    options_.policy.emplace(config_, options_.agent, &overlay_);
  }
  static ToolCall make(const std::string& tool, const json& args) {
    ToolCall out;
    out.tool = tool;
    out.args = std::make_shared<const json>(args);
    out.reason = "a test";
    return out;
  }
  /// Returns "ok", or "CODE reason".
  std::string said(const ToolResult& result) {
    if (result.ok) return "ok";
    return std::string(to_string(result.error->code)) + " " + result.error->reason;
  }
  std::vector<json> records() {
    std::vector<json> out;
    const auto text = read_file(*galley_, *RelPath::parse("audit.jsonl"), limits::kMaxFileBytes);
    if (!text) return out;
    for (size_t start = 0; start < text->size();) {
      const size_t end = text->find('\n', start);
      out.push_back(json::parse(text->substr(start, end - start)));
      start = end + 1;
    }
    return out;
  }

  SteppingClock clock_;
  std::unique_ptr<WritableDirectory> workspace_ = make_memory_directory();
  std::unique_ptr<WritableDirectory> galley_ = make_memory_directory();
  Overlay overlay_{*workspace_, make_memory_store(), clock_};
  std::unique_ptr<AuditLog> log_ =
      std::make_unique<AuditLog>(*galley_, clock_, *RelPath::parse("audit.head"));
  Recorder recorder_{log_, clock_, RecordTime::kAtOnce, "t1"};
  ToolRegistry registry_;
  Config config_;
  ExecutorOptions options_;
  int ids_ = 0;  ///< of names
};

}  // namespace galley
