// The weaker level for machines without namespaces, and what `doctor` says of this one.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "tests/system/sandbox/world.h"

namespace galley {
namespace {

SandboxOptions copying() {
  SandboxOptions options;
  options.force_copy = true;
  return options;
}

class SandboxCopy : public testing::TestWithParam<User> {};

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

TEST_P(SandboxCopy, FileAndDirectoryTakeEachOthersPlace) {
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
    options.is_ignored = [](const RelPath& path, bool, const Deadline&) -> Result<bool> {
      return path.str() == "build" || path.is_below(rel("build"));
    };
    World world(std::move(options));
    world.sh("mkdir build; echo 1 > build/one; echo 2 > build/two");
    world.sh("cat build/one && rm build/two && echo 3 > build/three");
    const CommandResult result = world.sh("cd build && cat one three");
    EXPECT_EQ(result.standard_output.text(), "1\n3\n");
    EXPECT_TRUE(world.changes().empty());
  });
}

TEST_P(SandboxCopy, WorkspaceAndHostCannotBeWritten) {
  as_user(GetParam(), [] {
    World world(copying());
    world.put_file(".git/HEAD", "ref\n");
    // As root the command becomes nobody, who must be able to read it.
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

TEST_P(SandboxCopy, NetworkPrivilegesAndNamespacesAreShut) {
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
    // The user's other processes count too, and come and go: held is what is asked for here.
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

TEST_P(SandboxCopy, ProcessorTimeOfAllTogether) {
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

TEST_P(SandboxCopy, MemoryOfAllTogether) {
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

TEST_P(SandboxCopy, BytesWrittenOfAllTogether) {
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

TEST_P(SandboxCopy, CopyGoesAway) {
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
  as_user(GetParam(), [] {
    SystemClock clock;
    SandboxOptions options;
    options.helper = helper_program();
    const SandboxProbe probe = probe_sandbox(options, clock);
    EXPECT_EQ(probe.level, SandboxLevel::kNamespaces);
    EXPECT_EQ(probe.summary.substr(0, 30), "commands run behind all walls:");
    for (const char* name : {"user namespaces", "overlayfs", "landlock", "seccomp", "openat2"}) {
      EXPECT_TRUE(std::any_of(probe.items.begin(), probe.items.end(), [&](const auto& item) {
        return item.name == name && item.present;
      })) << name;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Users, SandboxCopy, testing::Values(User::kRoot, User::kNobody),
                         [](const auto& test) {
                           return test.param == User::kRoot ? "Root" : "Nobody";
                         });

}  // namespace
}  // namespace galley
