// Measures transactions without their contents: begin, fork and rollback against the size of the
// tree and the number of staged changes. Also measures the memory of a large commit. Prints
// Markdown. Times are medians of wall time, or of processor time where the row says so.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <variant>
#include <vector>

#include "engine/pipeline/workspace_state.h"

namespace galley {
namespace {

namespace fs = std::filesystem;
using Microseconds = std::chrono::duration<double, std::micro>;

constexpr int kFilesPerDirectory = 200;
constexpr size_t kFileBytes = 4096;
constexpr int kRounds = 21;

template <class T>
T must(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "transaction_bench: %s\n", result.error().message.c_str());
    std::abort();
  }
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

std::string file_name(int i) {
  return "d" + std::to_string(i / kFilesPerDirectory) + "/f" + std::to_string(i);
}

std::string content(int file, int version) {
  std::string text = std::to_string(file) + " version " + std::to_string(version) + "\n";
  text.resize(kFileBytes, static_cast<char>('a' + (file + version) % 26));
  return text;
}

/// A workspace of a given number of files. The destructor removes it.
class Tree {
 public:
  explicit Tree(int files) {
    const char* base = std::getenv("GALLEY_BENCH_DIR");
    std::string name = fs::path(base != nullptr ? base : "/var/tmp") / "galley-bench-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) std::abort();
    root_ = name;
    for (int i = 0; i < files; ++i) {
      if (i % kFilesPerDirectory == 0) fs::create_directories((root_ / file_name(i)).parent_path());
      std::ofstream(root_ / file_name(i)) << content(i, 0);
    }
    std::ofstream(root_ / "galley.toml") << "";
  }
  ~Tree() { fs::remove_all(root_); }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  [[nodiscard]] std::string path() const { return root_.string(); }

 private:
  fs::path root_;
};

double processor_us() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  constexpr double kPerSecond = 1e6;
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * kPerSecond +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/// Measures wall time and processor time of one step, in microseconds.
class Stopwatch {
 public:
  template <class Step>
  auto time(Step step) {
    const double processor = processor_us();
    const auto begun = std::chrono::steady_clock::now();
    auto result = step();
    wall_.push_back(Microseconds(std::chrono::steady_clock::now() - begun).count());
    processor_.push_back(processor_us() - processor);
    return result;
  }
  [[nodiscard]] double wall() const { return median(wall_); }
  [[nodiscard]] double processor() const { return median(processor_); }

 private:
  static double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  }
  std::vector<double> wall_;
  std::vector<double> processor_;
};

void print_row(int tree_files, int staged) {
  const Tree tree(tree_files);
  const auto workspace = must(Workspace::open(tree.path()));
  Transaction parent = must(workspace->begin_stored());
  for (int i = 0; i < staged; ++i) must(parent.write(file_name(i), content(i, 1)));
  must(parent.save());
  Stopwatch begin, stored, fork, rollback, drop;
  constexpr int kBeginsAtOnce = 100;
  for (int round = 0; round < kRounds; ++round) {
    begin.time([&] {
      for (int i = 0; i < kBeginsAtOnce; ++i) must(workspace->begin());
      return 0;
    });
    Transaction empty = stored.time([&] { return must(workspace->begin_stored()); });
    drop.time([&] { return must(empty.rollback()), 0; });
    Transaction child = fork.time([&] { return must(parent.fork()); });
    rollback.time([&] { return must(child.rollback()), 0; });
  }
  std::printf("| %d | %d | %.1f | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f |\n", tree_files, staged,
              begin.wall() / kBeginsAtOnce, stored.wall(), drop.wall(), fork.wall(),
              fork.processor(), rollback.wall(), rollback.processor());
  std::fflush(stdout);
}

double resident_peak_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;  // the kernel counts in KiB
}

/// Stages and commits `files` files, `commits` times. Reports how far memory rose above the start.
void commit_and_tell(int files, int commits, bool is_stored, int pipe) {
  const Tree tree(files);
  const auto workspace = must(Workspace::open(tree.path()));
  const double before = resident_peak_mb();
  for (int version = 1; version <= commits; ++version) {
    Transaction transaction = must(is_stored ? workspace->begin_stored() : workspace->begin());
    for (int i = 0; i < files; ++i) must(transaction.write(file_name(i), content(i, version)));
    const CommitOutcome outcome = must(transaction.commit());
    if (!std::holds_alternative<Receipt>(outcome)) std::abort();
  }
  const double rise = resident_peak_mb() - before;
  if (write(pipe, &rise, sizeof rise) != sizeof rise) std::abort();
}

/// Runs in its own process, because the peak of memory belongs to a process.
void print_memory(int files, int commits, bool is_stored) {
  int ends[2] = {-1, -1};
  if (pipe(ends) != 0) std::abort();
  const pid_t child = ::fork();
  if (child == 0) {
    commit_and_tell(files, commits, is_stored, ends[1]);
    _exit(0);
  }
  int status = 0;
  double rise = 0;
  if (waitpid(child, &status, 0) != child || status != 0) std::abort();
  if (read(ends[0], &rise, sizeof rise) != sizeof rise) std::abort();
  close(ends[0]);
  close(ends[1]);
  // A commit has both sides of every file.
  constexpr double kMegabyte = 1 << 20U;
  const double contents = 2.0 * files * kFileBytes / kMegabyte;
  std::printf("| %d | %s | %d | %.1f | %.1f | %.1f |\n", files, is_stored ? "stored" : "in memory",
              commits, contents, rise, rise - contents);
  std::fflush(stdout);
}

}  // namespace
}  // namespace galley

int main(int count, char** arguments) {
  const bool is_quick = count > 1 && std::string(arguments[1]) == "--quick";
  std::printf("### Begin, fork and rollback\n\n");
  std::printf(
      "Microseconds. `begin` in memory; stored ones have a folder each. The fork has the staged "
      "files of its parent; its rollback leaves the parent's.\n\n");
  std::printf(
      "| files in the tree | staged | begin | begin stored | its rollback | fork | fork, processor "
      "| rollback of the fork | rollback, processor |\n|---|---|---|---|---|---|---|---|---|\n");
  galley::print_row(100, 1);
  if (!is_quick) galley::print_row(10'000, 1);
  galley::print_row(1'000, 100);
  galley::print_row(1'000, 1'000);
  if (!is_quick) galley::print_row(10'000, 10'000);
  std::printf("\n### Memory of a commit\n\n");
  std::printf(
      "How far the resident set of the process rose at most, from before the first file was "
      "staged. The later of several commits also puts the journals of those before away.\n\n");
  std::printf(
      "| files of 4 KiB | transaction | commits | contents before and after, MB | rise MB | beyond "
      "the contents MB |\n|---|---|---|---|---|---|\n");
  const int files = is_quick ? 1'000 : 10'000;
  galley::print_memory(files, 1, false);
  galley::print_memory(files, 1, true);
  galley::print_memory(files, 3, false);
  return 0;
}
