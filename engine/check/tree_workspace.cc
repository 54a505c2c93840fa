#include "engine/check/tree_workspace.h"

#include <utility>

#include "base/printable.h"
#include "engine/check/tree_runner.h"
#include "engine/pipeline/workspace_tree.h"
#include "staging/git/git_tree.h"

namespace galley {
namespace {

/// The id of the tree that a revision names; `REVISION:PATH` names one by itself.
Result<std::string> tree_of(const GitObjects& objects, const std::string& revision) {
  auto named = objects.look(revision);
  if (named && named->type != "tree") named = objects.look(named->id + "^{tree}");
  if (named) return named->id;
  if (named.error().reason != "git.no_such_object") return fail(named.error());
  return fail(ErrorKind::kUsage, "git.no_such_revision",
              "'" + printable_line(revision) + "' names no tree here; fetch it first");
}

}  // namespace

Result<std::unique_ptr<Workspace>> open_tree_workspace(const std::string& directory,
                                                       const std::string& revision,
                                                       WorkspaceOptions options) {
  const GitProgram git(directory);
  GALLEY_ASSIGN(const GitLayout layout, git.layout());
  const auto objects = std::make_shared<const GitObjects>(git);
  GALLEY_ASSIGN(const std::string id, tree_of(*objects, revision));
  const auto trees = std::make_shared<const GitTrees>(objects);
  auto shown = std::make_shared<WorkspaceTree>();
  shown->files = std::make_unique<const GitTree>(trees, id);
  shown->name = id;
  const std::string home = repository_cache_path(layout.common_directory, layout.work_tree);
  shown->make_runner = [git, trees, home, tree = id](const Config& config, const Principals& who,
                                                     const Clock& clock) {
    return make_tree_runner(config, {git, *trees, tree, home, who}, clock);
  };
  options.tree = std::move(shown);
  return Workspace::open(layout.work_tree.empty() ? layout.git_directory : layout.work_tree,
                         std::move(options));
}

}  // namespace galley
