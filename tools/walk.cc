#include "tools/walk.h"

#include <algorithm>

#include "base/ignore_rules.h"

namespace galley {
namespace {

/// The text of a directory's .gitignore in the proposed tree; empty when there is none, or none
/// that can be read.
std::string ignore_file(Overlay& overlay, const RelPath& directory) {
  const auto path = directory.join(*RelPath::parse(".gitignore"));
  if (!path) return {};
  const auto content = peek(overlay, *path, IgnoreRules::kMaxFileBytes);
  return content ? **content : std::string();
}

/// What git tracks, as it is on disk; only of a repository that lies in the workspace.
TrackedPaths tracked_paths(const Directory& workspace) {
  constexpr uint64_t kMaxIndexBytes = uint64_t{64} << 20U;
  return TrackedPaths::read([&](const std::string& name) {
    const auto path = RelPath::parse(".git/" + name);
    const auto bytes = path ? read_file(workspace, *path, kMaxIndexBytes) : Result<std::string>();
    return bytes ? *bytes : std::string();
  });
}

class Walk {
 public:
  Walk(ToolContext& context, bool include_ignored,
       const std::function<Result<WalkStep>(const RelPath&, FileKind)>& visit)
      : context_(context),
        include_ignored_(include_ignored),
        visit_(visit),
        ignores_([&context](const RelPath& in) { return ignore_file(context.overlay, in); },
                 [&context] { return tracked_paths(context.overlay.workspace()); }) {}

  Result<bool> directory(const RelPath& path) {
    if (context_.is_over()) return interruption();
    GALLEY_ASSIGN(const std::vector<DirectoryEntry> entries, context_.overlay.list(path));
    bool go_on = true;
    for (const DirectoryEntry& entry : entries) {
      GALLEY_ASSIGN(go_on, one(path, entry));
      if (!go_on) break;
    }
    return go_on;
  }

 private:
  [[nodiscard]] Error interruption() const {
    return context_.interruption("name a smaller directory or pattern");
  }

  Result<bool> is_ignored(const RelPath& path, bool is_directory) {
    if (include_ignored_) return false;
    const auto answer = ignores_.answer(path, is_directory, [this] { return context_.is_over(); });
    if (!answer) return interruption();
    return *answer == IgnoreAnswer::kIgnored;
  }

  Result<bool> one(const RelPath& directory_path, const DirectoryEntry& entry) {
    const auto name = RelPath::parse(entry.name);
    if (!name) return true;  // a name that no tool can say
    const auto path = directory_path.join(*name);
    if (!path) return true;
    const bool is_directory = entry.kind == FileKind::kDirectory;
    GALLEY_ASSIGN(const bool ignored, is_ignored(*path, is_directory));
    if (ignored) return true;
    if (!is_directory && context_.may_read && !context_.may_read(*path)) return true;
    if (++visited_ > kMaxWalkedPaths) {
      return fail(ErrorKind::kQuota, "limit.walk",
                  "the search would look at more than " + std::to_string(kMaxWalkedPaths) +
                      " paths; name a smaller directory");
    }
    GALLEY_ASSIGN(const WalkStep step, visit_(*path, entry.kind));
    if (step == WalkStep::kStop) return false;
    if (!is_directory || step == WalkStep::kSkipDirectory) return true;
    return directory(*path);
  }

  ToolContext& context_;
  bool include_ignored_;
  const std::function<Result<WalkStep>(const RelPath&, FileKind)>& visit_;
  IgnoreRules ignores_;
  size_t visited_ = 0;
};

}  // namespace

Result<void> walk(ToolContext& context, const RelPath& under, bool include_ignored,
                  const std::function<Result<WalkStep>(const RelPath&, FileKind)>& visit) {
  Walk walk(context, include_ignored, visit);
  GALLEY_TRY(walk.directory(under));
  return {};
}

Result<Content> peek(Overlay& overlay, const RelPath& path, uint64_t max_bytes) {
  const auto entry = overlay.entries().find(path);
  const bool is_changed =
      entry != overlay.entries().end() && entry->second.before != entry->second.now;
  if (is_changed) return overlay.read(path);
  GALLEY_ASSIGN(std::string bytes, read_file(overlay.workspace(), path, max_bytes));
  return std::make_shared<const std::string>(std::move(bytes));
}

}  // namespace galley
