#include "engine/policy/readable_folders.h"

#include <gtest/gtest.h>

#include "engine/policy/config.h"

namespace galley {
namespace {

TEST(ReadableFolders, FoldersOfToolchainsAreAllowed) {
  for (const char* folder : {"~/.cargo", "~/.rustup/", "~/.local/share/uv", "~/.local/bin", "~/go",
                             "/data/tools", "/srv/pyenv", "~/.config/nvim"}) {
    EXPECT_EQ(objection_to_readable(folder, ""), "") << folder;
    EXPECT_EQ(objection_to_readable(folder, "/home/ann"), "") << folder;
  }
}

TEST(ReadableFolders, FoldersOfSecretsAreRefusedInEverySpelling) {
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

TEST(WritableFolders, FoldersOfSecretsAndServicesAreRefused) {
  for (const char* folder : {"/home/ann/.ssh",
                             "/home/ann/.ssh/keys",
                             "/home/ann/.config",
                             "/home/ann/.config/galley",
                             "/home/ann/.local/state",
                             "/home/ann/.local/state/galley/trust",
                             "/home/ann/.aws",
                             "/var",
                             "/var/lib",
                             "/var/lib/x",
                             "/var/spool/cron",
                             "/var/mail",
                             "/var/log",
                             "/home",
                             "/home/bob",
                             "/root",
                             "/home/bob/.ssh",
                             "/srv/people/eve/.gnupg/x",
                             "/root/.aws",
                             "/home/ann/.config/google-chrome",
                             "/home/ann/.config/rclone"}) {
    EXPECT_NE(objection_to_writable(folder, "/home/ann"), "") << folder;
  }
}

TEST(WritableFolders, PlacesFromWhichTheHostRunsProgramsAreRefused) {
  for (const char* place :
       {".config/systemd", ".config/systemd/user/x", ".config/autostart", ".bashrc", ".profile",
        ".zshrc", "bin", "bin/x", ".local/bin", ".local/share", ".gitconfig", ".config/git",
        ".cargo/bin", ".bun/bin/x", ".npm-global/bin", ".config/emacs", ".config/hypr", "go"}) {
    const std::string folder = "/home/ann/" + std::string(place);
    const std::string no = objection_to_writable(folder, "/home/ann");
    EXPECT_NE(no + objection_to_start_place(folder, "/home/ann"), "") << place;
  }
}

TEST(WritableFolders, FoldersOfProgramsAreAllowed) {
  for (const char* folder :
       {"/home/ann/.codex", "/home/ann/.local/state/opencode", "/home/ann/.config/opencode",
        "/home/ann/.cargo", "/home/ann/.local/share/opencode", "/home/ann/bin2", "/srv/data",
        "/var/cache/x", "/tmp/x", "/home/ann/.cargo/registry", "/home/ann/.npm",
        "/home/ann/.cache/x/bin", "/home/ann/src/x/bin"}) {
    EXPECT_EQ(objection_to_writable(folder, "/home/ann"), "") << folder;
    EXPECT_EQ(objection_to_start_place(folder, "/home/ann"), "") << folder;
  }
  EXPECT_EQ(objection_to_writable("/home/ann/.vim", "/home/ann"), "") << "as a layer";
  EXPECT_EQ(objection_to_writable("/var/lib/ci/.codex", "/var/lib/ci"), "");
}

TEST(ReadableFolders, FoldersWithATildeAreInTheHome) {
  EXPECT_EQ(expanded_folder("~/.cargo/", "/home/ann"), "/home/ann/.cargo");
  EXPECT_EQ(expanded_folder("/opt/x", "/home/ann"), "/opt/x");
  EXPECT_EQ(expanded_folder("~/.cargo", ""), "");
}

TEST(ReadableFolders, ARefusedFolderIsReportedWithItsLine) {
  const auto config = parse_config("[sandbox]\nreadable = [\"~/.cargo\", \"~\"]\n", "galley.toml");
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().message.substr(0, 14), "galley.toml:2:");
}

}  // namespace
}  // namespace galley
