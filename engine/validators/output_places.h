#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/policy/finding.h"
#include "engine/policy/proposed_tree.h"
#include "staging/text/lines.h"

namespace galley {

/// Returns the text of the file that a program calls `shown`; null if the proposed tree does not
/// have it.
using SourceText = std::function<std::shared_ptr<const std::string>(const std::string& shown)>;

/// Longer replacements are left out.
inline constexpr size_t kMaxReplacementBytes = size_t{64} << 10U;

/// The unit in which a program counts its columns, from 1.
enum class ColumnUnit : uint8_t {
  kBytes,
  kCodePoints,
  kUtf16,
  kTabStops,  ///< code points; a tab goes on to the next multiple of eight
};

/// A place in a program's output; 0: unknown.
struct ToolPlace {
  uint32_t line = 0;
  uint32_t column = 0;
};

/// Text that replaces everything between two places.
struct ToolEdit {
  ToolPlace begin;
  ToolPlace end;
  std::string text;
};

/// One file in a program's output. Converts the program's places to lines and byte columns.
///
/// Ownership: shares the text.
class SourceFile {
 public:
  explicit SourceFile(std::shared_ptr<const std::string> text)
      : text_(std::move(text)), lines_(*text_) {}
  /// Returns the byte offset of a place; nullopt if the file does not have that place.
  [[nodiscard]] std::optional<size_t> offset(ToolPlace place, ColumnUnit unit) const;
  /// Returns the byte offset after `units` UTF-16 code units from the beginning of the file.
  [[nodiscard]] std::optional<size_t> offset_of_utf16(uint64_t units) const;
  /// Returns the line and byte column of an offset.
  [[nodiscard]] ToolPlace place(size_t offset) const;
  /// Returns a line without its terminator; empty if the line does not exist.
  [[nodiscard]] std::string_view line(uint32_t number) const;
  [[nodiscard]] const std::string& text() const { return *text_; }

 private:
  std::shared_ptr<const std::string> text_;
  Lines lines_;
};

/// The files in one output. Each file is looked up once.
class OutputSources {
 public:
  explicit OutputSources(SourceText text) : text_(std::move(text)) {}
  /// Returns the file, or null if the proposed tree does not have it or no lookup function was
  /// given.
  [[nodiscard]] const SourceFile* find(const std::string& shown);

 private:
  SourceText text_;
  std::map<std::string, std::unique_ptr<SourceFile>> known_;
};

/// Sets line and column, and the end if it is known and not before the beginning. Omits a column in
/// another unit if the file is not available for the conversion to bytes.
void set_place(Finding& finding, ToolPlace begin, ToolPlace end, ColumnUnit unit,
               OutputSources& sources);

/// Sets the replacement and its range. Joins several edits to one, with the text between them from
/// the file. Omits edits that begin on another line than the finding, because the finding would
/// point to the wrong place. Omits edits that are not UTF-8.
void set_edits(Finding& finding, std::vector<ToolEdit> edits, ColumnUnit unit,
               OutputSources& sources);

/// Enforces the invariants of all findings: texts have a limited size and one line, an end has a
/// beginning, and a replacement has a range.
void settle(Finding& finding);

/// Finds the files of the proposed tree for paths in an output. Programs print paths relative to
/// their folder, or absolute paths of a view that exists only in the sandbox.
class OutputPaths {
 public:
  explicit OutputPaths(const ProposedTree& tree) : tree_(&tree) {}

  /// Returns the workspace path; empty if the tree does not have the file. Of an absolute path, it
  /// takes the longest tail that exists.
  [[nodiscard]] std::string resolve(const std::string& shown);

 private:
  [[nodiscard]] std::string find(std::string_view shown) const;
  [[nodiscard]] bool exists(std::string_view path) const;

  const ProposedTree* tree_;
  std::map<std::string, std::string> known_;
};

}  // namespace galley
