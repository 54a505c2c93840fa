#include "engine/git_hooks/hook_place.h"

#include <string_view>
#include <vector>

#include "staging/fs/host_file.h"

namespace galley {
namespace {

std::vector<std::string_view> fields_of(std::string_view text) {
  std::vector<std::string_view> fields;
  for (size_t end = text.find('\0'); end != text.npos; end = text.find('\0')) {
    fields.push_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return fields;
}

/// What the configuration says that counts last. What stands on a command line holds for that
/// command alone, and GitProgram says it itself.
struct HooksPath {
  std::string value;
  std::string scope;
};

Result<HooksPath> hooks_path(const GitProgram& git) {
  GALLEY_ASSIGN(const PipedOutput said, git.try_run({"config", "--show-scope", "-z", "--type=path",
                                                     "--get-all", "core.hooksPath"}));
  HooksPath found;
  const auto fields = fields_of(said.output);
  for (size_t i = 0; i + 1 < fields.size(); i += 2) {
    if (fields[i] == "command") continue;
    found = {std::string(fields[i + 1]), std::string(fields[i])};
  }
  return found;
}

bool is_below(const std::string& path, const std::string& directory) {
  return path.starts_with(directory + "/");
}

/// A link is followed by git, so its end is what is written to.
void follow_link(HookPlace& place, const GitLayout& layout, const std::string& work_tree) {
  const size_t slash = place.directory.rfind('/');
  const auto parent = absolute_path(place.directory.substr(0, slash + 1));
  const auto end = absolute_path(place.directory);
  if (!parent || !end || *end == *parent + place.directory.substr(slash)) return;
  place.leads_to = *end;
  const auto common = absolute_path(layout.common_directory);
  const auto top = absolute_path(work_tree);
  if (common && is_below(*end, *common)) return;
  place.is_in_work_tree = !place.is_bare && top && is_below(*end, *top);
  const bool is_of_others = place.reach == HookPlace::Reach::kRepository && !place.is_in_work_tree;
  if (is_of_others) place.reach = HookPlace::Reach::kLink;
}

}  // namespace

Result<HookPlace> hook_place(const GitProgram& git) {
  GALLEY_ASSIGN(const GitLayout layout, git.layout());
  GALLEY_ASSIGN(const HooksPath path, hooks_path(git));
  HookPlace place;
  // GitLayout knows of a work tree only from inside.
  GALLEY_ASSIGN(const std::string bare, git.run({"rev-parse", "--is-bare-repository"}));
  place.is_bare = bare.starts_with("true");
  // Relative to where git runs hooks (githooks(5)).
  std::string start = layout.git_directory;
  if (!place.is_bare) {
    GALLEY_ASSIGN(start, git.run({"rev-parse", "--show-toplevel"}));
    if (start.ends_with('\n')) start.pop_back();
  }
  if (path.value.empty()) {
    place.directory = layout.common_directory + "/hooks";
    follow_link(place, layout, start);
    return place;
  }
  place.directory = path.value.starts_with('/') ? path.value : start + "/" + path.value;
  while (place.directory.ends_with('/')) place.directory.pop_back();
  place.reach = path.scope == "local" || path.scope == "worktree" ? HookPlace::Reach::kRepository
                                                                  : HookPlace::Reach::kUser;
  place.is_in_work_tree = !place.is_bare && place.directory.starts_with(start + "/") &&
                          !place.directory.starts_with(layout.common_directory + "/");
  place.is_of_husky = place.directory.ends_with("/.husky/_");
  follow_link(place, layout, start);
  return place;
}

}  // namespace galley
