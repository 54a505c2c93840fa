#include "staging/sandbox/layer_objects.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/temp_directory.h"

namespace galley {
namespace {

TEST(EraseLayer, RemovesDirectoriesThatDenyAccess) {
  TempDirectory place;
  place.write("victim/a/b/c", "x");
  ASSERT_EQ(symlink("/etc", (place.path() + "/victim/a/link").c_str()), 0);
  ASSERT_EQ(chmod((place.path() + "/victim/a/b").c_str(), 0), 0);
  ASSERT_EQ(chmod((place.path() + "/victim").c_str(), 0), 0);
  ASSERT_TRUE(erase_layer(place.directory(), rel("victim")).has_value());
  EXPECT_TRUE(place.directory().list()->empty());
  EXPECT_TRUE(erase_layer(place.directory(), rel("victim")).has_value());
}

}  // namespace
}  // namespace galley
