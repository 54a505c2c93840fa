#include "staging/sandbox/nameless_program.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/support/temp_directory.h"

namespace galley {
namespace {

/// Returns the bytes of a program that each machine has.
std::string bytes_of_true() {
  std::ifstream file("/bin/true", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

int status_of(const std::string& path) {
  char name[] = "true";
  char* argv[] = {name, nullptr};
  pid_t pid = 0;
  if (posix_spawn(&pid, path.c_str(), nullptr, nullptr, argv, nullptr) != 0) return -1;
  int status = 0;
  (void)waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool is_empty(const std::string& directory) { return std::filesystem::is_empty(directory); }

TEST(NamelessProgram, IsExecutedFromMemoryAndCannotBeChanged) {
  const auto made = make_nameless_program(bytes_of_true(), {true, {}});
  ASSERT_TRUE(made.has_value()) << made.error().message;
  const std::string path = path_of_descriptor(made->get());
  EXPECT_EQ(status_of(path), 0);
  const Fd again(open(path.c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_LT(pwrite(again.get(), "x", 1, 0), 0);
  EXPECT_NE(ftruncate(again.get(), 0), 0);
}

TEST(NamelessProgram, IsExecutedFromADirectoryAndLeavesNoFile) {
  const TempDirectory directory;
  const auto made = make_nameless_program(bytes_of_true(), {false, {directory.path()}});
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_TRUE(is_empty(directory.path()));
  EXPECT_EQ(status_of(path_of_descriptor(made->get())), 0);
}

TEST(NamelessProgram, SkipsDirectoriesThatCannotHoldAFile) {
  const TempDirectory directory;
  const auto made =
      make_nameless_program(bytes_of_true(), {false, {"/proc", "/nowhere", directory.path()}});
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_EQ(status_of(path_of_descriptor(made->get())), 0);
}

TEST(NamelessProgram, WithoutAPlaceTheErrorNamesTheRemedy) {
  const auto made = make_nameless_program("x", {false, {"/proc"}});
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().reason, "sandbox.unavailable");
  EXPECT_NE(made.error().message.find("set TMPDIR"), std::string::npos);
}

TEST(NamelessProgram, TheDescriptorHasAHighNumberAndIsClosedOnExec) {
  const auto made = make_nameless_program("x", usual_program_places());
  ASSERT_TRUE(made.has_value()) << made.error().message;
  EXPECT_GE(made->get(), 10);
  EXPECT_NE(fcntl(made->get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST(NamelessProgram, OnlyAPathOfADescriptorHasADescriptor) {
  EXPECT_EQ(descriptor_of_path(path_of_descriptor(12)), 12);
  for (const char* other : {"", "/proc/self/fd/", "/proc/self/fd/1x", "/proc/self/fd/1/2",
                            "/usr/libexec/galley/galley-sandbox"}) {
    EXPECT_EQ(descriptor_of_path(other), -1) << other;
  }
}

}  // namespace
}  // namespace galley
