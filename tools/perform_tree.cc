#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/file_mode.h"
#include "staging/overlay/overlay.h"
#include "staging/overlay/stage_checks.h"
#include "staging/placing/hunk_text.h"
#include "tools/call_diff.h"
#include "tools/perform.h"
#include "tools/walk.h"

namespace galley {
namespace {

using nlohmann::ordered_json;

constexpr size_t kMaxBackupName = 200;  // the last bytes of the path; time and number follow

/// Performs the operations on whole paths. The caller makes the diff.
struct ChangeTree {
  ToolContext& context;
  ordered_json& data;
  Overlay& overlay = context.overlay;

  Result<void> operator()(const WriteFile& op) {
    GALLEY_ASSIGN(const Node before, overlay.node_without_content(op.path));
    if (before.kind == FileKind::kRegular) {
      GALLEY_ASSIGN(const Content file, overlay.read(op.path));
      GALLEY_TRY(check_content(op.path, *file, op.content));
    } else {
      GALLEY_TRY(check_fence(op.path, "", op.content));
    }
    GALLEY_TRY(overlay.write(op.path, op.content));
    if (op.mode) GALLEY_TRY(overlay.set_mode(op.path, *op.mode & kPermissionBits));
    data["written"] = true;
    data["filePath"] = op.path.str();
    data["type"] = before.kind == FileKind::kAbsent ? "create" : "update";
    return {};
  }

