#include "engine/history/database.h"
#include "base/encoding.h"
#include "base/glob.h"

#include <sqlite3.h>

#include <set>
#include <utility>

namespace galley {
namespace {

constexpr int kBusyTimeoutMs = 5'000;
constexpr int kStepsBetweenLooks = 10;  // a single step may call a function on megabytes
constexpr int kMaxValueBytes = 16 << 20;
constexpr int kMaxPatternBytes = 256;  // a pattern of LIKE or GLOB: a whole comparison is one step
constexpr size_t kMaxFunctions = 64;   // called in the text of a query
constexpr const char* kPathspecFunction = "pathspec_names";  // not for queries of users
constexpr int kMaxExpressionDepth = 100;
constexpr int kMaxCompound = 50;

Error database_error(sqlite3* connection, int code) {
  const int primary = code & 0xff;
  const char* reason = "index.sql";
  if (primary == SQLITE_CORRUPT || primary == SQLITE_NOTADB) reason = "index.damaged";
  if (primary == SQLITE_BUSY || primary == SQLITE_LOCKED) reason = "index.busy";
  const char* text = connection != nullptr ? sqlite3_errmsg(connection) : sqlite3_errstr(code);
  return {ErrorKind::kInternal, reason, "the index of the history: " + std::string(text), "", 0};
}

/// The remaining budget of one query.
struct QueryBudget {
  const Deadline* deadline;
  const Clock* clock;
  size_t functions = 0;  ///< calls in the text of the query
};

/// Allows a query to read and nothing else.
int allow_reading(void* budget, int action, const char*, const char* name, const char*,
                  const char*) {
  switch (action) {
    case SQLITE_FUNCTION: {
      // Matching a pathspec may take long, and the deadline is not checked meanwhile.
      if (name != nullptr && std::string_view(name) == kPathspecFunction) return SQLITE_DENY;
      // SQLite does not check the deadline between two of its backward steps.
      const bool is_one_more = ++static_cast<QueryBudget*>(budget)->functions <= kMaxFunctions;
      return is_one_more ? SQLITE_OK : SQLITE_DENY;
    }
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    default:
      return SQLITE_DENY;
  }
}

int is_over(void* budget) {
  const auto* time = static_cast<const QueryBudget*>(budget);
  return time->deadline->has_passed(*time->clock) ? 1 : 0;
}

/// Puts the connection into query mode, and back.
class QueryMode {
 public:
  QueryMode(sqlite3* connection, QueryBudget& budget) : connection_(connection) {
    // SQLite declares the table of json_each at its first use, which no query may.
    sqlite3_exec(connection, "SELECT 1 FROM json_each('[]')", nullptr, nullptr, nullptr);
    sqlite3_set_authorizer(connection, allow_reading, &budget);
    sqlite3_progress_handler(connection, kStepsBetweenLooks, is_over, &budget);
    sqlite3_limit(connection, SQLITE_LIMIT_LENGTH,
                  static_cast<int>(HistoryIndex::kMaxQueryValueBytes));
    heap_limit_ = sqlite3_hard_heap_limit64(HistoryIndex::kMaxQueryMemoryBytes);
  }
  ~QueryMode() {
    sqlite3_hard_heap_limit64(heap_limit_);
    sqlite3_limit(connection_, SQLITE_LIMIT_LENGTH, kMaxValueBytes);
    sqlite3_set_authorizer(connection_, nullptr, nullptr);
    sqlite3_progress_handler(connection_, 0, nullptr, nullptr);
  }
  QueryMode(const QueryMode&) = delete;
  QueryMode& operator=(const QueryMode&) = delete;

 private:
  sqlite3* connection_;
  sqlite3_int64 heap_limit_ = 0;  // of the process; SQLite does not offer another limit
};

Error query_error(sqlite3* connection, int code) {
  const std::string text = sqlite3_errmsg(connection);
  switch (code & 0xff) {
    case SQLITE_AUTH:
      return {ErrorKind::kUsage, "query.not_read_only",
              "the index can only be read, with SELECT: " + text, "", 0};
    case SQLITE_INTERRUPT:
      return {ErrorKind::kTimeout, "query.timeout",
              "the query took too long and was stopped; ask for less", "", 0};
    case SQLITE_NOMEM:
      return {ErrorKind::kQuota, "query.memory",
              "the query needs more than " + std::to_string(HistoryIndex::kMaxQueryMemoryBytes) +
                  " bytes of memory; ask for less",
              "", 0};
    case SQLITE_ERROR:
    case SQLITE_TOOBIG:
    case SQLITE_RANGE:
    case SQLITE_MISMATCH:
      return {ErrorKind::kUsage, "query.sql",
              text + "; docs/transactions.md lists the tables and views", "", 0};
    default:
      return database_error(connection, code);
  }
}

QueryValue value_of(sqlite3_stmt* statement, int column) {
  const auto text = [&] {
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement, column));
    const auto size = static_cast<size_t>(sqlite3_column_bytes(statement, column));
    return bytes != nullptr ? std::string(bytes, size) : std::string();
  };
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
      return int64_t{sqlite3_column_int64(statement, column)};
    case SQLITE_FLOAT:
      return sqlite3_column_double(statement, column);
    case SQLITE_TEXT:
      return text();
    case SQLITE_BLOB: {
      std::string hex;
      for (const char byte : text()) append_hex(hex, static_cast<uint8_t>(byte));
      return hex;
    }
    default:
      return std::monostate();
  }
}

