#include "engine/policy/readable_folders.h"

#include <gtest/gtest.h>

#include "engine/policy/config.h"

namespace galley {
namespace {

TEST(ReadableFolders, OfToolchainsAreTaken) {
  for (const char* folder : {"~/.cargo", "~/.rustup/", "~/.local/share/uv", "~/.local/bin", "~/go",
                             "/data/tools", "/srv/pyenv", "~/.config/nvim"}) {
    EXPECT_EQ(objection_to_readable(folder, ""), "") << folder;
    EXPECT_EQ(objection_to_readable(folder, "/home/ann"), "") << folder;
  }
}

TEST(ReadableFolders, OfSecretsAreRefusedWhateverTheyAreCalled) {
  for (const char* folder : {"",
                             "x/y",
                             "~",
                             "~/",
                             "~ann",
                             "/",
                             "/home",
                             "/home/ann",
                             "/home/bob",
                             "/root",
                             "~/.ssh",
                             "~/.ssh/",
                             "~/.ssh/deep/er",
                             "~/.config",
                             "~/.config/gh",
                             "~/.local",
                             "~/.local/share",
                             "~/.local/state/galley",
                             "~/.aws",
                             "~/a/../.ssh",
                             "~/./.ssh",
                             "~//.ssh",
                             "/proc",
                             "/proc/1",
                             "/dev/shm",
                             "/run",
                             "/var",
                             "/var/run/docker",
                             "/home/ann/.ssh",
                             "/home/ann/../ann"}) {
    EXPECT_NE(objection_to_readable(folder, "/home/ann"), "") << folder;
  }
  EXPECT_EQ(objection_to_readable("/home/ann/.ssh", ""), "") << "known where the home is known";
  EXPECT_NE(objection_to_readable("~/.ssh", ""), "");
  EXPECT_NE(objection_to_readable("/srv", "/srv/home/ann"), "");
}

TEST(ReadableFolders, OfTheHomeArePlacedThere) {
  EXPECT_EQ(placed_folder("~/.cargo/", "/home/ann"), "/home/ann/.cargo");
  EXPECT_EQ(placed_folder("/opt/x", "/home/ann"), "/opt/x");
  EXPECT_EQ(placed_folder("~/.cargo", ""), "");
}

TEST(ReadableFolders, AreRefusedWithTheirPlaceInTheFile) {
  const auto config = parse_config("[sandbox]\nreadable = [\"~/.cargo\", \"~\"]\n", "galley.toml");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().message.substr(0, 14), "galley.toml:2:");
}

}  // namespace
}  // namespace galley
