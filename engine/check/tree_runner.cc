#include "engine/check/tree_runner.h"

#include <mutex>
#include <optional>
#include <utility>

#include "base/file_mode.h"
#include "engine/calls/guarded_runner.h"
#include "staging/fs/disk_directory.h"
#include "staging/sandbox/layer_home.h"

namespace galley {
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
  std::optional<LayerHome> private_home_;  ///< goes after the tree and the runner
  LaidOutTree tree_;
  std::unique_ptr<CommandRunner> runner_;
};

}  // namespace

std::unique_ptr<CommandRunner> make_tree_runner(const Config& config, TreeRunnerOptions options,
                                                const Clock& clock) {
  return std::make_unique<TreeRunner>(config, std::move(options), clock);
}

}  // namespace galley
