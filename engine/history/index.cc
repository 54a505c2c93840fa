#include "engine/history/index.h"

#include <set>
#include <utility>

#include "base/encoding.h"
#include "engine/commit/history_reader.h"
#include "engine/commit/writer_lock.h"
#include "engine/history/database.h"
#include "engine/history/index_rows.h"

namespace galley {
namespace {

constexpr std::string_view kFileName = "index.db";

/// The purpose that an index records: the version of its tables and the workspace.
std::string purpose(const StateDirectory& state) {
  return std::to_string(index_rows::kVersion) + " " + to_hex(state.workspace_id());
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
    GALLEY_TRY(database.run(index_rows::kTables));
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
    for (const TxId id : difference.gone) GALLEY_TRY(index_rows::remove(database, id));
    for (const TxId id : difference.missing) {
      const auto transaction = history.journal(id);
      if (!transaction && transaction.error().kind == ErrorKind::kNotFound) continue;
      GALLEY_TRY(index_rows::insert(database, id, transaction ? transaction->get() : nullptr,
                                    transaction ? "" : transaction.error().message));
    }
    GALLEY_TRY(note_settled(database, settled));
    return index_rows::update_undo_relations(database);
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
  return index_rows::select(state_->database, filter);
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
  GALLEY_TRY(database.run(index_rows::kTables));
  auto state = std::make_unique<State>(State{std::move(database)});
  return std::unique_ptr<HistoryIndex>(new HistoryIndex(std::move(state)));
}

Result<QueryResult> HistoryIndex::query(std::string_view sql, const Deadline& deadline,
                                        const Clock& clock, const QueryParameters& parameters) {
  return state_->database.ask(sql, deadline, clock, parameters);
}

}  // namespace galley