  Result<void> operator()(const RemovePath& op) {
    GALLEY_ASSIGN(const Node before, overlay.node_without_content(op.path));
    if (before.kind == FileKind::kDirectory && !op.recursive) {
      return fail(
          ErrorKind::kRefused, "path.is_directory",
          "'" + op.path.str() + "' is a directory; set recursive to remove it with its contents",
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
    GALLEY_ASSIGN(const Node source, overlay.node_without_content(op.from));
    if (op.recursive && source.kind == FileKind::kDirectory) {
      GALLEY_TRY(copy_directory(op.from, op.to, source.mode));
    } else {
      GALLEY_TRY(overlay.copy(op.from, op.to));
    }
    data["copied"] = true;
    data["source"] = op.from.str();
    data["destination"] = op.to.str();
    return {};
  }

  Result<void> operator()(const BackUpFile& op) {
    GALLEY_ASSIGN(const Node before, overlay.node_without_content(op.path));
    if (before.kind == FileKind::kAbsent) return {};
    GALLEY_ASSIGN(const RelPath copy, backup_path(op));
    if (context.judge) {
      Intent intent;
      intent.writes.push_back(copy);
      GALLEY_TRY(context.judge(intent));
    }
    GALLEY_TRY(overlay.copy(op.path, copy));
    data["backupPath"] = copy.str();
    return {};
  }

  Result<void> operator()(const ChangeMode& op) {
    GALLEY_TRY(overlay.set_mode(op.path, op.mode & kPermissionBits));
    data["changed"] = true;
    data["filePath"] = op.path.str();
    return {};
  }

  Result<void> operator()(const ChangeOwner& op) {
    GALLEY_ASSIGN(data["changed"], overlay.set_owner(op.path, {op.user, op.group}));
    data["filePath"] = op.path.str();
    return {};
  }

  Result<void> operator()(const MakeSymlink& op) {
    GALLEY_ASSIGN(const Node before, overlay.node_without_content(op.path));
    if (op.must_be_new && before.kind != FileKind::kAbsent) return exists_already(op.path);
    GALLEY_TRY(overlay.make_symlink(op.path, op.target));
    data["created"] = true;
    data["filePath"] = op.path.str();
    return {};
  }

  Result<void> operator()(const MakeDirectory& op) {
    GALLEY_ASSIGN(const Node before, overlay.node_without_content(op.path));
    if (before.kind != FileKind::kDirectory) {
      GALLEY_TRY(overlay.make_directory(op.path, op.mode));
    }
    data["created"] = before.kind != FileKind::kDirectory;
    data["filePath"] = op.path.str();
    return {};
  }

  Result<void> operator()(const AppendText& op) {
    GALLEY_ASSIGN(const Node before, overlay.node_without_content(op.path));
    std::string text;
    if (before.kind != FileKind::kAbsent) {
      GALLEY_ASSIGN(const Content content, overlay.read(op.path));
      text = *content;
      if (!text.empty() && text.back() != '\n') text += line_end_near(text, text.size());
      GALLEY_TRY(check_encoding(op.path, text, op.text));
    }
    text += text.empty() ? op.text : with_line_ends_of(text, text.size(), 0, op.text);
    GALLEY_TRY(overlay.write(op.path, std::move(text)));
    data["appended"] = true;
    data["filePath"] = op.path.str();
    return {};
  }

  template <class Other>
  Result<void> operator()(const Other&) {
    return fail(ErrorKind::kInternal, "tool.dispatch", "this operation does not change the tree");
  }

 private:
  static tl::unexpected<Error> exists_already(const RelPath& path) {
    return fail(ErrorKind::kRefused, "path.exists",
                "'" + path.str() + "' exists already; remove it first or choose another name",
                path.str());
  }

  /// The names below are read before anything is made, so that a copy never copies itself.
  Result<void> copy_directory(const RelPath& from, const RelPath& to, uint32_t mode) {
    GALLEY_ASSIGN(const Node target, overlay.node_without_content(to));
    if (target.kind != FileKind::kAbsent) return exists_already(to);
    if (to.is_below(from)) {
      return fail(ErrorKind::kInvalid, "path.into_itself",
                  "'" + to.str() + "' lies inside '" + from.str() + "', which would be copied",
                  to.str());
    }
    std::vector<std::pair<RelPath, FileKind>> below;
    const auto visit = [&](const RelPath& path, FileKind kind) -> Result<WalkStep> {
      below.emplace_back(path, kind);
      return WalkStep::kGoOn;
    };
    GALLEY_TRY(walk(context, from, true, visit));
    if (!context.unreadable.empty()) {
      return fail(os_error(EACCES, "cannot copy", context.unreadable.front()));
    }
    GALLEY_TRY(overlay.make_directory(to, mode & kPermissionBits));
    for (const auto& [path, kind] : below) {
      GALLEY_ASSIGN(const RelPath tail, RelPath::parse(path.str().substr(from.str().size() + 1)));
      GALLEY_ASSIGN(const RelPath copy, to.join(tail));
      if (kind != FileKind::kDirectory) {
        GALLEY_TRY(overlay.copy(path, copy));
        continue;
      }
      GALLEY_ASSIGN(const Node directory, overlay.node_without_content(path));
      GALLEY_TRY(overlay.make_directory(copy, directory.mode & kPermissionBits));
    }
    return {};
  }

  /// `etc/nginx/nginx.conf` -> `DIRECTORY/etc_nginx_nginx.conf.20240101T120000`. A number is added
  /// when that name exists.
  Result<RelPath> backup_path(const BackUpFile& op) {
    constexpr size_t kTimeBytes = 15;
    std::string time = rfc3339_utc(overlay.clock().wall_ns());
    std::erase_if(time, [](char c) { return c == '-' || c == ':'; });
    std::string name = op.path.str();
    std::replace(name.begin(), name.end(), '/', '_');
    if (name.size() > kMaxBackupName) name.erase(0, name.size() - kMaxBackupName);
    name += "." + time.substr(0, kTimeBytes);
    for (size_t number = 0;; ++number) {
      GALLEY_ASSIGN(const RelPath file,
                    RelPath::parse(number == 0 ? name : name + "." + std::to_string(number)));
      GALLEY_ASSIGN(RelPath path, op.directory.join(file));
      GALLEY_ASSIGN(const Node there, overlay.node_without_content(path));
      if (there.kind == FileKind::kAbsent) return path;
    }
  }
};

/// Whether the operation touches exactly the paths that it names.
bool touches_named_paths_only(const Operation& operation) {
  return std::holds_alternative<WriteFile>(operation) ||
         std::holds_alternative<ChangeMode>(operation) ||
         std::holds_alternative<ChangeOwner>(operation) ||
         std::holds_alternative<MakeSymlink>(operation);
}

RelPath named_path(const Operation& operation) {
  if (const auto* write = std::get_if<WriteFile>(&operation)) return write->path;
  if (const auto* mode = std::get_if<ChangeMode>(&operation)) return mode->path;
  if (const auto* owner = std::get_if<ChangeOwner>(&operation)) return owner->path;
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
  GALLEY_TRY(std::visit(ChangeTree{context, data}, operation));
  GALLEY_TRY(diff->finish(data, context.may_read));
  data["staged"] = !context.dry_run;
  return data;
}

}  // namespace galley
