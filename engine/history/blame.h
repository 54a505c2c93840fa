#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/rel_path.h"
#include "base/result.h"
#include "base/tx_id.h"
#include "engine/history/history.h"
#include "staging/fs/directory.h"

namespace galley {

/// Where a line comes from.
enum class LineOrigin : uint8_t {
  kTransaction,
  kOutside,  ///< written by something else than Galley, after `tx` when that is given
  kOlder,    ///< was there before the history that is kept
};

struct BlamedLine {
  LineOrigin origin = LineOrigin::kOlder;
  TxId tx;                         ///< the transaction, or the newest one before an outside change
  RelPath path = RelPath::root();  ///< the file's name then
  uint32_t line_then = 0;  ///< 1-based, in the file as the transaction left it; 0 when older
  std::string text;        ///< with its line ending
};

struct Blame {
  std::vector<BlamedLine> lines;           ///< of the file as it is now
  std::map<TxId, TxSummary> transactions;  ///< every one that a line names
};

/// Says for each line of a file of the workspace which transaction wrote it. Renames and copies are
/// followed.
/// Errors: kNotFound; kRefused `blame.binary` for a file that has no lines.
Result<Blame> blame(const History& history, const Directory& workspace, const RelPath& path);

}  // namespace galley
