#include "engine/history/turns.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "engine/commit/history_reader.h"
#include "engine/history/undo.h"
#include "staging/overlay/overlay.h"

namespace galley {
namespace {

bool is_of_known_turn(const TxSummary& one) { return !one.session.empty() && one.turn > 0; }

bool is_same_turn(const TxSummary& a, const TxSummary& b) {
  return a.session == b.session && a.turn == b.turn;
}

/// Adds an older transaction of the same turn.
void add_older(const TxSummary& one, TurnSummary& turn) {
  turn.id = one.id;
  turn.time_ns = one.time_ns;
  turn.agent = one.agent;
  turn.session = one.session;
  turn.title = one.prompt.empty() ? one.message : one.prompt;
  turn.transactions.push_back(one);
}

}  // namespace

size_t TurnSummary::files() const {
  std::set<RelPath> paths;
  for (const TxSummary& one : transactions) {
    for (const PathSummary& path : one.paths) {
      if (!path.is_directory) paths.insert(path.path);
    }
  }
  return paths.size();
}

std::vector<TxId> TurnSummary::in_effect() const { return ids_in_effect(transactions); }

std::vector<TurnSummary> turns_of(const std::vector<TxSummary>& transactions) {
  std::vector<TurnSummary> turns;
  std::map<std::pair<std::string, uint64_t>, size_t> known;
  for (const TxSummary& one : transactions) {
    if (!one.problem.empty()) continue;
    if (!is_of_known_turn(one)) {
      if (one.undoes && one.session.empty()) continue;
      add_older(one, turns.emplace_back());
      continue;
    }
    const auto [at, is_new] = known.try_emplace({one.session, one.turn}, turns.size());
    if (is_new) turns.emplace_back();
    add_older(one, turns[at->second]);
  }
  return turns;
}

Result<TurnSummary> find_turn(const History& history, const std::string& text) {
  GALLEY_ASSIGN(const TxId id, history.resolve(text == "last" ? "" : text));
  GALLEY_ASSIGN(const TxSummary wanted, history.summary(id));
  TurnSummary turn;
  if (!is_of_known_turn(wanted)) {
    add_older(wanted, turn);
    return turn;
  }
  HistoryFilter filter;
  filter.session = wanted.session;
  GALLEY_ASSIGN(const auto all, history.list(filter));
  for (const TxSummary& one : all) {
    if (is_same_turn(one, wanted)) add_older(one, turn);
  }
  return turn;
}

Result<Proposal> change_together(const History& history, std::vector<TxId> ids) {
  std::sort(ids.begin(), ids.end());
  std::map<RelPath, Change> changes;
  std::vector<std::shared_ptr<const ContentStore>> stores;
  for (const TxId id : ids) {
    GALLEY_ASSIGN(const auto transaction, history.journal(id));
    stores.push_back(transaction->store);
    for (const Change& change : transaction->changes) {
      const auto [at, is_new] = changes.try_emplace(
          change.path, Change{change.path, change.before, change.after, {}, {}, {}});
      if (!is_new) at->second.after = change.after;
    }
  }
  ChangeSet together;
  for (auto& [path, change] : changes) {
    if (change.before != change.after) together.push_back(std::move(change));
  }
  return Proposal::from(std::move(together), std::make_shared<LayeredStore>(std::move(stores)));
}

}  // namespace galley
