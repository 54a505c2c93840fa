// The weaker level for machines without namespaces, and what `doctor` reports about this machine.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "staging/sandbox/process_streams.h"
#include "staging/sandbox/sandbox_probe.h"
#include "tests/system/sandbox/world.h"

namespace galley {
namespace {

SandboxOptions copying() {
  SandboxOptions options;
  options.force_copy = true;
  return options;
}

/// Returns a socket that listens, or that receives datagrams. A name that begins with NUL is
/// abstract.
int socket_at(int type, const std::string& name) {
  const int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  name.copy(address.sun_path, sizeof address.sun_path - 1);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), size), 0);
  if (name[0] != '\0') {
    EXPECT_EQ(chmod(name.c_str(), 0777), 0);
  }
  if (type == SOCK_STREAM) {
    EXPECT_EQ(listen(fd, 1), 0);
  }
  return fd;
}

bool is_tmpfs(const char* path) {
  struct statfs system {};
  return statfs(path, &system) == 0 && system.f_type == TMPFS_MAGIC;
}

class SandboxCopy : public testing::TestWithParam<User> {
 protected:
  void SetUp() override { need_walls(GetParam(), Walls::kCopy); }
};

TEST_P(SandboxCopy, FailedNamespaceAffectsOneCommandOnly) {
  need_walls(GetParam());
  if (GetParam() == User::kRoot) GTEST_SKIP() << "no limit on processes holds for root";
  as_user(GetParam(), [] {
    // The two helper processes may not fork, but the copy may.
    const TempDirectory place;
    place.write("helper",
                "#!/bin/sh\nif mkdir \"$0.first\" 2>/dev/null || mkdir \"$0.second\" 2>/dev/null; "
                "then exec prlimit --nproc=1 '" +
                    helper_program() + "' \"$@\"; fi\nexec '" + helper_program() + "' \"$@\"\n");
    ASSERT_EQ(chmod((place.path() + "/helper").c_str(), 0755), 0);
    SandboxOptions options;
    options.allow_copy = true;
    options.helper = place.path() + "/helper";
    World world(std::move(options));
    const CommandResult first = world.sh("echo new > a.txt");
    EXPECT_EQ(first.level, SandboxLevel::kCopy);
    EXPECT_NE(first.walls.find("make the namespaces"), std::string::npos) << first.walls;
    EXPECT_TRUE(first.effects_staged);
    EXPECT_EQ(world.sh("cat a.txt").level, SandboxLevel::kNamespaces);
  });
}

TEST_P(SandboxCopy, StagesTheSameEffects) {
  as_user(GetParam(), [] {
    World world(copying());
    const std::string before = world.picture();
    ASSERT_TRUE(world.overlay().write(rel("a.txt"), "proposed\n").has_value());
    const CommandResult result = world.sh(
        "cat a.txt; echo more >> a.txt; mv dir/sub dir/moved; rm run.sh; echo n > dir/n; ln -s n "
        "dir/l; chmod 700 dir/b.txt; mkdir empty");
    EXPECT_EQ(result.exit_code, 0) << result.standard_error.text();
    EXPECT_EQ(result.level, SandboxLevel::kCopy);
    EXPECT_EQ(result.standard_output.text(), "proposed\n");
    EXPECT_EQ(world.changes(),
              (std::vector<std::string>{"M a.txt", "M dir/b.txt", "A dir/l", "A dir/moved",
                                        "A dir/moved/c.txt", "A dir/n", "D dir/sub",
                                        "D dir/sub/c.txt", "A empty", "D run.sh"}));
    EXPECT_EQ(**world.overlay().read(rel("a.txt")), "proposed\nmore\n");
    EXPECT_EQ(world.picture(), before);
  });
}

TEST_P(SandboxCopy, PipedInputReachesTheCommand) {
  as_user(GetParam(), [] {
    World world(copying());
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    EXPECT_EQ(write(ends[1], "piped\n", 6), 6);
    close(ends[1]);
    world.defaults().input_relay = *InputRelay::from(ends[0]);
    EXPECT_EQ(world.sh("cat").standard_output.text(), "piped\n");
    close(ends[0]);
  });
}

