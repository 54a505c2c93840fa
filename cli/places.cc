#include "cli/places.h"

#include <algorithm>

#include "staging/fs/host_file.h"

namespace galley {
namespace {

tl::unexpected<Error> outside(std::string_view name) {
  return fail(ErrorKind::kRefused, "path.outside",
              "'" + std::string(name) + "' lies outside the workspace", std::string(name));
}

/// Removes `.` and `..` by name, as git does. Links are not resolved.
Result<RelPath> without_dots(std::string_view name, std::string_view text) {
  std::vector<std::string_view> kept;
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find('/', start), text.size());
    const std::string_view part = text.substr(start, end - start);
    start = end + 1;
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      kept.push_back(part);
    } else if (kept.empty()) {
      return outside(name);
    } else {
      kept.pop_back();
    }
  }
  if (kept.empty()) return RelPath::root();
  std::string joined;
  for (const std::string_view part : kept) {
    if (!joined.empty()) joined += '/';
    joined += part;
  }
  return RelPath::parse(joined);
}

}  // namespace

Result<RelPath> current_place(const std::string& root) {
  GALLEY_ASSIGN(const std::string here, absolute_path("."));
  const std::string prefix = root == "/" ? root : root + "/";
  if (!here.starts_with(prefix) || here == prefix) return RelPath::root();
  return RelPath::parse(here.substr(prefix.size()));
}

Result<RelPath> named_path(std::string_view told, const RelPath& here, std::string_view root) {
  const std::string name = without_entered_link(std::string(told), std::string(root));
  if (name.empty()) return RelPath::parse(name);
  if (name.starts_with(":/")) return without_dots(name, std::string_view(name).substr(2));
  if (!name.starts_with('/')) return without_dots(name, here.str() + "/" + name);
  while (root.ends_with('/')) root.remove_suffix(1);
  const bool is_below =
      name.starts_with(root) && (name.size() == root.size() || name[root.size()] == '/');
  if (!is_below) return RelPath::parse_within(name, root);  // the error names the workspace
  return without_dots(name, std::string_view(name).substr(root.size()));
}

Proposal part_below(const Proposal& proposal, const std::vector<RelPath>& paths) {
  if (paths.empty()) return proposal;
  ChangeSet part;
  for (const Change& change : proposal.changes()) {
    const bool is_meant = std::any_of(paths.begin(), paths.end(), [&](const RelPath& path) {
      return path.is_root() || change.path == path || change.path.is_below(path);
    });
    if (is_meant) part.push_back(change);
  }
  return Proposal::from(std::move(part), proposal.store());
}

}  // namespace galley
