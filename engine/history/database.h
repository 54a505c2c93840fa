#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/history/index.h"

struct sqlite3;
struct sqlite3_stmt;

namespace galley {

/// The one door to SQLite: a connection, its statements, and errors as ours.
///
/// Ownership: owns the connection. Threads: confined to one thread.
/// Errors:    kInternal `index.damaged` when the file is no database or is damaged, `index.busy`
///            when another process holds it, `index.sql` for everything else.
class Database {
 public:
  /// An empty path is a database in memory.
  static Result<Database> open(const std::string& path);

  /// Runs statements that answer nothing.
  Result<void> run(const char* sql) const;
  /// Runs one SELECT of an unknown author: read only, bounded in time, rows and bytes.
  Result<QueryResult> ask(std::string_view sql, const Deadline& deadline, const Clock& clock,
                          const QueryParameters& parameters) const;

  /// One prepared statement; bind in order, then step.
  ///
  /// Invariant: a failed bind or step is remembered and comes out of the next step.
  class Statement {
   public:
    Statement& bind(int64_t value);
    Statement& bind(std::string_view text);
    Statement& bind_value(const QueryValue& value);
    Statement& bind_null();
    /// True when there is a row.
    Result<bool> step();
    /// Ready to be bound and stepped again.
    void reset();
    /// Runs to the end and resets.
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
