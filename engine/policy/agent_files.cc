#include "engine/policy/agent_files.h"

#include <utility>

#include "staging/fs/host_file.h"

namespace galley {
namespace {

constexpr int kMaxLinksInARow = 40;  // the kernel's MAXSYMLINKS
constexpr size_t kMaxLinksInFolder = 1000;

class LinkSearch {
 public:
  LinkSearch(const Directory& workspace, const std::string& root_path)
      : workspace_(&workspace),
        root_(root_path.empty() ? "/workspace" : normalized_path(root_path)) {}

  Result<void> look_at(const RelPath& place) {
    GALLEY_ASSIGN(const FileKind kind, kind_of(place));
    if (kind == FileKind::kSymlink) return follow(place);
    if (kind != FileKind::kDirectory) return {};
    const auto folder = workspace_->open_directory(place);
    const auto entries = folder ? (*folder)->list() : fail(folder.error());
    if (!entries) return is_nothing(entries.error()) ? Result<void>() : fail(entries.error());
    size_t links = 0;
    for (const DirectoryEntry& entry : *entries) {
      const auto name = RelPath::parse(entry.name);
      const auto path = name ? place.join(*name) : fail(name.error());
      if (!path) continue;
      if (links >= kMaxLinksInFolder) break;
      GALLEY_ASSIGN(const FileKind one, kind_of(*path));
      if (one != FileKind::kSymlink) continue;
      ++links;
      GALLEY_TRY(follow(*path));
    }
    return {};
  }

  std::vector<RelPath> targets;

 private:
  static bool is_nothing(const Error& error) {
    return error.kind == ErrorKind::kNotFound || error.kind == ErrorKind::kRefused;
  }

  [[nodiscard]] Result<FileKind> kind_of(const RelPath& path) const {
    const auto stat = workspace_->stat(path);
    if (stat) return stat->kind;
    return is_nothing(stat.error()) ? Result<FileKind>(FileKind::kAbsent) : fail(stat.error());
  }

  Result<void> follow(RelPath link) {
    for (int followed = 0; followed < kMaxLinksInARow; ++followed) {
      GALLEY_ASSIGN(const std::string text, workspace_->read_link(link));
      const std::string start = root_ + "/" + link.parent().str() + "/";
      const std::string target = normalized_path(text.starts_with('/') ? text : start + text);
      if (!target.starts_with(root_ + "/")) return {};
      auto path = RelPath::parse(target.substr(root_.size() + 1));
      if (!path) return {};
      targets.push_back(*path);
      GALLEY_ASSIGN(const FileKind kind, kind_of(*path));
      if (kind != FileKind::kSymlink) return {};
      link = *std::move(path);
    }
    return {};
  }

  const Directory* workspace_;
  std::string root_;
};

}  // namespace

Result<std::vector<RelPath>> targets_of_agent_links(const Directory& workspace,
                                                    const std::string& root_path) {
  LinkSearch search(workspace, root_path);
  for (const std::string_view place : kAgentFiles) {
    GALLEY_TRY(search.look_at(chosen_path(place)));
  }
  return std::move(search.targets);
}

}  // namespace galley
