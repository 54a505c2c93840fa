#include "engine/history/index.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/clock.h"
#include "base/encoding.h"
#include "engine/commit/history_reader.h"
#include "engine/commit/writer_lock.h"
#include "engine/history/database.h"
#include "staging/fs/directory.h"

namespace galley {
namespace {

// --- the tables ---------------------------------------------------------------------------------

/// Increase it with every change of the tables; an index of another version is made again.
constexpr int64_t kVersion = 5;
constexpr const char* kTables = R"sql(
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

/// Adds one transaction. `problem` says why it cannot be read; then `transaction` is null.
Result<void> insert_rows(const Database& database, TxId id, const CommittedTransaction* transaction,
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

Result<void> remove_rows(const Database& database, TxId id) {
  for (const char* sql :
       {"DELETE FROM changes WHERE tx = ?", "DELETE FROM transactions WHERE id = ?"}) {
    GALLEY_ASSIGN(auto statement, database.prepare(sql));
    GALLEY_TRY(statement.bind(static_cast<int64_t>(id.value)).run());
  }
  return {};
}

/// Computes again which transactions undo which.
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

/// As History::list.
Result<std::vector<TxSummary>> select_rows(const Database& database, const HistoryFilter& filter) {
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

// --- the file -----------------------------------------------------------------------------------

constexpr std::string_view kFileName = "index.db";

/// The purpose that an index records: the version of its tables and the workspace.
std::string purpose(const StateDirectory& state) {
  return std::to_string(kVersion) + " " + to_hex(state.workspace_id());
}

Result<bool> has_tables(const Database& database) {
  GALLEY_ASSIGN(auto row, database.prepare("SELECT 1 FROM sqlite_master WHERE name = 'meta'"));
  return row.step();
}

Result<std::string> purpose_of(const Database& database) {
  GALLEY_ASSIGN(auto row, database.prepare("SELECT value FROM meta WHERE key = 'purpose'"));
  GALLEY_ASSIGN(const bool has_row, row.step());
  return has_row ? row.text(0) : std::string();
}

Result<bool> is_whole(const Database& database) {
  GALLEY_ASSIGN(auto row, database.prepare("PRAGMA quick_check(1)"));
  GALLEY_ASSIGN(const bool has_row, row.step());
  return has_row && row.text(0) == "ok";
}

/// Runs `work` in one write transaction.
template <class Work>
Result<void> in_transaction(const Database& database, Work work) {
  GALLEY_TRY(database.run("BEGIN IMMEDIATE"));
  Result<void> done = work();
  if (done) return database.run("COMMIT");
  (void)database.run("ROLLBACK");  // the earlier failure is the one to report
  return done;
}

Result<void> make_tables(const Database& database, const StateDirectory& state) {
  return in_transaction(database, [&]() -> Result<void> {
    GALLEY_ASSIGN(const bool is_there, has_tables(database));
    if (is_there) return {};  // another process added it first
    GALLEY_TRY(database.run(kTables));
    GALLEY_ASSIGN(auto row, database.prepare("INSERT INTO meta VALUES ('purpose', ?)"));
    return row.bind(purpose(state)).run();
  });
}

// While a commit swaps files, its journal is in the history. If it is taken back, its number goes
// to the next commit. So the index notes up to which number all commits were over when it was
// brought up to date. Newer rows are made again at the next open.
constexpr std::string_view kSettled = "settled";

/// Read before the journals.
Result<TxId> last_settled(const StateDirectory& state) {
  const TxId noted = noted_transaction(state);
  if (noted != TxId()) return noted;
  GALLEY_ASSIGN(const auto retired, journal_ids(state.undo()));
  return retired.empty() ? TxId() : retired.back();
}

Result<TxId> settled_in(const Database& database) {
  GALLEY_ASSIGN(auto row, database.prepare("SELECT value FROM meta WHERE key = ?"));
  row.bind(std::string(kSettled));
  GALLEY_ASSIGN(const bool has_row, row.step());
  return has_row ? TxId::parse(row.text(0)).value_or(TxId()) : TxId();
}

Result<void> note_settled(const Database& database, TxId last) {
  GALLEY_ASSIGN(auto row, database.prepare("INSERT OR REPLACE INTO meta VALUES (?, ?)"));
  return row.bind(std::string(kSettled)).bind(last.str()).run();
}

struct Difference {
  std::vector<TxId> missing;
  std::vector<TxId> gone;
  [[nodiscard]] bool is_empty() const { return missing.empty() && gone.empty(); }
};

Result<Difference> difference_to(const Database& database, const History& history) {
  std::set<TxId> indexed;
  GALLEY_ASSIGN(const TxId settled, settled_in(database));
  GALLEY_ASSIGN(auto rows, database.prepare("SELECT id, problem FROM transactions"));
  Difference difference;
  for (;;) {
    GALLEY_ASSIGN(const bool has_row, rows.step());
    if (!has_row) break;
    const TxId id{static_cast<uint64_t>(rows.integer(0))};
    // A journal that could not be read may have been repaired since.
    if (rows.text(1).empty() && id <= settled) {
      indexed.insert(id);
    } else {
      difference.gone.push_back(id);
    }
  }
  GALLEY_ASSIGN(const std::vector<TxId> ids, history.ids());
  for (const TxId id : ids) {
    if (indexed.erase(id) == 0) difference.missing.push_back(id);
  }
  difference.gone.insert(difference.gone.end(), indexed.begin(), indexed.end());
  return difference;
}

Result<void> bring_up_to_date(const Database& database, const History& history) {
  GALLEY_ASSIGN(const Difference first_look, difference_to(database, history));
  if (first_look.is_empty()) return {};
  return in_transaction(database, [&]() -> Result<void> {
    GALLEY_ASSIGN(const TxId settled, last_settled(history.state()));
    GALLEY_ASSIGN(const Difference difference, difference_to(database, history));
    for (const TxId id : difference.gone) GALLEY_TRY(remove_rows(database, id));
    for (const TxId id : difference.missing) {
      const auto transaction = history.journal(id);
      if (!transaction && transaction.error().kind == ErrorKind::kNotFound) continue;
      GALLEY_TRY(insert_rows(database, id, transaction ? transaction->get() : nullptr,
                             transaction ? "" : transaction.error().message));
    }
    GALLEY_TRY(note_settled(database, settled));
    return update_undo_relations(database);
  });
}

/// Opens the index at this path: intact, of this workspace and up to date.
Result<Database> open_at(const std::string& path, const History& history) {
  GALLEY_ASSIGN(Database database, Database::open(path));
  // Derived data can be made again after a power cut, so nothing waits for the disk.
  GALLEY_TRY(database.run("PRAGMA synchronous = OFF"));
  GALLEY_ASSIGN(const bool is_sound, is_whole(database));
  if (!is_sound) {
    return fail(ErrorKind::kInternal, "index.damaged", "the index of the history is damaged");
  }
  GALLEY_ASSIGN(const bool is_there, has_tables(database));
  if (!is_there) GALLEY_TRY(make_tables(database, history.state()));
  GALLEY_ASSIGN(const std::string found, purpose_of(database));
  if (found != purpose(history.state())) {
    return fail(ErrorKind::kInternal, "index.damaged",
                "the index is of another version or workspace");
  }
  GALLEY_TRY(bring_up_to_date(database, history));
  return database;
}

Result<void> remove_files(const WritableDirectory& state_root) {
  for (const char* name : {"index.db", "index.db-journal", "index.db-wal", "index.db-shm"}) {
    GALLEY_ASSIGN(const RelPath path, RelPath::parse(name));
    Result<void> removed = state_root.remove_file(path);
    if (!removed && removed.error().kind != ErrorKind::kNotFound) return removed;
  }
  return {};
}

Result<Database> open_on_disk(const History& history) {
  const WritableDirectory& root = history.state().root();
  GALLEY_ASSIGN(const RelPath name, RelPath::parse(kFileName));
  GALLEY_ASSIGN(const FileStat stat, root.stat(name));
  const bool is_ours = stat.kind == FileKind::kAbsent || stat.kind == FileKind::kRegular;
  if (root.descriptor() < 0 || !is_ours) {
    return fail(ErrorKind::kIo, "index.no_disk", "the index has no place on this disk");
  }
  const std::string path =
      "/proc/self/fd/" + std::to_string(root.descriptor()) + "/" + std::string(kFileName);
  auto database = open_at(path, history);
  if (database || database.error().reason == "index.busy") return database;
  GALLEY_TRY(remove_files(root));
  return open_at(path, history);
}

}  // namespace

Result<void> remove_index(const StateDirectory& state) { return remove_files(state.root()); }

struct HistoryIndex::State {
  Database database;
};

HistoryIndex::HistoryIndex(std::unique_ptr<State> state) : state_(std::move(state)) {}
HistoryIndex::~HistoryIndex() = default;

Result<std::unique_ptr<HistoryIndex>> HistoryIndex::open(const History& history) {
  auto database = open_on_disk(history);
  if (!database) database = open_at("", history);
  if (!database) return fail(database.error());
  auto state = std::make_unique<State>(State{std::move(*database)});
  return std::unique_ptr<HistoryIndex>(new HistoryIndex(std::move(state)));
}

Result<std::vector<TxSummary>> HistoryIndex::list(const HistoryFilter& filter) {
  return select_rows(state_->database, filter);
}

Result<std::optional<TxId>> HistoryIndex::newest_touching(const RelPath& path, TxId below) {
  GALLEY_ASSIGN(auto row,
                state_->database.prepare(
                    "SELECT max(tx) FROM (SELECT max(tx) AS tx FROM changes WHERE path = ?1 AND tx "
                    "< ?2 UNION ALL SELECT max(tx) FROM changes WHERE from_path = ?1 AND "
                    "status = 'R' AND tx < ?2)"));
  const int64_t bound = below.value == 0 ? INT64_MAX : static_cast<int64_t>(below.value);
  row.bind(path.str()).bind(bound);
  GALLEY_ASSIGN(const bool has_row, row.step());
  if (!has_row || row.is_null(0)) return std::optional<TxId>();
  return std::optional<TxId>(TxId{static_cast<uint64_t>(row.integer(0))});
}

Result<void> HistoryIndex::add_table(const QueryTable& table) {
  std::string columns;
  std::string places;
  for (const std::string& column : table.columns) {
    columns += (columns.empty() ? "" : ", ") + column;
    places += places.empty() ? "?" : ", ?";
  }
  const Database& database = state_->database;
  const std::string definition = "CREATE TEMP TABLE " + table.name + " (" + columns + ")";
  GALLEY_TRY(database.run(definition.c_str()));
  GALLEY_TRY(database.run("BEGIN"));
  GALLEY_ASSIGN(auto statement,
                database.prepare("INSERT INTO temp." + table.name + " VALUES (" + places + ")"));
  size_t bytes = 0;
  for (const auto& row : table.rows) {
    for (const QueryValue& value : row) {
      statement.bind_value(value);
      const auto* text = std::get_if<std::string>(&value);
      bytes += sizeof(QueryValue) + (text == nullptr ? 0 : text->size());
    }
    if (bytes > kMaxQueryMemoryBytes / 2) {
      return fail(ErrorKind::kQuota, "query.memory",
                  "the table '" + table.name + "' would take more than " +
                      std::to_string(kMaxQueryMemoryBytes / 2) + " bytes of memory");
    }
    GALLEY_TRY(statement.run());
  }
  return database.run("COMMIT");
}

Result<std::unique_ptr<HistoryIndex>> HistoryIndex::open_empty() {
  GALLEY_ASSIGN(Database database, Database::open(""));
  GALLEY_TRY(database.run(kTables));
  auto state = std::make_unique<State>(State{std::move(database)});
  return std::unique_ptr<HistoryIndex>(new HistoryIndex(std::move(state)));
}

Result<QueryResult> HistoryIndex::query(std::string_view sql, const Deadline& deadline,
                                        const Clock& clock, const QueryParameters& parameters) {
  return state_->database.ask(sql, deadline, clock, parameters);
}

}  // namespace galley
