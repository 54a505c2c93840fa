// Compares our line diff with libgit2's Myers diff and dtl: two buffers in, patch text out.
//
//   bench/fetch_pairs; build/bench/diff_bench [--benchmark_filter=REGEX]
//
// Real pairs are two versions of npm packages, in GALLEY_BENCH_DATA (default build/bench-data).
// Missing ones are left out. The other pairs are generated here. After the lines of Google
// Benchmark comes a table with the ratios, the changed lines and the peak memory of each contender,
// measured in a child process.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "staging/git/git_repository.h"
#include "staging/printing/git_diff.h"
#include "staging/text/dtl_diff.h"
#include "staging/text/intern.h"

namespace {

using galley::Lines;

struct Pair {
  std::string name;
  std::string before;
  std::string after;
};

std::string read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void add_real(std::vector<Pair>& pairs, const std::string& name, const std::string& before,
              const std::string& after) {
  const char* set = std::getenv("GALLEY_BENCH_DATA");
  const std::string folder =
      set != nullptr ? set : std::string(GALLEY_SOURCE_DIR) + "/build/bench-data";
  Pair pair{name, read_bytes(folder + "/" + before), read_bytes(folder + "/" + after)};
  if (pair.before.empty() || pair.after.empty()) {
    fmt::print(stderr, "diff_bench: no {} (bench/fetch_pairs fetches it)\n", name);
    return;
  }
  pairs.push_back(std::move(pair));
}

void add_real_pairs(std::vector<Pair>& pairs) {
  add_real(pairs, "ms_small", "ms-2.1.2/index.js", "ms-2.1.3/index.js");
  add_real(pairs, "express_history", "express-4.17.3/History.md", "express-4.18.2/History.md");
  add_real(pairs, "jquery_small", "jquery-3.6.4/dist/jquery.js", "jquery-3.7.0/dist/jquery.js");
  add_real(pairs, "jquery_large", "jquery-2.2.4/dist/jquery.js", "jquery-3.7.0/dist/jquery.js");
  add_real(pairs, "lodash_small", "lodash-4.17.20/lodash.js", "lodash-4.17.21/lodash.js");
  add_real(pairs, "lodash_large", "lodash-3.10.1/index.js", "lodash-4.17.21/lodash.js");
  add_real(pairs, "lib_dom_large", "typescript-5.0.4/lib/lib.dom.d.ts",
           "typescript-5.3.3/lib/lib.dom.d.ts");
  add_real(pairs, "react_dom_large", "react-dom-17.0.2/cjs/react-dom.development.js",
           "react-dom-18.2.0/cjs/react-dom.development.js");
  add_real(pairs, "three_small", "three-0.149.0/build/three.js", "three-0.150.1/build/three.js");
  add_real(pairs, "tsc_large", "typescript-4.9.5/lib/tsc.js", "typescript-5.3.3/lib/tsc.js");
  add_real(pairs, "typescript_medium", "typescript-5.3.3/lib/typescript.js",
           "typescript-5.4.5/lib/typescript.js");
  add_real(pairs, "typescript_large", "typescript-4.9.5/lib/typescript.js",
           "typescript-5.0.4/lib/typescript.js");
}

using LineMaker = std::function<std::string(size_t)>;

std::string made(size_t lines, const LineMaker& line) {
  std::string text;
  for (size_t i = 0; i < lines; ++i) text += line(i) + "\n";
  return text;
}

void add_made_pairs(std::vector<Pair>& pairs) {
  std::mt19937 random(42);
  const auto word = [&](unsigned distinct) { return std::to_string(random() % distinct); };
  const auto few = [&](unsigned distinct) {
    return [&, distinct](size_t) { return "  value " + word(distinct) + ";"; };
  };
  pairs.push_back({"few_50_20k", made(20000, few(50)), made(20000, few(50))});
  pairs.push_back({"few_3_20k", made(20000, few(3)), made(20000, few(3))});
  pairs.push_back({"few_1000_20k", made(20000, few(1000)), made(20000, few(1000))});
  pairs.push_back({"few_50_3k", made(3000, few(50)), made(3000, few(50))});
  pairs.push_back({"random_20k", made(20000, few(40000)), made(20000, few(40000))});
  const auto distinct = [](size_t i) { return "line number " + std::to_string(i * 7919); };
  std::vector<size_t> order(20000);
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random);
  pairs.push_back({"shuffle_20k", made(20000, distinct),
                   made(20000, [&](size_t i) { return distinct(order[i]); })});
  pairs.push_back({"reversed_20k", made(20000, distinct),
                   made(20000, [&](size_t i) { return distinct(19999 - i); })});
  const auto code = [&](const std::string& indent) {
    return [indent](size_t i) {
      return i % 5 == 4   ? std::string()
             : i % 7 == 3 ? indent + "}"
                          : indent + "do(" + std::to_string(i) + ");";
    };
  };
  pairs.push_back({"reindent_20k", made(20000, code("  ")), made(20000, code("    "))});
  pairs.push_back({"one_percent_200k", made(200000, distinct), made(200000, [&](size_t i) {
                     return random() % 100 == 0 ? "new " + word(1000000) : distinct(i);
                   })});
  // A rewrite that keeps a third of the lines, in order, between repeated ones.
  const auto statement = [](size_t i) {
    return i % 3 == 0 ? "  keep(" + std::to_string(i) + ");" : i % 3 == 1 ? std::string("  }") : "";
  };
  pairs.push_back({"rewrite_20k", made(20000, statement), made(20000, [&](size_t i) {
                     return random() % 3 == 0 ? statement(i) : "  other(" + word(9000) + ");";
                   })});
  pairs.push_back({"blank_1MB", made(500000, [](size_t) { return " "; }),
                   made(500000, [&](size_t i) { return i % 1000 == 0 ? "x" : " "; })});
  pairs.push_back({"alternating_1MB", made(250000, [](size_t i) { return i % 2 == 0 ? "a" : "b"; }),
                   made(250000, [&](size_t) { return random() % 2 == 0 ? "a" : "b"; })});
  pairs.push_back({"blocks_moved_40k", made(40000, distinct), made(40000, [&](size_t i) {
                     return distinct(((i / 500) % 2 == 0 ? i + 500 : i - 500) % 40000);
                   })});
}

