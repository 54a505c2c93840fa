#include "engine/stages/run_commits.h"

#include <gtest/gtest.h>

#include "doubles/fault_directory.h"
#include "doubles/memory_directory.h"
#include "support/commit_fixture.h"

namespace galley {
namespace {

TEST(RunCommits, AKillAtAnyCallLosesNoReference) {
  const std::string id(40, 'a');
  for (size_t at = 1;; ++at) {
    const auto tree = std::make_shared<MemoryTree>();
    const auto plain = open_memory_tree(tree);
    put_file(*plain, "layer/objects/aa/" + id.substr(2), "object");
    put_file(*plain, "layer/refs/heads/main", id + "\n");
    ASSERT_TRUE(make_directories(*plain, rel("stage"), 0700));
    const auto plan = std::make_shared<FaultPlan>();
    plan->at = at;
    plan->kills = true;
    const auto keep = [](const WritableDirectory& root) {
      const auto layer = root.open_writable_directory(rel("layer"));
      const auto stage = root.open_writable_directory(rel("stage"));
      return layer && stage ? keep_run_commits(**layer, **stage, "") : Result<KeptRefs>(KeptRefs());
    };
    static_cast<void>(keep(*make_fault_directory(open_memory_tree(tree), plan)));
    const auto kept = keep(*plain);
    ASSERT_TRUE(kept) << kept.error().message;
    const auto refs = run_refs(**plain->open_directory(rel("stage")));
    ASSERT_TRUE(refs) << refs.error().message;
    ASSERT_EQ(refs->size(), 1U) << "killed before call " << at;
    EXPECT_EQ(refs->front().id, id);
    EXPECT_EQ(plain->stat(rel("stage/git/objects/aa/" + id.substr(2)))->kind, FileKind::kRegular);
    if (!plan->is_dead) break;
  }
}

TEST(RunCommits, TheLimitCutsTheLastReferences) {
  constexpr size_t kKept = 1'000;
  const std::string id(40, 'a');
  const auto plain = open_memory_tree(std::make_shared<MemoryTree>());
  put_file(*plain, "layer/objects/aa/" + id.substr(2), "object");
  for (size_t i = 10'001; i <= 10'003 + kKept; ++i) {
    put_file(*plain, "layer/refs/heads/b" + std::to_string(i), id + "\n");
  }
  ASSERT_TRUE(make_directories(*plain, rel("stage"), 0700));
  const auto stage = plain->open_writable_directory(rel("stage"));
  const auto kept = keep_run_commits(**plain->open_writable_directory(rel("layer")), **stage, "");
  ASSERT_TRUE(kept);
  EXPECT_EQ(std::pair(kept->count, kept->left_out), std::pair(kKept, size_t{3}));
  const auto refs = run_refs(**stage);
  ASSERT_TRUE(refs);
  ASSERT_EQ(refs->size(), kKept);
  EXPECT_EQ(refs->back().name, "refs/heads/b11000");
}

}  // namespace
}  // namespace galley
