// The staged changes are exactly the changes that the same command makes to a copy of the tree.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/system/sandbox/world.h"

namespace galley {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTree = R"(
mkdir -p src/lib/deep src/bin docs empty/inner assets
for i in 1 2 3 4 5 6 7 8; do echo "file $i" > src/lib/f$i.c; echo "deep $i" > src/lib/deep/d$i.h; done
printf 'crlf\r\nline\r\n' > docs/crlf.txt; head -c 5000 /dev/zero > assets/zero.bin
ln -s ../src/lib/f1.c docs/link; ln -s nowhere docs/dangling; ln docs/crlf.txt docs/hard.txt
echo '#!/bin/sh' > src/bin/tool; chmod 755 src/bin/tool; chmod 600 docs/crlf.txt
)";

const std::string kCommands[] = {
    "echo new > n.txt; echo more >> src/lib/f1.c; rm src/lib/f2.c",
    "mv src/lib source; mkdir -p src/lib; echo x > src/lib/f1.c",
    "mv docs d2; mv d2/link docs; rm -rf assets; echo file > assets",
    "rm -rf src; mkdir -p src/lib/deep; echo only > src/lib/deep/d1.h",
    "rm -rf src docs; ln -s assets src; mkdir docs; echo f > docs/crlf.txt",
    "chmod 700 src; chmod 755 src/lib/f3.c; chmod 644 src/bin/tool; rmdir empty/inner",
    "sed -i s/file/FILE/ src/lib/*.c; ln -sf ../src/lib/f2.c docs/link; touch src/lib/f3.c",
    "rm docs/crlf.txt; mkdir docs/crlf.txt; echo in > docs/crlf.txt/in; rm -r empty",
    "ln docs/hard.txt docs/hard2.txt; cp -a src src2; mv src2 src3",
    "truncate -s 100 assets/zero.bin; cp assets/zero.bin assets/z2; mv assets/z2 assets/zero.bin",
    "for i in $(seq 200); do mkdir -p gen/$((i%7)); echo $i > gen/$((i%7))/$i; done; rm gen/3/*",
    "rm -rf ./*; mkdir src; echo back > src/back",
    "mv src/lib/deep .; rm -rf src/lib; mv deep src/lib; ln -s . loop; mkdir -p a/b/c; rm -r a/b",
};

void shell(const std::string& directory, const std::string& script) {
  const pid_t child = fork();
  if (child == 0) {
    if (chdir(directory.c_str()) != 0) _exit(2);
    umask(022);
    execl("/bin/sh", "sh", "-ec", script.c_str(), nullptr);
    _exit(2);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0) << script;
}

/// Applies the proposed changes to a directory that has the base.
void apply(Overlay& overlay, const std::string& directory) {
  const ChangeSet changes = overlay.changes();
  const auto now = [](const Change& change) { return change.after.kind; };
  for (auto it = changes.rbegin(); it != changes.rend(); ++it) {
    if (it->before.kind == FileKind::kAbsent) continue;
    const fs::path path = fs::path(directory) / it->path.str();
    if (now(*it) != it->before.kind) {
      ASSERT_TRUE(fs::remove(path)) << path;
    }
  }
  for (const Change& change : changes) {
    const fs::path path = fs::path(directory) / change.path.str();
    if (now(change) == FileKind::kDirectory) fs::create_directory(path);
    if (now(change) == FileKind::kSymlink) {
      fs::remove(path);
      fs::create_symlink(*overlay.read_link(change.path), path);
    }
    if (now(change) == FileKind::kRegular) {
      fs::remove(path);
      std::ofstream(path, std::ios::binary) << **overlay.read(change.path);
    }
  }
  for (auto it = changes.rbegin(); it != changes.rend(); ++it) {
    if (now(*it) != FileKind::kDirectory && now(*it) != FileKind::kRegular) continue;
    fs::permissions(fs::path(directory) / it->path.str(), static_cast<fs::perms>(it->after.mode));
  }
}

class SandboxEquality : public testing::TestWithParam<std::tuple<User, std::string, bool>> {
 protected:
  void SetUp() override {
    const auto& [user, script, on_copy] = GetParam();
    need_walls(user, on_copy ? Walls::kCopy : Walls::kNamespaces);
  }
};

TEST_P(SandboxEquality, StagedChangesEqualTheChangesOnACopy) {
  const std::string& script = std::get<1>(GetParam());
  const bool on_copy = std::get<2>(GetParam());
  as_user(std::get<0>(GetParam()), [&] {
    SandboxOptions options;
    options.force_copy = on_copy;
    World world(std::move(options));
    const TempDirectory expected;
    shell(world.root(), kTree);
    shell(expected.path(), "cp -a " + world.root() + "/. . && " + script);
    const TempDirectory proposed;
    shell(proposed.path(), "cp -a " + world.root() + "/. .");
    const CommandResult result = world.sh("set -e; " + script);
    ASSERT_EQ(result.exit_code, 0) << result.standard_error.text();
    ASSERT_TRUE(result.effects_staged);
    apply(world.overlay(), proposed.path());
    EXPECT_EQ(picture_of(proposed.path()), picture_of(expected.path()));
    // Every path in the change set has really changed.
    for (const Change& change : world.overlay().changes()) EXPECT_NE(change.before, change.after);
  });
}

INSTANTIATE_TEST_SUITE_P(Scripts, SandboxEquality,
                         testing::Combine(testing::Values(User::kRoot, User::kNobody),
                                          testing::ValuesIn(kCommands), testing::Bool()));

}  // namespace
}  // namespace galley
