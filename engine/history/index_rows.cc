#include "engine/history/index_rows.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "staging/fs/directory.h"

namespace galley::index_rows {

const char* const kTables = R"sql(
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE transactions (
  id INTEGER PRIMARY KEY, time_ns INTEGER NOT NULL, time TEXT NOT NULL,
  agent TEXT NOT NULL, tool TEXT NOT NULL, message TEXT NOT NULL, proposal TEXT NOT NULL,
  undoes INTEGER, undone_by INTEGER, problem TEXT NOT NULL, owner TEXT,
  session TEXT NOT NULL, turn INTEGER NOT NULL, prompt TEXT NOT NULL,
  also_undoes TEXT NOT NULL);
CREATE INDEX transactions_session ON transactions (session) WHERE session <> '';
CREATE INDEX transactions_undoes ON transactions (undoes) WHERE undoes IS NOT NULL;
CREATE TABLE changes (
  tx INTEGER NOT NULL REFERENCES transactions (id), path TEXT NOT NULL, status TEXT NOT NULL,
  from_path TEXT, added INTEGER NOT NULL, removed INTEGER NOT NULL,
  is_binary INTEGER NOT NULL, is_directory INTEGER NOT NULL,
  before_kind TEXT NOT NULL, before_mode INTEGER NOT NULL, before_size INTEGER NOT NULL,
  before_content TEXT,
  after_kind TEXT NOT NULL, after_mode INTEGER NOT NULL, after_size INTEGER NOT NULL,
  after_content TEXT,
  PRIMARY KEY (tx, path)) WITHOUT ROWID;
CREATE INDEX changes_path ON changes (path, tx);
CREATE INDEX changes_from ON changes (from_path, tx) WHERE from_path IS NOT NULL;
CREATE VIEW log AS
  SELECT id, time, agent, tool, message,
         (SELECT count(*) FROM changes WHERE tx = transactions.id AND NOT is_directory) AS files,
         (SELECT coalesce(sum(added), 0) FROM changes WHERE tx = transactions.id) AS added,
         (SELECT coalesce(sum(removed), 0) FROM changes WHERE tx = transactions.id) AS removed,
         undoes, undone_by
  FROM transactions ORDER BY transactions.id DESC;
CREATE VIEW files AS
  SELECT path, count(*) AS transactions, sum(added) AS added, sum(removed) AS removed,
         min(time) AS first_time, max(time) AS last_time
  FROM changes JOIN transactions ON tx = id WHERE NOT is_directory GROUP BY path;
CREATE VIEW agents AS
  SELECT agent, count(DISTINCT id) AS transactions, count(path) AS files,
         coalesce(sum(added), 0) AS added, coalesce(sum(removed), 0) AS removed,
         count(DISTINCT CASE WHEN undone_by IS NOT NULL THEN id END) AS undone
  FROM transactions LEFT JOIN changes ON tx = id AND NOT is_directory GROUP BY agent;
)sql";

