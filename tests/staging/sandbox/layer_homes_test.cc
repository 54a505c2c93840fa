#include "staging/sandbox/layer_homes.h"

#include <gtest/gtest.h>

#include "staging/sandbox/layer_objects.h"
#include "tests/support/skip_without_walls.h"
#include "tests/support/temp_directory.h"

namespace galley {
namespace {

/// A workspace with its layers in a home next to the workspace.
class LayerHomesTest : public testing::Test {
 protected:
  void SetUp() override { skip_without_walls(why_no_upper_layer(home_.directory())); }

  Result<LayerHomes> open(LayerUse use = LayerUse::kOverlay) {
    SandboxOptions options;
    options.workspace = workspace_.path();
    options.layer_home = home_.path();
    return LayerHomes::open(options, use);
  }

  TempDirectory workspace_;
  TempDirectory home_;
  SystemClock clock_;
};

TEST_F(LayerHomesTest, PreparingErasesAbandonedRunsAndKeepsOutputs) {
  for (const char* made : {"run/7/upper", "changes/3", "scratch/build", "keep/lint"}) {
    ASSERT_TRUE(make_directories(home_.directory(), rel(made), 0700));
  }
  const auto homes = open();
  ASSERT_TRUE(homes);
  ASSERT_TRUE(homes->prepare(workspace_.directory(), LayerUse::kOverlay));
  const auto is_there = [&](const char* path) {
    return home_.directory().stat(rel(path))->kind == FileKind::kDirectory;
  };
  EXPECT_FALSE(is_there("run/7"));
  EXPECT_FALSE(is_there("changes/3"));
  EXPECT_TRUE(is_there("scratch/build"));
  EXPECT_TRUE(is_there("keep/lint"));
}

TEST_F(LayerHomesTest, ScratchHidesTheStateDirectory) {
  const auto homes = open();
  ASSERT_TRUE(homes);
  // The second time it is there already.
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(homes->prepare(workspace_.directory(), LayerUse::kOverlay));
    EXPECT_TRUE(is_whiteout(**homes->open_scratch(), rel(".galley")));
  }
}

TEST_F(LayerHomesTest, LowerLayersAreOutsideTheWorkspace) {
  SandboxOptions options;
  options.workspace = workspace_.path();
  options.layer_home = workspace_.path() + "/layers";
  options.scratch_home = home_.path();
  const auto homes = LayerHomes::open(options, LayerUse::kOverlay);
  ASSERT_TRUE(homes);
  EXPECT_EQ(homes->upper().path(), workspace_.path() + "/layers");
  EXPECT_EQ(homes->lower().path(), home_.path());
}

TEST_F(LayerHomesTest, AnEmptyProposalNeedsNoLayer) {
  const auto homes = open();
  ASSERT_TRUE(homes);
  ASSERT_TRUE(homes->prepare(workspace_.directory(), LayerUse::kOverlay));
  LayerCache cache(homes->lower(), workspace_.directory());
  Overlay overlay(workspace_.directory(), make_memory_store(), clock_);
  const auto none = cache.layer_of(overlay.changes(), *overlay.store());
  ASSERT_TRUE(none);
  EXPECT_EQ(*none, nullptr);
}

TEST_F(LayerHomesTest, ALayerThatACommandUsesIsNotChanged) {
  const auto homes = open();
  ASSERT_TRUE(homes);
  ASSERT_TRUE(homes->prepare(workspace_.directory(), LayerUse::kOverlay));
  LayerCache cache(homes->lower(), workspace_.directory());
  Overlay overlay(workspace_.directory(), make_memory_store(), clock_);
  ASSERT_TRUE(overlay.write(rel("a"), "a"));
  auto first = cache.layer_of(overlay.changes(), *overlay.store());
  ASSERT_TRUE(first);
  EXPECT_EQ(*first, *cache.layer_of(overlay.changes(), *overlay.store()));
  ASSERT_TRUE(overlay.write(rel("b"), "b"));
  const auto second = cache.layer_of(overlay.changes(), *overlay.store());
  ASSERT_TRUE(second);
  EXPECT_NE(*first, *second);
  const std::string free = (*first)->path;
  first->reset();
  ASSERT_TRUE(overlay.write(rel("c"), "c"));
  EXPECT_EQ((*cache.layer_of(overlay.changes(), *overlay.store()))->path,
            free);  // brought up to date, not made anew
}

}  // namespace
}  // namespace galley
