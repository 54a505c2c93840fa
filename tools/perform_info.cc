#include <nlohmann/json.hpp>
#include <utility>

#include "staging/fs/kind_name.h"
#include "staging/overlay/overlay.h"
#include "tools/perform.h"
#include "tools/walk.h"

namespace galley {
namespace {

using nlohmann::ordered_json;

tl::unexpected<Error> nothing_at(const RelPath& path) {
  return fail(ErrorKind::kNotFound, "path.not_found", "there is nothing at '" + path.str() + "'",
              path.str());
}

/// What the disk tells of a path that the proposed tree takes from there; nothing of one that was
/// made or replaced here, which has times and an owner only after the commit.
Result<std::optional<FileStat>> stat_of(const RelPath& path, const Node& node,
                                        ToolContext& context) {
  const auto entry = context.overlay.entries().find(path);
  const bool is_changed = entry != context.overlay.entries().end() &&
                          (entry->second.before.kind != entry->second.now.kind ||
                           entry->second.before.content != entry->second.now.content);
  if (is_changed) return std::optional<FileStat>();
  GALLEY_ASSIGN(const FileStat stat, context.overlay.workspace().stat(path));
  if (stat.kind != node.kind) return std::optional<FileStat>();
  return std::optional<FileStat>(stat);
}

/// null where the file system does not tell.
ordered_json time_text(int64_t time_ns) {
  return time_ns == 0 ? ordered_json() : ordered_json(rfc3339_utc(time_ns));
}

void put_stat(const std::optional<FileStat>& stat, ordered_json& data) {
  data["modified"] = stat ? time_text(stat->mtime_ns) : ordered_json();
  data["changed"] = stat ? time_text(stat->ctime_ns) : ordered_json();
  data["created"] = stat ? time_text(stat->birth_ns) : ordered_json();
  data["uid"] = stat ? ordered_json(stat->uid) : ordered_json();
  data["gid"] = stat ? ordered_json(stat->gid) : ordered_json();
}

}  // namespace

std::string octal_mode(uint32_t mode) {
  constexpr uint32_t kDigitBits = 3;
  std::string text = "0";
  for (const uint32_t shift : {2 * kDigitBits, kDigitBits, 0U}) {
    text += static_cast<char>('0' + (mode >> shift & 7U));
  }
  return text;
}

Performed perform_info(const FileInfo& info, ToolContext& context) {
  GALLEY_ASSIGN(const Node node, context.overlay.node(info.path));
  if (node.kind == FileKind::kAbsent) return nothing_at(info.path);
  ordered_json data;
  data["path"] = info.path.is_root() ? "." : info.path.str();
  data["type"] = kind_name(node.kind);
  data["size"] = node.size;
  data["mode"] = octal_mode(node.mode);
  if (node.kind == FileKind::kRegular) data["sha256"] = node.content.hex();
  if (node.kind == FileKind::kSymlink) {
    GALLEY_ASSIGN(data["target"], context.overlay.read_link(info.path));
  }
  if (!info.with_stat) return data;
  GALLEY_ASSIGN(const auto stat, stat_of(info.path, node, context));
  put_stat(stat, data);
  return data;
}

Performed perform_usage(const MeasureUsage& usage, ToolContext& context) {
  GALLEY_ASSIGN(const Node top, context.overlay.node_without_content(usage.path));
  if (top.kind == FileKind::kAbsent) return nothing_at(usage.path);
  uint64_t bytes = top.kind == FileKind::kDirectory ? 0 : top.size;
  uint64_t files = top.kind == FileKind::kDirectory ? 0 : 1;
  uint64_t directories = 0;
  const auto visit = [&](const RelPath& path, FileKind kind) -> Result<WalkStep> {
    if (kind == FileKind::kDirectory) {
      ++directories;
      return WalkStep::kGoOn;
    }
    if (kind != FileKind::kRegular && kind != FileKind::kSymlink) return WalkStep::kGoOn;
    GALLEY_ASSIGN(const Node node, context.overlay.node_without_content(path));
    bytes += node.size;
    ++files;
    return WalkStep::kGoOn;
  };
  if (top.kind == FileKind::kDirectory) GALLEY_TRY(walk(context, usage.path, true, visit));
  ordered_json data;
  data["path"] = usage.path.is_root() ? "." : usage.path.str();
  data["bytes"] = bytes;
  data["files"] = files;
  data["directories"] = directories;
  return data;
}

Performed perform_owner(const ChangeOwner& owner, ToolContext& context) {
  GALLEY_ASSIGN(const Node node, context.overlay.node_without_content(owner.path));
  if (node.kind == FileKind::kAbsent) return nothing_at(owner.path);
  GALLEY_ASSIGN(const auto stat, stat_of(owner.path, node, context));
  const bool is_same = stat && (!owner.user || *owner.user == stat->uid) &&
                       (!owner.group || *owner.group == stat->gid);
  if (is_same) return ordered_json{{"changed", false}};
  return fail(ErrorKind::kRefused, "fs.owner_not_staged",
              "the owner of '" + owner.path.str() +
                  "' cannot be changed here: owners are not part of what is staged, and Galley "
                  "never writes as another user; have an administrator run chown after the commit",
              owner.path.str());
}

}  // namespace galley