/// The size of a value in the answer; a blob is shown in hexadecimal.
size_t column_bytes(sqlite3_stmt* statement, int column) {
  const int type = sqlite3_column_type(statement, column);
  if (type != SQLITE_TEXT && type != SQLITE_BLOB) return sizeof(QueryValue);
  const auto bytes = static_cast<size_t>(sqlite3_column_bytes(statement, column));
  return sizeof(QueryValue) + (type == SQLITE_BLOB ? 2 : 1) * bytes;
}

int bind_at(sqlite3_stmt* statement, int place, const QueryValue& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) {
    return sqlite3_bind_int64(statement, place, *number);
  }
  if (const auto* real = std::get_if<double>(&value)) {
    return sqlite3_bind_double(statement, place, *real);
  }
  if (const auto* text = std::get_if<std::string>(&value)) {
    return sqlite3_bind_text64(statement, place, text->data(), text->size(), SQLITE_TRANSIENT,
                               SQLITE_UTF8);
  }
  return sqlite3_bind_null(statement, place);
}

Error parameter_error(const std::string& what) {
  return {ErrorKind::kUsage, "query.parameter", what, "", 0};
}

/// Checks that each parameter in the text has a name and a value, and that each value is used.
Result<void> bind_parameters(sqlite3_stmt* statement, const QueryParameters& parameters) {
  std::set<std::string_view> used;
  const int count = sqlite3_bind_parameter_count(statement);
  for (int place = 1; place <= count; ++place) {
    const char* spelled = sqlite3_bind_parameter_name(statement, place);
    if (spelled == nullptr || *spelled == '?') {
      return parameter_error("the query has a parameter without a name; write :name");
    }
    const auto given = parameters.find(std::string_view(spelled + 1));
    if (given == parameters.end()) {
      return parameter_error("the query names '" + std::string(spelled) +
                             "', which is not among the parameters");
    }
    used.insert(given->first);
    if (bind_at(statement, place, given->second) != SQLITE_OK) {
      return parameter_error("the value of '" + std::string(spelled) + "' is too large");
    }
  }
  for (const auto& [name, value] : parameters) {
    if (!used.contains(name)) {
      return parameter_error("the parameter '" + name +
                             "' is given, but the query has no :" + name);
    }
  }
  return {};
}

Result<void> read_rows(sqlite3* connection, sqlite3_stmt* statement, QueryResult& result) {
  const int columns = sqlite3_column_count(statement);
  size_t bytes = 0;
  for (;;) {
    const int code = sqlite3_step(statement);
    if (code == SQLITE_DONE) return {};
    if (code != SQLITE_ROW) return query_error(connection, code);
    for (int column = 0; column < columns; ++column) bytes += column_bytes(statement, column);
    if (result.rows.size() >= HistoryIndex::kMaxRows || bytes > HistoryIndex::kMaxAnswerBytes) {
      result.is_cut = true;
      return {};
    }
    std::vector<QueryValue> row;
    row.reserve(static_cast<size_t>(columns));
    for (int column = 0; column < columns; ++column) row.push_back(value_of(statement, column));
    result.rows.push_back(std::move(row));
  }
}

}  // namespace

void Database::Closer::operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }
void Database::Statement::Finalizer::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

namespace {

/// The SQL function pathspec_names(pathspec, path), for the history's own queries.
void answer_pathspec(sqlite3_context* context, int /*count*/, sqlite3_value** values) {
  const auto text = [&](int at) {
    const auto* bytes = static_cast<const char*>(sqlite3_value_blob(values[at]));
    const auto size = static_cast<size_t>(sqlite3_value_bytes(values[at]));
    return bytes == nullptr ? std::string_view() : std::string_view(bytes, size);
  };
  sqlite3_result_int(context, pathspec_names(text(0), text(1)) ? 1 : 0);
}

}  // namespace