using Contender = std::function<size_t(const Pair&)>;  // returns the bytes printed

size_t galley_text(const Pair& pair) {
  galley::FilePair file;
  file.old_path = file.new_path = "file.js";
  file.old_mode = file.new_mode = galley::git_mode::kRegular;
  file.old_content = pair.before;
  file.new_content = pair.after;
  return galley::git_diff(file).size();
}

size_t libgit2_text(const Pair& pair) {
  const auto text = galley::libgit2_diff(pair.before, pair.after, "file.js");
  if (!text) {
    fmt::print(stderr, "diff_bench: {}\n", text.error().message);
    std::exit(3);
  }
  return text->size();
}

size_t galley_script(const Pair& pair) {
  return galley::diff_lines(Lines(pair.before), Lines(pair.after)).size();
}

size_t dtl_script(const Pair& pair) {
  galley::LineTable table;
  const Lines before(pair.before);
  const Lines after(pair.after);
  return galley::dtl_diff(table.intern_all(before, 0, before.size()),
                          table.intern_all(after, 0, after.size()))
      .size();
}

bool fits_dtl(const Pair& pair) {
  return Lines(pair.before).size() + Lines(pair.after).size() <= galley::kMaxDtlItems;
}

// Counts the lines that a unified diff changes.
size_t changed_lines(const std::string& patch) {
  size_t changed = 0;
  bool in_hunk = false;
  const Lines lines(patch);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].front() == '@') in_hunk = true;
    if (in_hunk && (lines[i].front() == '+' || lines[i].front() == '-')) ++changed;
  }
  return changed;
}

