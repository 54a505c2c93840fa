#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <fstream>
#include <optional>
#include <random>

#include "crash/cases.h"
#include "engine/commit/history_reader.h"
#include "staging/fs/disk_directory.h"
#include "support/scratch_directory.h"

// Many processes commit to overlapping files and are killed at random. Transaction ids give the
// order, so checking is linear: each transaction's bases must be the state its predecessors left.

namespace galley {
namespace {

constexpr int kFiles = 12;

struct Load {
  int processes;
  int transactions;  ///< of each process
  int kills;
};

Load load() {
  if (std::getenv("GALLEY_STRESS") != nullptr) return {8, 200, 120};
  return {4, 25, 10};
}

std::string file_name(unsigned n) { return "d" + std::to_string(n % 3) + "/f" + std::to_string(n); }

/// Some files rewritten, some removed; nothing when one went away between the look and the read.
std::optional<Proposal> random_proposal(const WritableDirectory& workspace, std::mt19937& random,
                                        const std::string& token) {
  ChangeBuilder change(workspace);
  const unsigned count = 1 + random() % 4;
  try {
    for (unsigned n = 0; n < count; ++n) {
      const std::string name = file_name(random() % kFiles);
      if (random() % 8 == 0) {
        change.remove(name);
      } else {
        change.write(name, token + std::string(random() % 3000, '.') + "\n");
      }
    }
  } catch (const tl::bad_expected_access<Error>& race) {
    if (race.error().kind != ErrorKind::kNotFound) throw;
    return {};
  }
  Proposal proposal = change.proposal();
  if (proposal.is_empty()) return {};
  return proposal;
}

/// One committer: reads some files, rewrites them, notes what it was promised.
int commit_in_a_loop(const std::string& path, int process, int transactions,
                     const std::string& receipts) {
  auto directory = open_writable_disk_directory(path);
  if (!directory) return 10;
  std::mt19937 random(static_cast<unsigned>(process * 7919 + getpid()));
  std::ofstream log(receipts, std::ios::app);
  PublisherOptions options;
  options.lock_timeout = std::chrono::minutes(2);
  for (int i = 0; i < transactions; ++i) {
    const std::string token = std::to_string(getpid()) + "/" + std::to_string(i);
    const auto proposal = random_proposal(**directory, random, token);
    if (!proposal) continue;
    const auto outcome = publish(**directory, *proposal, options, {token, "stress", "", {}, {}});
    if (!outcome) {
      std::fprintf(stderr, "stress: %s\n", outcome.error().message.c_str());
      return 11;
    }
    const auto* receipt = std::get_if<Receipt>(&*outcome);
    if (receipt != nullptr) log << receipt->id.value << " " << token << std::endl;
  }
  return 0;
}

pid_t start(const std::string& path, int process, int transactions) {
  const pid_t child = fork();
  if (child == 0) {
    // Nothing may unwind into the parent's part of the stack: its directories would be removed.
    try {
      _exit(commit_in_a_loop(path + "/ws", process, transactions,
                             path + "/receipts." + std::to_string(process)));
    } catch (const tl::bad_expected_access<Error>& error) {
      std::fprintf(stderr, "stress: %s: %s\n", error.error().reason.c_str(),
                   error.error().message.c_str());
      _exit(12);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "stress: %s\n", error.what());
      _exit(12);
    }
  }
  return child;
}

void run_processes(const std::string& path, const Load& load) {
  std::vector<pid_t> children;
  for (int p = 0; p < load.processes; ++p) children.push_back(start(path, p, load.transactions));
  std::mt19937 random(1);
  for (int kill_number = 0; kill_number < load.kills; ++kill_number) {
    usleep(3000 + random() % 20000);
    const size_t victim = random() % children.size();
    ASSERT_EQ(kill(children[victim], SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(waitpid(children[victim], &status, 0), children[victim]);
    EXPECT_TRUE(!WIFEXITED(status) || WEXITSTATUS(status) == 0) << status;
    children[victim] = start(path, static_cast<int>(victim), load.transactions);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
}

/// Replays the history on the first tree.
void replay(const WritableDirectory& workspace, std::map<uint64_t, std::string>& tokens) {
  const auto state = StateDirectory::open(workspace);
  EXPECT_TRUE(state && *state);
  const auto ids = committed_ids(**state);
  EXPECT_TRUE(ids);
  std::map<RelPath, Node> tree;
  uint64_t previous = 0;
  for (const TxId id : *ids) {
    EXPECT_GT(id.value, previous);
    const auto loaded = load_committed(**state, id);
    ASSERT_TRUE(loaded) << loaded.error().message;
    EXPECT_EQ(loaded->journal.parent.value, previous) << "a commit is missing before " << id.str();
    previous = id.value;
    tokens[id.value] = loaded->journal.meta.agent;
    for (const auto& change : loaded->changes) {
      EXPECT_EQ(tree[change.path], change.before) << id.str() << " " << change.path.str();
      tree[change.path] = change.after;
    }
  }
  WorkspaceView view(workspace);
  for (const auto& [path, node] : tree) {
    const auto at = view.locate(path);
    ASSERT_TRUE(at) << path.str();
    EXPECT_EQ(*observe(*at), node) << path.str();
  }
}

TEST(Stress, ManyProcessesAndRandomKillsEqualASerialReplay) {
  const ScratchDirectory scratch;
  std::filesystem::create_directory(scratch.path() + "/ws");
  auto workspace = open_writable_disk_directory(scratch.path() + "/ws");
  ASSERT_TRUE(workspace);
  ChangeBuilder first(**workspace);
  for (int d = 0; d < 3; ++d) first.directory("d" + std::to_string(d));
  ASSERT_TRUE(publish(**workspace, first.proposal(), PublisherOptions()));
  run_processes(scratch.path(), load());
  ASSERT_TRUE(reopen(**workspace, current_boot_id()));
  std::map<uint64_t, std::string> tokens;
  replay(**workspace, tokens);
  const size_t count = tokens.size();
  size_t receipts = 0;
  for (int p = 0; p < load().processes; ++p) {
    std::ifstream log(scratch.path() + "/receipts." + std::to_string(p));
    uint64_t id = 0;
    std::string token;
    while (log >> id >> token) {
      ++receipts;
      EXPECT_EQ(tokens[id], token) << "receipt " << id << " is not in the history";
    }
  }
  EXPECT_GT(receipts, 0U);
  EXPECT_GE(count, receipts);
  EXPECT_TRUE(litter_of(**workspace).empty()) << litter_of(**workspace).front();
  std::printf(
      "STRESS | %d processes, %d kills | %zu transactions, %zu receipts | serial replay "
      "equal, none lost, none half\n",
      load().processes, load().kills, count, receipts);
}

}  // namespace
}  // namespace galley
