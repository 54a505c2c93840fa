// A durable commit of N small files beside bare programs in the same run: one that writes the same
// journal and syncs it, one that replaces the files by temp + rename without any sync, one that
// syncs each file and its directory. Prints a table; every number is the least of several runs.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "base/check.h"
#include "engine/commit/publisher.h"
#include "staging/fs/disk_directory.h"
#include "staging/fs/fault_directory.h"
#include "staging/overlay/content_store.h"
#include "staging/overlay/overlay.h"
#include "staging/overlay/proposal.h"

namespace galley {

/// The gate is not what is measured here.
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

/// A tree of N files, removed at the end.
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
  double stage = 1e9, commit_point = 1e9, apply = 1e9, total = 1e9;
  size_t flushes = 0;
  uint64_t journal_bytes = 0;
};

Proposal propose(const Directory& workspace, const Tree& tree, int version, const Clock& clock) {
  Overlay overlay(workspace, make_memory_store(), clock);
  for (int i = 0; i < tree.files(); ++i) {
    GALLEY_CHECK(overlay.write(*RelPath::parse(file_name(i)), content(i, version)).has_value());
  }
  return Proposal::freeze(overlay);
}

Times measure_commit(const Tree& tree, Durability durability, int runs, int& version) {
  const SystemClock clock;
  Times best;
  for (int run = 0; run < runs; ++run) {
    auto plan = std::make_shared<FaultPlan>();
    auto disk = open_disk_directory(tree.root().string());
    // The counting wrapper only in the last run, which is not timed.
    const bool is_counting = run == runs - 1;
    const auto workspace =
        is_counting ? make_fault_directory(std::move(*disk), plan) : std::move(*disk);
    const auto staged = Clock_::now();
    const Proposal proposal = propose(*workspace, tree, ++version, clock);
    const double stage = ms_since(staged);
    // Made once in the life of a workspace, and not what is measured.
    GALLEY_CHECK(StateDirectory::open_or_create(*workspace).has_value());
    Clock_::time_point applying;
    PublisherOptions options;
    options.durability = durability;
    options.before_apply = [&] { applying = Clock_::now(); };
    plan->calls.clear();
    const auto start = Clock_::now();
    const auto outcome =
        Publisher(*workspace, clock, options).publish(proposal, ApprovalForTests::of(proposal), {});
    const double total = ms_since(start);
    GALLEY_CHECK(outcome && std::holds_alternative<Receipt>(*outcome));
    if (is_counting) {
      for (const auto& call : plan->calls) best.flushes += call.is_sync() ? 1 : 0;
    } else {
      const double until = std::chrono::duration<double, std::milli>(applying - start).count();
      best.stage = std::min(best.stage, stage);
      best.commit_point = std::min(best.commit_point, until);
      best.apply = std::min(best.apply, total - until);
      best.total = std::min(best.total, total);
    }
    for (const auto& entry : fs::directory_iterator(tree.root() / ".galley/j")) {
      best.journal_bytes = std::max<uint64_t>(best.journal_bytes, entry.file_size());
    }
    // What is lazy is not the commit's: history is started afresh.
    fs::remove_all(tree.root() / ".galley");
    ::sync();
  }
  return best;
}

double measure_bare_journal(const Tree& tree, uint64_t bytes, int runs) {
  double best = 1e9;
  const std::string journal(bytes, 'j');
  for (int run = 0; run < runs; ++run) {
    const auto start = Clock_::now();
    write_all(tree.root() / "journal", journal, true);
    sync_directory(tree.root());
    best = std::min(best, ms_since(start));
    fs::remove(tree.root() / "journal");
    ::sync();
  }
  return best;
}

double measure_bare_rename(const Tree& tree, bool sync, int runs, int& version) {
  double best = 1e9;
  for (int run = 0; run < runs; ++run) {
    ++version;
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
    best = std::min(best, ms_since(start));
    ::sync();
  }
  return best;
}

void print_row(int files, int runs) {
  const Tree tree(files);
  int version = 0;
  const Times full = measure_commit(tree, Durability::kFull, runs, version);
  const Times group = measure_commit(tree, Durability::kGroup, runs, version);
  const Times none = measure_commit(tree, Durability::kNone, runs, version);
  const double journal = measure_bare_journal(tree, full.journal_bytes, runs);
  const double rename = measure_bare_rename(tree, false, runs, version);
  const double synced = measure_bare_rename(tree, true, std::max(1, runs / 3), version);
  std::printf(
      "| %5d | %8.2f | %8.2f | %8.2f | %8.2f | %7zu | %8.2f | %8.2f | %8.2f | %8.2f | "
      "%9.2f | %5.2f | %5.2f | %5.2f |\n",
      files, full.stage, full.commit_point, full.apply, full.total, full.flushes, group.total,
      none.total, journal, rename, synced, full.commit_point / journal, full.total / rename,
      synced / full.total);
  std::fflush(stdout);
}

}  // namespace
}  // namespace galley

int main() {
  std::printf(
      "Times in ms. c.p. = until the commit point; apply = all files replaced; bare journal "
      "= one file of the same size, fdatasync, fsync of its directory.\n");
  std::printf(
      "| files |    stage |     c.p. |    apply |    total | flushes |    group |     none | "
      "journal  |   rename | sync each | c.p./journal | total/rename | sync each/total |\n");
  std::printf("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
  for (const int files : {1, 10, 100, 1000, 10000}) {
    galley::print_row(files, files >= 1000 ? 4 : 8);
  }
  return 0;
}
