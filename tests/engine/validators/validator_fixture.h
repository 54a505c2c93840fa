#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "engine/policy/config.h"
#include "engine/policy/proposed_tree.h"
#include "engine/policy/validator.h"
#include "engine/validators/factory.h"
#include "engine/validators/validator_cache.h"
#include "staging/overlay/change_set.h"
#include "staging/overlay/overlay.h"
#include "staging/sandbox/command_runner.h"
#include "support/temp_directory.h"

namespace galley {

/// A workspace on disk, an overlay on it, and validators from a configuration given as text.
class ValidatorFixture : public ::testing::Test {
 protected:
  void configure(const std::string& text) {
    auto config = parse_config(text, "galley.toml");
    ASSERT_TRUE(config) << config.error().message;
    config_ = std::move(*config);
    auto made = make_validators(config_, workspace_.directory(), runner_, cache_);
    ASSERT_TRUE(made) << made.error().message;
    validators_ = std::move(*made);
  }
  void use(const std::string& builtin, const std::string& more = "") {
    configure("[[validator]]\nbuiltin = \"" + builtin + "\"\n" + more);
  }

  void base(std::string_view path, std::string_view text, uint32_t mode = 0644) {
    workspace_.write(path, text, mode);
  }
  void propose(std::string_view path, std::string text) {
    const auto written = overlay_.write(rel(path), std::move(text));
    ASSERT_TRUE(written) << written.error().message;
  }

  Result<ValidatorReport> try_run(std::string_view agent = "") {
    const Proposal proposal = Proposal::freeze(overlay_);
    const ProposedTree tree(proposal, workspace_.directory());
    ValidatorReport all;
    for (const auto& validator : validators_) {
      if (!validator->concerns(proposal.changes(), std::string(agent))) continue;
      GALLEY_ASSIGN(ValidatorReport report, validator->validate({tree, clock_, deadline_, {}}));
      all.was_cached = report.was_cached;
      for (auto& finding : report.findings) all.findings.push_back(std::move(finding));
    }
    return all;
  }
  ValidatorReport run() {
    auto report = try_run();
    EXPECT_TRUE(report) << report.error().message;
    return report ? *report : ValidatorReport();
  }
  /// Returns every finding as `rule path:line:column`.
  std::vector<std::string> findings() {
    std::vector<std::string> out;
    for (const Finding& one : run().findings) {
      out.push_back(one.rule + " " + one.path + ":" + std::to_string(one.line) + ":" +
                    std::to_string(one.column));
    }
    return out;
  }

  TempDirectory workspace_;
  SystemClock clock_;
  Deadline deadline_;
  Config config_;
  CommandRunner* runner_ = nullptr;
  ValidatorCache* cache_ = nullptr;
  Overlay overlay_{workspace_.directory(), make_memory_store(), clock_};
  std::vector<std::unique_ptr<Validator>> validators_;
};

}  // namespace galley
