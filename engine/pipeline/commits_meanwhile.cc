#include "engine/pipeline/commits_meanwhile.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

#include "engine/commit/history_reader.h"
#include "engine/commit/writer_lock.h"
#include "engine/history/history.h"
#include "engine/pipeline/agent_session.h"

namespace galley {
namespace {

using Commit = std::shared_ptr<const CommittedTransaction>;

/// The last commit of which the command sees everything. The newest one of the history may still be
/// in its apply step.
std::optional<TxId> last_finished(PersistentState& persistent) {
  if (!persistent.refresh()) return std::nullopt;
  if (persistent.state() == nullptr) return TxId();
  const TxId noted = noted_transaction(*persistent.state());
  if (noted != TxId()) return noted;
  const auto ids = listed_ids(*persistent.state());
  return ids && ids->empty() ? std::optional(noted) : std::nullopt;
}

/// Whether the command wrote a file that this commit deleted. The base of a path in `before` was
/// read before the command, so the commit of the command finds the conflict.
bool is_written_after_deletion(const JournalOp& op, const Overlay::Entries& before,
                               const Overlay::Entries& after) {
  if (!is_file_or_link(op.before.node) || op.after.node.kind != FileKind::kAbsent) return false;
  const auto entry = after.find(op.path);
  return entry != after.end() && !before.contains(op.path) &&
         entry->second.before.kind == FileKind::kAbsent &&
         entry->second.now.kind != FileKind::kAbsent;
}

/// `transaction 7 (claude: sed -i …)`, for the newest ones.
std::string commits_named(const std::vector<Commit>& commits) {
  constexpr size_t kMaxNamed = 3;
  constexpr size_t kMaxReason = 80;
  std::string names;
  for (size_t i = 0; i < std::min(commits.size(), kMaxNamed); ++i) {
    const Journal& journal = commits[i]->journal;
    std::string about = journal.meta.agent;
    const std::string reason = first_words(journal.meta.message, kMaxReason);
    if (!reason.empty()) about += (about.empty() ? "" : ": ") + reason;
    names += (i == 0 ? "transaction " : " and transaction ") + journal.id.str();
    if (!about.empty()) names += " (" + about + ")";
  }
  if (commits.size() > kMaxNamed) names += " and earlier ones";
  return names;
}

/// Oldest first. Their numbers follow each other, so the history is not listed.
std::vector<Commit> commits_after(TxId base, const StateDirectory& state) {
  const History history(state);
  std::vector<Commit> commits;
  while (auto next = history.outline(TxId{base.value + 1 + commits.size()})) {
    commits.push_back(std::move(*next));
  }
  return commits;
}

void refuse_by_commits(const StateDirectory& state, TxId base, const Overlay::Entries& before,
                       const Overlay::Entries& after, std::vector<RefusedEffect>& refused) {
  const std::vector<Commit> commits = commits_after(base, state);
  std::map<std::string, std::vector<Commit>> changed_by;  // newest first
  for (const RefusedEffect& effect : refused) changed_by.try_emplace(effect.path);
  for (const Commit& commit : std::views::reverse(commits)) {
    for (const JournalOp& op : commit->journal.ops) {
      const std::string path = op.path.str();
      if (is_written_after_deletion(op, before, after) && changed_by.try_emplace(path).second) {
        refused.push_back({path, "was deleted on disk while the command ran; run it again"});
      }
      const auto known = changed_by.find(path);
      if (known != changed_by.end()) known->second.push_back(commit);
    }
  }
  for (RefusedEffect& effect : refused) {
    const auto& later = changed_by[effect.path];
    if (!later.empty()) effect.why += ": " + commits_named(later) + " changed it";
  }
}

}  // namespace

RefuseEffects refuse_by_later_commits(PersistentState& persistent) {
  const auto base = last_finished(persistent);
  if (!base) return {};
  return [&persistent, base = *base](const Overlay::Entries& before, const Overlay::Entries& after,
                                     std::vector<RefusedEffect>& refused) {
    if (!persistent.refresh() || persistent.state() == nullptr) return;
    refuse_by_commits(*persistent.state(), base, before, after, refused);
  };
}

}  // namespace galley
