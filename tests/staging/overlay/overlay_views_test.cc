#include <gtest/gtest.h>

#include <thread>

#include "staging/overlay/overlay.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

class OverlayViews : public ::testing::Test {
 protected:
  OverlayViews() {
    tree_.write("a.txt", "alpha\n");
    tree_.write("b.txt", "beta\n");
    tree_.write("d/c.txt", "gamma\n");
  }

  TempDirectory tree_;
  SystemClock clock_;
  Overlay overlay_{tree_.directory(), make_memory_store(), clock_};
};

TEST_F(OverlayViews, AViewShowsTheProposedTree) {
  ASSERT_TRUE(overlay_.write(rel("a.txt"), "staged\n"));
  Overlay view = overlay_.reading_view();
  EXPECT_EQ(**view.read(rel("a.txt")), "staged\n");
  EXPECT_EQ(**view.read(rel("b.txt")), "beta\n");
}

TEST_F(OverlayViews, ReadsOfAViewAreAddedToTheOverlay) {
  Overlay view = overlay_.reading_view();
  ASSERT_TRUE(view.read(rel("a.txt")));
  EXPECT_TRUE(overlay_.reads().empty());
  ASSERT_TRUE(overlay_.take_reads(view));
  ASSERT_EQ(overlay_.reads().size(), 1U);
  EXPECT_EQ(overlay_.reads().front().path, rel("a.txt"));
  tree_.write("a.txt", "changed on disk\n");
  EXPECT_EQ(**overlay_.read(rel("a.txt")), "alpha\n") << "the base is the one that was seen";
}

TEST_F(OverlayViews, ListingsOfAViewAreAddedWhenReadsAreTracked) {
  overlay_.track_reads();
  Overlay view = overlay_.reading_view();
  ASSERT_TRUE(view.list(rel("d")));
  ASSERT_TRUE(overlay_.take_reads(view));
  ASSERT_EQ(overlay_.reads().size(), 1U);
  EXPECT_TRUE(overlay_.reads().front().listing);
}

TEST_F(OverlayViews, ReadsOfAViewThatSawAnotherContentAreNotAdded) {
  Overlay first = overlay_.reading_view();
  Overlay second = overlay_.reading_view();
  ASSERT_TRUE(first.read(rel("a.txt")));
  tree_.write("a.txt", "changed between\n");
  ASSERT_TRUE(second.read(rel("a.txt")));
  ASSERT_TRUE(second.read(rel("b.txt")));
  EXPECT_TRUE(overlay_.take_reads(first));
  EXPECT_FALSE(overlay_.take_reads(second));
  EXPECT_EQ(overlay_.reads().size(), 1U) << "nothing was taken of it";
}

TEST_F(OverlayViews, AViewDoesNotShowChangesThatAreStagedLater) {
  Overlay view = overlay_.reading_view();
  ASSERT_TRUE(overlay_.write(rel("a.txt"), "later\n"));
  EXPECT_EQ(**view.read(rel("a.txt")), "alpha\n");
  EXPECT_EQ(**overlay_.read(rel("a.txt")), "later\n");
}

TEST_F(OverlayViews, ViewsCanBeReadOnSeparateThreads) {
  ASSERT_TRUE(overlay_.write(rel("new.txt"), "new\n"));
  Overlay first = overlay_.reading_view();
  Overlay second = overlay_.reading_view();
  const auto read_all = [](Overlay& view) {
    for (const char* path : {"a.txt", "b.txt", "d/c.txt", "new.txt"}) {
      EXPECT_TRUE(view.read(rel(path)));
    }
    EXPECT_EQ(view.list(RelPath::root())->size(), 4U);
  };
  {
    const std::jthread one([&] { read_all(first); });
    const std::jthread other([&] { read_all(second); });
  }
  EXPECT_TRUE(overlay_.take_reads(first));
  EXPECT_TRUE(overlay_.take_reads(second));
  EXPECT_EQ(overlay_.reads().size(), 3U);
}

}  // namespace
}  // namespace galley
