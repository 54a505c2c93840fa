#include <nlohmann/json.hpp>
#include <utility>

#include "staging/overlay/overlay.h"
#include "tools/call_diff.h"
#include "tools/perform.h"

namespace galley {
namespace {

using nlohmann::ordered_json;

constexpr uint32_t kPermissionBits = 0777;

/// Does the operations that change whole paths; the diff is the caller's.
struct ChangeTree {
  Overlay& overlay;
  ordered_json& data;

  Result<void> operator()(const WriteFile& op) {
    GALLEY_ASSIGN(const Node before, overlay.node_without_content(op.path));
    GALLEY_TRY(overlay.write(op.path, op.content));
    data["written"] = true;
    data["filePath"] = op.path.str();
    data["type"] = before.kind == FileKind::kAbsent ? "create" : "update";
    return {};
  }

  Result<void> operator()(const RemovePath& op) {
    GALLEY_ASSIGN(const Node before, overlay.node_without_content(op.path));
    if (before.kind == FileKind::kDirectory && !op.recursive) {
      return fail(ErrorKind::kRefused, "path.is_directory",
                  "'" + op.path.str() + "' is a directory; say recursive to remove all of it",
                  op.path.str());
    }
    if (before.kind == FileKind::kDirectory) {
      GALLEY_TRY(overlay.remove_tree(op.path));
    } else {
      GALLEY_TRY(overlay.remove(op.path));
    }
    data["removed"] = true;
    data["filePath"] = op.path.str();
    return {};
  }

  Result<void> operator()(const MovePath& op) {
    GALLEY_TRY(overlay.move(op.from, op.to));
    data["moved"] = true;
    data["source"] = op.from.str();
    data["destination"] = op.to.str();
    return {};
  }

  Result<void> operator()(const CopyPath& op) {
    GALLEY_TRY(overlay.copy(op.from, op.to));
    data["copied"] = true;
    data["source"] = op.from.str();
    data["destination"] = op.to.str();
    return {};
  }

  Result<void> operator()(const ChangeMode& op) {
    GALLEY_TRY(overlay.set_mode(op.path, op.mode & kPermissionBits));
    data["changed"] = true;
    data["filePath"] = op.path.str();
    return {};
  }

  Result<void> operator()(const MakeSymlink& op) {
    GALLEY_TRY(overlay.make_symlink(op.path, op.target));
    data["created"] = true;
    data["filePath"] = op.path.str();
    return {};
  }

  Result<void> operator()(const MakeDirectory& op) {
    GALLEY_ASSIGN(const Node before, overlay.node_without_content(op.path));
    if (before.kind != FileKind::kDirectory) GALLEY_TRY(overlay.make_directory(op.path));
    data["created"] = before.kind != FileKind::kDirectory;
    data["filePath"] = op.path.str();
    return {};
  }

  template <class Other>
  Result<void> operator()(const Other&) {
    return fail(ErrorKind::kInternal, "tool.dispatch", "this operation does not change the tree");
  }
};

/// Whether what the operation touches is exactly the paths that it names.
bool touches_named_paths_only(const Operation& operation) {
  return std::holds_alternative<WriteFile>(operation) ||
         std::holds_alternative<ChangeMode>(operation) ||
         std::holds_alternative<MakeSymlink>(operation);
}

RelPath named_path(const Operation& operation) {
  if (const auto* write = std::get_if<WriteFile>(&operation)) return write->path;
  if (const auto* mode = std::get_if<ChangeMode>(&operation)) return mode->path;
  return std::get<MakeSymlink>(operation).path;
}

}  // namespace

Performed perform_tree_change(const Operation& operation, ToolContext& context) {
  Overlay& overlay = context.overlay;
  std::optional<CallDiff> diff;
  if (touches_named_paths_only(operation)) {
    GALLEY_ASSIGN(diff, CallDiff::watch(overlay, {named_path(operation)}));
  } else {
    diff = CallDiff::watch_all(overlay);
  }
  ordered_json data;
  GALLEY_TRY(std::visit(ChangeTree{overlay, data}, operation));
  GALLEY_TRY(diff->finish(data, context.may_read));
  data["staged"] = !context.dry_run;
  return data;
}

}  // namespace galley
