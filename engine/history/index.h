#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/history/history.h"

namespace galley {

using QueryValue = QueryResult::Value;
/// The values of a query's parameters `:name`, `@name` and `$name`, by name.
using QueryParameters = std::map<std::string, QueryValue, std::less<>>;

/// A table for one query, in addition to those of the index.
struct QueryTable {
  std::string name;                  ///< a word of letters, digits and `_`, like column names
  std::vector<std::string> columns;  ///< of any type
  std::vector<std::vector<QueryValue>> rows;
};

/// `.galley/index.db`: the history as tables (docs/transactions.md), so that long lists are fast
/// and people can run their own queries.
///
/// Invariant: it is derived data. A missing, damaged or outdated index is made again from the
///            journals. Without it everything except query() works in the same way.
/// Ownership: owns the database connection; borrows the History.
/// Threads:   confined to one thread; any number of processes may use the same index.
class HistoryIndex {
 public:
  static constexpr size_t kMaxRows = 100'000;                   ///< rows of the answer to a query
  static constexpr size_t kMaxAnswerBytes = size_t{16} << 20U;  ///< the answer to a query
  static constexpr size_t kMaxQueryValueBytes = size_t{4} << 20U;    ///< one value of a query
  static constexpr size_t kMaxQueryMemoryBytes = size_t{64} << 20U;  ///< SQLite's memory for one
                                                                     ///< query
  static constexpr size_t kMaxSqlBytes = size_t{64} << 10U;          ///< the text of a query

  /// Shorter histories are read directly from the journals.
  static constexpr size_t kWorthwhile = 32;

  /// Opens the index and updates it. If it cannot be written to disk, it is kept in memory.
  static Result<std::unique_ptr<HistoryIndex>> open(const History& history);
  /// Opens the same tables without rows, for a workspace in which nothing was committed yet.
  static Result<std::unique_ptr<HistoryIndex>> open_empty();
  ~HistoryIndex();
  HistoryIndex(const HistoryIndex&) = delete;
  HistoryIndex& operator=(const HistoryIndex&) = delete;

  /// As History::list.
  Result<std::vector<TxSummary>> list(const HistoryFilter& filter);

  /// The newest transaction before `below` that created, changed, removed or renamed exactly this
  /// path.
  Result<std::optional<TxId>> newest_touching(const RelPath& path, TxId below);

  /// Adds a table in memory, which exists as long as this object.
  /// Errors: kQuota `query.memory` beyond kMaxQueryMemoryBytes.
  Result<void> add_table(const QueryTable& table);

  /// Runs one SELECT; it cannot write, attach or load anything. The answer ends before the row that
  /// would exceed kMaxAnswerBytes.
  /// Errors: kUsage `query.sql` with SQLite's message, `query.not_read_only`, `query.parameter` for
  ///         a parameter that is missing, unused or unnamed; kTimeout `query.timeout`; kQuota
  ///         `query.memory`.
  Result<QueryResult> query(std::string_view sql, const Deadline& deadline, const Clock& clock,
                            const QueryParameters& parameters = {});

 private:
  struct State;
  explicit HistoryIndex(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Deletes the index. Needed when a number may be given again.
Result<void> remove_index(const StateDirectory& state);

}  // namespace galley
