// The traps that were found while the sandbox was designed.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "staging/sandbox/layer_homes.h"
#include "tests/system/sandbox/world.h"

namespace galley {
namespace {

namespace fs = std::filesystem;

class SandboxTraps : public SandboxTest {};

TEST_P(SandboxTraps, RootInsideIsNobodyOutside) {
  as_user(GetParam(), [] {
    World world;
    const CommandResult result = world.sh("cat /proc/self/uid_map | awk '{print $2}'");
    const std::string mapped = result.standard_output.text();
    EXPECT_NE(mapped, "0\n");
    const std::string own = std::to_string(geteuid()) + "\n";
    EXPECT_EQ(mapped, geteuid() == 0 ? "1879048192\n" : own);
    // Even so, the files that it makes belong to the owner of the workspace.
    world.defaults().effects = EffectsRule::kStageAlways;
    EXPECT_EQ(world.sh("touch x; stat -c %u x a.txt").standard_output.text(), own + own);
  });
}

TEST_P(SandboxTraps, CommandRunsAsTheOwnerOfTheWorkspace) {
  if (geteuid() != 0) return;  // needs two users
  as_user(User::kRoot, [] {
    World world;
    for (const auto& entry : fs::recursive_directory_iterator(world.root())) {
      ASSERT_EQ(lchown(entry.path().c_str(), 100'123, 100'123), 0);
    }
    ASSERT_EQ(lchown(world.root().c_str(), 100'123, 100'123), 0);
    ASSERT_TRUE(world.overlay().write(rel("a.txt"), "proposed\n").has_value());
    const CommandResult result = world.sh("id -u; stat -c %u a.txt dir; echo more >> a.txt");
    EXPECT_EQ(result.standard_output.text(), "100123\n100123\n100123\n");
    EXPECT_EQ(**world.overlay().read(rel("a.txt")), "proposed\nmore\n");
  });
}

TEST_P(SandboxTraps, LayersAreClosedToOthers) {
  as_user(GetParam(), [] {
    World world;
    world.sh("cp /bin/true tool; chmod 2755 tool");
    struct stat found {};
    ASSERT_EQ(stat(world.home().c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 07777, 0700U);
  });
}

TEST_P(SandboxTraps, FifoOfTheWorkspaceIsNotTheHosts) {
  as_user(GetParam(), [] {
    World world;
    ASSERT_EQ(mkfifo((world.root() + "/pipe").c_str(), 0666), 0);
    // A reader would block on the host's FIFO for ever. Inside, the FIFO is another object.
    world.defaults().limits.wall = std::chrono::seconds(60);
    const CommandResult result = world.sh("(echo through > pipe &) ; cat pipe; rm pipe; true");
    EXPECT_EQ(result.standard_output.text(), "through\n");
    struct stat found {};
    EXPECT_EQ(lstat((world.root() + "/pipe").c_str(), &found), 0);
  });
}

TEST_P(SandboxTraps, RenamingALowerDirectoryIsACopy) {
  as_user(GetParam(), [] {
    World world;
    const CommandResult result = world.python(
        "import os\ntry: os.rename('dir', 'moved')\nexcept OSError as e: print(e.errno)");
    EXPECT_EQ(result.standard_output.text(), "18\n");  // EXDEV
    world.sh("mv dir moved");
    EXPECT_EQ(
        world.changes(),
        (std::vector<std::string>{"D dir", "D dir/b.txt", "D dir/sub", "D dir/sub/c.txt", "A moved",
                                  "A moved/b.txt", "A moved/sub", "A moved/sub/c.txt"}));
  });
}

TEST_P(SandboxTraps, LayersCanBeInsideTheWorkspaceUnderGalley) {
  as_user(GetParam(), [] {
    const TempDirectory workspace;
    ASSERT_EQ(mkdir((workspace.path() + "/.galley").c_str(), 0700), 0);
    std::ofstream(workspace.path() + "/f") << "f\n";
    SystemClock clock;
    SandboxOptions options;
    options.workspace = workspace.path();
    options.layer_home = workspace.path() + "/.galley/stage";
    options.helper = helper_program();
    options.is_ignored = [](const RelPath& path, bool, const Deadline&) {
      return path.str() == "out" ? IgnoreAnswer::kIgnored : IgnoreAnswer::kCounts;
    };
    const auto runner = make_sandbox(options, clock);
    ASSERT_TRUE(runner.has_value()) << runner.error().message;
    Overlay overlay(workspace.directory(), make_memory_store(), clock);
    Command command;
    command.argv = {"sh", "-c", "ls -A; find . | wc -l; echo new > g; mkdir out; echo o > out/o"};
    const auto result = (*runner)->run(command, overlay);
    ASSERT_TRUE(result.has_value()) << result.error().message;
    command.argv = {"sh", "-c", "cat g out/o"};
    EXPECT_EQ((*runner)->run(command, overlay)->standard_output.text(), "new\no\n");
    EXPECT_EQ(result->standard_output.text(), "f\n2\n");
    EXPECT_TRUE(result->effects_staged);
    EXPECT_EQ(overlay.changes().size(), 1U);
  });
}

TEST_P(SandboxTraps, LayersCannotBeOnOverlayfs) {
  if (geteuid() != 0) return;  // mounts a file system for the test
  const pid_t child = fork();
  if (child == 0) {
    int status = 1;
    if (unshare(CLONE_NEWNS) == 0 &&
        mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0) {
      const TempDirectory place;
      for (const char* name : {"l", "u", "w", "m"}) fs::create_directory(place.path() + "/" + name);
      const std::string options = "lowerdir=" + place.path() + "/l,upperdir=" + place.path() +
                                  "/u,workdir=" + place.path() + "/w";
      const std::string target = place.path() + "/m";
      if (mount("overlay", target.c_str(), "overlay", 0, options.c_str()) == 0) {
        const auto home = LayerHome::open(target + "/layers");
        const bool is_refused = !home && home.error().reason == "sandbox.unavailable" &&
                                home.error().message.find("overlayfs") != std::string::npos;
        status = is_refused ? 0 : 2;
        (void)umount2(target.c_str(), MNT_DETACH);
      }
    }
    _exit(status);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_P(SandboxTraps, FilesOfOtherOwnersCanBeRead) {
  if (geteuid() != 0) return;  // needs files of another user
  World world;
  ASSERT_EQ(lchown((world.root() + "/a.txt").c_str(), 4242, 4242), 0);
  as_user(User::kRoot, [&] {
    const CommandResult result = world.sh("cat a.txt; stat -c %u a.txt; echo x >> dir/b.txt");
    EXPECT_EQ(result.standard_output.text(), "alpha\n4242\n");
    EXPECT_EQ(world.changes(), (std::vector<std::string>{"M dir/b.txt"}));
  });
}

/// The view is built below /tmp, so a link to any other place leads to the host.
TEST_P(SandboxTraps, KeptDirectoriesAreNotMadeThroughALink) {
  as_user(GetParam(), [] {
    std::string outside = "/dev/shm/galley-test-XXXXXX";
    ASSERT_NE(mkdtemp(outside.data()), nullptr);
    ASSERT_EQ(chmod(outside.c_str(), 0777), 0);
    World world;
    ASSERT_EQ(symlink(outside.c_str(), (world.root() + "/out").c_str()), 0);
    ASSERT_EQ(symlink("dir", (world.root() + "/inner").c_str()), 0);
    world.defaults().effects = EffectsRule::kDrop;
    world.defaults().keep_name = "lint";
    Command command = world.defaults();
    command.argv = {"true"};
    for (const char* kept : {"out", "out/made", "inner/made"}) {
      command.keep = {rel(kept)};
      const auto refused = world.try_run(command);
      ASSERT_FALSE(refused.has_value()) << kept;
      EXPECT_EQ(refused.error().reason, "sandbox.keep_link");
    }
    world.put_file("plain", "text");
    command.keep = {rel("plain")};
    const auto refused = world.try_run(command);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(
        refused.error().message,
        "'plain' cannot be kept between runs, because 'plain' is no directory; name a directory");
    EXPECT_TRUE(std::filesystem::is_empty(outside));
    // A link that is only proposed counts too.
    ASSERT_TRUE(world.overlay().make_symlink(rel("dir/proposed"), outside).has_value());
    command.keep = {rel("dir/proposed/made")};
    EXPECT_FALSE(world.try_run(command).has_value());
    EXPECT_TRUE(std::filesystem::is_empty(outside));
    command.keep = {rel("dir/sub/made")};
    EXPECT_TRUE(world.try_run(command).has_value());
    std::filesystem::remove_all(outside);
  });
}

TEST_P(SandboxTraps, WritingOneNameOfAHardLinkLeavesTheOther) {
  as_user(GetParam(), [] {
    World world;
    ASSERT_EQ(link((world.root() + "/a.txt").c_str(), (world.root() + "/twin.txt").c_str()), 0);
    world.sh("echo more >> a.txt");
    EXPECT_EQ(world.changes(), (std::vector<std::string>{"M a.txt"}));
  });
}

TEST_P(SandboxTraps, MovedWorkspaceIsNoticed) {
  as_user(GetParam(), [] {
    World world;
    const std::string aside = world.root() + "-aside";
    ASSERT_EQ(rename(world.root().c_str(), aside.c_str()), 0);
    ASSERT_EQ(mkdir(world.root().c_str(), 0755), 0);
    Command command;
    command.argv = {"true"};
    const auto result = world.try_run(command);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().reason, "sandbox.unavailable");
    ASSERT_EQ(rmdir(world.root().c_str()), 0);
    ASSERT_EQ(rename(aside.c_str(), world.root().c_str()), 0);
  });
}

/// Writes a file of the workspace when the command prints its first word. The command then blocks,
/// because it prints more than a pipe holds. The file is written until its time is surely later.
void change_while_it_runs(World& world, const std::string& path) {
  world.defaults().on_output = [&world, path, is_done = false](OutputStream,
                                                               std::string_view) mutable {
    if (std::exchange(is_done, true)) return;
    const auto stamp = [&] {
      struct stat found {};
      EXPECT_EQ(stat((world.root() + "/" + path).c_str(), &found), 0);
      return std::make_pair(found.st_ctim.tv_sec, found.st_ctim.tv_nsec);
    };
    world.put_file(path, "somebody else's\n");
    const auto first = stamp();
    while (stamp() <= first) world.put_file(path, "somebody else's\n");
  };
}
constexpr const char* kSayMuch = "; yes | head -c 300000";

TEST_P(SandboxTraps, FileThatChangedUnderTheCommandIsRefused) {
  as_user(GetParam(), [] {
    for (const bool copies : {false, true}) {
      SandboxOptions options;
      options.force_copy = copies;
      World world(std::move(options));
      change_while_it_runs(world, "a.txt");
      for (const char* effect : {"echo mine >> a.txt; echo mine > dir/b.txt", "rm a.txt"}) {
        const CommandResult result = world.sh(std::string(effect) + kSayMuch);
        EXPECT_EQ(result.exit_code, 0);
        EXPECT_FALSE(result.effects_staged);
        ASSERT_EQ(result.refused.size(), 1U);
        EXPECT_EQ(result.refused[0].path, "a.txt");
        EXPECT_NE(result.refused[0].why.find("changed on disk"), std::string::npos);
        EXPECT_TRUE(world.changes().empty());
        change_while_it_runs(world, "a.txt");
      }
      world.defaults().on_output = nullptr;
      EXPECT_EQ(world.sh("cat a.txt; echo mine >> a.txt").standard_output.text(),
                "somebody else's\n");
      EXPECT_EQ(world.changes(), std::vector<std::string>{"M a.txt"});
    }
  });
}

TEST_P(SandboxTraps, ConcurrentChangesElsewhereOrOfKnownBasesAreNotRefused) {
  as_user(GetParam(), [] {
    World world;
    ASSERT_TRUE(world.overlay().write(rel("a.txt"), "proposed\n"));
    change_while_it_runs(world, "a.txt");
    EXPECT_TRUE(world.sh(std::string("echo mine >> a.txt") + kSayMuch).effects_staged);
    // The base is the file at its first use, so a commit finds the conflict.
    EXPECT_EQ(world.overlay().entries().at(rel("a.txt")).before.content, ContentId::of("alpha\n"));
    change_while_it_runs(world, "run.sh");
    EXPECT_TRUE(world.sh(std::string("echo mine >> dir/b.txt") + kSayMuch).effects_staged);
    EXPECT_EQ(world.changes(), (std::vector<std::string>{"M a.txt", "M dir/b.txt"}));
  });
}

/// Counts the opens and listings of every directory below the workspace's root, and of the root.
class Watch {
 public:
  explicit Watch(const std::string& root) : fd_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)) {
    EXPECT_GE(inotify_add_watch(fd_, root.c_str(), IN_OPEN | IN_ACCESS), 0);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
      if (!entry.is_directory()) continue;
      EXPECT_GE(inotify_add_watch(fd_, entry.path().c_str(), IN_OPEN | IN_ACCESS), 0);
    }
    (void)count();
  }
  ~Watch() { close(fd_); }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  size_t count() const {
    size_t events = 0;
    alignas(inotify_event) std::array<char, 65536> buffer{};
    for (ssize_t got = 0; (got = read(fd_, buffer.data(), buffer.size())) > 0;) {
      for (size_t at = 0; at < static_cast<size_t>(got); ++events) {
        at +=
            sizeof(inotify_event) + reinterpret_cast<const inotify_event*>(buffer.data() + at)->len;
      }
    }
    return events;
  }

