// Measures calls of tools in process, from the arguments as text to the result, with the record. It
// makes one Read, Write or Edit of a 100-line file that is new to its transaction. It also makes 64
// Reads, sequentially and in parallel. Prints JSON; times are medians of wall time.
//
//   calls_bench [--only CALL] [--rounds N]     for a profiler: only that call, N times
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
#include <string_view>
#include <vector>

#include "engine/calls/executor.h"
#include "engine/pipeline/inner_transaction.h"

namespace galley {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using Microseconds = std::chrono::duration<double, std::micro>;

constexpr int kFiles = 64;
constexpr int kLines = 100;
constexpr int kRounds = 51;         // of 64 reads
constexpr int kCallRounds = 1'000;  // of one call

template <class T>
T must(Result<T> result) {
  if (result) return *std::move(result);
  std::fprintf(stderr, "calls_bench: %s\n", result.error().message.c_str());
  std::abort();
}

std::string name_of(int file) { return "f" + std::to_string(file); }

std::string line_of(int file, int line) {
  return "line " + std::to_string(line) + " of file " + std::to_string(file) + "\n";
}

std::string text_of(int file, int lines) {
  std::string text;
  for (int line = 0; line < lines; ++line) text += line_of(file, line);
  return text;
}

/// `kFiles` files with a given number of lines. The destructor removes them.
class ReadTree {
 public:
  explicit ReadTree(int lines) {
    const char* base = std::getenv("GALLEY_BENCH_DIR");
    std::string name = fs::path(base != nullptr ? base : "/var/tmp") / "galley-bench-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) std::abort();
    root_ = name;
    // Every call must do its work, so the cache is off.
    std::ofstream(root_ / "galley.toml") << "[tools.Read]\ncache = false\n";
    for (int file = 0; file < kFiles; ++file) {
      std::ofstream(root_ / name_of(file)) << text_of(file, lines);
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
double median_us(int rounds, Step step) {
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) times.push_back(step(round));
  std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
  return times[rounds / 2];
}

/// One call is measured with a new file, and with a file in which every line changes, because these
/// are different kinds of work.
constexpr std::string_view kWriteOver = "Write over";

std::string tool_of(std::string_view what) {
  return what == kWriteOver ? "Write" : std::string(what);
}

std::string arguments_of(std::string_view what, int file) {
  json arguments = {{"file_path", name_of(file)}};
  if (what == "Write") arguments["file_path"] = "new" + std::to_string(file);
  if (tool_of(what) == "Write") arguments["content"] = text_of(file + 1, kLines);
  if (what == "Edit") {
    arguments["old_string"] = line_of(file, kLines / 2);
    arguments["new_string"] = "another line\n";
  }
  return arguments.dump();
}

/// Each call has its own transaction; only the call is timed.
double call_us(Workspace& workspace, const std::string& what, int rounds) {
  const std::string tool = tool_of(what);
  std::vector<std::string> arguments;
  for (int file = 0; file < kFiles; ++file) arguments.push_back(arguments_of(what, file));
  return median_us(rounds, [&](int round) {
    Transaction transaction = must(workspace.begin({.agent = "bench"}));
    const auto begun = std::chrono::steady_clock::now();
    const auto called = transaction.call(tool, arguments[round % kFiles]);
    const double took = Microseconds(std::chrono::steady_clock::now() - begun).count();
    if (!called) std::abort();
    return took;
  });
}

json reads_row(int lines) {
  const ReadTree tree(lines);
  const auto workspace = must(Workspace::open(tree.path()));
  std::vector<ToolCall> calls;
  for (int file = 0; file < kFiles; ++file) {
    calls.push_back(ToolCall::parse("Read", json{{"file_path", name_of(file)}}.dump()));
  }
  const auto timed = [&](auto run) {
    return median_us(kRounds, [&](int) {
      Transaction transaction = must(workspace->begin());
      const auto begun = std::chrono::steady_clock::now();
      run(transaction);
      return Microseconds(std::chrono::steady_clock::now() - begun).count();
    });
  };
  const double in_turn = timed([&](Transaction& transaction) {
    for (const ToolCall& call : calls) {
      if (!inner(transaction).call_all({call}).front().ok) std::abort();
    }
  });
  const double together = timed([&](Transaction& transaction) {
    const auto results = inner(transaction).call_all(calls);
    if (results.size() != calls.size() || !results.back().ok) std::abort();
  });
  return {{"name", "64 Reads/" + std::to_string(lines)},
          {"in_turn_us", in_turn},
          {"together_us", together}};
}

int measure(const std::vector<std::string>& calls, int rounds, bool with_reads) {
  json rows = json::array();
  {
    const ReadTree tree(kLines);
    const auto workspace = must(Workspace::open(tree.path()));
    for (const std::string& what : calls) {
      rows.push_back({{"name", what}, {"median_us", call_us(*workspace, what, rounds)}});
    }
  }
  for (const int lines : {100, 1'000, 10'000}) {
    if (with_reads) rows.push_back(reads_row(lines));
  }
  std::printf("%s\n", json{{"benchmarks", rows}}.dump(1).c_str());
  return 0;
}

}  // namespace
}  // namespace galley

int main(int argc, char** argv) {
  std::vector<std::string> calls = {"Read", "Write", std::string(galley::kWriteOver), "Edit"};
  int rounds = galley::kCallRounds;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    if (option == "--only") calls = {argv[i + 1]};
    if (option == "--rounds") rounds = std::max(1, std::atoi(argv[i + 1]));
  }
  return galley::measure(calls, rounds, argc == 1);
}
