#include "engine/check/tree_workspace.h"

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

namespace {

class TreeRunner final : public CommandRunner {
 public:
  TreeRunner(const Config& config, TreeRunnerOptions options, const Clock& clock)
      : config_(&config), options_(std::move(options)), clock_(&clock) {}

  Result<CommandResult> run(const Command& command, Overlay& overlay) override {
    GALLEY_ASSIGN(CommandRunner * runner, need_runner());
    return runner->run(command, overlay);
  }

 private:
  Result<CommandRunner*> need_runner() {
    const std::lock_guard lock(mutex_);
    if (runner_ != nullptr) return runner_.get();
    std::string home = options_.home;
    if (home.empty()) {
      GALLEY_ASSIGN(LayerHome made, LayerHome::open("", LayerUse::kCopy));
      private_home_.emplace(std::move(made));
      home = private_home_->path();
    }
    GALLEY_ASSIGN(tree_, TreeCache(options_.git, options_.trees, home).lay_out(options_.tree));
    GuardedRunnerOptions guarded;
    guarded.workspace = tree_.path;
    guarded.who = options_.who;
    guarded.keep_home = home + "/keep";
    GALLEY_TRY(make_disk_directory(guarded.keep_home, kPrivateDirectory));
    runner_ = make_guarded_runner(*config_, std::move(guarded), *clock_);
    return runner_.get();
  }

  const Config* config_;
  TreeRunnerOptions options_;
  const Clock* clock_;
  std::mutex mutex_;
  std::optional<LayerHome> private_home_;  ///< removed after the tree and the runner
  CheckedOutTree tree_;
  std::unique_ptr<CommandRunner> runner_;
};

}  // namespace

std::unique_ptr<CommandRunner> make_tree_runner(const Config& config, TreeRunnerOptions options,
                                                const Clock& clock) {
  return std::make_unique<TreeRunner>(config, std::move(options), clock);
}

}  // namespace galley
