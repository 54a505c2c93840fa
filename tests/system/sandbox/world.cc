#include "tests/system/sandbox/world.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/support/missing_walls.h"

namespace galley {
namespace {

namespace fs = std::filesystem;
constexpr uid_t kNobodyId = 65534;

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

std::ostream& operator<<(std::ostream& out, User user) {
  return out << (user == User::kRoot ? "root" : "nobody");
}

void as_user(User user, const std::function<void()>& body) {
  (void)helper_program();  // this process makes it once
  if (user == User::kRoot || geteuid() != 0) {
    body();
    return;
  }
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    if (setgid(kNobodyId) != 0 || setuid(kNobodyId) != 0) _exit(2);
    // If a test is killed at its time limit, it leaves no process behind.
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) _exit(2);
    body();
    std::fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0)
      << "as nobody: see above, status " << status;
}

void need_walls(User user, Walls walls) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  as_user(user, [&] {
    const std::string missing = missing_walls(helper_program(), walls == Walls::kCopy);
    EXPECT_EQ(write(ends[1], missing.data(), missing.size()), static_cast<ssize_t>(missing.size()));
  });
  close(ends[1]);
  std::string missing(PIPE_BUF, '\0');
  missing.resize(
      static_cast<size_t>(std::max<ssize_t>(read(ends[0], missing.data(), PIPE_BUF), 0)));
  close(ends[0]);
  skip_without_walls(missing);
}

const std::string& helper_program() {
  static const TempDirectory place;
  static const std::string path = [] {
    const std::string copy = place.path() + "/galley-sandbox";
    fs::copy_file(GALLEY_BINARY_DIR "/galley-sandbox", copy);
    (void)chmod(place.path().c_str(), 0755);
    (void)chmod(copy.c_str(), 0755);
    return copy;
  }();
  return path;
}

World::World(SandboxOptions options)
    : overlay_(workspace_.directory(), make_memory_store(), clock_) {
  put_file("a.txt", "alpha\n");
  put_file("dir/b.txt", "beta\n");
  put_file("dir/sub/c.txt", "gamma\n");
  put_file("run.sh", "#!/bin/sh\necho ran \"$@\"\n", 0755);
  options.workspace = workspace_.path();
  if (options.helper.empty()) options.helper = helper_program();
  if (options.layer_home.empty()) options.layer_home = home();
  auto runner = make_sandbox(std::move(options), clock_);
  EXPECT_TRUE(runner.has_value()) << runner.error().message;
  if (runner) runner_ = *std::move(runner);
}

void World::put_file(const std::string& path, const std::string& text, uint32_t mode) {
  const fs::path whole = fs::path(root()) / path;
  fs::create_directories(whole.parent_path());
  std::ofstream(whole, std::ios::binary) << text;
  EXPECT_EQ(chmod(whole.c_str(), mode), 0);
}

CommandResult World::run(Command command) {
  auto result = runner_->run(command, overlay_);
  EXPECT_TRUE(result.has_value()) << result.error().reason << ": " << result.error().message;
  return result ? *std::move(result) : CommandResult();
}

CommandResult World::sh(const std::string& script) {
  Command command = defaults_;
  command.argv = {"sh", "-c", script};
  return run(std::move(command));
}

CommandResult World::python(const std::string& program) {
  Command command = defaults_;
  command.argv = {"python3", "-c", program};
  return run(std::move(command));
}

std::vector<std::string> World::changes() const {
  std::vector<std::string> out;
  for (const Change& change : overlay_.changes()) {
    const char* kind = change.is_create() ? "A " : change.is_delete() ? "D " : "M ";
    out.push_back(kind + change.path.str());
  }
  return out;
}

std::string World::picture() const { return picture_of(root()); }

std::string picture_of(const std::string& directory) {
  std::vector<std::string> lines;
  for (auto it = fs::recursive_directory_iterator(directory); it != fs::end(it); ++it) {
    struct stat found {};
    if (lstat(it->path().c_str(), &found) != 0) continue;
    std::ostringstream line;
    line << it->path().lexically_relative(directory).string() << ' ' << std::oct << found.st_mode;
    if (S_ISLNK(found.st_mode)) line << " -> " << fs::read_symlink(it->path()).string();
    if (S_ISREG(found.st_mode)) line << ' ' << text_of(it->path());
    lines.push_back(line.str());
  }
  std::sort(lines.begin(), lines.end());
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  return all;
}

int processes_with(const std::string& word) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    if (text_of(entry.path() / "cmdline").find(word) != std::string::npos) ++count;
  }
  return count;
}

}  // namespace galley
