#include "engine/history/turns.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/printable.h"
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
  turn.agent = one.agent.empty() ? one.owner.value_or("") : one.agent;
  turn.session = one.session;
  turn.title = one.prompt.empty() ? one.message : one.prompt;
  turn.transactions.push_back(one);
}

Result<std::vector<TxSummary>> list_session(const History& history, const std::string& session) {
  return history.list({.session = session, .with_lines = false});
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

std::string TurnSummary::name() const { return id.str() + (last ? ".." + last->str() : ""); }

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

Result<std::vector<TurnSummary>> newest_turns(const ListTransactions& list, HistoryFilter filter,
                                              size_t limit) {
  constexpr size_t kGrowth = 4;
  std::vector<TxSummary> newest;
  std::vector<TurnSummary> turns;
  bool is_all = false;
  for (filter.limit = limit; !is_all && (turns.empty() || turns.size() < limit);
       filter.limit *= kGrowth) {
    GALLEY_ASSIGN(newest, list(filter));
    is_all = newest.size() < filter.limit || limit == 0;
    turns = turns_of(newest);
  }
  if (limit > 0 && turns.size() > limit) turns.resize(limit);
  if (is_all) return turns;
  // The rest of a turn may be older than anything that was listed.
  std::map<std::string, std::vector<TurnSummary>> whole;
  for (TurnSummary& turn : turns) {
    if (!is_of_known_turn(turn.transactions.front())) continue;
    const auto [of_session, is_new] = whole.try_emplace(turn.session);
    if (is_new) {
      HistoryFilter all = filter;
      all.limit = 0;
      all.session = turn.session;
      GALLEY_ASSIGN(const auto transactions, list(all));
      of_session->second = turns_of(transactions);
    }
    const auto same = std::ranges::find_if(of_session->second, [&](const TurnSummary& one) {
      return is_same_turn(one.transactions.front(), turn.transactions.front());
    });
    if (same != of_session->second.end()) turn = *same;
  }
  return turns;
}

bool is_to_undo(const TxSummary& one) {
  return one.problem.empty() && !one.undoes && !one.undone_by;
}

namespace {

Result<TurnSummary> find_one_turn(const History& history, const std::string& text,
                                  const std::string& session) {
  GALLEY_ASSIGN(const TxId id,
                text == "last" ? newest_to_undo(history, {"", session}) : history.resolve(text));
  GALLEY_ASSIGN(const TxSummary wanted, history.summary(id));
  TurnSummary turn;
  if (!is_of_known_turn(wanted)) {
    add_older(wanted, turn);
    return turn;
  }
  GALLEY_ASSIGN(const auto all, list_session(history, wanted.session));
  for (const TxSummary& one : all) {
    if (is_same_turn(one, wanted)) add_older(one, turn);
  }
  return turn;
}

std::string session_words(const TurnSummary& turn) {
  return turn.session.empty() ? "no session" : "the session '" + printable_line(turn.session) + "'";
}

/// The turns of one session from `first` to `last`, as one.
Result<TurnSummary> join_turns(const History& history, TurnSummary first, const TurnSummary& last) {
  if (first.session != last.session) {
    return fail(ErrorKind::kUsage, "turn.range",
                "turn " + first.id.str() + " is of " + session_words(first) + " and turn " +
                    last.id.str() + " of " + session_words(last) +
                    ": a range takes turns of one session. Use one command for each session");
  }
  if (first.id > last.id) {
    return fail(ErrorKind::kUsage, "turn.range",
                "turn " + first.id.str() + " is after turn " + last.id.str() +
                    ": write the range as " + last.id.str() + ".." + first.id.str());
  }
  if (first.id == last.id) return first;
  GALLEY_ASSIGN(const auto all, list_session(history, first.session));
  first.transactions.clear();
  for (const TurnSummary& turn : turns_of(all)) {
    if (turn.session != first.session || turn.id < first.id || turn.id > last.id) continue;
    first.transactions.insert(first.transactions.end(), turn.transactions.begin(),
                              turn.transactions.end());
  }
  std::sort(first.transactions.begin(), first.transactions.end(),
            [](const TxSummary& a, const TxSummary& b) { return a.id > b.id; });
  first.last = last.id;
  return first;
}

}  // namespace

Result<TurnSummary> find_turn(const History& history, const std::string& text,
                              const std::string& session) {
  const size_t dots = text.find("..");
  if (dots == std::string::npos) return find_one_turn(history, text, session);
  const std::string begin = text.substr(0, dots);
  const std::string end = text.substr(dots + 2);
  if (begin.empty() || end.empty()) {
    return fail(ErrorKind::kUsage, "turn.range",
                "a range of turns has a first and a last one, as in 3..5 or 3..last, not '" +
                    printable_line(text) + "'");
  }
  GALLEY_ASSIGN(TurnSummary first, find_one_turn(history, begin, session));
  GALLEY_ASSIGN(const TurnSummary last, find_one_turn(history, end, session));
  return join_turns(history, std::move(first), last);
}

Result<TurnSummary> newest_undone_turn(const History& history, const CommittedBy& who) {
  GALLEY_ASSIGN(TxId id, newest_undo(history, who));
  for (;;) {
    GALLEY_ASSIGN(const auto transaction, history.outline(id));
    const auto undone = transaction->journal.meta.undoes;
    if (!undone || *undone >= id) break;
    id = *undone;
  }
  return find_one_turn(history, id.str(), who.session);
}

namespace {

/// Adds a later change of the path. A node without an owner means "as the file has" (ADR 106).
void add_later(Change& joined, const Change& later) {
  const bool keeps_owner = !later.after.owner && later.after.kind == joined.after.kind;
  const std::optional<Node::Owner> owner = keeps_owner ? joined.after.owner : later.after.owner;
  joined.after = later.after;
  joined.after.owner = owner;
  const bool is_first = !joined.before.owner && joined.before.kind == later.before.kind;
  if (is_first) joined.before.owner = later.before.owner;
}

}  // namespace

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
      if (!is_new) add_later(at->second, change);
    }
  }
  ChangeSet together;
  for (auto& [path, change] : changes) {
    if (change.before != change.after) together.push_back(std::move(change));
  }
  return Proposal::from(std::move(together), std::make_shared<LayeredStore>(std::move(stores)));
}

}  // namespace galley
