// Measures begin and the preview of one file, in process, in trees of growing size. Neither may
// scan the tree.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "engine/pipeline/workspace_state.h"

namespace galley {
namespace {

namespace fs = std::filesystem;

/// A tree of `count` small files, 200 in each folder. The destructor removes it.
class Tree {
 public:
  explicit Tree(int64_t count) {
    std::string name = (fs::temp_directory_path() / "galley-bench-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) std::abort();
    root_ = name;
    for (int64_t i = 0; i < count; ++i) {
      const fs::path folder = root_ / ("d" + std::to_string(i / 200));
      if (i % 200 == 0) fs::create_directories(folder);
      std::ofstream(folder / ("f" + std::to_string(i) + ".txt")) << "line " << i << "\nsecond\n";
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

void begin_in_memory(benchmark::State& state) {
  const Tree tree(state.range(0));
  auto workspace = Workspace::open(tree.path());
  for (auto unused : state) {
    auto transaction = (*workspace)->begin();
    benchmark::DoNotOptimize(transaction);
  }
}
BENCHMARK(begin_in_memory)->Arg(100)->Arg(10'000)->Arg(100'000);

void open_and_begin(benchmark::State& state) {
  const Tree tree(state.range(0));
  for (auto unused : state) {
    auto workspace = Workspace::open(tree.path());
    auto transaction = (*workspace)->begin();
    benchmark::DoNotOptimize(transaction);
  }
}
BENCHMARK(open_and_begin)->Arg(100)->Arg(10'000)->Arg(100'000);

void preview_one_file(benchmark::State& state) {
  const Tree tree(state.range(0));
  auto workspace = Workspace::open(tree.path());
  for (auto unused : state) {
    auto transaction = (*workspace)->begin();
    auto edited = transaction->edit("d0/f7.txt", "second", "third");
    auto preview = transaction->preview();
    if (!edited || !preview || preview->proposal.is_empty()) state.SkipWithError("no preview");
  }
}
BENCHMARK(preview_one_file)->Arg(100)->Arg(10'000)->Arg(100'000);

}  // namespace
}  // namespace galley

BENCHMARK_MAIN();
