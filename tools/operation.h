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

/// Part or all of a file, or the listing of a directory where `takes_directory`.
struct ReadFile {
  RelPath path = RelPath::root();
  uint64_t first_line = 1;             ///< 1-based
  std::optional<uint64_t> line_count;  ///< all that follow when absent
  std::optional<uint64_t> last_lines;  ///< instead: so many at the end
  bool numbered = false;               ///< each line after its number and a tab
  bool takes_directory = false;
};

struct ListDirectory {
  RelPath path = RelPath::root();
  bool is_tree = false;  ///< all below it, nested
};

struct FileInfo {
  RelPath path = RelPath::root();
};

struct FindFiles {
  RelPath under = RelPath::root();
  std::string pattern;  ///< gitignore's language, `{a,b}` besides; relative to `under`
  std::vector<std::string> excluded;  ///< the same
  bool include_ignored = false;
};

struct SearchText {
  enum class Output : uint8_t { kFiles, kContent, kCount };
  RelPath under = RelPath::root();
  std::string pattern;  ///< RE2
  std::string glob;     ///< which files; empty: all
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
};

/// Any edit by text: every dialect compiles to an EditSet.
struct EditFiles {
  EditSet edits;
  bool check_only = false;           ///< tell what would happen, stage nothing
  std::vector<std::string> choices;  ///< candidate ids of an ambiguity, sent back
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
};

struct ChangeMode {
  RelPath path = RelPath::root();
  uint32_t mode = 0;
};

struct MakeSymlink {
  RelPath path = RelPath::root();
  std::string target;
};

struct MakeDirectory {
  RelPath path = RelPath::root();
};

struct RunCommand {
  std::vector<std::string> argv;
  bool is_shell = false;  ///< argv is {"sh", "-c", text}
  std::optional<std::chrono::milliseconds> timeout;
};

/// What a call means, whichever dialect it was said in.
using Operation = std::variant<ReadFile, ListDirectory, FileInfo, FindFiles, SearchText, WriteFile,
                               EditFiles, RemovePath, MovePath, CopyPath, ChangeMode, MakeSymlink,
                               MakeDirectory, RunCommand>;

}  // namespace galley
