#include "engine/pipeline/tree_workspace.h"

#include <mutex>
#include <optional>
#include <utility>

#include "base/file_mode.h"
#include "base/printable.h"
#include "engine/calls/guarded_runner.h"
#include "engine/pipeline/workspace_state.h"
#include "staging/fs/disk_directory.h"
#include "staging/git/git_tree.h"
#include "staging/sandbox/layer_homes.h"

namespace galley {

namespace {

/// The id of the tree that a revision names; `REVISION:PATH` names a tree directly.
Result<std::string> tree_of(const GitObjects& objects, const std::string& revision) {
  auto named = objects.look(revision);
  if (named && named->type != "tree") named = objects.look(named->id + "^{tree}");
  if (named) return named->id;
  if (named.error().reason != "git.no_such_object") return fail(named.error());
  return fail(ErrorKind::kUsage, "git.no_such_revision",
              "'" + printable_line(revision) + "' names no tree here; fetch it first");
}

/// The workspace of `tree`, for the repository of `layout`.
Result<std::unique_ptr<Workspace>> open_shown(const GitLayout& layout, TreeRunnerOptions runs,
                                              std::shared_ptr<WorkspaceTree> tree,
                                              WorkspaceOptions options) {
  runs.home = repository_cache_path(layout.common_directory, layout.work_tree);
  tree->name = runs.tree;
  tree->make_runner = [runs](const Config& config, const Principals& who, const Clock& clock,
                             std::function<Result<std::string>()> scratch_home) {
    TreeRunnerOptions own = runs;
    own.who = who;
    own.scratch_home = std::move(scratch_home);
    return make_tree_runner(config, std::move(own), clock);
  };
  options.tree = std::move(tree);
  return Workspace::open(layout.work_tree.empty() ? layout.git_directory : layout.work_tree,
                         std::move(options));
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
  shown->files = std::make_shared<const GitTree>(trees, id);
  return open_shown(layout, {git, trees, [id] { return id; }, {}, {}}, std::move(shown),
                    std::move(options));
}

Result<std::unique_ptr<Workspace>> open_branch_workspace(const GitAccess& repository,
                                                         const std::string& ref,
                                                         WorkspaceOptions options) {
  GALLEY_ASSIGN(auto opened, GitBranch::open(repository, ref));
  const std::shared_ptr<const GitBranch> branch = std::move(opened);
  auto shown = std::make_shared<WorkspaceTree>();
  shown->files = std::shared_ptr<const Directory>(branch, &branch->files());
  shown->branch = branch;
  GALLEY_ASSIGN(const RelPath rules, RelPath::parse(kConfigFileName));
  GALLEY_ASSIGN(shown->rules, branch->id_of(rules));
  return open_shown(
      branch->layout(),
      {branch->git(), branch->trees(), [branch] { return branch->shown().tree; }, {}, {}},
      std::move(shown), std::move(options));
}

Result<std::unique_ptr<Workspace>> Workspace::open_git(const std::string& repository,
                                                       const std::string& ref,
                                                       WorkspaceOptions options) {
  GALLEY_ASSIGN(const GitAccess access, GitAccess::open(repository));
  return open_branch_workspace(access, ref, std::move(options));
}

namespace {

class TreeRunner final : public CommandRunner {
 public:
  TreeRunner(const Config& config, TreeRunnerOptions options, const Clock& clock)
      : config_(&config), options_(std::move(options)), clock_(&clock) {}

  Result<CommandResult> run(const Command& command, Overlay& overlay) override {
    GALLEY_ASSIGN(const auto place, lay_out());
    return place->runner->run(command, overlay);
  }

 private:
  /// Running commands keep theirs when another tree is laid out.
  struct LaidOutTree {
    std::string id;
    CheckedOutTree tree;
    std::unique_ptr<CommandRunner> runner;
  };

  Result<std::shared_ptr<LaidOutTree>> lay_out() {
    const std::lock_guard lock(mutex_);
    std::string wanted = options_.tree();
    if (place_ != nullptr && place_->id == wanted) return place_;
    std::string home = options_.home;
    if (home.empty() && !private_home_) {
      GALLEY_ASSIGN(LayerHome made, LayerHome::open("", LayerUse::kCopy));
      private_home_.emplace(std::move(made));
    }
    if (home.empty()) home = private_home_->path();
    place_.reset();  // so that its directory can be changed to the next tree
    auto place = std::make_shared<LaidOutTree>();
    GALLEY_ASSIGN(place->tree, TreeCache(options_.git, *options_.trees, home).lay_out(wanted));
    GuardedRunnerOptions guarded;
    guarded.workspace = place->tree.path;
    guarded.is_checkout = true;
    guarded.who = options_.who;
    if (options_.scratch_home) {
      // One for each tree: what an earlier tree ignored may be a file of this one.
      guarded.scratch_home = [this, wanted]() -> Result<std::string> {
        GALLEY_ASSIGN(const std::string all, options_.scratch_home());
        return all + "/" + wanted;
      };
    }
    guarded.keep_home = home + "/keep";
    GALLEY_TRY(make_disk_directory(guarded.keep_home, kPrivateDirectory));
    place->runner = make_guarded_runner(*config_, std::move(guarded), *clock_);
    place->id = std::move(wanted);
    place_ = place;
    return place;
  }

  const Config* config_;
  TreeRunnerOptions options_;
  const Clock* clock_;
  std::mutex mutex_;
  std::optional<LayerHome> private_home_;  ///< removed after the tree and the runner
  std::shared_ptr<LaidOutTree> place_;
};

}  // namespace

std::unique_ptr<CommandRunner> make_tree_runner(const Config& config, TreeRunnerOptions options,
                                                const Clock& clock) {
  return std::make_unique<TreeRunner>(config, std::move(options), clock);
}

}  // namespace galley