namespace {

void bind_node(Database::Statement& statement, const Node& node) {
  statement.bind(kind_name(node.kind))
      .bind(int64_t{node.mode})
      .bind(static_cast<int64_t>(node.size));
  node.content.is_none() ? statement.bind_null() : statement.bind(node.content.hex());
}

Result<void> insert_changes(const Database& database, const CommittedTransaction& transaction,
                            const TxSummary& summary) {
  GALLEY_ASSIGN(auto statement,
                database.prepare("INSERT INTO changes VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"));
  // Both lists are sorted by path; the summary leaves out the old names of renames.
  auto change = transaction.changes.begin();
  for (const PathSummary& path : summary.paths) {
    while (change->path != path.path) ++change;
    statement.bind(static_cast<int64_t>(summary.id.value))
        .bind(path.path.str())
        .bind(std::string_view(&path.status, 1));
    path.from ? statement.bind(path.from->str()) : statement.bind_null();
    statement.bind(static_cast<int64_t>(path.added))
        .bind(static_cast<int64_t>(path.removed))
        .bind(int64_t{path.is_binary})
        .bind(int64_t{path.is_directory});
    bind_node(statement, change->before);
    bind_node(statement, change->after);
    GALLEY_TRY(statement.run());
  }
  return {};
}

/// The conditions of a filter, and the values to bind to them in order.
struct Conditions {
  std::string sql;
  std::vector<std::string> texts;
  std::vector<int64_t> times;
};

Conditions conditions_of(const HistoryFilter& filter) {
  Conditions where;
  const auto add = [&](const std::string& condition) {
    where.sql += where.sql.empty() ? " WHERE problem = '' AND " : " AND ";
    where.sql += condition;
  };
  if (filter.since_ns) {
    add("time_ns >= ?");
    where.times.push_back(*filter.since_ns);
  }
  if (filter.until_ns) {
    add("time_ns <= ?");
    where.times.push_back(*filter.until_ns);
  }
  const auto add_text = [&](const char* condition, const std::string& text) {
    if (text.empty()) return;
    add(condition);
    where.texts.push_back(text);
  };
  add_text("? IN (agent, owner)", filter.agent);
  add_text("session <> '' AND session = ?", filter.session);
  add_text("tool = ?", filter.tool);
  add_text("instr(lower(message), lower(?)) > 0", filter.message);
  const bool takes_all = std::any_of(filter.paths.begin(), filter.paths.end(),
                                     [](const RelPath& path) { return path.is_root(); });
  std::string paths;
  for (const RelPath& path : filter.paths) {
    if (takes_all) break;
    if (path.str().find_first_of("*?[") != std::string::npos) {
      paths += paths.empty() ? "" : " OR ";
      paths += "pathspec_names(?, path) OR (status = 'R' AND pathspec_names(?, from_path))";
      where.texts.insert(where.texts.end(), {path.str(), path.str()});
      continue;
    }
    // The paths below p: from "p/" to before "p0", because '0' follows '/'.
    const std::string first = path.str() + "/";
    const std::string last = path.str() + "0";
    paths += paths.empty() ? "" : " OR ";
    paths +=
        "path = ? OR (path >= ? AND path < ?) OR (status = 'R' AND (from_path = ? OR "
        "(from_path >= ? AND from_path < ?)))";
    for (int side = 0; side < 2; ++side) {
      where.texts.insert(where.texts.end(), {path.str(), first, last});
    }
  }
  if (!paths.empty()) add("id IN (SELECT tx FROM changes WHERE " + paths + ")");
  return where;
}

/// Several ids in one column: "3 5 7".
std::string text_of(const std::vector<TxId>& ids) {
  std::string text;
  for (const TxId id : ids) text += (text.empty() ? "" : " ") + id.str();
  return text;
}

std::vector<TxId> ids_of(std::string_view text) {
  std::vector<TxId> ids;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (const auto id = TxId::parse(text.substr(0, end))) ids.push_back(*id);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return ids;
}

TxSummary summary_of(const Database::Statement& row) {
  TxSummary summary;
  summary.id = TxId{static_cast<uint64_t>(row.integer(0))};
  summary.time_ns = row.integer(1);
  summary.agent = row.text(2);
  summary.tool = row.text(3);
  summary.message = row.text(4);
  summary.proposal = ContentId::from_hex(row.text(5)).value_or(ContentId());
  if (!row.is_null(6)) summary.undoes = TxId{static_cast<uint64_t>(row.integer(6))};
  if (!row.is_null(7)) summary.undone_by = TxId{static_cast<uint64_t>(row.integer(7))};
  summary.problem = row.text(8);
  if (!row.is_null(9)) summary.owner = row.text(9);
  summary.session = row.text(10);
  summary.turn = static_cast<uint64_t>(row.integer(11));
  summary.prompt = row.text(12);
  summary.also_undoes = ids_of(row.text(13));
  return summary;
}

Result<void> add_paths(Database::Statement& statement, bool with_lines, TxSummary& summary) {
  statement.bind(static_cast<int64_t>(summary.id.value));
  for (;;) {
    GALLEY_ASSIGN(const bool has_row, statement.step());
    if (!has_row) break;
    PathSummary path;
    GALLEY_ASSIGN(path.path, RelPath::parse(statement.text(0)));
    const std::string status = statement.text(1);
    path.status = status.empty() ? 'M' : status[0];
    if (!statement.is_null(2)) {
      GALLEY_ASSIGN(path.from, RelPath::parse(statement.text(2)));
    }
    path.is_directory = statement.integer(6) != 0;
    if (with_lines) {
      path.added = static_cast<uint64_t>(statement.integer(3));
      path.removed = static_cast<uint64_t>(statement.integer(4));
      path.is_binary = statement.integer(5) != 0;
    }
    summary.paths.push_back(std::move(path));
  }
  statement.reset();
  return {};
}

/// Reads the undos after `oldest`, which tell what became of it and of later transactions. Adds the
/// transactions that they name to `undone`.
Result<UndoRelations> undo_relations(const Database& database, TxId oldest,
                                     std::vector<TxId>& undone) {
  UndoRelations relations;
  GALLEY_ASSIGN(auto rows,
                database.prepare("SELECT id, undoes, tool, also_undoes FROM transactions "
                                 "WHERE id > ? AND undoes IS NOT NULL ORDER BY id DESC"));
  rows.bind(static_cast<int64_t>(oldest.value));
  for (;;) {
    GALLEY_ASSIGN(const bool has_row, rows.step());
    if (!has_row) return relations;
    CommitMeta meta;
    meta.undoes = TxId{static_cast<uint64_t>(rows.integer(1))};
    meta.tool = rows.text(2);
    meta.also_undoes = ids_of(rows.text(3));
    relations.take(TxId{static_cast<uint64_t>(rows.integer(0))}, meta);
    undone.push_back(*meta.undoes);
    undone.insert(undone.end(), meta.also_undoes.begin(), meta.also_undoes.end());
  }
}

}  // namespace

