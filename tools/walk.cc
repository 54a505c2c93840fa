#include "tools/walk.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/ignore_rules.h"

namespace galley {
namespace {

/// The text of a directory's .gitignore in the proposed tree; empty when it cannot be read.
std::string ignore_file(Overlay& overlay, const RelPath& directory) {
  const auto path = directory.join(*RelPath::parse(".gitignore"));
  if (!path) return {};
  const auto content = peek(overlay, *path, IgnoreRules::kMaxFileBytes);
  return content ? **content : std::string();
}

/// The paths that git tracks, from the index on disk; only for a repository in the workspace.
TrackedPaths tracked_paths(const Directory& workspace) {
  constexpr uint64_t kMaxIndexBytes = uint64_t{64} << 20U;
  return TrackedPaths::read([&](const std::string& name) {
    const auto path = RelPath::parse(".git/" + name);
    const auto bytes = path ? read_file(workspace, *path, kMaxIndexBytes) : Result<std::string>();
    return bytes ? *bytes : std::string();
  });
}

}  // namespace

bool note_unreadable(const Error& error, const RelPath& path, ToolContext& context) {
  if (error.os_error != EACCES) return false;
  context.unreadable.push_back(path.str());
  return true;
}

namespace {

class Walk {
 public:
  Walk(ToolContext& context, const RelPath& under, bool include_ignored,
       const std::function<Result<WalkStep>(const RelPath&, FileKind)>& visit)
      : context_(context),
        under_(under),
        include_ignored_(include_ignored),
        visit_(visit),
        ignores_([&context](const RelPath& in) { return ignore_file(context.overlay, in); },
                 [&context] { return tracked_paths(context.overlay.workspace()); }) {}

  Result<bool> directory(const RelPath& path) {
    if (context_.is_over()) return interruption();
    const auto entries = context_.overlay.list(path);
    if (!entries && path != under_ && note_unreadable(entries.error(), path, context_)) return true;
    if (!entries) return fail(entries.error());
    bool go_on = true;
    for (const DirectoryEntry& entry : *entries) {
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
    if (!name) return true;  // a name that tools cannot write
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
  const RelPath& under_;
  bool include_ignored_;
  const std::function<Result<WalkStep>(const RelPath&, FileKind)>& visit_;
  IgnoreRules ignores_;
  size_t visited_ = 0;
};

}  // namespace

Result<void> walk(ToolContext& context, const RelPath& under, bool include_ignored,
                  const std::function<Result<WalkStep>(const RelPath&, FileKind)>& visit) {
  Walk walk(context, under, include_ignored, visit);
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

namespace {

constexpr size_t kMaxAlternatives = 256;

tl::unexpected<Error> invalid(const std::string& pattern, const std::string& why) {
  return fail(ErrorKind::kInvalid, "glob.invalid", "the pattern '" + pattern + "' " + why);
}

/// Position of the first `{` without a `\\` before it.
size_t first_brace(const std::string& text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '{') {
      return i;
    }
  }
  return text.npos;
}

/// Positions that cut `{a,b}` at `open` into its parts, the closing brace last; empty when it is
/// never closed.
std::vector<size_t> cuts_of(const std::string& text, size_t open) {
  std::vector<size_t> cuts;
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '{') {
      ++depth;
    } else if (text[i] == ',' && depth == 1) {
      cuts.push_back(i);
    } else if (text[i] == '}' && --depth == 0) {
      cuts.push_back(i);
      return cuts;
    }
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> expand_braces(const std::string& pattern) {
  std::vector<std::string> open = {pattern};
  std::vector<std::string> done;
  while (!open.empty()) {
    const std::string text = std::move(open.back());
    open.pop_back();
    const size_t brace = first_brace(text);
    if (brace == text.npos) {
      done.push_back(text);
      continue;
    }
    const std::vector<size_t> cuts = cuts_of(text, brace);
    if (cuts.empty()) return invalid(pattern, "has a '{' without its '}'");
    size_t start = brace + 1;
    std::vector<std::string> parts;
    for (const size_t cut : cuts) {
      parts.push_back(text.substr(0, brace) + text.substr(start, cut - start) +
                      text.substr(cuts.back() + 1));
      start = cut + 1;
    }
    open.insert(open.end(), std::make_move_iterator(parts.rbegin()),
                std::make_move_iterator(parts.rend()));
    if (open.size() + done.size() > kMaxAlternatives) {
      return invalid(pattern,
                     "has more than " + std::to_string(kMaxAlternatives) + " alternatives");
    }
  }
  return done;
}

Result<PathFilter> PathFilter::parse(const std::string& pattern) {
  PathFilter filter;
  filter.takes_all_ = pattern.empty();
  if (filter.takes_all_) return filter;
  GALLEY_ASSIGN(const std::vector<std::string> globs, expand_braces(pattern));
  GALLEY_ASSIGN(filter.globs_, GlobList::parse(globs));
  return filter;
}

bool PathFilter::selects(const RelPath& path, bool is_directory) const {
  return takes_all_ || globs_.selects(path, is_directory);
}

}  // namespace galley
