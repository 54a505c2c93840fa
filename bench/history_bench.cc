// Compares an undo with the commit that it reverts. Both are measured from reading the files to the
// answer, with the same durability.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/commit/publisher.h"
#include "engine/commit/state_directory.h"
#include "engine/history/blame.h"
#include "engine/history/history.h"
#include "engine/history/index.h"
#include "engine/history/undo.h"
#include "engine/policy/gate.h"
#include "staging/fs/disk_directory.h"
#include "staging/overlay/overlay.h"

namespace galley {
namespace {

namespace fs = std::filesystem;
using Seconds = std::chrono::duration<double>;

template <class T>
T must(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "%s\n", result.error().message.c_str());
    std::abort();
  }
  return *std::move(result);
}

RelPath file_name(int64_t number) {
  return must(RelPath::parse("d" + std::to_string(number / 200) + "/f" + std::to_string(number)));
}

std::string text_of(int64_t number, int version) {
  std::string text = "file " + std::to_string(number) + "\n";
  for (int line = 0; line < 100; ++line) {
    text += "line " + std::to_string(line) + " of a file that somebody edits\n";
  }
  return text + "version " + std::to_string(version) + "\n";
}

/// A workspace of some files on the real disk. The destructor removes it.
class Bench {
 public:
  explicit Bench(int64_t files) : files_(files) {
    std::string name = (fs::temp_directory_path() / "galley-bench-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
    root_ = must(open_writable_disk_directory(path_.string()));
    state_.emplace(must(StateDirectory::open_or_create(*root_)));
    commit(0);
  }
  ~Bench() { fs::remove_all(path_); }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  /// Stages new content for every file and publishes.
  TxId commit(int version) {
    Overlay overlay(*root_, make_memory_store(), clock_);
    for (int64_t i = 0; i < files_; ++i) {
      if (!overlay.write(file_name(i), text_of(i, version))) std::abort();
    }
    return publish(Proposal::freeze(overlay), {});
  }

  UndoOutcome plan(TxId id) { return must(plan_undo(history(), *root_, id, clock_)); }
  void publish_undo(const UndoPlan& plan) {
    CommitMeta meta;
    meta.undoes = plan.undoes;
    meta.tool = plan.tool;
    publish(plan.proposal, meta);
  }

  [[nodiscard]] History history() const { return History(*state_); }
  [[nodiscard]] const WritableDirectory& root() const { return *root_; }
  [[nodiscard]] const Clock& clock() const { return clock_; }

 private:
  TxId publish(const Proposal& proposal, const CommitMeta& meta) {
    Gate gate(config_, {}, {}, clock_);
    const Verdict verdict = must(gate.judge(ProposedTree(proposal, *root_), GateRequest()));
    Publisher publisher(*root_, clock_, {});
    const PublishOutcome outcome =
        must(publisher.publish(proposal, std::get<Approval>(verdict.decision), meta));
    return std::get<Receipt>(outcome).id;
  }

  int64_t files_;
  fs::path path_;
  std::unique_ptr<WritableDirectory> root_;
  std::optional<StateDirectory> state_;
  SystemClock clock_;
  Config config_;
};

double median_ms(std::vector<Seconds> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return middle->count() * 1000;
}

/// Returns the processor time of this process so far.
Seconds processor_time() {
  constexpr double kTicks = CLOCKS_PER_SEC;
  return Seconds(static_cast<double>(std::clock()) / kTicks);
}

/// The counters have the result, as medians. A few commits also retire the journals before them,
/// which waits for the disk and for writes of other programs.
void commit_and_undo(benchmark::State& state) {
  Bench bench(state.range(0));
  std::vector<Seconds> committing;
  std::vector<Seconds> planning;
  std::vector<Seconds> undoing;
  std::vector<Seconds> ratios;
  int version = 1;
  for (auto unused : state) {
    const Seconds start = processor_time();
    const auto begun = std::chrono::steady_clock::now();
    const TxId id = bench.commit(version++);
    const auto committed = std::chrono::steady_clock::now();
    const Seconds between = processor_time();
    const UndoOutcome outcome = bench.plan(id);
    const auto planned = std::chrono::steady_clock::now();
    bench.publish_undo(std::get<UndoPlan>(outcome));
    committing.emplace_back(committed - begun);
    planning.emplace_back(planned - committed);
    undoing.emplace_back(std::chrono::steady_clock::now() - committed);
    ratios.emplace_back((processor_time() - between) / (between - start));
  }
  state.counters["commit_ms"] = median_ms(committing);
  state.counters["plan_undo_ms"] = median_ms(planning);
  state.counters["undo_ms"] = median_ms(undoing);
  state.counters["undo_over_commit"] = median_ms(undoing) / median_ms(committing);
  state.counters["undo_over_commit_cpu"] = median_ms(ratios) / 1000;
}
BENCHMARK(commit_and_undo)->Arg(1)->Arg(10)->Arg(100)->Arg(1000)->Unit(benchmark::kMillisecond);

void list_newest_ten(benchmark::State& state) {
  Bench bench(1);
  for (int i = 1; i < state.range(0); ++i) bench.commit(i);
  HistoryFilter filter;
  filter.limit = 10;
  for (auto unused : state) benchmark::DoNotOptimize(must(bench.history().list(filter)));
}
BENCHMARK(list_newest_ten)->Arg(10)->Arg(300)->Unit(benchmark::kMillisecond);

void list_by_path(benchmark::State& state) {
  Bench bench(1);
  for (int i = 1; i < 300; ++i) bench.commit(i);
  HistoryFilter filter;
  filter.paths = {file_name(0)};
  const bool with_index = state.range(0) != 0;
  for (auto unused : state) {
    benchmark::DoNotOptimize(
        must(with_index ? bench.history().list(filter) : bench.history().scan(filter)));
  }
}
BENCHMARK(list_by_path)->ArgName("index")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

void blame_one_file(benchmark::State& state) {
  Bench bench(1);
  for (int i = 1; i < 300; ++i) bench.commit(i);
  for (auto unused : state) {
    benchmark::DoNotOptimize(must(blame(bench.history(), bench.root(), file_name(0))));
  }
}
BENCHMARK(blame_one_file)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace galley

BENCHMARK_MAIN();