Result<void> insert(const Database& database, TxId id, const CommittedTransaction* transaction,
                    const std::string& problem) {
  TxSummary summary;
  summary.id = id;
  if (transaction != nullptr) {
    GALLEY_ASSIGN(summary, summarize(*transaction, true));
  }
  GALLEY_ASSIGN(auto statement, database.prepare("INSERT OR REPLACE INTO transactions VALUES "
                                                 "(?,?,?,?,?,?,?,?,NULL,?,?,?,?,?,?)"));
  statement.bind(static_cast<int64_t>(id.value))
      .bind(summary.time_ns)
      .bind(transaction != nullptr ? rfc3339_utc(summary.time_ns) : "")
      .bind(summary.agent)
      .bind(summary.tool)
      .bind(summary.message)
      .bind(summary.proposal.hex());
  const auto& undoes = summary.undoes;
  undoes ? statement.bind(static_cast<int64_t>(undoes->value)) : statement.bind_null();
  statement.bind(problem);
  summary.owner ? statement.bind(*summary.owner) : statement.bind_null();
  statement.bind(summary.session)
      .bind(static_cast<int64_t>(summary.turn))
      .bind(summary.prompt)
      .bind(text_of(summary.also_undoes));
  GALLEY_TRY(statement.run());
  if (transaction == nullptr) return {};
  return insert_changes(database, *transaction, summary);
}

Result<void> remove(const Database& database, TxId id) {
  for (const char* sql :
       {"DELETE FROM changes WHERE tx = ?", "DELETE FROM transactions WHERE id = ?"}) {
    GALLEY_ASSIGN(auto statement, database.prepare(sql));
    GALLEY_TRY(statement.bind(static_cast<int64_t>(id.value)).run());
  }
  return {};
}

Result<void> update_undo_relations(const Database& database) {
  GALLEY_TRY(database.run("UPDATE transactions SET undone_by = NULL WHERE undone_by IS NOT NULL"));
  std::vector<TxId> undone;
  GALLEY_ASSIGN(const UndoRelations relations, undo_relations(database, {}, undone));
  GALLEY_ASSIGN(auto update,
                database.prepare("UPDATE transactions SET undone_by = ? WHERE id = ?"));
  for (const TxId id : undone) {
    const auto by = relations.undone_by(id);
    if (!by) continue;
    GALLEY_TRY(
        update.bind(static_cast<int64_t>(by->value)).bind(static_cast<int64_t>(id.value)).run());
  }
  return {};
}

Result<std::vector<TxSummary>> select(const Database& database, const HistoryFilter& filter) {
  const Conditions where = conditions_of(filter);
  std::string sql =
      "SELECT id, time_ns, agent, tool, message, proposal, undoes, undone_by, problem, owner, "
      "session, turn, prompt, also_undoes FROM transactions" +
      where.sql + " ORDER BY id DESC";
  if (filter.limit > 0) sql += " LIMIT " + std::to_string(filter.limit);
  GALLEY_ASSIGN(auto rows, database.prepare(sql));
  for (const int64_t time : where.times) rows.bind(time);
  for (const std::string& text : where.texts) rows.bind(text);
  std::vector<TxSummary> found;
  for (;;) {
    GALLEY_ASSIGN(const bool has_row, rows.step());
    if (!has_row) break;
    found.push_back(summary_of(rows));
  }
  GALLEY_ASSIGN(auto paths, database.prepare("SELECT path, status, from_path, added, removed, "
                                             "is_binary, is_directory FROM changes WHERE tx = ? "
                                             "ORDER BY path"));
  for (TxSummary& summary : found) GALLEY_TRY(add_paths(paths, filter.with_lines, summary));
  if (found.empty()) return found;
  std::vector<TxId> undone;
  GALLEY_ASSIGN(const UndoRelations relations, undo_relations(database, found.back().id, undone));
  for (TxSummary& summary : found)
    summary.partly_undone_by = relations.partly_undone_by(summary.id);
  return found;
}

}  // namespace galley::index_rows