 private:
  int fd_;
};

TEST_P(SandboxTraps, LargeTreeIsNotScannedAndNeedsNoMoreMounts) {
  as_user(GetParam(), [] {
    std::vector<std::string> mounts;
    std::vector<size_t> looks;
    for (const int directories : {5, 300}) {
      World world;
      for (int i = 0; i < directories; ++i) {
        world.put_file("d" + std::to_string(i) + "/sub/f", "x\n");
      }
      const Watch watch(world.root());
      mounts.push_back(world.sh("wc -l < /proc/self/mountinfo").standard_output.text());
      looks.push_back(watch.count());
      EXPECT_TRUE(std::filesystem::exists(world.root() + "/d0/sub/f"));
      (void)std::filesystem::directory_iterator(world.root() + "/d0");
      EXPECT_GE(watch.count(), 1U);  // proves that a look would be counted
    }
    EXPECT_EQ(mounts[0], mounts[1]);
    EXPECT_EQ(looks[0], looks[1]);
  });
}

/// With a sanitizer the full size takes minutes, and a tenth of it tests the same.
#ifdef GALLEY_SANITIZED
constexpr int kManyDirectories = 5;
#else
constexpr int kManyDirectories = 50;
#endif

TEST_P(SandboxTraps, HundredThousandSmallFilesAreAbsorbed) {
  // Each user makes half of the files; the test's name has the sum.
  as_user(GetParam(), [] {
    // The files are in memory: the test is about names and contents, not about how a disk deletes.
    if (fs::exists("/dev/shm")) (void)setenv("TMPDIR", "/dev/shm", 1);
    const TempDirectory memory;
    (void)unsetenv("TMPDIR");
    SandboxOptions options;
    options.layer_home = memory.path() + "/layers";
    World world(std::move(options));
    world.defaults().limits.max_memory_bytes = 0;
    const CommandResult result = world.python("many = " + std::to_string(kManyDirectories) + R"(
import os
for d in range(many):
    os.mkdir('d%d' % d)
    for f in range(1000):
        with open('d%d/f%d' % (d, f), 'w') as o: o.write('%d %d' % (d, f))
)");
    EXPECT_TRUE(result.effects_staged);
    constexpr size_t kFiles = kManyDirectories * 1'000;
    EXPECT_EQ(result.staged_paths, kFiles) << "a new directory with files does not count";
    EXPECT_EQ(world.overlay().changes().size(), kFiles + kManyDirectories);
    EXPECT_EQ(**world.overlay().read(rel("d4/f999")), "4 999");
  });
}

INSTANTIATE_TEST_SUITE_P(Users, SandboxTraps, testing::Values(User::kRoot, User::kNobody),
                         [](const auto& test) {
                           return test.param == User::kRoot ? "Root" : "Nobody";
                         });

}  // namespace
}  // namespace galley
