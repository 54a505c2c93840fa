#include "staging/sandbox/sandbox.h"

#include <climits>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>

#include "staging/fs/disk_directory.h"
#include "staging/sandbox/copy_runner.h"
#include "staging/sandbox/layer_homes.h"
#include "staging/sandbox/live_run.h"
#include "staging/sandbox/nameless_program.h"
#include "staging/sandbox/namespace_runner.h"
#include "staging/sandbox/read_back.h"
#include "staging/sandbox/request_builder.h"

namespace galley {
namespace {

/// Runs a command in namespaces. If the machine lacks them and the options allow it, runs the
/// command on a copy.
class Sandbox final : public CommandRunner {
 public:
  Sandbox(SandboxOptions options, std::unique_ptr<Directory> workspace, LayerHomes homes,
          const Clock& clock, std::optional<WaitingProcess> first)
      : options_(std::move(options)),
        workspace_(std::move(workspace)),
        homes_(std::move(homes)),
        read_back_(homes_, options_.is_ignored, clock),
        copies_({homes_, read_back_, clock, options_.helper}),
        namespaces_({*workspace_, homes_, read_back_, clock, options_.helper, options_.keep_home},
                    std::move(first)) {}

  Result<CommandResult> run(const Command& command, Overlay& overlay) override {
    if (command.effects == EffectsRule::kDrop) {
      const std::shared_lock lock(scratch_in_use_);
      return run_locked(command, overlay);
    }
    const std::unique_lock lock(scratch_in_use_);
    return run_locked(command, overlay);
  }

 private:
  Result<CommandResult> run_locked(const Command& command, Overlay& overlay) {
    GALLEY_ASSIGN(SandboxRequest request, build_request(options_, command, *workspace_));
    if (options_.force_copy) return copies_.run(command, overlay, std::move(request));
    auto result = namespaces_.run(command, overlay, request);
    const bool is_unavailable = !result && result.error().reason == "sandbox.unavailable";
    if (!is_unavailable || !options_.allow_copy) return result;
    // Only this command runs on a copy. The kernel may have refused namespaces for a short time,
    // for example because too many processes were running.
    const Error why = result.error();
    result = copies_.run(command, overlay, std::move(request));
    if (result) result->walls += "; " + why.message.substr(0, why.message.find(';'));
    return result;
  }

  SandboxOptions options_;
  std::unique_ptr<Directory> workspace_;
  LayerHomes homes_;
  ReadBack read_back_;
  CopyRunner copies_;
  NamespaceRunner namespaces_;
  /// A command whose effects may be staged holds it exclusively, because git-ignored outputs are
  /// moved to the scratch layer. Other commands share it.
  std::shared_mutex scratch_in_use_;
};

/// Opens homes that can hold overlayfs layers. If no place can and copies are allowed, opens homes
/// for copies and sets `force_copy`.
Result<LayerHomes> open_homes(SandboxOptions& options) {
  if (!options.force_copy) {
    auto homes = LayerHomes::open(options, LayerUse::kOverlay);
    if (homes || !options.allow_copy) return homes;
    options.force_copy = true;
  }
  return LayerHomes::open(options, LayerUse::kCopy);
}

/// The helper from start_first_helper(), until it is taken.
class WaitingFirst {
 public:
  static WaitingFirst& instance() {
    static WaitingFirst helper;
    return helper;
  }
  void start() {
    const std::lock_guard lock(mutex_);
    auto program = companion_program("galley-sandbox");
    if (!program) return;
    program_ = *std::move(program);
    auto started = WaitingProcess::start_spare(program_);
    if (started) process_ = std::move(*started);
  }
  std::optional<WaitingProcess> take(const std::string& program) {
    const std::lock_guard lock(mutex_);
    return program == program_ ? std::exchange(process_, std::nullopt) : std::nullopt;
  }

 private:
  std::mutex mutex_;
  std::string program_;
  std::optional<WaitingProcess> process_;
};

/// It makes its namespaces while this process prepares the layers.
std::optional<WaitingProcess> first_helper(const std::string& program) {
  if (auto waiting = WaitingFirst::instance().take(program)) return waiting;
  auto started = WaitingProcess::start_spare(program);
  if (!started) return {};  // the first run reports why
  return std::move(*started);
}

/// Finds the helper and the workspace that the options name, and opens the workspace.
Result<std::unique_ptr<Directory>> settle(SandboxOptions& options) {
  if (options.helper.empty()) {
    auto helper = companion_program("galley-sandbox");
    if (!helper) {
      return fail(ErrorKind::kRefused, "sandbox.unavailable", helper.error().message);
    }
    options.helper = *std::move(helper);
  }
  char canonical[PATH_MAX];
  if (realpath(options.workspace.c_str(), canonical) == nullptr) {
    return os_error(errno, "cannot find the workspace", options.workspace);
  }
  options.workspace = canonical;
  return open_disk_directory(options.workspace);
}

}  // namespace

void start_first_helper() { WaitingFirst::instance().start(); }

Result<std::unique_ptr<CommandRunner>> make_sandbox(SandboxOptions options, const Clock& clock) {
  GALLEY_ASSIGN(auto workspace, settle(options));
  std::optional<WaitingProcess> first;
  if (!options.force_copy) first = first_helper(options.helper);
  GALLEY_ASSIGN(LayerHomes homes, open_homes(options));
  GALLEY_TRY(homes.prepare(*workspace, options.force_copy ? LayerUse::kCopy : LayerUse::kOverlay));
  return std::make_unique<Sandbox>(std::move(options), std::move(workspace), std::move(homes),
                                   clock, std::move(first));
}

Result<std::unique_ptr<LiveRun>> start_live_run(SandboxOptions options, const Command& command,
                                                const LiveOptions& live, const Overlay& overlay) {
  GALLEY_ASSIGN(const auto workspace, settle(options));
  GALLEY_ASSIGN(SandboxRequest request, build_request(options, command, *workspace));
  if (auto waiting = first_helper(options.helper)) {
    auto run = LiveRun::start(*std::move(waiting), request, live, overlay, *workspace);
    // As for a command, new namespaces may succeed where the waiting ones fail.
    if (run || run.error().reason != "sandbox.unavailable") return run;
  }
  GALLEY_ASSIGN(WaitingProcess helper, WaitingProcess::start(options.helper));
  return LiveRun::start(std::move(helper), std::move(request), live, overlay, *workspace);
}

}  // namespace galley
