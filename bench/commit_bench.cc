// Compares a durable commit of N small files with plain programs in the same run. One writes the
// same journal and syncs it. One replaces the files by temp + rename without any sync. One syncs
// each file and its directory. Prints a table. Every number is the minimum of several runs; ratios
// are medians of pairs that ran next to each other.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"
#include "doubles/fault_directory.h"
#include "engine/commit/publisher.h"
#include "staging/fs/content_store.h"
#include "staging/fs/disk_directory.h"
#include "staging/overlay/change_set.h"
#include "staging/overlay/overlay.h"

namespace galley {

/// This benchmark does not measure the gate.
struct ApprovalForTests {
  static Approval of(const Proposal& proposal) { return Approval(proposal.id()); }
};

namespace {

namespace fs = std::filesystem;
using Clock_ = std::chrono::steady_clock;

constexpr size_t kFileBytes = 4096;
constexpr int kFilesPerDirectory = 200;

double ms_since(Clock_::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock_::now() - start).count();
}

std::string file_name(int i) {
  return "d" + std::to_string(i / kFilesPerDirectory) + "/f" + std::to_string(i);
}

std::string content(int file, int version) {
  std::string text = std::to_string(file) + " version " + std::to_string(version) + "\n";
  text.resize(kFileBytes, static_cast<char>('a' + (file + version) % 26));
  return text;
}

void write_all(const fs::path& path, const std::string& bytes, bool sync) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  GALLEY_CHECK(fd >= 0);
  GALLEY_CHECK(write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  if (sync) GALLEY_CHECK(fdatasync(fd) == 0);
  close(fd);
}

void sync_directory(const fs::path& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  GALLEY_CHECK(fd >= 0 && fsync(fd) == 0);
  close(fd);
}

/// A tree of N files. The destructor removes it.
class Tree {
 public:
  explicit Tree(int files) : files_(files) {
    const char* base = std::getenv("GALLEY_BENCH_DIR");
    std::string name = fs::path(base != nullptr ? base : "/var/tmp") / "galley-bench-XXXXXX";
    GALLEY_CHECK(mkdtemp(name.data()) != nullptr);
    root_ = name;
    for (int i = 0; i < files; ++i) {
      if (i % kFilesPerDirectory == 0) fs::create_directories((root_ / file_name(i)).parent_path());
      write_all(root_ / file_name(i), content(i, 0), false);
    }
    ::sync();
  }
  ~Tree() { fs::remove_all(root_); }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  [[nodiscard]] const fs::path& root() const { return root_; }
  [[nodiscard]] int files() const { return files_; }

