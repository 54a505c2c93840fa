#include "engine/pipeline/earlier_versions.h"

#include <set>

#include "engine/history/history.h"
#include "engine/pipeline/persistent_state.h"

namespace galley {
namespace {

/// The maximum number of transactions that are searched, newest first, and of versions that are
/// returned.
constexpr size_t kMaxTransactions = 200;
constexpr size_t kMaxVersions = 20;

/// Adds the contents of a path in one transaction: first after the change, then before it.
void add_versions(const History& history, TxId id, const RelPath& path, std::set<ContentId>& seen,
                  std::vector<EarlierVersion>& out) {
  const auto proposal = history.proposal_of(id);
  if (!proposal) return;
  for (const Change& change : proposal->changes()) {
    if (change.path != path) continue;
    for (const Node* node : {&change.after, &change.before}) {
      if (node->kind != FileKind::kRegular || !seen.insert(node->content).second) continue;
      auto content = proposal->content(*node);
      if (content) out.push_back({id.str(), node == &change.before, *std::move(content)});
    }
  }
}

std::vector<EarlierVersion> versions_of(const StateDirectory& state, const RelPath& path) {
  const History history(state);
  const auto ids = history.ids();
  std::vector<EarlierVersion> out;
  if (!ids) return out;
  std::set<ContentId> seen;
  size_t looked_into = 0;
  for (auto id = ids->rbegin(); id != ids->rend(); ++id) {
    if (++looked_into > kMaxTransactions || out.size() >= kMaxVersions) break;
    add_versions(history, *id, path, seen, out);
  }
  return out;
}

}  // namespace

EarlierVersions earlier_versions(const PersistentState& persistent) {
  return [&persistent](const RelPath& path) {
    if (persistent.state() == nullptr) return std::vector<EarlierVersion>();
    return versions_of(*persistent.state(), path);
  };
}

}  // namespace galley
