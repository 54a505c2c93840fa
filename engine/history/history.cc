#include "engine/history/history.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/glob.h"
#include "base/text.h"
#include "engine/commit/history_reader.h"
#include "engine/history/index.h"
#include "engine/history/rebase.h"
#include "engine/history/undo.h"
#include "engine/history/undo_choice.h"
#include "staging/overlay/overlay.h"
#include "staging/overlay/proposal_diff.h"

namespace galley {
namespace {

bool contains_ignoring_case(std::string_view text, std::string_view part) {
  if (part.empty()) return true;
  return std::search(text.begin(), text.end(), part.begin(), part.end(),
                     [](char a, char b) { return to_lower(a) == to_lower(b); }) != text.end();
}

bool has_condition(const HistoryFilter& filter) {
  return !filter.agent.empty() || !filter.session.empty() || !filter.tool.empty() ||
         !filter.message.empty() || !filter.paths.empty() || filter.since_ns || filter.until_ns;
}

PathSummary summarize_change(const Change& change) {
  PathSummary summary;
  summary.path = change.path;
  summary.is_directory =
      change.before.kind == FileKind::kDirectory || change.after.kind == FileKind::kDirectory;
  if (change.renamed_from || change.copied_from) {
    summary.status = change.renamed_from ? 'R' : 'C';
    summary.from = change.renamed_from ? change.renamed_from : change.copied_from;
  } else if (change.is_create()) {
    summary.status = 'A';
  } else if (change.is_delete()) {
    summary.status = 'D';
  } else if (change.is_type_change()) {
    summary.status = 'T';
    summary.is_directory = change.after.kind == FileKind::kDirectory;
  } else if (change.before.content == change.after.content) {
    summary.status = 'm';
  }
  return summary;
}

/// Visits the readable transactions, newest first.
template <class Visit>
Result<void> walk_back(const History& history, Visit visit) {
  GALLEY_ASSIGN(const std::vector<TxId> ids, listed_ids(history.state()));
  for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
    auto transaction = history.outline(*id);
    // It was not committed, or it was pruned since the ids were listed.
    if (!transaction && transaction.error().kind == ErrorKind::kNotFound) continue;
    GALLEY_ASSIGN(const bool goes_on, visit(*id, transaction));
    if (!goes_on) break;
  }
  return {};
}

using Loaded = Result<std::shared_ptr<const CommittedTransaction>>;

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kMaxUnits = 1'000'000;

tl::unexpected<Error> bad_time(std::string_view text) {
  return fail(ErrorKind::kUsage, "history.bad_time",
              "'" + std::string(text) + "' is not a time; write 15m, 2h, 3d, 1w, 2026-11-21 or " +
                  "2026-11-21T08:00:00Z");
}

std::optional<int> digits(std::string_view text, size_t at, size_t count) {
  if (text.size() < at + count) return {};
  int value = 0;
  for (const char c : text.substr(at, count)) {
    if (c < '0' || c > '9') return {};
    value = value * 10 + (c - '0');
  }
  return value;
}

std::optional<int64_t> unit_seconds(char unit) {
  static const std::map<char, int64_t> kUnits = {
      {'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 604800}};
  const auto found = kUnits.find(unit);
  return found == kUnits.end() ? std::nullopt : std::optional(found->second);
}

/// The seconds that `T08:00:00[.123](Z|+01:00)` adds to its day; nullopt when it is malformed.
std::optional<int64_t> seconds_of_day(std::string_view text) {
  const auto hour = digits(text, 1, 2);
  const auto minute = digits(text, 4, 2);
  const auto second = digits(text, 7, 2);
  if (!hour || !minute || !second || *hour > 23 || *minute > 59 || *second > 60) return {};
  if ((text[0] != 'T' && text[0] != ' ') || text[3] != ':' || text[6] != ':') return {};
  int64_t value = *hour * 3600 + *minute * 60 + *second;
  text.remove_prefix(9);
  if (!text.empty() && text[0] == '.') {
    size_t end = 1;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    if (end == 1) return {};
    text.remove_prefix(end);
  }
  if (text.empty() || text == "Z") return value;
  const auto zone_hour = digits(text, 1, 2);
  const auto zone_minute = digits(text, 4, 2);
  const bool is_zone = text.size() == 6 && text[3] == ':' && zone_hour && zone_minute &&
                       (text[0] == '+' || text[0] == '-');
  if (!is_zone) return {};
  const int64_t zone = *zone_hour * 3600 + *zone_minute * 60;
  return text[0] == '+' ? value - zone : value + zone;
}

}  // namespace

// --- undo relations -------------------------------------------------------------------------

void UndoRelations::take(TxId id, const CommitMeta& meta) {
  if (!meta.undoes || whole_.contains(id)) return;
  // If a part of an undo was taken back, only the rest of it is in effect.
  if (is_partial(meta.tool) || parts_.contains(id)) {
    parts_[*meta.undoes].push_back(id);
    for (const TxId also : meta.also_undoes) parts_[also].push_back(id);
    return;
  }
  whole_.try_emplace(*meta.undoes, id);
  for (const TxId also : meta.also_undoes) whole_.try_emplace(also, id);
}

std::optional<TxId> UndoRelations::undone_by(TxId id) const {
  const auto found = whole_.find(id);
  if (found == whole_.end()) return {};
  return found->second;
}

std::vector<TxId> UndoRelations::partly_undone_by(TxId id) const {
  const auto found = parts_.find(id);
  return found == parts_.end() ? std::vector<TxId>() : found->second;
}

// --- one transaction ------------------------------------------------------------------------

Result<TxSummary> summarize(const CommittedTransaction& transaction, bool with_lines) {
  const Journal& journal = transaction.journal;
  TxSummary summary;
  summary.id = journal.id;
  summary.time_ns = journal.time_ns;
  summary.agent = journal.meta.agent;
  summary.owner = journal.meta.owner;
  summary.session = journal.meta.session;
  summary.turn = journal.meta.turn;
  summary.prompt = journal.meta.prompt;
  summary.tool = journal.meta.tool;
  summary.message = journal.meta.message;
  summary.proposal = journal.proposal;
  summary.undoes = journal.meta.undoes;
  summary.also_undoes = journal.meta.also_undoes;
  std::set<RelPath> sources;
  for (const Change& change : transaction.changes) {
    if (change.renamed_from) sources.insert(*change.renamed_from);
  }
  std::map<std::string, FileDiff> diffs;
  if (with_lines) {
    ProposalDiffOptions options;
    options.find_renames = false;
    GALLEY_ASSIGN(auto files, summarize_proposal(
                                  Proposal::from(transaction.changes, transaction.store), options));
    for (FileDiff& file : files) {
      const std::string& name = file.status == 'D' ? file.old_path : file.new_path;
      diffs.insert_or_assign(name, std::move(file));
    }
  }
  for (const Change& change : transaction.changes) {
    if (change.is_delete() && sources.contains(change.path)) continue;
    PathSummary path = summarize_change(change);
    const auto diff = diffs.find(change.path.str());
    if (diff != diffs.end()) {
      path.added = diff->second.counts.added;
      path.removed = diff->second.counts.removed;
      path.is_binary = diff->second.is_binary;
    }
    summary.paths.push_back(std::move(path));
  }
  return summary;
}

bool matches(const HistoryFilter& filter, const TxSummary& summary) {
  const bool is_of_agent = summary.agent == filter.agent || summary.owner == filter.agent;
  if (!filter.agent.empty() && !is_of_agent) return false;
  if (!filter.session.empty() && summary.session != filter.session) return false;
  if (!filter.tool.empty() && summary.tool != filter.tool) return false;
  if (!contains_ignoring_case(summary.message, filter.message)) return false;
  if (filter.since_ns && summary.time_ns < *filter.since_ns) return false;
  if (filter.until_ns && summary.time_ns > *filter.until_ns) return false;
  if (filter.paths.empty()) return true;
  for (const RelPath& wanted : filter.paths) {
    for (const PathSummary& path : summary.paths) {
      if (pathspec_names(wanted.str(), path.path.str())) return true;
      const bool is_rename = path.from && path.status == 'R';
      if (is_rename && pathspec_names(wanted.str(), path.from->str())) return true;
    }
  }
  return false;
}

// --- the history ----------------------------------------------------------------------------

/// The journal that was read last: a plan and its summary both need it.
struct History::Cache {
  std::mutex mutex;
  TxId id;
  std::shared_ptr<const CommittedTransaction> transaction;
};

History::History(const StateDirectory& state) : state_(&state), cache_(std::make_shared<Cache>()) {}

Result<std::vector<TxId>> History::ids() const { return committed_ids(*state_); }

Result<std::optional<TxId>> History::latest() const {
  GALLEY_ASSIGN(const std::vector<TxId> all, ids());
  if (all.empty()) return std::optional<TxId>();
  return std::optional<TxId>(all.back());
}

Result<std::shared_ptr<const CommittedTransaction>> History::journal(TxId id) const {
  {
    const std::lock_guard lock(cache_->mutex);
    if (cache_->id == id && cache_->transaction) return cache_->transaction;
  }
  GALLEY_ASSIGN(CommittedTransaction loaded, load_committed(*state_, id));
  auto transaction = std::make_shared<const CommittedTransaction>(std::move(loaded));
  const std::lock_guard lock(cache_->mutex);
  cache_->id = id;
  cache_->transaction = transaction;
  return transaction;
}

Result<std::shared_ptr<const CommittedTransaction>> History::outline(TxId id) const {
  {
    const std::lock_guard lock(cache_->mutex);
    if (cache_->id == id && cache_->transaction) return cache_->transaction;
  }
  GALLEY_ASSIGN(CommittedTransaction loaded, load_committed(*state_, id, ImageUse::kSkip));
  return std::make_shared<const CommittedTransaction>(std::move(loaded));
}

Result<std::vector<TxSummary>> History::list(const HistoryFilter& filter) const {
  const bool reads_all =
      filter.limit == 0 || filter.limit >= HistoryIndex::kWorthwhile || has_condition(filter);
  if (reads_all) {
    GALLEY_ASSIGN(const std::vector<TxId> all, ids());
    if (all.size() >= HistoryIndex::kWorthwhile) {
      // Without an index the journals give the same result, only more slowly.
      auto index = HistoryIndex::open(*this);
      auto found = index ? (*index)->list(filter) : fail(index.error());
      if (found) return found;
    }
  }
  return scan(filter);
}

Result<std::vector<TxSummary>> History::scan(const HistoryFilter& filter) const {
  std::vector<TxSummary> found;
  UndoRelations relations;
  GALLEY_TRY(walk_back(*this, [&](TxId id, const Loaded& loaded) -> Result<bool> {
    TxSummary summary;
    summary.id = id;
    if (!loaded) {
      summary.problem = loaded.error().message;
      if (!has_condition(filter)) found.push_back(std::move(summary));
      return filter.limit == 0 || found.size() < filter.limit;
    }
    const CommittedTransaction& transaction = **loaded;
    relations.take(id, transaction.journal.meta);
    GALLEY_ASSIGN(summary, summarize(transaction, false));
    if (!matches(filter, summary)) return true;
    if (filter.with_lines) {
      const auto whole = journal(id);
      auto lines = whole ? summarize(**whole, true) : Result<TxSummary>(whole.error());
      // It was pruned since its outline was read.
      if (!lines && lines.error().kind == ErrorKind::kNotFound) return true;
      GALLEY_ASSIGN(summary, std::move(lines));
    }
    summary.undone_by = relations.undone_by(id);
    summary.partly_undone_by = relations.partly_undone_by(id);
    found.push_back(std::move(summary));
    return filter.limit == 0 || found.size() < filter.limit;
  }));
  return found;
}

Result<TxSummary> History::summary(TxId id) const {
  GALLEY_TRY(journal(id));
  UndoRelations relations;
  GALLEY_TRY(walk_back(*this, [&](TxId other, const Loaded& loaded) -> Result<bool> {
    if (loaded) relations.take(other, (*loaded)->journal.meta);
    return other > id;
  }));
  GALLEY_ASSIGN(const auto transaction, journal(id));
  GALLEY_ASSIGN(TxSummary summary, summarize(*transaction, true));
  summary.undone_by = relations.undone_by(id);
  summary.partly_undone_by = relations.partly_undone_by(id);
  return summary;
}

Result<TxRecord> History::load(TxId id) const {
  GALLEY_ASSIGN(const auto transaction, journal(id));
  return TxRecord{id, transaction->journal.time_ns, transaction->journal.meta,
                  Proposal::from(transaction->changes, transaction->store)};
}

Result<Proposal> History::proposal_of(TxId id) const {
  GALLEY_ASSIGN(const auto transaction, journal(id));
  return Proposal::from(transaction->changes, transaction->store);
}

Result<TxId> History::resolve(std::string_view text) const {
  if (text.empty()) return newest_to_undo(*this, {});
  const auto bad_id = [&] {
    return fail(ErrorKind::kUsage, "history.bad_id",
                "'" + std::string(text) + "' is not a transaction id; write its number as " +
                    "`galley log` shows it, @ for the newest or @~1 for the one before it");
  };
  GALLEY_ASSIGN(const std::vector<TxId> all, ids());
  const auto id = TxId::parse(text);
  if (id) {
    if (std::binary_search(all.begin(), all.end(), *id)) return *id;
    return fail(not_in_history(*state_, *id));
  }
  std::string_view rest = text;
  if (rest.starts_with("HEAD")) {
    rest.remove_prefix(4);
  } else if (rest.starts_with('@')) {
    rest.remove_prefix(1);
  } else {
    return bad_id();
  }
  size_t back = 0;
  if (!rest.empty()) {
    if (rest[0] != '~') return bad_id();
    const auto [end, code] = std::from_chars(rest.data() + 1, rest.data() + rest.size(), back);
    if (code != std::errc() || end != rest.data() + rest.size()) return bad_id();
  }
  if (back >= all.size()) {
    return fail(ErrorKind::kNotFound, "history.not_found",
                "the history has " + std::to_string(all.size()) + " transactions, so there is no " +
                    std::string(text));
  }
  return all[all.size() - 1 - back];
}

namespace {

/// For every path touched after the transaction, its node just before the first touch.
struct EarlierNodes {
  std::map<RelPath, Node> nodes;
  std::vector<std::shared_ptr<const ContentStore>> stores;
};

Result<EarlierNodes> nodes_after(const History& history, TxId id) {
  EarlierNodes earlier;
  GALLEY_ASSIGN(const std::vector<TxId> ids, history.ids());
  for (const TxId later : ids) {
    if (later <= id) continue;
    GALLEY_ASSIGN(const auto transaction, history.journal(later));
    for (const Change& change : transaction->changes) {
      earlier.nodes.try_emplace(change.path, change.before);
    }
    earlier.stores.push_back(transaction->store);
  }
  return earlier;
}

/// The present node; absent when a symbolic link has replaced a parent.
Result<Node> node_now(Overlay& view, const RelPath& path) {
  auto node = view.node(path);
  if (!node && node.error().reason == "path.through_symlink") return Node();
  return node;
}

}  // namespace

Result<Proposal> proposal_to_tree_after(const History& history, const Directory& workspace, TxId id,
                                        const Clock& clock) {
  GALLEY_TRY(history.journal(id));
  GALLEY_ASSIGN(EarlierNodes earlier, nodes_after(history, id));
  auto store = std::make_shared<LayeredStore>(std::move(earlier.stores));
  Overlay view(workspace, make_memory_store(), clock);
  ChangeSet changes;
  for (auto& [path, node] : earlier.nodes) {
    GALLEY_ASSIGN(const Node now, node_now(view, path));
    if (node.kind == FileKind::kRegular && now.kind == FileKind::kRegular &&
        !store->get(node.content)) {
      // A journal need not keep contents that its transaction did not change.
      node.content = now.content;
      node.size = now.size;
    }
    if (now == node) continue;
    if (now.kind == FileKind::kRegular) {
      GALLEY_ASSIGN(const Content bytes, view.read(path));
      GALLEY_TRY(store->put(bytes));
    } else if (now.kind == FileKind::kSymlink) {
      GALLEY_ASSIGN(std::string target, view.read_link(path));
      GALLEY_TRY(store->put(std::move(target)));
    }
    changes.push_back(Change{path, now, node, {}, {}, {}});
  }
  // Only directories can conflict here: those with contents that no transaction made stay.
  const Proposal change = Proposal::from(std::move(changes), std::move(store));
  GALLEY_ASSIGN(RebaseOutcome outcome, rebase(change, workspace, clock));
  if (auto* fits = std::get_if<Rebased>(&outcome)) return std::move(fits->proposal);
  const PathConflict& first = std::get<RebaseConflict>(outcome).paths.front();
  return fail(ErrorKind::kConflict, "history.past_blocked",
              "the tree as it was after " + id.str() + " cannot be shown: " + first.message,
              first.path.str());
}

Result<int64_t> parse_time_expression(std::string_view text, int64_t now_ns) {
  if (text.size() >= 2) {
    const auto unit = unit_seconds(text.back());
    int64_t count = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size() - 1, count);
    const bool is_span = unit && code == std::errc() && end == text.data() + text.size() - 1;
    if (is_span && count >= 0 && count <= kMaxUnits) return now_ns - count * *unit * kSecond;
  }
  const auto year = digits(text, 0, 4);
  const auto month = digits(text, 5, 2);
  const auto day = digits(text, 8, 2);
  if (!year || !month || !day || text[4] != '-' || text[7] != '-') return bad_time(text);
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok()) return bad_time(text);
  int64_t seconds = std::chrono::sys_days(date).time_since_epoch().count() * int64_t{86400};
  if (text.size() > 10) {
    const auto in_day = seconds_of_day(text.substr(10));
    if (!in_day) return bad_time(text);
    seconds += *in_day;
  }
  return seconds * kSecond;
}

}  // namespace galley
