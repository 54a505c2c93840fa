#pragma once

#include <galley/path.h>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

/// Queries of a workspace's history and their results (the functions are Workspace's). Values.
/// Texts are as they were given and not escaped for a terminal.
namespace galley {

/// One committed transaction, for lists.
struct TxSummary {
  /// One path of a committed transaction, for lists.
  struct Path {
    RelPath path = RelPath::root();
    char status = 'M';            ///< git's letter: A D M R C T, and m for a mode alone
    std::optional<RelPath> from;  ///< of a rename or copy
    uint64_t added = 0;           ///< lines; 0 for a binary file, a link, a directory
    uint64_t removed = 0;
    bool is_binary = false;
    bool is_directory = false;
    bool operator==(const Path&) const = default;
  };

  TxId id;
  int64_t time_ns = 0;
  std::string agent;
  std::optional<std::string> owner;  ///< the agent that began the transaction, if not `agent`
  std::string tool;
  std::string message;
  ContentId proposal;
  std::optional<TxId> undoes;
  std::optional<TxId> undone_by;       ///< the undo of all of it, if still in effect
  std::vector<TxId> partly_undone_by;  ///< undos of some paths or hunks, if still in effect
  std::vector<Path> paths;
  std::string problem;  ///< why its journal cannot be read; then only `id` is set
};

/// Selects transactions for a list; an empty field does not filter.
struct HistoryFilter {
  std::vector<RelPath> paths = {};  ///< one of these, or a path below one, was changed
  std::string agent = {};
  std::string tool = {};
  std::string message = {};  ///< part of the reason, ASCII case ignored
  std::optional<int64_t> since_ns = {};
  std::optional<int64_t> until_ns = {};
  size_t limit = 0;        ///< at most so many, the newest; 0: all
  bool with_lines = true;  ///< count added and removed lines (reads and compares contents)
};

/// Which parts of a transaction an undo takes back, and how.
struct UndoOptions {
  /// How far a change may be adapted to a workspace that has changed since.
  enum class Merge : uint8_t {
    kExact,    ///< not at all: every path must hold the change's old or new state
    kLines,    ///< three-way merge by lines where the changed lines are apart
    kMarkers,  ///< as kLines, with conflict markers in the file where they overlap
  };
  /// Some hunks of one file of a transaction, counted from 1 as `show` prints them.
  struct Hunks {
    RelPath path = RelPath::root();
    std::vector<uint32_t> hunks;
  };

  /// Only these paths and all below them; empty: everything. The other half of a rename is
  /// included.
  std::vector<RelPath> paths = {};
  /// Only these hunks; a file named here need not be in `paths`.
  std::vector<Hunks> hunks = {};
  Merge mode = Merge::kLines;
};

/// Which transaction wrote each line of a file.
struct Blame {
  /// Where a line comes from.
  enum class Origin : uint8_t {
    kTransaction,
    kOutside,  ///< written by something other than Galley, after `tx` if given
    kOlder,    ///< older than the history that is kept
  };
  struct Line {
    Origin origin = Origin::kOlder;
    TxId tx;  ///< the transaction, or the newest one before an outside change
    RelPath path = RelPath::root();  ///< the file's name at that time
    uint32_t line_then = 0;  ///< 1-based, in the file as the transaction left it; 0 when older
    std::string text;        ///< with its line ending
  };

  std::vector<Line> lines;                 ///< of the file as it is now
  std::map<TxId, TxSummary> transactions;  ///< every transaction that a line names
};

/// The result of an SQL query of the history.
struct QueryResult {
  /// NULL, an integer, a real, a text, or a blob's bytes in hexadecimal. Paths are texts of any
  /// bytes, UTF-8 or not.
  using Value = std::variant<std::monostate, int64_t, double, std::string>;

  std::vector<std::string> columns;
  std::vector<std::vector<Value>> rows;
  bool is_cut = false;  ///< a limit was reached; there are more rows
};

}  // namespace galley