 private:
  int files_;
  fs::path root_;
};

struct Times {
  double stage = 0, commit_point = 0, apply = 0, total = 0;
  size_t flushes = 0;
  uint64_t journal_bytes = 0;
};

Proposal propose(const WritableDirectory& workspace, const Tree& tree, int version,
                 const Clock& clock) {
  Overlay overlay(workspace, make_memory_store(), clock);
  for (int i = 0; i < tree.files(); ++i) {
    GALLEY_CHECK(overlay.write(*RelPath::parse(file_name(i)), content(i, version)).has_value());
  }
  return Proposal::freeze(overlay);
}

/// Commits every file once. If `is_counting`, calls go through a wrapper, and the times are not
/// valid.
Times measure_commit(const Tree& tree, Durability durability, int version, bool is_counting) {
  const SystemClock clock;
  Times times;
  auto plan = std::make_shared<FaultPlan>();
  auto disk = open_writable_disk_directory(tree.root().string());
  const auto workspace =
      is_counting ? make_fault_directory(std::move(*disk), plan) : std::move(*disk);
  const auto staged = Clock_::now();
  const Proposal proposal = propose(*workspace, tree, version, clock);
  times.stage = ms_since(staged);
  // This is made once in the life of a workspace, so it is not measured.
  GALLEY_CHECK(StateDirectory::open_or_create(*workspace).has_value());
  Clock_::time_point applying;
  PublisherOptions options;
  options.durability = durability;
  options.before_apply = [&] { applying = Clock_::now(); };
  plan->calls.clear();
  const auto start = Clock_::now();
  const auto outcome =
      Publisher(*workspace, clock, options).publish(proposal, ApprovalForTests::of(proposal), {});
  times.total = ms_since(start);
  GALLEY_CHECK(outcome && std::holds_alternative<Receipt>(*outcome));
  times.commit_point = std::chrono::duration<double, std::milli>(applying - start).count();
  times.apply = times.total - times.commit_point;
  for (const auto& call : plan->calls) times.flushes += call.is_sync() ? 1 : 0;
  for (const auto& entry : fs::directory_iterator(tree.root() / ".galley/j")) {
    times.journal_bytes = std::max<uint64_t>(times.journal_bytes, entry.file_size());
  }
  // Retirement is lazy and not part of the commit, so each round starts with an empty history.
  fs::remove_all(tree.root() / ".galley");
  ::sync();
  return times;
}

double measure_bare_journal(const Tree& tree, uint64_t bytes) {
  const std::string journal(bytes, 'j');
  const auto start = Clock_::now();
  write_all(tree.root() / "journal", journal, true);
  sync_directory(tree.root());
  const double ms = ms_since(start);
  fs::remove(tree.root() / "journal");
  ::sync();
  return ms;
}

double measure_bare_rename(const Tree& tree, bool sync, int version) {
  std::vector<std::string> contents;
  for (int i = 0; i < tree.files(); ++i) contents.push_back(content(i, version));
  const auto start = Clock_::now();
  for (int i = 0; i < tree.files(); ++i) {
    const fs::path target = tree.root() / file_name(i);
    const fs::path temporary = target.string() + ".tmp";
    write_all(temporary, contents[static_cast<size_t>(i)], sync);
    fs::rename(temporary, target);
    if (sync) sync_directory(target.parent_path());
  }
  const double ms = ms_since(start);
  ::sync();
  return ms;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The samples of one column. The table shows the minimum.
struct Column {
  std::vector<double> samples;
  void add(double sample) { samples.push_back(sample); }
  [[nodiscard]] double least() const { return *std::min_element(samples.begin(), samples.end()); }
  /// Returns the median ratio of pairs that ran next to each other.
  [[nodiscard]] double over(const Column& other) const {
    std::vector<double> ratios;
    for (size_t i = 0; i < std::min(samples.size(), other.samples.size()); ++i) {
      ratios.push_back(samples[i] / other.samples[i]);
    }
    return median(std::move(ratios));
  }
};

void print_row(int files, int rounds) {
  const Tree tree(files);
  int version = 0;
  const Times counted = measure_commit(tree, Durability::kFull, ++version, true);
  Column stage, commit_point, apply, total, group, none, journal, rename, synced;
  for (int round = 0; round < rounds; ++round) {
    const Times full = measure_commit(tree, Durability::kFull, ++version, false);
    stage.add(full.stage);
    commit_point.add(full.commit_point);
    apply.add(full.apply);
    total.add(full.total);
    journal.add(measure_bare_journal(tree, full.journal_bytes));
    rename.add(measure_bare_rename(tree, false, ++version));
    // Syncing each file takes minutes for many files.
    if (round <= rounds / 3) synced.add(measure_bare_rename(tree, true, ++version));
    group.add(measure_commit(tree, Durability::kGroup, ++version, false).total);
    none.add(measure_commit(tree, Durability::kNone, ++version, false).total);
  }
  std::printf(
      "| %d | %.2f | %.2f | %.2f | %.2f | %zu | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | "
      "%.2f |\n",
      files, stage.least(), commit_point.least(), apply.least(), total.least(), counted.flushes,
      group.least(), none.least(), journal.least(), rename.least(), synced.least(),
      commit_point.over(journal), total.over(rename), synced.over(total));
  std::fflush(stdout);
}

}  // namespace
}  // namespace galley

int main(int count, char** arguments) {
  const bool is_quick = count > 1 && std::string(arguments[1]) == "--quick";
  std::printf(
      "Times in ms. c.p. = until the commit point; apply = all files replaced; bare journal "
      "= one file of the same size, fdatasync, fsync of its directory.\n\n");
  std::printf(
      "| files | stage | c.p. | apply | total | flushes | group | none | bare journal | temp + "
      "rename "
      "| sync each | c.p. / journal | total / rename | sync each / total |\n");
  std::printf("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const int files : {1, 10, 100, 1000, 10000}) {
    if (is_quick && files > 100) break;
    galley::print_row(files, files >= 10'000 ? 1 : files >= 1'000 ? 3 : 8);
  }
  return 0;
}
