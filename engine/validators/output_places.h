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

/// The text of the file that a program calls `shown`; null when the proposed tree has no such file.
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

/// A place as a program reports it; 0 when unknown.
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

/// One file that a program's output names, for turning its places into lines and byte columns.
///
/// Ownership: shares the text.
class SourceFile {
 public:
  explicit SourceFile(std::shared_ptr<const std::string> text)
      : text_(std::move(text)), lines_(*text_) {}
  /// The offset of a place; nullopt when the file does not have that place.
  [[nodiscard]] std::optional<size_t> offset(ToolPlace place, ColumnUnit unit) const;
  /// The offset after `units` UTF-16 code units from the beginning of the file.
  [[nodiscard]] std::optional<size_t> offset_of_utf16(uint64_t units) const;
  /// Line and column in bytes of an offset.
  [[nodiscard]] ToolPlace place(size_t offset) const;
  /// A line without its terminator; empty when the line does not exist.
  [[nodiscard]] std::string_view line(uint32_t number) const;
  [[nodiscard]] const std::string& text() const { return *text_; }

 private:
  std::shared_ptr<const std::string> text_;
  Lines lines_;
};

/// The files that one output names; each is looked up once.
class OutputSources {
 public:
  explicit OutputSources(SourceText text) : text_(std::move(text)) {}
  /// Returns null when the proposed tree does not have the file, or without a lookup function.
  [[nodiscard]] const SourceFile* find(const std::string& shown);

 private:
  SourceText text_;
  std::map<std::string, std::unique_ptr<SourceFile>> known_;
};

/// Sets line and column, and the end if it is known and not before the beginning. A column in
/// another unit is left out when the file is not available to turn it into bytes.
void set_place(Finding& finding, ToolPlace begin, ToolPlace end, ColumnUnit unit,
               OutputSources& sources);

/// Sets the replacement and its range. Several edits become one that includes the text between
/// them, which needs the file. Edits that begin on another line than the finding are left out,
/// because they would lead to the wrong place. Edits that are not UTF-8 are left out too.
void set_edits(Finding& finding, std::vector<ToolEdit> edits, ColumnUnit unit,
               OutputSources& sources);

/// Enforces the invariants of all findings: texts are bounded and in one line, an end needs a
/// beginning, and a replacement needs a range.
void settle(Finding& finding);

/// Finds the file of the proposed tree that a program means. Programs print paths relative to their
/// folder, or absolute paths of a view that does not exist outside the sandbox.
class OutputPaths {
 public:
  explicit OutputPaths(const ProposedTree& tree) : tree_(&tree) {}

  /// The workspace path, or empty when the tree does not have the file. An absolute path is matched
  /// by its longest tail that exists.
  [[nodiscard]] std::string resolve(const std::string& shown);

 private:
  [[nodiscard]] std::string find(std::string_view shown) const;
  [[nodiscard]] bool exists(std::string_view path) const;

  const ProposedTree* tree_;
  std::map<std::string, std::string> known_;
};

}  // namespace galley