TEST_P(SandboxCopy, FileAndDirectoryCanReplaceEachOther) {
  as_user(GetParam(), [] {
    World world(copying());
    world.sh("rm -r dir; echo file > dir; rm a.txt; mkdir a.txt; echo in > a.txt/in");
    EXPECT_EQ(world.changes(),
              (std::vector<std::string>{"M a.txt", "A a.txt/in", "M dir", "D dir/b.txt",
                                        "D dir/sub", "D dir/sub/c.txt"}));
  });
}

TEST_P(SandboxCopy, IgnoredOutputsReachTheNextCommand) {
  as_user(GetParam(), [] {
    SandboxOptions options = copying();
    options.is_ignored = [](const RelPath& path, bool, const Deadline&) {
      const bool is_ignored = path.str() == "build" || path.is_below(rel("build"));
      return is_ignored ? IgnoreAnswer::kIgnored : IgnoreAnswer::kCounts;
    };
    World world(std::move(options));
    world.sh("mkdir build; echo 1 > build/one; echo 2 > build/two");
    world.sh("cat build/one && rm build/two && echo 3 > build/three");
    const CommandResult result = world.sh("cd build && cat one three");
    EXPECT_EQ(result.standard_output.text(), "1\n3\n");
    EXPECT_TRUE(world.changes().empty());
  });
}

TEST_P(SandboxCopy, UnchangedFilesAreNotReportedAsIgnored) {
  as_user(GetParam(), [] {
    SandboxOptions options = copying();
    options.is_ignored = [](const RelPath& path, bool, const Deadline&) {
      return path == rel("a.txt") ? IgnoreAnswer::kIgnored : IgnoreAnswer::kCounts;
    };
    World world(std::move(options));
    EXPECT_EQ(world.sh("cat a.txt").ignored_paths, 0U);
    EXPECT_EQ(world.sh("echo more >> a.txt").ignored_paths, 1U);
    EXPECT_EQ(world.sh("cat a.txt").ignored_paths, 0U);
  });
}

