#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "engine/history/index.h"

struct sqlite3;
struct sqlite3_stmt;

namespace galley {

/// The only code that uses SQLite: a connection, its statements, and SQLite's errors as Error.
///
/// Ownership: owns the connection. Threads: confined to one thread.
/// Errors:    kInternal `index.damaged` when the file is damaged or is not a database, `index.busy`
///            when another process holds it, `index.sql` for everything else.
class Database {
 public:
  /// Opens a database; with an empty path, one in memory.
  static Result<Database> open(const std::string& path);

  /// Runs statements that return no rows.
  Result<void> run(const char* sql) const;
  /// Runs one untrusted SELECT: read only, with bounded time, rows and bytes.
  Result<QueryResult> ask(std::string_view sql, const Deadline& deadline, const Clock& clock,
                          const QueryParameters& parameters) const;

  /// One prepared statement; bind in order, then step.
  ///
  /// Invariant: a failed bind or step is remembered, and the next step returns it.
  class Statement {
   public:
    Statement& bind(int64_t value);
    Statement& bind(std::string_view text);
    Statement& bind_value(const QueryValue& value);
    Statement& bind_null();
    /// Returns true when there is a row.
    Result<bool> step();
    /// Resets the statement, so that it can be bound and stepped again.
    void reset();
    /// Runs the statement to its end and resets it.
    Result<void> run();
    [[nodiscard]] int64_t integer(int column) const;
    [[nodiscard]] std::string text(int column) const;
    [[nodiscard]] bool is_null(int column) const;

   private:
    friend class Database;
    struct Finalizer {
      void operator()(sqlite3_stmt* statement) const;
    };
    Statement(sqlite3* connection, sqlite3_stmt* statement)
        : connection_(connection), statement_(statement) {}
    /// Keeps an error until the next step.
    Statement& note(int code);
    sqlite3* connection_;
    std::unique_ptr<sqlite3_stmt, Finalizer> statement_;
    int bound_ = 0;
    int failure_ = 0;
  };
  Result<Statement> prepare(std::string_view sql) const;

 private:
  struct Closer {
    void operator()(sqlite3* connection) const;
  };
  explicit Database(sqlite3* connection) : connection_(connection) {}
  std::unique_ptr<sqlite3, Closer> connection_;
};

}  // namespace galley