size_t peak_kib(const Contender& run, const Pair& pair) {
  int fds[2];
  if (pipe(fds) != 0) return 0;
  const pid_t child = fork();
  if (child == 0) {
    const auto field = [](const char* name) {
      std::ifstream status("/proc/self/status");
      for (std::string line; std::getline(status, line);) {
        if (line.rfind(name, 0) == 0)
          return std::stoul(line.substr(line.find_first_of("0123456789")));
      }
      return 0UL;
    };
    malloc_trim(0);
    std::ofstream("/proc/self/clear_refs") << "5";
    const size_t base = field("VmRSS:");
    run(pair);
    const size_t peak = field("VmHWM:");
    const size_t used = peak > base ? peak - base : 0;
    _exit(write(fds[1], &used, sizeof used) == sizeof used ? 0 : 1);
  }
  close(fds[1]);
  size_t used = 0;
  const bool got = read(fds[0], &used, sizeof used) == sizeof used;
  close(fds[0]);
  waitpid(child, nullptr, 0);
  return got ? used : 0;
}

// Prints every benchmark and keeps its median CPU time.
class Table : public benchmark::ConsoleReporter {
 public:
  Table() : ConsoleReporter(OO_None) {}
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const auto& run : runs) {
      if (run.run_type == Run::RT_Aggregate) continue;
      times_[run.run_name.function_name].push_back(run.cpu_accumulated_time /
                                                   static_cast<double>(run.iterations) * 1e3);
    }
  }
  [[nodiscard]] double ms(const std::string& name) const {
    const auto found = times_.find(name);
    if (found == times_.end()) return 0;
    auto times = found->second;
    std::nth_element(times.begin(), times.begin() + static_cast<ptrdiff_t>(times.size() / 2),
                     times.end());
    return times[times.size() / 2];
  }

 private:
  std::map<std::string, std::vector<double>> times_;
};

void print_table(const std::vector<Pair>& pairs, const Table& table) {
  fmt::print("\n{:<18} {:>7} {:>9} {:>9} {:>6} {:>8} {:>8} {:>7} {:>7} {:>7}\n", "pair", "lines",
             "galley ms", "libgit2", "ratio", "changed", "libgit2", "lines", "KiB", "libgit2");
  for (const auto& pair : pairs) {
    const double ours = table.ms("galley/" + pair.name);
    if (ours == 0) continue;
    const double theirs = table.ms("libgit2/" + pair.name);
    galley::FilePair file{
        "f.js",      "f.js",    galley::git_mode::kRegular, galley::git_mode::kRegular,
        pair.before, pair.after};
    const size_t our_lines = changed_lines(galley::git_diff(file));
    const size_t their_lines =
        changed_lines(galley::libgit2_diff(pair.before, pair.after, "f.js").value_or(""));
    fmt::print("{:<18} {:>7} {:>9.3f} {:>9.3f} {:>5.2f}x {:>8} {:>8} {:>6.1f}% {:>7} {:>7}\n",
               pair.name, Lines(pair.after).size(), ours, theirs, theirs / ours, our_lines,
               their_lines,
               100.0 * (static_cast<double>(our_lines) / static_cast<double>(their_lines) - 1),
               peak_kib(galley_text, pair), peak_kib(libgit2_text, pair));
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<Pair> pairs;
  add_real_pairs(pairs);
  add_made_pairs(pairs);
  const auto add = [&](const std::string& who, const Pair& pair, const Contender& run) {
    benchmark::RegisterBenchmark((who + "/" + pair.name).c_str(),
                                 [&pair, run](auto& state) {
                                   for (auto _ : state) benchmark::DoNotOptimize(run(pair));
                                 })
        ->Unit(benchmark::kMillisecond)
        ->MinTime(0.1)
        ->Repetitions(3);
  };
  if (!galley::libgit2_diff("a\n", "b\n", "x")) fmt::print(stderr, "diff_bench: no libgit2\n");
  for (const auto& pair : pairs) {
    add("galley", pair, galley_text);
    add("libgit2", pair, libgit2_text);
    add("script", pair, galley_script);
    if (fits_dtl(pair)) add("dtl", pair, dtl_script);
  }
  // Contenders of one pair run one after another, so that they see the machine in the same state.
  std::vector<char*> arguments(argv, argv + argc);
  std::string interleave = "--benchmark_enable_random_interleaving=true";
  arguments.push_back(interleave.data());
  int count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  Table table;
  benchmark::RunSpecifiedBenchmarks(&table);
  print_table(pairs, table);
  return 0;
}
