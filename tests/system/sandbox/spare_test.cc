// A helper that was started in advance behaves like a new one, and leaves nothing behind.
#include <gtest/gtest.h>
#include <poll.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/system/sandbox/world.h"

namespace galley {
namespace {

namespace fs = std::filesystem;

std::vector<pid_t> children_of(pid_t process) {
  std::vector<pid_t> children;
  std::error_code ignored;
  const fs::path tasks = "/proc/" + std::to_string(process) + "/task";
  for (const auto& task : fs::directory_iterator(tasks, ignored)) {
    std::ifstream list(task.path() / "children");
    for (pid_t child = 0; list >> child;) children.push_back(child);
  }
  return children;
}

bool is_gone_or_dead(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::stringstream text;
  text << file.rdbuf();
  const std::string stat = text.str();
  const size_t name_end = stat.rfind(") ");
  return name_end == std::string::npos || stat[name_end + 2] == 'Z' || stat[name_end + 2] == 'X';
}

/// Returns the helper that waits for the next command of this process, once its namespaces are
/// ready.
pid_t spare_of(pid_t engine) {
  for (const pid_t child : children_of(engine)) {
    std::ifstream file("/proc/" + std::to_string(child) + "/cmdline");
    std::stringstream text;
    text << file.rdbuf();
    const bool is_spare = text.str().find(std::string("\0spare\0", 7)) != std::string::npos;
    if (is_spare && !children_of(child).empty()) return child;
  }
  return -1;
}

pid_t wait_for_spare(World& world) {
  world.sh("true");
  world.sh("true");
  EXPECT_TRUE(comes_true([] { return spare_of(getpid()) > 0; }));
  return spare_of(getpid());
}

class SandboxSpare : public SandboxTest {};

TEST_P(SandboxSpare, HasTheSameWalls) {
  as_user(GetParam(), [] {
    World world;
    const std::string look = R"py(
import os, socket
for line in open("/proc/self/status"):
    if line.split(":")[0] in ("Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd",
                              "CapAmb", "NoNewPrivs", "Seccomp", "Seccomp_filters", "NSpid"):
        print(line.strip())
print(sorted(os.listdir("/")), sorted(os.listdir("/dev")), sorted(os.listdir("/proc/self/fd")))
print([line.split()[4:6] for line in open("/proc/self/mountinfo")])
print(sorted(os.environ.items()), os.getcwd(), os.getsid(0), os.uname().nodename)
print(sorted(p for p in os.listdir("/proc") if p.isdigit()))
print(sorted(line.split(":")[0] for line in open("/proc/net/dev") if ":" in line))
server = socket.create_server(("127.0.0.1", 0))
socket.create_connection(server.getsockname())
for attempt in (lambda: os.mkdir("/usr/x"), lambda: socket.socket(socket.AF_PACKET),
                lambda: os.unshare(os.CLONE_NEWUSER) if hasattr(os, "unshare") else os.chroot("/")):
    try:
        attempt()
        print("got through")
    except OSError as error:
        print(error.errno)
)py";
    const CommandResult fresh = world.python(look);
    ASSERT_EQ(fresh.exit_code, 0) << fresh.standard_error.text();
    EXPECT_EQ(fresh.standard_output.text().find("got through"), std::string::npos);
    const pid_t spare = wait_for_spare(world);
    const CommandResult again = world.python(look);
    EXPECT_EQ(again.standard_output.text(), fresh.standard_output.text());
    EXPECT_EQ(again.standard_error.text(), "");
    // The command used this helper, and a helper runs one command only.
    EXPECT_TRUE(comes_true([&] { return is_gone_or_dead(spare); }));
  });
}

TEST_P(SandboxSpare, OneIsStartedForTheFirstCommand) {
  as_user(GetParam(), [] {
    World world;
    ASSERT_TRUE(comes_true([] { return spare_of(getpid()) > 0; }));
    const pid_t first = spare_of(getpid());
    ASSERT_TRUE(world.overlay().write(rel("late.txt"), "late\n").has_value());
    world.defaults().input = "given\n";
    EXPECT_EQ(world.sh("cat - late.txt").standard_output.text(), "given\nlate\n");
    EXPECT_TRUE(comes_true([&] { return is_gone_or_dead(first); }));
  });
}

TEST_P(SandboxSpare, SeesChangesStagedAfterItsStart) {
  as_user(GetParam(), [] {
    World world;
    ASSERT_GT(wait_for_spare(world), 0);
    ASSERT_TRUE(world.overlay().write(rel("late.txt"), "late\n").has_value());
    world.put_file("on-disk.txt", "disk\n");
    EXPECT_EQ(world.sh("cat late.txt on-disk.txt; echo new > made").standard_output.text(),
              "late\ndisk\n");
    EXPECT_EQ(world.changes(), (std::vector<std::string>{"A late.txt", "A made"}));
  });
}

TEST_P(SandboxSpare, GivesACommandItsInput) {
  as_user(GetParam(), [] {
    World world;
    ASSERT_GT(wait_for_spare(world), 0);
    world.defaults().input = "given\n";
    EXPECT_EQ(world.sh("cat").standard_output.text(), "given\n");
  });
}

TEST_P(SandboxSpare, KilledSpareIsReplaced) {
  as_user(GetParam(), [] {
    World world;
    const pid_t spare = wait_for_spare(world);
    ASSERT_GT(spare, 0);
    const std::vector<pid_t> inside = children_of(spare);
    ASSERT_EQ(kill(spare, SIGKILL), 0);
    ASSERT_TRUE(comes_true([&] { return is_gone_or_dead(spare); }));
    EXPECT_EQ(world.sh("echo fine").standard_output.text(), "fine\n");
    for (const pid_t one : inside) EXPECT_TRUE(comes_true([&] { return is_gone_or_dead(one); }));
  });
}

TEST_P(SandboxSpare, EndsWithTheSandbox) {
  as_user(GetParam(), [] {
    World world;
    const pid_t spare = wait_for_spare(world);
    ASSERT_GT(spare, 0);
    const std::vector<pid_t> inside = children_of(spare);
    world.drop_runner();
    EXPECT_NE(kill(spare, 0), 0);  // the process was reaped, not only killed
    for (const pid_t one : inside) EXPECT_TRUE(is_gone_or_dead(one));
  });
}

TEST_P(SandboxSpare, DiesWithTheEngine) {
  as_user(GetParam(), [] {
    World world;
    int up[2];
    ASSERT_EQ(pipe(up), 0);
    const pid_t engine = fork();
    if (engine == 0) {
      const pid_t spare = wait_for_spare(world);
      (void)!write(up[1], &spare, sizeof spare);
      pause();
      _exit(0);
    }
    close(up[1]);
    pid_t spare = -1;
    ASSERT_EQ(read(up[0], &spare, sizeof spare), static_cast<ssize_t>(sizeof spare));
    ASSERT_GT(spare, 0);
    const std::vector<pid_t> inside = children_of(spare);
    EXPECT_EQ(inside.size(), 1U);
    ASSERT_EQ(kill(engine, SIGKILL), 0);
    (void)waitpid(engine, nullptr, 0);
    EXPECT_TRUE(comes_true([&] { return is_gone_or_dead(spare); }));
    for (const pid_t one : inside) EXPECT_TRUE(comes_true([&] { return is_gone_or_dead(one); }));
    close(up[0]);
  });
}

TEST_P(SandboxSpare, EndsByItselfWhenNoCommandComes) {
  as_user(GetParam(), [] {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], 3);
    std::string name = "galley-sandbox";
    std::string argument = "spare";
    std::string time = "1";
    char* argv[] = {name.data(), argument.data(), time.data(), nullptr};
    char* environment[] = {nullptr};
    pid_t helper = 0;
    ASSERT_EQ(posix_spawn(&helper, helper_program().c_str(), &actions, nullptr, argv, environment),
              0);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    int status = 0;
    ASSERT_EQ(waitpid(helper, &status, 0), helper);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 3);
    char byte = 0;
    EXPECT_EQ(read(ends[0], &byte, 1), 0);  // and wrote nothing
    close(ends[0]);
  });
}

INSTANTIATE_TEST_SUITE_P(Users, SandboxSpare, testing::Values(User::kRoot, User::kNobody),
                         [](const auto& test) {
                           return test.param == User::kRoot ? "Root" : "Nobody";
                         });

}  // namespace
}  // namespace galley
