// Measures how fast edits are placed: 2,000 hunks in 20 MB, and inputs that make naive matchers
// quadratic.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "doubles/memory_directory.h"
#include "staging/formats/read_edits.h"
#include "staging/overlay/stage_edits.h"
#include "staging/placing/place.h"

namespace galley {
namespace {

std::string line_of(size_t i) {
  return "line " + std::to_string(i) + " of a file with some text in it\n";
}

void place_large(benchmark::State& state, size_t shift) {
  std::string file;
  size_t count = 0;
  for (; file.size() < (20U << 20U); ++count) file += line_of(count);
  std::string patch = "--- a/f\n+++ b/f\n";
  const size_t step = count / 2000;
  for (size_t h = 0; h < 2000; ++h) {
    const size_t at = h * step + 10;
    patch += "@@ -" + std::to_string(at + 1 + shift) + ",7 +" + std::to_string(at + 1 + shift) +
             ",7 @@\n";
    for (size_t i = 0; i < 7; ++i) {
      if (i == 3) {
        patch += "-" + line_of(at + i) + "+changed\n";
      } else {
        patch += " " + line_of(at + i);
      }
    }
  }
  for (auto _ : state) {
    const auto set = read_unified(patch, {});
    GALLEY_CHECK(set.has_value());
    const PlacedEdits placed = place_edits(file, set->files[0], {});
    GALLEY_CHECK(placed.failures.empty());
    benchmark::DoNotOptimize(placed.splices.apply(file));
  }
}

void place_hostile(benchmark::State& state, const std::string& file, const std::string& patch) {
  for (auto _ : state) {
    const auto set = read_unified(patch, {});
    if (!set) continue;
    benchmark::DoNotOptimize(place_edits(file, set->files[0], {}));
  }
}

std::string hunks(size_t count, const std::string& body) {
  std::string patch = "--- a/f\n+++ b/f\n";
  for (size_t i = 0; i < count; ++i) patch += "@@ ... @@\n" + body;
  return patch;
}

/// Stages one document with one hunk for each of `count` files in a memory directory.
void stage_many(benchmark::State& state, size_t count) {
  const auto workspace = make_memory_directory();
  std::string patch;
  for (size_t f = 0; f < count; ++f) {
    const std::string name = "f" + std::to_string(f);
    std::string file;
    for (size_t i = 0; i < 100; ++i) file += line_of(f * 100 + i);
    auto handle =
        workspace->open_writable_file(*RelPath::parse(name), OpenMode::kOpenOrCreate, 0644);
    GALLEY_CHECK(handle.has_value() && (*handle)->write_at(0, file).has_value());
    patch += "--- a/" + name + "\n+++ b/" + name + "\n@@ -50,3 +50,3 @@\n";
    patch += " " + line_of(f * 100 + 49) + "-" + line_of(f * 100 + 50) + "+changed\n";
    patch += " " + line_of(f * 100 + 51);
  }
  const SystemClock clock;
  for (auto _ : state) {
    Overlay overlay(*workspace, make_memory_store(), clock);
    const auto set = read_unified(patch, {});
    GALLEY_CHECK(set.has_value());
    const auto outcome = stage_edits(overlay, *set, {});
    GALLEY_CHECK(outcome.has_value() && outcome->is_staged);
  }
}

/// Places 10,000 pairs of old and new strings, one after another, on 1 MB. If `fits`, the old
/// strings match exactly.
void place_strings(benchmark::State& state, bool fits) {
  std::string file;
  size_t count = 0;
  for (; file.size() < (1U << 20U); ++count) file += line_of(count);
  std::vector<std::string> texts;
  FileEdit edit;
  for (size_t i = 0; i < 10000; ++i) {
    std::string text = line_of(i * count / 10000);
    texts.push_back(fits ? text : " " + text);
  }
  for (const std::string& text : texts) {
    TextEdit one;
    one.old_text = text;
    one.new_text = "changed\n";
    edit.text_edits.push_back(one);
  }
  for (auto _ : state) benchmark::DoNotOptimize(place_edits(file, edit, {}));
}

/// Does the same on 1 MB, with one edit for each step. `make` returns the n-th edit.
template <typename Make>
void place_texts(benchmark::State& state, const std::string& file, Make make) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < 10000; ++i) texts.push_back(make(i));
  FileEdit edit;
  for (size_t i = 0; i < 10000; ++i) {
    TextEdit one;
    one.old_text = texts[i];
    one.new_text = "changed\n";
    one.first_line = one.last_line = static_cast<uint32_t>(i + 1);
    if (texts[i].empty()) one.kind = TextEdit::Kind::kReplaceLines;
    edit.text_edits.push_back(one);
  }
  for (auto _ : state) benchmark::DoNotOptimize(place_edits(file, edit, {}));
}

void register_all() {
  const auto add = [](const char* name, auto run) {
    benchmark::RegisterBenchmark(name, run)->Unit(benchmark::kMillisecond);
  };
  add("place/20MB-2000-hunks-exact", [](benchmark::State& s) { place_large(s, 0); });
  add("place/20MB-2000-hunks-offset", [](benchmark::State& s) { place_large(s, 3); });
  add("stage/1000-files", [](benchmark::State& s) { stage_many(s, 1000); });
  add("stage/10000-files", [](benchmark::State& s) { stage_many(s, 10000); });
  add("place/10000-strings-in-1MB", [](benchmark::State& s) { place_strings(s, true); });
  add("place/10000-strings-that-do-not-fit", [](benchmark::State& s) { place_strings(s, false); });
  const std::string blank(1U << 20U, '\n');
  std::string ab;
  for (size_t i = 0; ab.size() < (1U << 20U); ++i) ab += (i * i / 7) % 3 == 0 ? "a\n" : "b\n";
  std::string misfit;
  for (int i = 0; i < 10000; ++i) {
    misfit += "@@ ... @@\n a\n b\n-nothing like this " + std::to_string(i) + "\n+x\n a\n b\n";
  }
  std::string lines;
  for (size_t i = 0; lines.size() < (1U << 20U); ++i) lines += line_of(i);
  add("place/10000-strings-every-other-fits", [lines](benchmark::State& s) {
    place_texts(s, lines, [](size_t i) { return (i % 2 == 0 ? "" : " ") + line_of(i); });
  });
  add("place/10000-strings-that-stand-everywhere", [lines](benchmark::State& s) {
    place_texts(s, lines, [](size_t i) { return i % 2 == 0 ? "i" : line_of(i); });
  });
  add("place/10000-strings-in-two-lines-repeated", [ab](benchmark::State& s) {
    place_texts(s, ab, [&](size_t i) { return ab.substr(i * 2, 90) + "c"; });
  });
  add("place/10000-lines-by-number", [lines](benchmark::State& s) {
    place_texts(s, lines, [](size_t) { return std::string(); });
  });
  misfit = "--- a/f\n+++ b/f\n" + misfit;
  add("place/blank-file-10000-hunks", [blank](benchmark::State& s) {
    place_hostile(s, blank, hunks(10000, " \n \n \n-\n+x\n \n \n"));
  });
  add("place/two-lines-repeated-10000-hunks", [ab](benchmark::State& s) {
    place_hostile(s, ab, hunks(10000, " a\n b\n a\n b\n b\n-a\n+x\n b\n b\n b\n a\n a\n a\n"));
  });
  add("place/10000-hunks-that-do-not-fit",
      [ab, misfit](benchmark::State& s) { place_hostile(s, ab, misfit); });
}

}  // namespace
}  // namespace galley

int main(int argc, char** argv) {
  galley::register_all();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
