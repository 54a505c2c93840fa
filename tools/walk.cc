#include "tools/walk.h"

#include <algorithm>

#include "base/limits.h"

namespace galley {
namespace {

constexpr size_t kMaxIgnoreFileBytes = size_t{1} << 20U;

/// The lines of one .gitignore that git would use, as a list for paths relative to its directory.
Result<GlobList> read_ignores(Overlay& overlay, const RelPath& directory) {
  GALLEY_ASSIGN(const RelPath name, RelPath::parse(".gitignore"));
  GALLEY_ASSIGN(const RelPath path, directory.join(name));
  GALLEY_ASSIGN(const Content content, peek(overlay, path, kMaxIgnoreFileBytes));
  std::vector<std::string> patterns;
  for (size_t start = 0; start < content->size();) {
    const size_t end = std::min(content->find('\n', start), content->size());
    std::string line = content->substr(start, end - start);
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (Glob::parse(line)) patterns.push_back(std::move(line));  // git passes over the others too
    start = end + 1;
  }
  return GlobList::parse(patterns);
}

class Walk {
 public:
  Walk(ToolContext& context, bool include_ignored,
       const std::function<Result<WalkStep>(const RelPath&, FileKind)>& visit)
      : context_(context), include_ignored_(include_ignored), visit_(visit) {}

  /// Takes up the .gitignore files of every directory above `under`.
  Result<void> begin(const RelPath& under) {
    std::vector<RelPath> above;
    for (RelPath path = under; !path.is_root(); path = path.parent())
      above.push_back(path.parent());
    for (auto it = above.rbegin(); it != above.rend(); ++it) GALLEY_TRY(enter(*it));
    return {};
  }

  Result<bool> directory(const RelPath& path) {
    if (context_.deadline.has_passed(context_.clock)) {
      return fail(ErrorKind::kTimeout, "tool.timeout",
                  "the search took too long; name a smaller directory or pattern");
    }
    GALLEY_ASSIGN(const std::vector<DirectoryEntry> entries, context_.overlay.list(path));
    const size_t outer = ignores_.size();
    const bool has_ignores = std::any_of(entries.begin(), entries.end(), [](const auto& entry) {
      return entry.name == ".gitignore" && entry.kind == FileKind::kRegular;
    });
    if (has_ignores) GALLEY_TRY(enter(path));
    bool go_on = true;
    for (const DirectoryEntry& entry : entries) {
      GALLEY_ASSIGN(go_on, one(path, entry));
      if (!go_on) break;
    }
    ignores_.resize(outer);
    return go_on;
  }

 private:
  struct Ignores {
    RelPath directory = RelPath::root();
    GlobList globs;
  };

  Result<void> enter(const RelPath& directory) {
    if (include_ignored_) return {};
    auto globs = read_ignores(context_.overlay, directory);
    if (globs) ignores_.push_back({directory, std::move(*globs)});
    return {};  // no .gitignore there, or one that cannot be read: nothing is ignored by it
  }

  [[nodiscard]] bool is_ignored(const RelPath& path, bool is_directory) const {
    return std::any_of(ignores_.begin(), ignores_.end(), [&](const Ignores& ignores) {
      const size_t skip = ignores.directory.is_root() ? 0 : ignores.directory.str().size() + 1;
      const auto below = RelPath::parse(path.str().substr(skip));
      return below && ignores.globs.ignores_like_git(*below, is_directory);
    });
  }

  Result<bool> one(const RelPath& directory_path, const DirectoryEntry& entry) {
    const auto name = RelPath::parse(entry.name);
    if (!name) return true;  // a name that no tool can say
    const auto path = directory_path.join(*name);
    if (!path) return true;
    const bool is_directory = entry.kind == FileKind::kDirectory;
    if (is_ignored(*path, is_directory)) return true;
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
  std::vector<Ignores> ignores_;
  size_t visited_ = 0;
};

}  // namespace

Result<void> walk(ToolContext& context, const RelPath& under, bool include_ignored,
                  const std::function<Result<WalkStep>(const RelPath&, FileKind)>& visit) {
  Walk walk(context, include_ignored, visit);
  GALLEY_TRY(walk.begin(under));
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
