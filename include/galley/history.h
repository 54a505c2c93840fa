#pragma once

#include <galley/path.h>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

/// Parameters and results of Workspace's functions for its history. All types are values. Texts are
/// returned as they were recorded, not escaped for a terminal.
namespace galley {

/// One committed transaction, for lists.
struct TxSummary {
  /// One path of a committed transaction, for lists.
  struct Path {
    RelPath path = RelPath::root();
    char status = 'M';            ///< git's letter: A D M R C T; m: only the mode changed
    std::optional<RelPath> from;  ///< of a rename or copy
    uint64_t added = 0;           ///< lines; 0 for a binary file, link or directory
    uint64_t removed = 0;
    bool is_binary = false;
    bool is_directory = false;
    bool operator==(const Path&) const = default;
  };

  TxId id;
  int64_t time_ns = 0;
  std::string agent;
  std::optional<std::string> owner;  ///< the agent that began the transaction, if not `agent`
  std::string session;               ///< the agent's session; may be empty
  uint64_t turn = 0;                 ///< the turn of that session, from 1; 0: not known
  std::string prompt;                ///< the beginning of that turn's prompt; may be empty
  std::string tool;
  std::string message;
  ContentId proposal;
  std::optional<TxId> undoes;
  std::vector<TxId> also_undoes;       ///< undone together with `undoes`
  std::optional<TxId> undone_by;       ///< the undo of all its changes, if still in effect
  std::vector<TxId> partly_undone_by;  ///< undos of some paths or hunks that are in effect
  std::vector<Path> paths;
  std::string problem;  ///< why the journal cannot be read; then only `id` is set
};

/// Selects transactions for a list; an empty field does not filter.
struct HistoryFilter {
  std::vector<RelPath> paths = {};  ///< a changed path is one of these or below one
  std::string agent = {};           ///< it committed, or a person did in its transaction
  std::string session = {};
  std::string tool = {};
  std::string message = {};  ///< part of the message; ASCII case is ignored
  std::optional<int64_t> since_ns = {};
  std::optional<int64_t> until_ns = {};
  size_t limit = 0;        ///< the maximum number, newest first; 0: all
  bool with_lines = true;  ///< count added and removed lines, which reads the contents
};

/// The options of an undo: which changes of a transaction it reverts, and how.
struct UndoOptions {
  /// How an undo treats a path that was changed again later.
  enum class Merge : uint8_t {
    kExact,    ///< no merge: every path must have the old or new state of the change
    kLines,    ///< three-way merge by lines; overlapping changes are a conflict
    kMarkers,  ///< as kLines, but overlapping changes get conflict markers in the file
  };
  /// Some hunks of one file of a transaction, counted from 1 as `show` prints them.
  struct Hunks {
    RelPath path = RelPath::root();
    std::vector<uint32_t> hunks;
  };

  /// Only these paths and all paths below them; empty: everything. With one path of a rename, the
  /// other path is included.
  std::vector<RelPath> paths = {};
  /// Only these hunks; a file named here need not be in `paths`.
  std::vector<Hunks> hunks = {};
  Merge mode = Merge::kLines;
};

/// The result of Workspace::blame: the transaction that wrote each line of a file.
struct Blame {
  /// The origin of a line.
  enum class Origin : uint8_t {
    kTransaction,
    kOutside,  ///< written by another program, after `tx` if that is not 0
    kOlder,    ///< older than the history that is kept
  };
  /// One line of the file.
  struct Line {
    Origin origin = Origin::kOlder;
    TxId tx;  ///< the transaction, or the newest one before an outside change
    RelPath path = RelPath::root();  ///< the path of the file at that time
    uint32_t original_line = 0;      ///< 1-based, in the file after that transaction; 0 if older
    std::string text;                ///< with its line ending
  };

  std::vector<Line> lines;                 ///< of the file as it is now
  std::map<TxId, TxSummary> transactions;  ///< every transaction that `lines` names
};

/// The result of an SQL query of the history.
struct QueryResult {
  /// NULL, an integer, a real, a text, or the bytes of a blob in hexadecimal. A text may contain
  /// bytes that are not UTF-8, for example in a path.
  using Value = std::variant<std::monostate, int64_t, double, std::string>;

  std::vector<std::string> columns;
  std::vector<std::vector<Value>> rows;
  bool is_cut = false;  ///< a limit was reached, and rows are missing
};

}  // namespace galley
