// Compares the sandbox with its peers: bubblewrap with plain binds, a plain spawn, a copy of the
// tree.
//
// Each iteration runs both sides one after the other, so that a busy machine slows both. The
// counters are medians in milliseconds, and their ratio.
#include <benchmark/benchmark.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/clock.h"
#include "staging/fs/disk_directory.h"
#include "staging/sandbox/sandbox.h"

namespace galley {
namespace {

namespace fs = std::filesystem;
using Millis = std::chrono::duration<double, std::milli>;

/// Trees that are removed at the very end. ext4 without a journal does not reuse an inode for a
/// minute after it was freed. During that minute, making a file looks at each of those inodes.
class Trees {
 public:
  ~Trees() {
    std::error_code ignored;
    for (const std::string& path : paths_) fs::remove_all(path, ignored);
  }
  void remove_at_the_end(const std::string& path) { paths_.push_back(path); }

 private:
  std::vector<std::string> paths_;
};
Trees trees;

/// A workspace of some files, and its sandbox.
class Place {
 public:
  explicit Place(int files, bool force_copy = false, const std::string& layers = {}) {
    std::string pattern = (fs::temp_directory_path() / "galley-bench-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) std::abort();
    path_ = pattern;
    for (int i = 0; i < files; ++i) {
      const fs::path folder = fs::path(path_) / ("d" + std::to_string(i / 100));
      if (i % 100 == 0) fs::create_directory(folder);
      std::ofstream(folder / ("f" + std::to_string(i) + ".txt")) << "line " << i << "\n";
    }
    SandboxOptions options;
    options.workspace = path_;
    options.force_copy = force_copy;
    options.layer_home = layers;
    auto runner = make_sandbox(std::move(options), clock_);
    if (!runner) std::abort();
    runner_ = *std::move(runner);
    workspace_ = *open_writable_disk_directory(path_);
  }
  ~Place() {
    runner_.reset();
    trees.remove_at_the_end(path_);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  CommandResult run(const std::vector<std::string>& argv, EffectsRule effects) {
    Overlay overlay(*workspace_, make_memory_store(), clock_);
    Command command;
    command.argv = argv;
    command.effects = effects;
    auto result = runner_->run(command, overlay);
    if (!result || !result->succeeded()) std::abort();
    return *std::move(result);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  SystemClock clock_;
  std::string path_;
  std::unique_ptr<CommandRunner> runner_;
  std::unique_ptr<WritableDirectory> workspace_;
};

void spawn_and_wait(std::vector<std::string> argv) {
  std::vector<char*> words;
  for (std::string& word : argv) words.push_back(word.data());
  words.push_back(nullptr);
  pid_t child = 0;
  if (posix_spawnp(&child, words[0], nullptr, nullptr, words.data(), environ) != 0) std::abort();
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) std::abort();
}

std::vector<std::string> bwrap_true(const std::string& workspace) {
  return {"bwrap",     "--unshare-all", "--ro-bind", "/usr",    "/usr",      "--symlink", "usr/bin",
          "/bin",      "--symlink",     "usr/lib",   "/lib",    "--symlink", "usr/lib64", "/lib64",
          "--ro-bind", "/etc",          "/etc",      "--dev",   "/dev",      "--proc",    "/proc",
          "--tmpfs",   "/tmp",          "--bind",    workspace, workspace,   "true"};
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

template <class Ours, class Theirs>
void side_by_side(benchmark::State& state, Ours ours, Theirs theirs) {
  std::vector<double> mine;
  std::vector<double> peer;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    ours();
    const auto middle = std::chrono::steady_clock::now();
    theirs();
    const auto end = std::chrono::steady_clock::now();
    mine.push_back(Millis(middle - start).count());
    peer.push_back(Millis(end - middle).count());
    state.SetIterationTime(std::chrono::duration<double>(middle - start).count());
  }
  std::vector<double> ratios;
  for (size_t i = 0; i < mine.size(); ++i) ratios.push_back(mine[i] / peer[i]);
  state.counters["galley_ms"] = median(mine);
  state.counters["peer_ms"] = median(peer);
  state.counters["ratio"] = median(ratios);  // of pairs that ran next to each other
  state.counters["galley_min_ms"] = *std::min_element(mine.begin(), mine.end());
  state.counters["peer_min_ms"] = *std::min_element(peer.begin(), peer.end());
}

void BM_TrueBesideBwrap(benchmark::State& state) {
  Place place(static_cast<int>(state.range(0)));
  side_by_side(
      state, [&] { place.run({"true"}, EffectsRule::kDrop); },
      [&] { spawn_and_wait(bwrap_true(place.path())); });
}

/// Does the same with layers on tmpfs. Making and removing directories on a disk is not work of the
/// sandbox.
void BM_TrueBesideBwrapLayersInMemory(benchmark::State& state) {
  std::string layers = "/dev/shm/galley-bench-XXXXXX";
  if (mkdtemp(layers.data()) == nullptr) std::abort();
  {
    Place place(static_cast<int>(state.range(0)), false, layers);
    side_by_side(
        state, [&] { place.run({"true"}, EffectsRule::kDrop); },
        [&] { spawn_and_wait(bwrap_true(place.path())); });
  }
  std::error_code ignored;
  fs::remove_all(layers, ignored);
}

void BM_TrueBesideSpawn(benchmark::State& state) {
  Place place(10);
  side_by_side(
      state, [&] { place.run({"true"}, EffectsRule::kDrop); }, [] { spawn_and_wait({"true"}); });
}

/// The memory of the engine does not matter, because the small helper forks.
void BM_TrueFromALargeEngine(benchmark::State& state) {
  const auto bytes = static_cast<size_t>(state.range(0)) << 20U;
  std::vector<char> ballast(bytes);
  std::memset(ballast.data(), 1, ballast.size());
  benchmark::DoNotOptimize(ballast.data());
  Place place(10);
  side_by_side(
      state, [&] { place.run({"true"}, EffectsRule::kDrop); },
      [&] { spawn_and_wait(bwrap_true(place.path())); });
}

/// The time is linear in what the command changed and does not depend on the size of the tree.
void BM_AbsorbChanges(benchmark::State& state) {
  Place place(static_cast<int>(state.range(0)));
  const std::string script =
      "for i in $(seq " + std::to_string(state.range(1)) + "); do echo $i > new$i; done";
  for (auto _ : state) place.run({"sh", "-c", script}, EffectsRule::kStageAlways);
  state.counters["us_per_change"] = benchmark::Counter(
      static_cast<double>(state.range(1)) * 1e-6,
      benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void BM_TrueOnACopy(benchmark::State& state) {
  Place place(static_cast<int>(state.range(0)), true);
  for (auto _ : state) place.run({"true"}, EffectsRule::kDrop);
}

BENCHMARK(BM_TrueBesideBwrap)->Arg(10)->Arg(20'000)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_TrueBesideBwrapLayersInMemory)
    ->Arg(10)
    ->Arg(20'000)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_TrueBesideSpawn)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_TrueFromALargeEngine)
    ->Arg(1)
    ->Arg(1024)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK(BM_AbsorbChanges)
    ->Args({10, 100})
    ->Args({10, 1000})
    ->Args({20'000, 100})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();
BENCHMARK(BM_TrueOnACopy)->Arg(1000)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
}  // namespace galley

BENCHMARK_MAIN();