Result<Database> Database::open(const std::string& path) {
  sqlite3* connection = nullptr;
  const int code =
      sqlite3_open_v2(path.empty() ? ":memory:" : path.c_str(), &connection,
                      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nullptr);
  Database database(connection);
  if (code != SQLITE_OK) return database_error(connection, code);
  sqlite3_extended_result_codes(connection, 1);
  sqlite3_busy_timeout(connection, kBusyTimeoutMs);
  sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, kMaxValueBytes);
  sqlite3_limit(connection, SQLITE_LIMIT_SQL_LENGTH, static_cast<int>(HistoryIndex::kMaxSqlBytes));
  sqlite3_limit(connection, SQLITE_LIMIT_EXPR_DEPTH, kMaxExpressionDepth);
  sqlite3_limit(connection, SQLITE_LIMIT_COMPOUND_SELECT, kMaxCompound);
  sqlite3_limit(connection, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_limit(connection, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, kMaxPatternBytes);
  sqlite3_create_function_v2(connection, kPathspecFunction, 2,
                             SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, nullptr,
                             answer_pathspec, nullptr, nullptr, nullptr);
  int ignored = 0;
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, &ignored);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, &ignored);
  // Sorting stays in memory, which has a limit, and does not fill a disk.
  GALLEY_TRY(database.run("PRAGMA temp_store = MEMORY"));
  return database;
}

Result<void> Database::run(const char* sql) const {
  const int code = sqlite3_exec(connection_.get(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return database_error(connection_.get(), code);
  return {};
}

Result<Database::Statement> Database::prepare(std::string_view sql) const {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(connection_.get(), sql.data(), static_cast<int>(sql.size()),
                                      &statement, nullptr);
  if (code != SQLITE_OK) return database_error(connection_.get(), code);
  return Statement(connection_.get(), statement);
}

Result<QueryResult> Database::ask(std::string_view sql, const Deadline& deadline,
                                  const Clock& clock, const QueryParameters& parameters) const {
  if (sql.size() > HistoryIndex::kMaxSqlBytes) {
    return fail(
        ErrorKind::kUsage, "query.sql",
        "the query is longer than " + std::to_string(HistoryIndex::kMaxSqlBytes) + " bytes");
  }
  sqlite3* connection = connection_.get();
  QueryBudget budget{&deadline, &clock};
  const QueryMode mode(connection, budget);
  sqlite3_stmt* prepared = nullptr;
  const char* rest = nullptr;
  const int code =
      sqlite3_prepare_v2(connection, sql.data(), static_cast<int>(sql.size()), &prepared, &rest);
  const std::unique_ptr<sqlite3_stmt, Statement::Finalizer> statement(prepared);
  if (budget.functions > kMaxFunctions) {
    return fail(ErrorKind::kUsage, "query.sql",
                "the query calls more than " + std::to_string(kMaxFunctions) + " functions");
  }
  if (code != SQLITE_OK) return query_error(connection, code);
  const std::string_view tail(rest, static_cast<size_t>(sql.data() + sql.size() - rest));
  if (prepared == nullptr || tail.find_first_not_of(" \t\r\n;") != std::string_view::npos) {
    return fail(ErrorKind::kUsage, "query.sql", "the query must be exactly one SELECT");
  }
  if (sqlite3_stmt_readonly(prepared) == 0) {
    return fail(ErrorKind::kUsage, "query.not_read_only",
                "the index can only be read, with SELECT");
  }
  GALLEY_TRY(bind_parameters(prepared, parameters));
  QueryResult result;
  for (int column = 0; column < sqlite3_column_count(prepared); ++column) {
    result.columns.emplace_back(sqlite3_column_name(prepared, column));
  }
  GALLEY_TRY(read_rows(connection, prepared, result));
  return result;
}

// --- statements -----------------------------------------------------------------------------

Database::Statement& Database::Statement::note(int code) {
  if (code != SQLITE_OK) failure_ = code;
  return *this;
}

Database::Statement& Database::Statement::bind(int64_t value) {
  return note(sqlite3_bind_int64(statement_.get(), ++bound_, value));
}

Database::Statement& Database::Statement::bind(std::string_view text) {
  return note(sqlite3_bind_text64(statement_.get(), ++bound_, text.data(), text.size(),
                                  SQLITE_TRANSIENT, SQLITE_UTF8));
}

Database::Statement& Database::Statement::bind_value(const QueryValue& value) {
  return note(bind_at(statement_.get(), ++bound_, value));
}

Database::Statement& Database::Statement::bind_null() {
  return note(sqlite3_bind_null(statement_.get(), ++bound_));
}

Result<bool> Database::Statement::step() {
  if (failure_ != 0) return database_error(connection_, failure_);
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return database_error(connection_, code);
}

Result<void> Database::Statement::run() {
  for (;;) {
    GALLEY_ASSIGN(const bool has_row, step());
    if (!has_row) break;
  }
  reset();
  return {};
}

void Database::Statement::reset() {
  sqlite3_reset(statement_.get());
  bound_ = 0;
}

int64_t Database::Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string Database::Statement::text(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_.get(), column));
  const auto size = static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column));
  return bytes != nullptr ? std::string(bytes, size) : std::string();
}

bool Database::Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

}  // namespace galley
