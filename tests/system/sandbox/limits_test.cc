// Every limit ends a command that exceeds it, names itself, and leaves no process behind.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include "tests/system/sandbox/world.h"

namespace galley {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class SandboxLimits : public SandboxTest {};

// Limit: sandbox.timeout_ms
TEST_P(SandboxLimits, WallTimeKillsAHundredProcesses) {
  as_user(GetParam(), [] {
    World world;
    const std::string marker = "3600." + std::to_string(getpid());
    world.defaults().limits.wall = milliseconds(300);
    world.defaults().limits.grace = milliseconds(0);
    const CommandResult result =
        world.sh("for i in $(seq 100); do sleep " + marker + " & done; echo up; wait");
    ASSERT_TRUE(result.breach.has_value());
    EXPECT_EQ(result.breach->kind, LimitKind::kWall);
    EXPECT_EQ(result.breach->limit, 300U);
    EXPECT_GE(result.breach->figure, 300U);
    EXPECT_EQ(result.breach->error().kind, ErrorKind::kTimeout);
    EXPECT_EQ(result.breach->error().reason, "sandbox.timeout");
    EXPECT_EQ(processes_with(marker), 0);
    std::printf("limit to end of the last process: %.1f ms\n",
                std::chrono::duration<double, std::milli>(result.wall).count() - 300);
  });
}

TEST_P(SandboxLimits, SigtermComesFirstAndCanBeHandled) {
  as_user(GetParam(), [] {
    World world;
    world.defaults().limits.wall = milliseconds(1000);
    world.defaults().limits.grace = seconds(20);
    const CommandResult result =
        world.sh("trap 'echo saving; exit 7' TERM; echo x > x; sleep 60 & wait");
    ASSERT_TRUE(result.breach.has_value());
    EXPECT_EQ(result.breach->kind, LimitKind::kWall);
    EXPECT_EQ(result.standard_output.text(), "saving\n");
    EXPECT_EQ(result.exit_code, 7);
    EXPECT_LT(result.wall, seconds(20));
    EXPECT_FALSE(result.effects_staged);
  });
}

// Limit: sandbox.grace_ms
TEST_P(SandboxLimits, IgnoringSigtermGainsOnlyTheGracePeriod) {
  as_user(GetParam(), [] {
    World world;
    const std::string marker = "3600." + std::to_string(getpid());
    world.defaults().limits.wall = milliseconds(100);
    world.defaults().limits.grace = milliseconds(100);
    const CommandResult result = world.sh("trap '' TERM; sleep " + marker);
    EXPECT_TRUE(result.breach.has_value());
    EXPECT_EQ(processes_with(marker), 0);
  });
}

TEST_P(SandboxLimits, ForkBombIsLimitedAndKilled) {
  as_user(GetParam(), [] {
    World world;
    world.defaults().limits.max_processes = 40;
    world.defaults().limits.wall = milliseconds(600);
    world.defaults().limits.grace = milliseconds(0);
    const CommandResult result = world.python(R"(
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
)");
    ASSERT_TRUE(result.breach.has_value());
    EXPECT_EQ(result.breach->kind, LimitKind::kWall);
  });
}

// Limit: sandbox.max_processes
TEST_P(SandboxLimits, ProcessesAreCountedExactly) {
  as_user(GetParam(), [] {
    World world;
    world.defaults().limits.max_processes = 20;
    const CommandResult result = world.python(R"(
import os, time
n = 1
try:
    while n < 1000:
        if os.fork() == 0:
            time.sleep(60); os._exit(0)
        n += 1
except OSError as e:
    print(n, e.errno)
)");
    EXPECT_EQ(result.standard_output.text(), "20 11\n");
  });
}

// Limit: sandbox.max_output_bytes
TEST_P(SandboxLimits, OutputFloodIsCappedAndCounted) {
  as_user(GetParam(), [] {
    World world;
    world.defaults().limits.max_stdout_bytes = 1000;
    const CommandResult result = world.sh("yes 0123456 | head -c 40000000; echo end");
    EXPECT_EQ(result.standard_output.head.size(), 500U);
    EXPECT_EQ(result.standard_output.tail.size(), 500U);
    EXPECT_EQ(result.standard_output.omitted_bytes, 40'000'004U - 1000U);
    EXPECT_TRUE(result.standard_output.tail.ends_with("0123456\nend\n"));
  });
}

// Limit: sandbox.max_file_bytes
TEST_P(SandboxLimits, FileOfFiveGigabytesStopsAtTheLimit) {
  as_user(GetParam(), [] {
    World world;
    world.defaults().limits.max_file_bytes = 10 << 20;
    CommandResult result = world.sh("exec dd if=/dev/zero of=big bs=1M count=5000");
    ASSERT_TRUE(result.breach.has_value());
    EXPECT_EQ(result.breach->kind, LimitKind::kFileSize);
    EXPECT_EQ(result.breach->error().reason, "sandbox.quota_file_size");
    result = world.sh("truncate -s 5G big; echo after");
    EXPECT_EQ(result.standard_output.text(), "after\n");
    result = world.sh("dd if=/dev/zero of=big bs=1M count=5000 2> /dev/null");
    EXPECT_TRUE(result.breach.has_value());
    EXPECT_FALSE(result.effects_staged);
    world.drop_runner();
    EXPECT_TRUE(std::filesystem::is_empty(world.home() + "/run"));
  });
}

// Limit: sandbox.max_written_bytes
TEST_P(SandboxLimits, ManyFilesTogetherStopAtTheTotal) {
  as_user(GetParam(), [] {
    World world;
    world.defaults().limits.max_written_bytes = 40 << 20;
    const CommandResult result = world.sh(
        "i=0; while [ $i -lt 2000 ]; do dd if=/dev/zero of=f$i bs=1M count=5 2>/dev/null; "
        "i=$((i+1)); done");
    ASSERT_TRUE(result.breach.has_value());
    EXPECT_EQ(result.breach->kind, LimitKind::kWritten);
    EXPECT_EQ(result.breach->limit, 40U << 20);
    EXPECT_GT(result.breach->figure, 40U << 20);
    EXPECT_EQ(result.breach->error().kind, ErrorKind::kQuota);
  });
}

TEST_P(SandboxLimits, PrivateTmpIsBounded) {
  as_user(GetParam(), [] {
    World world;
    world.defaults().limits.max_private_bytes = 4 << 20;
    const CommandResult result =
        world.sh("head -c 8000000 /dev/zero > /tmp/fill; stat -c %s /tmp/fill");
    EXPECT_EQ(result.standard_output.text(), "4194304\n");
  });
}

TEST_P(SandboxLimits, OneProcessCannotExceedTheMemoryLimit) {
  as_user(GetParam(), [] {
    World world;
    world.defaults().limits.max_memory_bytes = 100 << 20;
    const CommandResult result = world.python(
        "try:\n  x = bytearray(400 << 20); print('got it')\nexcept MemoryError: print('no')");
    EXPECT_TRUE(result.breach.has_value() || result.standard_output.text() == "no\n");
  });
}

// Limit: sandbox.max_memory_bytes
TEST_P(SandboxLimits, ManyProcessesTogetherCannotExceedTheMemoryLimit) {
  as_user(GetParam(), [] {
    World world;
    world.defaults().limits.max_memory_bytes = 150 << 20;
    const CommandResult result = world.python(R"(
import os, time
for i in range(6):
    if os.fork() == 0:
        x = bytearray(os.urandom(1 << 20)) * 60
        time.sleep(60)
        os._exit(0)
time.sleep(60)
)");
    ASSERT_TRUE(result.breach.has_value());
    EXPECT_EQ(result.breach->kind, LimitKind::kMemory);
    EXPECT_GT(result.breach->figure, 150U << 20);
    EXPECT_EQ(result.breach->error().reason, "sandbox.quota_memory");
  });
}

TEST_P(SandboxLimits, MemoryShareAfterForkCountsOnce) {
  as_user(GetParam(), [] {
    World world;
    world.defaults().limits.max_memory_bytes = 160 << 20;
    const CommandResult result = world.python(R"(
import os, time
x = bytearray(b'x') * (60 << 20)
for i in range(8):
    if os.fork() == 0:
        time.sleep(0.3)
        os._exit(0)
for i in range(8): os.wait()
print('shared')
)");
    EXPECT_FALSE(result.breach.has_value());
    EXPECT_EQ(result.standard_output.text(), "shared\n");
  });
}

// Limit: sandbox.max_cpu_seconds
TEST_P(SandboxLimits, ProcessorTimeLimitCountsAllProcesses) {
  as_user(GetParam(), [] {
    World world;
    world.defaults().limits.cpu = seconds(1);
    const CommandResult result =
        world.sh("while :; do :; done & while :; do :; done & while :; do :; done & wait");
    ASSERT_TRUE(result.breach.has_value());
    EXPECT_EQ(result.breach->kind, LimitKind::kCpu);
    EXPECT_EQ(result.breach->error().reason, "sandbox.quota_cpu");
  });
}

// Limit: sandbox.max_open_files
TEST_P(SandboxLimits, OpenFilesAreBounded) {
  as_user(GetParam(), [] {
    World world;
    world.defaults().limits.max_open_files = 64;
    const CommandResult result = world.python(
        "f = []\ntry:\n  while True: f.append(open('/dev/null'))\n"
        "except OSError as e: print(e.errno, len(f) < 64)");
    EXPECT_EQ(result.standard_output.text(), "24 True\n");
  });
}

TEST_P(SandboxLimits, StopRequestKillsTheWholeTree) {
  as_user(GetParam(), [] {
    World world;
    const std::string marker = "3600." + std::to_string(getpid());
    std::stop_source source;
    world.defaults().stop = source.get_token();
    world.defaults().on_output = [&](OutputStream, std::string_view) { source.request_stop(); };
    const CommandResult result =
        world.sh("trap '' TERM; sleep " + marker + " & sleep " + marker + " & echo up; wait");
    ASSERT_TRUE(result.breach.has_value());
    EXPECT_EQ(result.breach->kind, LimitKind::kCancelled);
    EXPECT_EQ(processes_with(marker), 0);
  });
}

TEST_P(SandboxLimits, RequestedEndIsNotAFailureAndChangesAreStaged) {
  as_user(GetParam(), [] {
    World world;
    const std::string marker = "3602." + std::to_string(getpid());
    std::stop_source source;
    world.defaults().end = source.get_token();
    world.defaults().effects = EffectsRule::kStageAlways;
    world.defaults().on_output = [&](OutputStream, std::string_view) { source.request_stop(); };
    const CommandResult result =
        world.sh("trap '' TERM; echo x > made; sleep " + marker + " & echo up; wait");
    EXPECT_FALSE(result.breach.has_value());
    EXPECT_EQ(result.staged_paths, 1U);
    EXPECT_EQ(processes_with(marker), 0);
  });
}

TEST_P(SandboxLimits, AllOutputIsPassedOnIfRequested) {
  as_user(GetParam(), [] {
    World world;
    size_t passed = 0;
    world.defaults().passes_all_output = true;
    world.defaults().limits.max_stdout_bytes = 1000;
    world.defaults().on_output = [&](OutputStream, std::string_view text) {
      passed += text.size();
    };
    const CommandResult result = world.python("print('x' * 99999)");
    EXPECT_EQ(passed, 100'000U);
    EXPECT_EQ(result.standard_output.omitted_bytes, 99'000U);
  });
}

TEST_P(SandboxLimits, StopRequestedBeforehandStopsAtOnce) {
  as_user(GetParam(), [] {
    World world;
    std::stop_source source;
    source.request_stop();
    world.defaults().stop = source.get_token();
    const CommandResult result = world.sh("sleep 3600");
    ASSERT_TRUE(result.breach.has_value());
    EXPECT_EQ(result.breach->kind, LimitKind::kCancelled);
  });
}

TEST_P(SandboxLimits, EveryProcessDiesWithTheEngine) {
  as_user(GetParam(), [] {
    const std::string marker = "3600." + std::to_string(getpid());
    World world;
    int up[2];
    ASSERT_EQ(pipe(up), 0);
    const pid_t engine = fork();
    if (engine == 0) {
      world.defaults().on_output = [&](OutputStream, std::string_view text) {
        (void)!write(up[1], text.data(), text.size());
      };
      // A thread other than the main thread starts the command (the PR_SET_PDEATHSIG trap).
      std::thread([&] {
        world.sh("trap '' TERM; setsid sleep " + marker + " & echo up; sleep " + marker);
      }).join();
      _exit(0);
    }
    char byte = 0;
    ASSERT_EQ(read(up[0], &byte, 1), 1);
    // "up" is written before the shell starts its second process, so wait for both.
    EXPECT_TRUE(comes_true([&] { return processes_with(marker) >= 2; }));
    ASSERT_EQ(kill(engine, SIGKILL), 0);
    (void)waitpid(engine, nullptr, 0);
    EXPECT_TRUE(comes_true([&] { return processes_with(marker) == 0; }));
    close(up[0]);
    close(up[1]);
  });
}

INSTANTIATE_TEST_SUITE_P(Users, SandboxLimits, testing::Values(User::kRoot, User::kNobody),
                         [](const auto& test) {
                           return test.param == User::kRoot ? "Root" : "Nobody";
                         });

}  // namespace
}  // namespace galley
