#include "base/pathspec.h"

#include <fnmatch.h>

#include "base/nearest_name.h"

namespace galley {
namespace {

std::string_view without_dot_and_slash(std::string_view pathspec) {
  while (pathspec.starts_with("./")) pathspec.remove_prefix(2);
  while (pathspec.size() > 1 && pathspec.ends_with('/')) pathspec.remove_suffix(1);
  return pathspec;
}

bool is_or_is_inside(std::string_view path, std::string_view directory) {
  if (!path.starts_with(directory)) return false;
  return path.size() == directory.size() || path[directory.size()] == '/';
}

}  // namespace

bool pathspec_names(std::string_view pathspec, std::string_view path) {
  const std::string_view meant = without_dot_and_slash(pathspec);
  if (meant.empty() || meant == ".") return true;
  if (is_or_is_inside(path, meant)) return true;
  return meant.find_first_of("*?[") != std::string_view::npos &&
         ::fnmatch(std::string(meant).c_str(), std::string(path).c_str(), 0) == 0;
}

std::optional<std::string> nearest_pathspec(std::string_view pathspec,
                                            const std::vector<std::string>& paths) {
  const std::string meant(without_dot_and_slash(pathspec));
  std::vector<std::string> candidates = paths;
  for (const std::string& path : paths) {
    for (size_t slash = path.find('/'); slash != std::string::npos;
         slash = path.find('/', slash + 1)) {
      candidates.push_back(path.substr(0, slash));
    }
  }
  if (auto near = nearest_name(meant, candidates)) return near;
  // The right name in the wrong directory is the commonest slip.
  const std::string name = meant.substr(meant.rfind('/') + 1);
  for (const std::string& path : paths) {
    if (path.substr(path.rfind('/') + 1) == name) return path;
  }
  return std::nullopt;
}

}  // namespace galley
