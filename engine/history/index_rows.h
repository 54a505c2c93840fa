#pragma once

#include <vector>

#include "base/result.h"
#include "engine/commit/history_reader.h"
#include "engine/history/database.h"
#include "engine/history/history.h"

/// The tables of the index: converts transactions to rows and rows to summaries.
namespace galley::index_rows {

/// Increase it with every change of the tables; an index of another version is made again.
inline constexpr int64_t kVersion = 5;
extern const char* const kTables;

/// Adds one transaction. `problem` says why it cannot be read; then `transaction` is null.
Result<void> insert(const Database& database, TxId id, const CommittedTransaction* transaction,
                    const std::string& problem);
Result<void> remove(const Database& database, TxId id);
/// Computes again which transactions undo which.
Result<void> update_undo_relations(const Database& database);

/// As History::list.
Result<std::vector<TxSummary>> select(const Database& database, const HistoryFilter& filter);

}  // namespace galley::index_rows
