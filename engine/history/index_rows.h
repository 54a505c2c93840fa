#pragma once

#include <vector>

#include "base/result.h"
#include "engine/commit/history_reader.h"
#include "engine/history/database.h"
#include "engine/history/history.h"

/// The tables of the index: how transactions become rows and rows become summaries.
namespace galley::index_rows {

/// Changes with every change of the tables; an index of another version is made again.
inline constexpr int64_t kVersion = 3;
extern const char* const kTables;

/// Adds one transaction. `problem` says why it cannot be read; `transaction` is null then.
Result<void> insert(const Database& database, TxId id, const CommittedTransaction* transaction,
                    const std::string& problem);
Result<void> remove(const Database& database, TxId id);
/// Works out again which transactions are undone by which.
Result<void> update_standing(const Database& database);

/// As History::list.
Result<std::vector<TxSummary>> select(const Database& database, const HistoryFilter& filter);

}  // namespace galley::index_rows
