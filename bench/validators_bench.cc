// Measures validators on a change of a thousand files: how two cores share the work, and what the
// cache saves.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>

#include "engine/pipeline/workspace_state.h"

namespace galley {
namespace {

namespace fs = std::filesystem;
using Seconds = std::chrono::duration<double>;

constexpr int kFiles = 1000;

/// Returns a configuration of eight built-in validators and two commands, `parallel` at once.
std::string config(int parallel) {
  std::string text = "[sandbox]\nmax_parallel = " + std::to_string(parallel) + "\n";
  for (const char* builtin : {"json", "conflict_markers", "whitespace", "utf8", "line_endings",
                              "last_newline", "size", "secrets"}) {
    text += std::string("[[validator]]\nbuiltin = \"") + builtin + "\"\n";
  }
  text += "[[validator]]\nname = \"sums\"\ncommand = [\"sha256sum\", \"{files}\"]\n";
  text += "[[validator]]\nname = \"words\"\ncommand = [\"wc\", \"{files}\"]\n";
  return text;
}

/// A workspace in which one transaction changes a thousand JSON files.
class Place {
 public:
  explicit Place(int parallel) {
    std::string pattern = (fs::temp_directory_path() / "galley-bench-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
    std::ofstream(path_ / "galley.toml") << config(parallel);
    for (int i = 0; i < kFiles; ++i) {
      const fs::path folder = path_ / ("d" + std::to_string(i / 100));
      if (i % 100 == 0) fs::create_directory(folder);
      std::ofstream(folder / (std::to_string(i) + ".json")) << text(i, 60);
    }
    WorkspaceOptions options;
    options.trusts_configuration = true;  // this benchmark wrote it, and it names commands
    auto opened = Workspace::open(path_.string(), std::move(options));
    if (!opened) std::abort();
    workspace_ = *std::move(opened);
    auto begun = workspace_->begin({"bench", ""});
    transaction_ = std::make_unique<Transaction>(*std::move(begun));
    change(61);
  }
  ~Place() {
    transaction_.reset();
    workspace_.reset();
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  /// Gives every file a content that is not in the cache.
  void change(int lines) {
    for (int i = 0; i < kFiles; ++i) {
      const std::string name = "d" + std::to_string(i / 100) + "/" + std::to_string(i) + ".json";
      if (!transaction_->write(name, text(i, lines))) std::abort();
    }
  }
  /// Returns the seconds that one judgement takes.
  double judge() {
    const auto start = std::chrono::steady_clock::now();
    const auto preview = transaction_->preview();
    if (!preview || !preview->verdict.is_approved()) std::abort();
    return Seconds(std::chrono::steady_clock::now() - start).count();
  }

 private:
  static std::string text(int file, int lines) {
    std::string out = "{\n";
    for (int i = 0; i < lines; ++i) {
      out +=
          "  \"key " + std::to_string(i) + "\": \"value " + std::to_string(file * lines) + "\",\n";
    }
    return out + "  \"last\": true\n}\n";
  }

  fs::path path_;
  std::unique_ptr<Workspace> workspace_;
  std::unique_ptr<Transaction> transaction_;
};

/// Alternates between the same judgement with one thread and with two.
void BM_TenValidatorsOnAThousandFiles(benchmark::State& state) {
  Place one(1);
  Place two(2);
  double alone = 0;
  double both = 0;
  double again = 0;
  int lines = 62;
  for (auto _ : state) {
    one.change(lines);
    two.change(lines);
    alone += one.judge();
    const double first = two.judge();
    both += first;
    again += two.judge();
    ++lines;
    state.SetIterationTime(first);
  }
  const auto rounds = static_cast<double>(state.iterations());
  state.counters["one_core_ms"] = 1000 * alone / rounds;
  state.counters["two_cores_ms"] = 1000 * both / rounds;
  state.counters["cached_ms"] = 1000 * again / rounds;
  state.counters["speedup"] = alone / both;
  state.counters["cached_share"] = again / both;
}
BENCHMARK(BM_TenValidatorsOnAThousandFiles)->UseManualTime()->Unit(benchmark::kMillisecond);

/// Repeats a judgement that is already in the cache: for a profiler.
void BM_FromTheCache(benchmark::State& state) {
  Place place(2);
  place.judge();
  for (auto _ : state) state.SetIterationTime(place.judge());
}
BENCHMARK(BM_FromTheCache)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace galley

BENCHMARK_MAIN();
