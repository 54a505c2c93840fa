#include "tools/perform.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace galley {
namespace {

ToolResult result_of(Performed performed) {
  if (!performed) return ToolResult::failure(tool_error_from(performed.error()));
  return ToolResult::success(std::move(*performed));
}

struct Perform {
  const Operation& operation;
  ToolContext& context;

  ToolResult operator()(const ReadFile& op) { return result_of(perform_read(op, context)); }
  ToolResult operator()(const ListDirectory& op) { return result_of(perform_list(op, context)); }
  ToolResult operator()(const FileInfo& op) { return result_of(perform_info(op, context)); }
  ToolResult operator()(const MeasureUsage& op) { return result_of(perform_usage(op, context)); }
  ToolResult operator()(const FindFiles& op) { return result_of(perform_find(op, context)); }
  ToolResult operator()(const SearchText& op) { return result_of(perform_search(op, context)); }
  ToolResult operator()(const FindReferences& op) {
    return result_of(perform_references(op, context));
  }
  ToolResult operator()(const ListImports& op) { return result_of(perform_imports(op, context)); }
  ToolResult operator()(const FindAgents& op) { return result_of(perform_agents(op, context)); }
  ToolResult operator()(const EditFiles& op) { return perform_edit(op, context); }
  ToolResult operator()(const RunCommand& op) { return perform_command(op, context); }
  template <class Change>
  ToolResult operator()(const Change&) {
    return result_of(perform_tree_change(operation, context));
  }
};

/// Adds every path that an edit of one file may touch.
Result<void> add_paths(const FileEdit& file, Intent& intent) {
  const bool keeps_source = file.op == FileOp::kCopy;
  for (const std::string* text :
       {&file.path, &file.new_path, &file.other_path, &file.other_new_path}) {
    if (text->empty() || *text == "/dev/null") continue;
    GALLEY_ASSIGN(RelPath path, RelPath::parse(*text));
    const bool is_source = text == &file.path || text == &file.other_path;
    const bool is_left =
        file.op == FileOp::kRename && is_source;  // its content can be read under the other name
    if (is_left || (keeps_source && is_source)) intent.reads.push_back(path);
    // Other edits are placed in the content that is there.
    const bool is_replaced = file.op == FileOp::kDelete || file.whole;
    if (is_replaced && is_source) intent.replaces.push_back(path);
    if (!keeps_source || !is_source) intent.writes.push_back(std::move(path));
  }
  return {};
}

/// The last line that the edits name only by its number. After another edit, a number may mean any
/// line.
uint64_t last_number(const FileEdit& file) {
  uint64_t last = 0;
  for (const TextEdit& edit : file.text_edits) {
    if (edit.kind == TextEdit::Kind::kReplace || !edit.anchor_hash.empty()) continue;
    last = std::max<uint64_t>({last, edit.first_line, edit.last_line});
  }
  return last > 0 && file.text_edits.size() > 1 ? UINT64_MAX : last;
}

struct IntentOf {
  Intent intent;

  Result<void> operator()(const ReadFile& op) { return read(op.path); }
  Result<void> operator()(const ListDirectory& op) { return read(op.path); }
  Result<void> operator()(const FileInfo& op) { return read(op.path); }
  Result<void> operator()(const MeasureUsage& op) { return read(op.path); }
  Result<void> operator()(const FindFiles& op) { return read(op.under); }
  Result<void> operator()(const SearchText& op) { return read(op.under); }
  Result<void> operator()(const WriteFile& op) {
    intent.replaces.push_back(op.path);
    return write(op.path);
  }
  Result<void> operator()(const RemovePath& op) {
    intent.replaces.push_back(op.path);
    return write(op.path);
  }
  Result<void> operator()(const ChangeMode& op) { return write(op.path); }
  Result<void> operator()(const ChangeOwner& op) { return write(op.path); }
  Result<void> operator()(const MakeSymlink& op) { return write(op.path); }
  Result<void> operator()(const MakeDirectory& op) { return write(op.path); }
  Result<void> operator()(const AppendText& op) { return write(op.path); }
  Result<void> operator()(const ListImports& op) { return read(op.under); }
  Result<void> operator()(const FindAgents& op) { return read(op.folder); }
  /// It may run a program: Universal Ctags, if it is installed and the caller may run programs.
  Result<void> operator()(const FindReferences& op) {
    intent.is_open_ended = true;
    return read(op.under);
  }
  Result<void> operator()(const MovePath& op) {
    GALLEY_TRY(read(op.from));
    GALLEY_TRY(write(op.from));
    return write(op.to);
  }
  Result<void> operator()(const CopyPath& op) {
    GALLEY_TRY(read(op.from));
    return write(op.to);
  }
  /// The backup's name is known, and judged, only when it is made.
  Result<void> operator()(const BackUpFile& op) { return read(op.path); }
  Result<void> operator()(const EditFiles& op) {
    for (const FileEdit& file : op.edits.files) {
      GALLEY_TRY(add_paths(file, intent));
      const uint64_t last = last_number(file);
      if (last == 0) continue;
      GALLEY_ASSIGN(RelPath path, RelPath::parse(file.path));
      intent.numbered.emplace_back(std::move(path), last);
    }
    return {};
  }
  Result<void> operator()(const RunCommand& op) {
    intent.programs.push_back(op.argv.front());
    intent.is_open_ended = true;
    intent.timeout = op.timeout;
    return {};
  }

 private:
  Result<void> read(const RelPath& path) {
    if (!path.is_root()) intent.reads.push_back(path);
    return {};
  }
  Result<void> write(const RelPath& path) {
    intent.writes.push_back(path);
    return {};
  }
};

}  // namespace

Result<Intent> intent_of(const Operation& operation) {
  IntentOf visitor;
  GALLEY_TRY(std::visit(visitor, operation));
  return std::move(visitor.intent);
}

ToolResult perform(const Operation& operation, ToolContext& context) {
  return std::visit(Perform{operation, context}, operation);
}

}  // namespace galley