TEST_P(SandboxCopy, FilesKeepTheirTimes) {
  as_user(GetParam(), [] {
    SandboxOptions options = copying();
    options.is_ignored = [](const RelPath& path, bool, const Deadline&) {
      return path.str() == "output" ? IgnoreAnswer::kIgnored : IgnoreAnswer::kCounts;
    };
    World world(std::move(options));
    world.put_file("source", "one");
    const timespec times[2] = {{0, UTIME_OMIT}, {1'000'000'000, 5}};
    EXPECT_EQ(utimensat(AT_FDCWD, (world.root() + "/source").c_str(), times, 0), 0);
    world.sh("echo 1 > staged; touch -d @999999999 staged");
    world.sh("echo 2 > output; touch -d @1000000001 output");
    const std::string stat = "stat -c '%n %.Y' source staged output";
    const std::string kept =
        "source 1000000000.000000005\nstaged 999999999.000000000\noutput 1000000001.000000000\n";
    EXPECT_EQ(world.sh(stat).standard_output.text(), kept);
    EXPECT_EQ(world.changes(), std::vector<std::string>{"A staged"});
  });
}

TEST_P(SandboxCopy, WorkspaceAndHostCannotBeWritten) {
  as_user(GetParam(), [] {
    World world(copying());
    world.put_file(".git/HEAD", "ref\n");
    // As root, the command runs as user 65534, which must be able to read it.
    ASSERT_EQ(chmod(world.root().c_str(), 0755), 0);
    const TempDirectory outside;
    const std::string before = world.picture();
    const CommandResult result = world.sh(
        "cat .git/HEAD; echo x > " + world.root() + "/a.txt; echo x > " + outside.path() +
        "/x; echo x > .git/HEAD; rm -rf " + world.root() + "/dir; echo x > /tmp/galley-copy-test");
    EXPECT_EQ(result.standard_output.text(), "ref\n");
    EXPECT_NE(result.exit_code, 0);
    EXPECT_EQ(world.picture(), before);
    EXPECT_TRUE(std::filesystem::is_empty(outside.path()));
    EXPECT_TRUE(world.changes().empty());
  });
}

TEST_P(SandboxCopy, NetworkPrivilegesAndNamespacesAreDenied) {
  as_user(GetParam(), [] {
    World world(copying());
    const CommandResult result = world.python(R"(
import socket
for family in [socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK]:
    try:
        socket.socket(family, socket.SOCK_DGRAM); print('done')
    except OSError: print('no')
)");
    EXPECT_EQ(result.standard_output.text(), "no\nno\nno\n");
    const CommandResult status =
        world.sh("id -u; grep -E '^(CapEff|NoNew|Seccomp:)' /proc/self/status");
    EXPECT_TRUE(status.standard_output.text().ends_with(
        "CapEff:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n"));
    EXPECT_FALSE(status.standard_output.text().starts_with("0\n"));
    EXPECT_NE(world.sh("unshare -Ur true").exit_code, 0);
  });
}

TEST_P(SandboxCopy, SocketsOfTheHostCannotBeReached) {
  as_user(GetParam(), [] {
    World world(copying());
    const TempDirectory outside;
    ASSERT_EQ(chmod(outside.path().c_str(), 0777), 0);
    const std::string abstract(1, '\0');
    const std::string name = "galley-copy-test-" + std::to_string(getpid());
    std::vector<int> open;
    for (const int type : {SOCK_STREAM, SOCK_DGRAM}) {
      const std::string suffix = type == SOCK_STREAM ? "-stream" : "-datagram";
      open.push_back(socket_at(type, outside.path() + "/s" + suffix));
      open.push_back(socket_at(type, abstract + name + suffix));
    }
    const std::string program =
        "import socket as s\nfor t, a in [(t, a + n) for t, n in [(s.SOCK_STREAM, '-stream'), "
        "(s.SOCK_DGRAM, '-datagram')] for a in ['" +
        outside.path() + "/s', '\\0" + name + R"(']]:
  for pair in [lambda: s.socket(s.AF_UNIX, t), lambda: s.socketpair(s.AF_UNIX, t)[0]]:
    for way in [lambda e: e.connect(a), lambda e: e.sendto(b'x', a), lambda e: e.sendmsg([b'x'], [], 0, a)]:
      try: way(pair()); print('reached', t, a)
      except OSError: pass
one, other = s.socketpair()
one.send(b'pairs work'); print(other.recv(99).decode())
)";
    world.defaults().effects = EffectsRule::kDrop;
    EXPECT_EQ(world.python(program).standard_output.text(), "pairs work\n");
    world.defaults().network = NetworkAccess::kHost;
    EXPECT_EQ(world.python(program).standard_output.text(), "pairs work\n");
    for (const int fd : open) close(fd);
  });
}

TEST_P(SandboxCopy, SpecialFilesOfTheWorkspaceAreLeftAlone) {
  as_user(GetParam(), [] {
    World world(copying());
    ASSERT_EQ(mkfifo((world.root() + "/fifo").c_str(), 0644), 0);
    const int in_tree = socket_at(SOCK_STREAM, world.root() + "/dir/socket");
    const std::string before = world.picture();
    CommandResult result = world.sh("ls; echo more >> a.txt");
    EXPECT_EQ(result.standard_output.text(), "a.txt\ndir\nrun.sh\n");
    EXPECT_TRUE(result.refused.empty());
    EXPECT_EQ(world.changes(), std::vector<std::string>{"M a.txt"});
    // A command that replaces them, or deletes their directory, is refused. The refusal names them.
    result = world.sh("echo file > fifo");
    ASSERT_EQ(result.refused.size(), 1U);
    EXPECT_EQ(result.refused[0].path, "fifo");
    result = world.sh("rm -r dir");
    ASSERT_EQ(result.refused.size(), 1U);
    EXPECT_EQ(result.refused[0].path, "dir/socket");
    EXPECT_EQ(world.changes(), std::vector<std::string>{"M a.txt"});
    EXPECT_EQ(world.picture(), before);
    close(in_tree);
  });
}

TEST_P(SandboxCopy, OnlyAllowedProgramsAreExecuted) {
  as_user(GetParam(), [] {
    World world(copying());
    world.defaults().walls.is_restricted = true;
    world.defaults().walls.allowed = {"/usr/bin/cat", "/usr/bin/cp", world.root() + "/run.sh"};
    CommandResult result = world.sh("cat a.txt; ./run.sh now");
    EXPECT_EQ(result.standard_output.text(), "alpha\nran now\n") << result.standard_error.text();
    EXPECT_TRUE(result.restricts_programs);
    for (const char* script :
         {"ls", "cp /usr/bin/ls x; ./x", "cp /usr/bin/ls run.sh.new; ./run.sh.new"}) {
      result = world.sh(script);
      EXPECT_EQ(result.exit_code, 126) << script;
      EXPECT_EQ(result.standard_output.text(), "");
    }
    world.defaults().walls.denied = {"/usr/bin/id"};
    EXPECT_EQ(world.sh("true").unchecked.size(), 1U);
  });
}

TEST(CopyOfRoot, AClosedTmpdirIsNamedInTheError) {
  need_walls(User::kRoot, Walls::kCopy);
  if (geteuid() != 0) GTEST_SKIP() << "only root runs commands as another user";
  const TempDirectory own;
  ASSERT_EQ(chmod(own.path().c_str(), 0700), 0);
  World world(copying());
  (void)setenv("TMPDIR", own.path().c_str(), 1);
  Command command = world.defaults();
  command.argv = {"/bin/true"};
  const auto result = world.try_run(command);
  (void)unsetenv("TMPDIR");
  ASSERT_FALSE(result);
  const std::string& text = result.error().message;
  EXPECT_NE(text.find("enter " + own.path()), std::string::npos) << text;
  EXPECT_NE(text.find("chmod o+x"), std::string::npos) << text;
}

/// The copy is below $TMPDIR, and /proc/PID/io does not count writes to a tmpfs.
TEST_P(SandboxCopy, BytesWrittenToMemoryCount) {
  if (!is_tmpfs("/dev/shm")) GTEST_SKIP() << "/dev/shm is no tmpfs here";
  as_user(GetParam(), [] {
    std::string own = "/dev/shm/galley-test-XXXXXX";
    ASSERT_NE(mkdtemp(own.data()), nullptr);
    ASSERT_EQ(chmod(own.c_str(), 0755), 0);
    World world(copying());
    (void)setenv("TMPDIR", own.c_str(), 1);
    world.put_file("large", std::string(30 << 20, 'x'));
    world.defaults().limits.max_written_bytes = 20 << 20;
    EXPECT_FALSE(world.sh("echo less > than; head -c 9000000 large > half").breach.has_value());
    for (const char* script : {"head -c 25000000 large > more", "cp large $TMPDIR/more",
                               "mkdir d; cp large d/more; chmod 000 d"}) {
      const CommandResult result = world.sh(script);
      const LimitBreach breach = result.breach.value_or(LimitBreach());
      EXPECT_EQ(breach.kind, LimitKind::kWritten) << script;
      EXPECT_GT(breach.figure, uint64_t{20} << 20U) << script;
    }
    world.drop_runner();
    (void)unsetenv("TMPDIR");
    std::filesystem::remove_all(own);
  });
}

/// Nobody may list the open files of a zombie. It has none, so what others write does not count.
TEST_P(SandboxCopy, BytesOfOthersDoNotCountBesideAZombie) {
  if (!is_tmpfs("/dev/shm")) GTEST_SKIP() << "/dev/shm is no tmpfs here";
  as_user(GetParam(), [] {
    std::string own = "/dev/shm/galley-test-XXXXXX";
    ASSERT_NE(mkdtemp(own.data()), nullptr);
    ASSERT_EQ(chmod(own.c_str(), 0755), 0);
    World world(copying());
    (void)setenv("TMPDIR", own.c_str(), 1);
    world.defaults().limits.max_written_bytes = 20 << 20;
    std::atomic<bool> is_over = false;
    std::thread other([&] {
      while (!is_over) {
        std::ofstream(own + "/others") << std::string(30 << 20, 'x');
        std::filesystem::remove(own + "/others");
      }
    });
    // `sleep` never waits for the process that sh has started.
    const CommandResult result = world.sh("true & exec sleep 1");
    is_over = true;
    other.join();
    EXPECT_FALSE(result.breach.has_value());
    world.drop_runner();
    (void)unsetenv("TMPDIR");
    std::filesystem::remove_all(own);
  });
}

TEST_P(SandboxCopy, BytesInDirectoriesThatTheCommandClosedCount) {
  const TempDirectory own;
  ASSERT_EQ(chmod(own.path().c_str(), 0755), 0);
  // A tmpfs without a size limit does not report its usage, so only walking the tree counts bytes.
  if (unshare(CLONE_NEWNS) != 0 || mount("", "/", "", MS_REC | MS_PRIVATE, nullptr) != 0 ||
      mount("tmpfs", own.path().c_str(), "tmpfs", 0, "size=0,mode=1777") != 0) {
    GTEST_SKIP() << "no tmpfs can be mounted";
  }
  as_user(GetParam(), [&] {
    World world(copying());
    (void)setenv("TMPDIR", own.path().c_str(), 1);
    world.put_file("large", std::string(30 << 20, 'x'));
    world.defaults().limits.max_written_bytes = 20 << 20;
    for (const char* mode : {"000", "600"}) {
      // The directories are closed before a byte is written, so the walk never sees the file.
      const std::string script =
          "mkdir -p d/e; exec 3>d/e/more; chmod " + std::string(mode) + " d/e d; cat large >&3";
      const CommandResult result = world.sh(script);
      EXPECT_EQ(result.breach.value_or(LimitBreach()).kind, LimitKind::kWritten) << script;
    }
    world.drop_runner();
    (void)unsetenv("TMPDIR");
  });
  EXPECT_EQ(umount2(own.path().c_str(), MNT_DETACH), 0);
}

TEST_P(SandboxCopy, EveryDescendantDiesAtTheLimit) {
  as_user(GetParam(), [] {
    World world(copying());
    const std::string marker = "3600." + std::to_string(getpid());
    world.defaults().limits.wall = std::chrono::milliseconds(200);
    world.defaults().limits.grace = std::chrono::milliseconds(50);
    const CommandResult result =
        world.sh("(setsid sh -c 'setsid sleep " + marker + " & sleep " + marker +
                 "' &) ; trap '' TERM; sleep " + marker + "; sleep " + marker);
    ASSERT_TRUE(result.breach.has_value());
    EXPECT_EQ(result.breach->kind, LimitKind::kWall);
    EXPECT_EQ(processes_with(marker), 0);
  });
}

TEST_P(SandboxCopy, OutputIsCappedAndCounted) {
  as_user(GetParam(), [] {
    World world(copying());
    world.defaults().limits.max_stdout_bytes = 1000;
    const CommandResult result = world.sh("yes 0123456 | head -c 4000000; echo end");
    EXPECT_EQ(result.standard_output.omitted_bytes, 4'000'004U - 1000U);
    EXPECT_TRUE(result.standard_output.tail.ends_with("0123456\nend\n"));
  });
}

TEST_P(SandboxCopy, FileSizeProcessesAndOpenFilesAreBounded) {
  as_user(GetParam(), [] {
    World world(copying());
    world.defaults().limits.max_file_bytes = 1 << 20;
    world.defaults().limits.max_processes = 20;
    world.defaults().limits.max_open_files = 64;
    CommandResult result = world.sh("exec dd if=/dev/zero of=big bs=1M count=5");
    ASSERT_TRUE(result.breach.has_value());
    EXPECT_EQ(result.breach->kind, LimitKind::kFileSize);
    EXPECT_TRUE(world.changes().empty());
    // The user's other processes count too, and their number varies, so the test checks the
    // request.
    result = world.python(R"(
import os, time
n = 1
try:
    while n < 1000:
        if os.fork() == 0:
            time.sleep(60); os._exit(0)
        n += 1
except OSError as e:
    print(n < 1000, e.errno)
f = []
try:
    while True: f.append(open('/dev/null'))
except OSError as e:
    print(e.errno, len(f) < 64)
)");
    EXPECT_EQ(result.standard_output.text(), "True 11\n24 True\n");
  });
}

TEST_P(SandboxCopy, ProcessorTimeLimitCountsAllProcesses) {
  as_user(GetParam(), [] {
    World world(copying());
    world.defaults().limits.cpu = std::chrono::seconds(1);
    const CommandResult result =
        world.sh("while :; do :; done & while :; do :; done & while :; do :; done & wait");
    ASSERT_TRUE(result.breach.has_value());
    EXPECT_EQ(result.breach->kind, LimitKind::kCpu);
    EXPECT_GE(result.breach->figure, 1U);
  });
}

TEST_P(SandboxCopy, MemoryLimitCountsAllProcesses) {
  as_user(GetParam(), [] {
    World world(copying());
    world.defaults().limits.max_memory_bytes = 100 << 20;
    const CommandResult result = world.python(R"(
import os, time
for i in range(4):
    if os.fork() == 0:
        held = bytearray(b'x') * (40 << 20)
        time.sleep(60); os._exit(0)
time.sleep(60)
)");
    ASSERT_TRUE(result.breach.has_value());
    EXPECT_EQ(result.breach->kind, LimitKind::kMemory);
    EXPECT_GT(result.breach->figure, uint64_t{100} << 20U);
  });
}

TEST_P(SandboxCopy, WriteLimitCountsAllProcesses) {
  as_user(GetParam(), [] {
    World world(copying());
    world.defaults().limits.max_written_bytes = 20 << 20;
    const CommandResult result = world.sh(
        "for i in $(seq 200); do dd if=/dev/zero of=f$i bs=1M count=4 2> /dev/null; done; sleep "
        "60");
    ASSERT_TRUE(result.breach.has_value());
    EXPECT_EQ(result.breach->kind, LimitKind::kWritten);
    EXPECT_TRUE(world.changes().empty());
  });
}

TEST_P(SandboxCopy, CopyIsRemoved) {
  as_user(GetParam(), [] {
    const TempDirectory own;
    ASSERT_EQ(chmod(own.path().c_str(), 0755), 0);
    World world(copying());
    (void)setenv("TMPDIR", own.path().c_str(), 1);
    world.sh("mkdir -p x/y; chmod 000 a.txt");
    (void)unsetenv("TMPDIR");
    EXPECT_TRUE(std::filesystem::is_empty(own.path()));
  });
}

TEST_P(SandboxCopy, ProbeNamesEveryWall) {
  need_walls(GetParam());
  if (IsSkipped() || HasFailure()) return;
  as_user(GetParam(), [] {
    SystemClock clock;
    SandboxOptions options;
    options.helper = helper_program();
    const SandboxProbe probe = probe_sandbox(options, clock);
    EXPECT_EQ(probe.level, SandboxLevel::kNamespaces);
    EXPECT_EQ(probe.summary.substr(0, 33), "commands run in the full sandbox:");
    for (const char* name : {"user namespaces", "overlayfs", "landlock", "seccomp", "openat2"}) {
      EXPECT_TRUE(std::any_of(probe.items.begin(), probe.items.end(), [&](const auto& item) {
        return item.name == name && item.present;
      })) << name;
    }
  });
}

TEST_P(SandboxCopy, ProbeNamesAWorkspaceWhoseCommandsAreRefused) {
  as_user(GetParam(), [] {
    SystemClock clock;
    SandboxOptions options;
    options.helper = helper_program();
    options.workspace = "/dev/shm/workspace";
    const SandboxProbe probe = probe_sandbox(options, clock);
    EXPECT_EQ(probe.level, SandboxLevel::kNone);
    EXPECT_TRUE(probe.summary.starts_with("commands are refused: ")) << probe.summary;
  });
}

INSTANTIATE_TEST_SUITE_P(Users, SandboxCopy, testing::Values(User::kRoot, User::kNobody),
                         [](const auto& test) {
                           return test.param == User::kRoot ? "Root" : "Nobody";
                         });

}  // namespace
}  // namespace galley
