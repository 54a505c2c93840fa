// Reads side by side: 64 calls of Read, each on a file of its own that this transaction has not
// seen, one after the other and as one list of calls. Prints Markdown; times are medians.
#include <galley/workspace.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/calls/executor.h"

namespace galley {
namespace {

namespace fs = std::filesystem;

constexpr int kFiles = 64;
constexpr int kRounds = 51;

template <class T>
T must(Result<T> result) {
  if (result) return *std::move(result);
  std::fprintf(stderr, "calls_bench: %s\n", result.error().message.c_str());
  std::abort();
}

std::string name_of(int file) { return "f" + std::to_string(file); }

/// `kFiles` files of so many lines, removed at the end.
class ReadTree {
 public:
  explicit ReadTree(int lines) {
    const char* base = std::getenv("GALLEY_BENCH_DIR");
    std::string name = fs::path(base != nullptr ? base : "/var/tmp") / "galley-bench-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) std::abort();
    root_ = name;
    // Every call is to do its work.
    std::ofstream(root_ / "galley.toml") << "[tools.Read]\ncache = false\n";
    for (int file = 0; file < kFiles; ++file) {
      std::ofstream out(root_ / name_of(file));
      for (int line = 0; line < lines; ++line)
        out << "line " << line << " of file " << file << "\n";
    }
  }
  ~ReadTree() { fs::remove_all(root_); }
  ReadTree(const ReadTree&) = delete;
  ReadTree& operator=(const ReadTree&) = delete;
  [[nodiscard]] std::string path() const { return root_.string(); }

 private:
  fs::path root_;
};

template <class Step>
double median_us(Step step) {
  std::vector<double> times;
  for (int round = 0; round < kRounds; ++round) times.push_back(step());
  std::nth_element(times.begin(), times.begin() + kRounds / 2, times.end());
  return times[kRounds / 2];
}

void print_row(int lines) {
  const ReadTree tree(lines);
  const auto workspace = must(Workspace::open(tree.path()));
  std::vector<ToolCall> calls;
  for (int file = 0; file < kFiles; ++file) {
    calls.push_back(
        must(ToolCall::parse("Read", nlohmann::json{{"file_path", name_of(file)}}.dump())));
  }
  const auto timed = [&](auto run) {
    return median_us([&] {
      Transaction transaction = must(workspace->begin());
      const auto begun = std::chrono::steady_clock::now();
      run(transaction);
      using Microseconds = std::chrono::duration<double, std::micro>;
      return Microseconds(std::chrono::steady_clock::now() - begun).count();
    });
  };
  const double in_turn = timed([&](Transaction& transaction) {
    for (const ToolCall& call : calls) {
      if (!transaction.call_all({call}).front().ok) std::abort();
    }
  });
  const double together = timed([&](Transaction& transaction) {
    const auto results = transaction.call_all(calls);
    if (results.size() != calls.size() || !results.back().ok) std::abort();
  });
  std::printf("| %d | %.0f | %.0f | %.2f |\n", lines, in_turn, together, in_turn / together);
  std::fflush(stdout);
}

}  // namespace
}  // namespace galley

int main() {
  std::printf(
      "### 64 reads\n\nMicroseconds for all of them, records included; wanted on two cores: "
      "at least 1.6.\n\n");
  std::printf("| lines a file | in turn | side by side | times as fast |\n|---|---|---|---|\n");
  for (const int lines : {100, 1'000, 10'000}) galley::print_row(lines);
}
