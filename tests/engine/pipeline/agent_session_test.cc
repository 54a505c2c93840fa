#include "engine/pipeline/agent_session.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "doubles/fault_directory.h"
#include "engine/commit/state_directory.h"
#include "staging/fs/disk_directory.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

TEST(AgentSession, OneCallTellsThatNoProcessIsNoted) {
  const TempDirectory temp;
  auto opened = open_writable_disk_directory(temp.path());
  ASSERT_TRUE(opened);
  const auto plan = std::make_shared<FaultPlan>();
  const auto root = make_fault_directory(std::move(*opened), plan);
  const auto state = StateDirectory::open_or_create(*root);
  ASSERT_TRUE(state);
  const std::vector<ProcessIdentity> above = {{11, 1, 10}, {10, 1, 9}, {9, 1, 1}};
  plan->calls.clear();
  EXPECT_EQ(AgentSession::of_processes(*state, above), "");
  EXPECT_EQ(plan->calls.size(), 1U);
  const AgentSession session(*state, "of-an-agent");
  ASSERT_TRUE(session.note_process(above[1]));
  EXPECT_EQ(AgentSession::of_processes(*state, above), "of-an-agent");
}

}  // namespace
}  // namespace galley
