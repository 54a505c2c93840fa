#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/rel_path.h"
#include "staging/formats/edit_set.h"

namespace galley {

/// Part or all of a file or, with `takes_directory`, the listing of a directory.
struct ReadFile {
  RelPath path = RelPath::root();
  uint64_t first_line = 1;                  ///< 1-based
  std::optional<uint64_t> line_count = {};  ///< absent: all lines that follow
  std::optional<uint64_t> last_lines = {};  ///< instead: this many lines at the end
  bool numbered = false;                    ///< each line after its number and a tab
  bool takes_directory = false;
};

struct ListDirectory {
  RelPath path = RelPath::root();
  bool is_tree = false;       ///< all entries below it, nested
  bool with_details = false;  ///< size and mode of each entry that may be read
};

struct FileInfo {
  RelPath path = RelPath::root();
  bool with_stat = false;  ///< also times and owner, if the disk has the path
};

/// The size of a file, or of a directory with everything below it, in the proposed tree.
struct MeasureUsage {
  RelPath path = RelPath::root();
};

struct FindFiles {
  RelPath under = RelPath::root();
  std::string pattern;                ///< gitignore's syntax, also `{a,b}`; relative to `under`
  std::vector<std::string> excluded;  ///< patterns in the same syntax
  bool include_ignored = false;
};

struct SearchText {
  enum class Output : uint8_t { kFiles, kContent, kCount };
  RelPath under = RelPath::root();
  std::string pattern;  ///< RE2
  std::string glob;     ///< of the files; empty: all
  std::string type;     ///< `py`, `ts` …; empty: all
  Output output = Output::kFiles;
  uint32_t lines_before = 0;
  uint32_t lines_after = 0;
  bool show_numbers = true;
  bool ignore_case = false;
  bool only_matching = false;
  bool multiline = false;
  bool include_ignored = false;
  uint64_t head_limit = 0;  ///< 0: the limit of the tool
};

struct WriteFile {
  RelPath path = RelPath::root();
  std::string content;
  std::optional<uint32_t> mode = {};  ///< permission bits; absent: unchanged
};

/// The members of a call's arguments that have its edits, for a correction in the same form.
struct EditForm {
  std::string path = {};      ///< of the file; empty: the document names its files
  std::string document = {};  ///< a document in some dialect; empty: texts to replace
  std::string list = {};      ///< the list of pairs; empty: there is one pair
  std::string old_text = {};
  std::string new_text = {};
};

/// An edit of text in any dialect: every dialect compiles to an EditSet.
struct EditFiles {
  EditSet edits;
  EditForm form = {};                ///< without names: no correction in that form
  bool check_only = false;           ///< report the result, stage nothing
  std::vector<std::string> choices;  ///< candidate ids from an ambiguity error
};

struct RemovePath {
  RelPath path = RelPath::root();
  bool recursive = false;
};

struct MovePath {
  RelPath from = RelPath::root();
  RelPath to = RelPath::root();
};

struct CopyPath {
  RelPath from = RelPath::root();
  RelPath to = RelPath::root();
  bool recursive = false;  ///< also copies a directory with all below it
};

/// A copy of the file at `path` in `directory`, named after path and time. A missing file is not an
/// error.
struct BackUpFile {
  RelPath path = RelPath::root();
  RelPath directory = RelPath::root();
};

struct ChangeMode {
  RelPath path = RelPath::root();
  uint32_t mode = 0;
};

struct ChangeOwner {
  RelPath path = RelPath::root();
  std::optional<uint32_t> user = {};  ///< absent: it stays
  std::optional<uint32_t> group = {};
};

struct MakeSymlink {
  RelPath path = RelPath::root();
  std::string target;
  bool must_be_new = false;  ///< else it may replace a file or link
};

struct MakeDirectory {
  RelPath path = RelPath::root();
  std::optional<uint32_t> mode = {};  ///< of a new directory
};

/// Appends text to a file. A missing file is created.
struct AppendText {
  RelPath path = RelPath::root();
  std::string text;
};

struct RunCommand {
  std::vector<std::string> argv;
  bool is_shell = false;  ///< argv is {"sh", "-c", text} (Command::is_shell)
  std::optional<std::chrono::milliseconds> timeout = {};
  std::optional<RelPath> directory = {};  ///< its start folder; absent: that of the call
  bool only_looks = false;                ///< its changes are dropped
};

/// The places of a word in the code, and which of them define it.
struct FindReferences {
  RelPath under = RelPath::root();
  std::string symbol;
  std::string glob;  ///< of the files; empty: all
};

/// The lines in which files of common languages name others: import, include, use, require.
struct ListImports {
  RelPath under = RelPath::root();
};

/// Descriptions of agents, one JSON file each: {name, description, capabilities}.
struct FindAgents {
  RelPath folder = RelPath::root();
  std::string query;       ///< in name or description, case ignored; empty: all
  std::string capability;  ///< one of its capabilities; empty: any
};

/// The meaning of a call, independent of its dialect.
using Operation = std::variant<ReadFile, ListDirectory, FileInfo, MeasureUsage, FindFiles,
                               SearchText, WriteFile, EditFiles, RemovePath, MovePath, CopyPath,
                               BackUpFile, ChangeMode, ChangeOwner, MakeSymlink, MakeDirectory,
                               AppendText, RunCommand, FindReferences, ListImports, FindAgents>;

}  // namespace galley
