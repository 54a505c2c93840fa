#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "base/clock.h"
#include "engine/policy/config.h"
#include "engine/policy/policy.h"
#include "engine/policy/proposed_tree.h"
#include "staging/overlay/change_set.h"
#include "staging/overlay/overlay.h"
#include "support/temp_directory.h"

namespace galley {

/// A small workspace on disk, an overlay on it, and a configuration given as text.
class PolicyFixture : public ::testing::Test {
 protected:
  PolicyFixture() {
    workspace_.write("src/a.c", "int a;\n");
    workspace_.write("src/gen/b.c", "int b;\n");
    workspace_.write("README.md", "hello\n");
    workspace_.write("bin/run", "#!/bin/sh\n", 0755);
  }

  void configure(std::string_view text) {
    auto config = parse_config(text, "galley.toml");
    ASSERT_TRUE(config) << config.error().message;
    config_ = std::move(*config);
  }

  Proposal freeze() { return Proposal::freeze(overlay_); }

  PolicyReport judge(std::string_view agent = "") {
    const Proposal proposal = freeze();
    const ProposedTree tree(proposal, workspace_.directory());
    auto report = Policy(config_).judge(tree, agent);
    EXPECT_TRUE(report) << report.error().message;
    return report ? *report : PolicyReport{Decision::kDeny, {}};
  }

  TempDirectory workspace_;
  SystemClock clock_;
  Config config_;
  Overlay overlay_{workspace_.directory(), make_memory_store(), clock_};
};

}  // namespace galley
