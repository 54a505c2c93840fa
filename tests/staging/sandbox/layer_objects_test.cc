#include "staging/sandbox/layer_objects.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/temp_directory.h"

namespace galley {
namespace {

void put_file(const TempDirectory& directory, const std::string& path, const std::string& text) {
  ASSERT_TRUE(make_directories(directory.directory(), rel(path).parent(), 0755).has_value());
  auto file = directory.directory().open_writable_file(rel(path), OpenMode::kCreateNew, 0644);
  ASSERT_TRUE(file.has_value()) << file.error().message;
  ASSERT_TRUE((*file)->write_at(0, text).has_value());
}

TEST(EraseLayer, RemovesWhatACommandMadeHardToRemove) {
  TempDirectory place;
  put_file(place, "victim/a/b/c", "x");
  ASSERT_EQ(symlink("/etc", (place.path() + "/victim/a/link").c_str()), 0);
  ASSERT_EQ(chmod((place.path() + "/victim/a/b").c_str(), 0), 0);
  ASSERT_EQ(chmod((place.path() + "/victim").c_str(), 0), 0);
  ASSERT_TRUE(erase_layer(place.directory(), rel("victim")).has_value());
  EXPECT_TRUE(place.directory().list()->empty());
  EXPECT_TRUE(erase_layer(place.directory(), rel("victim")).has_value());
}

}  // namespace
}  // namespace galley
