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

/// A replacement that is longer is left out.
inline constexpr size_t kMaxReplacementBytes = size_t{64} << 10U;

/// What a program counts its columns in, from 1.
enum class ColumnUnit : uint8_t {
  kBytes,
  kCodePoints,
  kUtf16,
  kTabStops,  ///< code points, and a tab goes on to the next multiple of eight
};

/// A place as a program says it; 0 when unknown.
struct ToolPlace {
  uint32_t line = 0;
  uint32_t column = 0;
};

/// Text in place of what lies between two places.
struct ToolEdit {
  ToolPlace begin;
  ToolPlace end;
  std::string text;
};

/// One file that a program speaks of, for turning its places into lines and columns in bytes.
///
/// Ownership: shares the text.
class SourceFile {
 public:
  explicit SourceFile(std::shared_ptr<const std::string> text)
      : text_(std::move(text)), lines_(*text_) {}
  /// The offset of a place; nothing when the file has none such.
  [[nodiscard]] std::optional<size_t> offset(ToolPlace place, ColumnUnit unit) const;
  /// The offset after `units` UTF-16 code units from the beginning of the file.
  [[nodiscard]] std::optional<size_t> offset_of_utf16(uint64_t units) const;
  /// Line and column in bytes of an offset.
  [[nodiscard]] ToolPlace place(size_t offset) const;
  /// A line without its terminator; empty when there is none.
  [[nodiscard]] std::string_view line(uint32_t number) const;
  [[nodiscard]] const std::string& text() const { return *text_; }

 private:
  std::shared_ptr<const std::string> text_;
  Lines lines_;
};

/// The files that one output speaks of, each looked up once.
class OutputSources {
 public:
  explicit OutputSources(SourceText text) : text_(std::move(text)) {}
  /// Null when the proposed tree has no such file, or nothing was given to look it up with.
  [[nodiscard]] const SourceFile* find(const std::string& shown);

 private:
  SourceText text_;
  std::map<std::string, std::unique_ptr<SourceFile>> known_;
};

/// Sets line and column, and the end when it is known and not before the beginning. A column that
/// is not counted in bytes and cannot be turned into bytes, for want of the file, is left out.
void set_place(Finding& finding, ToolPlace begin, ToolPlace end, ColumnUnit unit,
               OutputSources& sources);

/// Sets the replacement, and the place to what it replaces. Several edits become one that holds
/// what lies between them, which needs the file. Edits that begin on another line than the finding
/// are left out, so that nobody is sent to the wrong place, and so is what is no UTF-8.
void set_edits(Finding& finding, std::vector<ToolEdit> edits, ColumnUnit unit,
               OutputSources& sources);

/// Holds what all findings promise: texts bounded and in one line, no end without a beginning, no
/// replacement without a range.
void settle(Finding& finding);

/// Finds which file of the proposed tree a program means: programs print paths relative to where
/// they ran, or absolute ones of a view that does not exist outside the sandbox.
class OutputPaths {
 public:
  explicit OutputPaths(const ProposedTree& tree) : tree_(&tree) {}

  /// The workspace path, or empty when the tree has no such file. Of an absolute path the longest
  /// tail that exists counts.
  [[nodiscard]] std::string resolve(const std::string& shown);

 private:
  [[nodiscard]] std::string find(std::string_view shown) const;
  [[nodiscard]] bool exists(std::string_view path) const;

  const ProposedTree* tree_;
  std::map<std::string, std::string> known_;
};

}  // namespace galley
