#include "staging/sandbox/syntax/confine.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <functional>

namespace galley {
namespace {

constexpr uint64_t kMuch = uint64_t{64} << 30U;

/// Confines the process, tries something, and says whether it could.
void confine_and(const std::function<void()>& what) {
  if (!confine_process(kMuch)) _exit(9);
  what();
  _exit(7);
}

void expect_killed(const std::function<void()>& what) {
  EXPECT_EXIT(confine_and(what), ::testing::KilledBySignal(SIGSYS), "");
}

TEST(ConfineDeathTest, NoFileCanBeOpened) {
  expect_killed([] { (void)open("/etc/passwd", O_RDONLY); });
  expect_killed([] { (void)unlink("/nothing"); });
}

TEST(ConfineDeathTest, NoSocketCanBeMade) {
  expect_killed([] { (void)socket(AF_UNIX, SOCK_STREAM, 0); });
  expect_killed([] { (void)socket(AF_INET, SOCK_STREAM, 0); });
}

TEST(ConfineDeathTest, NoProcessCanBeStarted) {
  expect_killed([] { (void)fork(); });
  expect_killed([] { execl("/bin/true", "true", nullptr); });
  expect_killed([] { kill(1, SIGTERM); });
}

TEST(ConfineDeathTest, NoMemoryCanBeExecuted) {
  expect_killed([] {
    (void)mmap(nullptr, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
               0);
  });
  expect_killed([] { (void)mprotect(nullptr, 4096, PROT_EXEC); });
}

TEST(ConfineDeathTest, OpenDescriptorsCanBeReadAndMemoryCanBeMapped) {
#ifdef GALLEY_SANITIZED
  GTEST_SKIP() << "a sanitizer makes calls of its own";
#endif
  EXPECT_EXIT(confine_and([] {
                char byte = 0;
                (void)!read(STDIN_FILENO, &byte, 0);
                void* memory =
                    mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                if (memory == MAP_FAILED) _exit(8);
              }),
              ::testing::ExitedWithCode(7), "");
}

TEST(ConfineDeathTest, MemoryIsBounded) {
#ifdef GALLEY_SANITIZED
  GTEST_SKIP() << "a sanitizer makes calls of its own";
#endif
  EXPECT_EXIT(confine_and([] {
                void* memory = mmap(nullptr, kMuch + 4096, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                if (memory != MAP_FAILED) _exit(8);
              }),
              ::testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace galley
