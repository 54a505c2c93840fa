#include "staging/sandbox/sandbox.h"

#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>

#include "base/limits.h"
#include "staging/fs/disk_directory.h"
#include "staging/sandbox/afterwards.h"
#include "staging/sandbox/copy_run.h"
#include "staging/sandbox/helper_process.h"
#include "staging/sandbox/kept_set.h"
#include "staging/sandbox/layer.h"
#include "staging/sandbox/layer_home.h"
#include "staging/sandbox/request_builder.h"
#include "staging/sandbox/resolve_program.h"

//   lower layers, topmost first          upper layer
//   staged/<n>   the change set          run/<n>/upper   this command's effects,
//   scratch      git-ignored outputs                     absorbed or dropped
//   workspace

namespace galley {
namespace {

constexpr uint32_t kPrivateMode = 0700;

RelPath numbered(const char* folder, uint64_t number) {
  return *RelPath::parse(std::string(folder) + "/" + std::to_string(number));
}

uint64_t in_ms(std::chrono::nanoseconds span) {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(span).count());
}

/// A layer that shows one change set, shared by the commands that run on it.
struct SharedLayer {
  StagedLayer layer;
  std::string path;
};

/// Where layers lie.
struct Homes {
  LayerHome upper;
  std::optional<LayerHome> outside;
};

class Sandbox final : public CommandRunner {
 public:
  Sandbox(SandboxOptions options, std::unique_ptr<Directory> workspace, Homes homes,
          bool is_copying, const Clock& clock)
      : options_(std::move(options)),
        workspace_(std::move(workspace)),
        home_(std::move(homes.upper)),
        outside_(std::move(homes.outside)),
        clock_(&clock),
        is_copying_(is_copying) {}

  ~Sandbox() override;
  Sandbox(const Sandbox&) = delete;
  Sandbox& operator=(const Sandbox&) = delete;

  Result<void> prepare();
  Result<CommandResult> run(const Command& command, Overlay& overlay) override;

 private:
  Result<CommandResult> run_locked(const Command& command, Overlay& overlay);
  Result<CommandResult> run_in_namespaces(const Command& command, Overlay& overlay,
                                          SandboxRequest request);
  Result<CommandResult> run_on_copy(const Command& command, Overlay& overlay,
                                    SandboxRequest request);
  Result<CommandResult> start(const Command& command, const SandboxRequest& request,
                              EndingProcess& helper);
  Result<HelperRun> run_helper(const Command& command, const SandboxRequest& request);
  std::optional<WaitingProcess> take_spare_helper(const Command& command,
                                                  const SandboxRequest& request);
  Result<void> make_spares();
  Result<std::shared_ptr<SharedLayer>> staged_layer(const Overlay& overlay);
  /// Where one command's layers lie, and what the workspace's root looked like then.
  struct RunPlace {
    RelPath path;
    FileStat root;
  };
  Result<RunPlace> make_run_directory();
  Result<RelPath> take_run_directory();
  void clear_afterwards(const RelPath& place, EndingProcess helper);
  Result<KeptSet> keep_between_runs(const Command& command, Overlay& overlay,
                                    SandboxRequest& request);
  Result<void> collect(const Command& command, const WritableDirectory& upper, Overlay& overlay,
                       CommandResult& result);
  Result<void> absorb(const Command& command, const WritableDirectory& upper, Overlay& overlay,
                      CommandResult& result, int64_t began_ns, std::vector<RelPath> deleted = {});
  [[nodiscard]] Deadline read_back_deadline(const Command& command,
                                            const CommandResult& result) const;
  Result<int64_t> file_system_now() const;
  [[nodiscard]] const LayerHome& lower_home() const { return outside_ ? *outside_ : home_; }
  [[nodiscard]] Result<std::unique_ptr<WritableDirectory>> scratch() const {
    return lower_home().directory().open_writable_directory(*RelPath::parse("scratch"));
  }
  [[nodiscard]] std::string below_home(const RelPath& path) const {
    return home_.path() + "/" + path.str();
  }

  SandboxOptions options_;
  std::unique_ptr<Directory> workspace_;
  LayerHome home_;                    ///< of upper layers and kept directories
  std::optional<LayerHome> outside_;  ///< of lower layers, when home_ is inside the workspace
  const Clock* clock_;
  /// Held shared by commands whose effects are dropped, alone by one that may change the layers.
  std::shared_mutex layers_in_use_;
  std::mutex layers_mutex_;
  std::vector<std::shared_ptr<SharedLayer>> layers_;  ///< newest last
  std::atomic<uint64_t> next_number_ = 1;
  std::atomic<bool> is_copying_;
  std::optional<RunPlace> spare_;               ///< for the next command
  std::optional<WaitingProcess> spare_helper_;  ///< for it too
  uint64_t runs_ = 0;
  Afterwards afterwards_;  ///< the last member: its work uses the others
};

Sandbox::~Sandbox() {
  afterwards_.finish();
  // A destructor has nobody to tell; the next one that uses this home clears it.
  if (spare_) (void)erase_layer(home_.directory(), spare_->path);
}

Result<void> Sandbox::prepare() {
  const auto make = [](const LayerHome& home, const char* name, bool is_fresh) -> Result<void> {
    GALLEY_ASSIGN(const RelPath path, RelPath::parse(name));
    GALLEY_TRY(make_directories(home.directory(), path, kPrivateMode));
    if (!is_fresh) return {};
    GALLEY_ASSIGN(const auto directory, home.directory().open_writable_directory(path));
    GALLEY_ASSIGN(const auto entries, directory->list());
    for (const DirectoryEntry& entry : entries) {
      GALLEY_ASSIGN(const RelPath left, RelPath::parse(entry.name));
      GALLEY_TRY(erase_layer(*directory, left));
    }
    return {};
  };
  // Staged layers and runs of a process that was killed are of no use; scratch is.
  GALLEY_TRY(make(home_, "run", true));
  GALLEY_TRY(make(home_, "keep", false));
  GALLEY_TRY(make(lower_home(), "staged", true));
  GALLEY_TRY(make(lower_home(), "scratch", false));
  GALLEY_ASSIGN(const auto opened, scratch());
  return imitate_root(*opened, *workspace_);
}

/// The layer that shows what the overlay proposes: one that does already, or one brought up to it.
Result<std::shared_ptr<SharedLayer>> Sandbox::staged_layer(const Overlay& overlay) {
  const ChangeSet changes = overlay.changes();
  const ContentId id = change_set_id(changes);
  const std::lock_guard lock(layers_mutex_);
  for (const auto& layer : layers_) {
    if (layer->layer.shown() == id) return layer;
  }
  for (auto it = layers_.begin(); it != layers_.end(); ++it) {
    if (it->use_count() != 1) continue;  // a command runs on it
    const std::shared_ptr<SharedLayer> layer = *it;
    const auto shown = layer->layer.show(changes, *overlay.store());
    if (shown) return layer;
    layers_.erase(it);  // half brought up to date: never used again
    return fail(shown.error());
  }
  const RelPath place = numbered("staged", next_number_++);
  const LayerHome& home = lower_home();
  GALLEY_TRY(home.directory().make_directory(place, kPrivateMode));
  GALLEY_ASSIGN(auto directory, home.directory().open_writable_directory(place));
  auto fresh = std::make_shared<SharedLayer>(
      SharedLayer{StagedLayer(std::move(directory), *workspace_), home.path() + "/" + place.str()});
  GALLEY_TRY(fresh->layer.show(changes, *overlay.store()));
  layers_.push_back(fresh);
  return fresh;
}

Result<Sandbox::RunPlace> Sandbox::make_run_directory() {
  const WritableDirectory& home = home_.directory();
  GALLEY_ASSIGN(const FileStat root, workspace_->stat(RelPath::root()));
  RunPlace place{numbered("run", next_number_++), root};
  GALLEY_TRY(home.make_directory(place.path, kPrivateMode));
  GALLEY_TRY(imitate_owner(home, place.path, root));
  for (const char* name : {"upper", "work"}) {
    GALLEY_ASSIGN(const RelPath path, place.path.join(*RelPath::parse(name)));
    GALLEY_TRY(home.make_directory(path, kPrivateMode));
    GALLEY_TRY(imitate_owner(home, path, root));
  }
  GALLEY_ASSIGN(const RelPath upper, place.path.join(*RelPath::parse("upper")));
  GALLEY_ASSIGN(const auto opened, home.open_writable_directory(upper));
  GALLEY_TRY(imitate_root(*opened, *workspace_));
  return place;
}

/// One that was made beforehand, while the workspace's root still looks as it did then.
Result<RelPath> Sandbox::take_run_directory() {
  std::optional<RunPlace> ready;
  {
    const std::lock_guard lock(layers_mutex_);
    ready = std::exchange(spare_, std::nullopt);
  }
  if (ready) {
    GALLEY_ASSIGN(const FileStat root, workspace_->stat(RelPath::root()));
    const FileStat& then = ready->root;
    const bool is_same = root.mode == then.mode && root.uid == then.uid && root.gid == then.gid;
    if (is_same) return ready->path;
    GALLEY_TRY(erase_layer(home_.directory(), ready->path));
  }
  GALLEY_ASSIGN(const RunPlace made, make_run_directory());
  return made.path;
}

Result<KeptSet> Sandbox::keep_between_runs(const Command& command, Overlay& overlay,
                                           SandboxRequest& request) {
  GALLEY_TRY(refuse_links_to_keep(command.keep, overlay));
  const std::string home = options_.keep_home.empty() ? home_.path() + "/keep" : options_.keep_home;
  GALLEY_ASSIGN(const FileStat root, workspace_->stat(RelPath::root()));
  GALLEY_ASSIGN(KeptSet kept, KeptSet::take(home, command, root, *clock_));
  request.keep_from = kept.paths();
  for (const RelPath& path : command.keep) {
    request.keep_to.push_back(request.workspace + "/" + path.str());
  }
  return kept;
}

/// Files to hand back: what the run made of them, or what the proposed tree had.
Result<void> Sandbox::collect(const Command& command, const WritableDirectory& upper,
                              Overlay& overlay, CommandResult& result) {
  for (const RelPath& path : command.collect) {
    GALLEY_ASSIGN(const FileStat made, upper.stat(path));
    if (made.kind == FileKind::kRegular) {
      GALLEY_ASSIGN(result.collected[path], read_file(upper, path, limits::kMaxFileBytes));
    } else if (made.kind == FileKind::kAbsent) {
      const auto proposed = overlay.read(path);
      if (proposed) result.collected[path] = **proposed;
    }
  }
  return {};
}

/// What a file that changed now would be stamped with: no clock of ours agrees with that.
Result<int64_t> Sandbox::file_system_now() const {
  const RelPath touched = *RelPath::parse("run");
  GALLEY_TRY(home_.directory().set_mode(touched, kPrivateMode));
  GALLEY_ASSIGN(const FileStat stat, home_.directory().stat(touched));
  return stat.ctime_ns;
}

/// The command's wall limit and the grace, less what the command took; never without a wall limit.
Deadline Sandbox::read_back_deadline(const Command& command, const CommandResult& result) const {
  const auto wall = command.limits.or_usual().wall;
  if (wall.count() == 0) return {};
  const auto left = wall + kReadBackGrace - result.wall;
  return Deadline::after(*clock_, std::chrono::duration_cast<std::chrono::milliseconds>(left));
}

Result<void> Sandbox::absorb(const Command& command, const WritableDirectory& upper,
                             Overlay& overlay, CommandResult& result, int64_t began_ns,
                             std::vector<RelPath> deleted) {
  const bool wanted = command.effects == EffectsRule::kStageAlways ||
                      (command.effects == EffectsRule::kStageOnSuccess && result.succeeded());
  if (!wanted || result.breach) return {};
  GALLEY_ASSIGN(const auto outputs, scratch());
  GALLEY_ASSIGN(const int64_t ended_ns, file_system_now());
  const AbsorbRules rules{options_.is_ignored,
                          command.propose_ignored,
                          command.keep,
                          std::move(deleted),
                          began_ns,
                          ended_ns,
                          read_back_deadline(command, result),
                          clock_};
  const auto before = clock_->steady();
  auto report = absorb_layer(upper, *outputs, overlay, rules);
  if (!report && report.error().kind == ErrorKind::kTimeout) {
    const auto took = result.wall + (clock_->steady() - before);
    result.breach = LimitBreach{
        LimitKind::kReadBack, in_ms(command.limits.or_usual().wall + kReadBackGrace), in_ms(took)};
    return {};
  }
  if (!report) return fail(report.error());
  result.refused = std::move(report->refused);
  result.effects_staged = result.refused.empty();
  result.staged_paths = result.effects_staged ? report->staged : 0;
  result.ignored_paths = report->ignored;
  result.protected_paths = report->protected_paths;
  return {};
}

Result<CommandResult> Sandbox::run(const Command& command, Overlay& overlay) {
  if (command.effects == EffectsRule::kDrop) {
    const std::shared_lock lock(layers_in_use_);
    return run_locked(command, overlay);
  }
  const std::unique_lock lock(layers_in_use_);
  return run_locked(command, overlay);
}

Result<CommandResult> Sandbox::run_locked(const Command& command, Overlay& overlay) {
  GALLEY_ASSIGN(SandboxRequest request, build_request(options_, command, *workspace_));
  if (is_copying_) return run_on_copy(command, overlay, std::move(request));
  auto result = run_in_namespaces(command, overlay, request);
  const bool is_unavailable = !result && result.error().reason == "sandbox.unavailable";
  if (!is_unavailable || !options_.allow_copy) return result;
  is_copying_ = true;  // what the kernel refused once it will refuse again
  return run_on_copy(command, overlay, std::move(request));
}

/// One that was started beforehand, when the command is of the usual kind.
std::optional<WaitingProcess> Sandbox::take_spare_helper(const Command& command,
                                                         const SandboxRequest& request) {
  if (!command.input.empty() || command.input_relay || request.host_network != 0 ||
      request.copy_level != 0)
    return {};
  std::optional<WaitingProcess> spare;
  {
    const std::lock_guard lock(layers_mutex_);
    spare = std::exchange(spare_helper_, std::nullopt);
  }
  if (spare && !spare->is_waiting()) spare.reset();
  return spare;
}

Result<HelperRun> Sandbox::run_helper(const Command& command, const SandboxRequest& request) {
  if (auto spare = take_spare_helper(command, request)) {
    auto run = std::move(*spare).run(request, command);
    // Its namespaces are as old as it is: what they cannot do, fresh ones may.
    const bool is_of_no_use = run ? run->report.outcome == HelperOutcome::kSetupFailed
                                  : WaitingProcess::has_expired(run.error());
    if (!is_of_no_use) return run;
  }
  GALLEY_ASSIGN(WaitingProcess fresh, WaitingProcess::start(options_.helper, command));
  return std::move(fresh).run(request, command);
}

Result<CommandResult> Sandbox::start(const Command& command, const SandboxRequest& request,
                                     EndingProcess& helper) {
  const auto started = clock_->steady();
  GALLEY_ASSIGN(HelperRun ended, run_helper(command, request));
  helper = std::move(ended.helper);
  GALLEY_ASSIGN(CommandResult result, result_of(request, std::move(ended)));
  result.wall = clock_->steady() - started;
  const auto& unchecked = command.programs.unchecked;
  result.unchecked.insert(result.unchecked.begin(), unchecked.begin(), unchecked.end());
  return result;
}

Result<CommandResult> Sandbox::run_in_namespaces(const Command& command, Overlay& overlay,
                                                 SandboxRequest request) {
  GALLEY_ASSIGN(const auto staged, staged_layer(overlay));
  GALLEY_TRY(afterwards_.take_failure());
  GALLEY_ASSIGN(const RelPath place, take_run_directory());
  GALLEY_ASSIGN(const KeptSet kept, keep_between_runs(command, overlay, request));
  request.lowers = {staged->path, lower_home().path() + "/scratch"};
  request.upper_home = below_home(place);
  GALLEY_ASSIGN(const int64_t began_ns, file_system_now());
  EndingProcess helper;
  const auto run_and_read_back = [&]() -> Result<CommandResult> {
    GALLEY_ASSIGN(CommandResult result, start(command, request, helper));
    GALLEY_ASSIGN(const RelPath upper_path, place.join(*RelPath::parse("upper")));
    GALLEY_ASSIGN(const auto upper, home_.directory().open_writable_directory(upper_path));
    GALLEY_TRY(collect(command, *upper, overlay, result));
    GALLEY_TRY(absorb(command, *upper, overlay, result, began_ns));
    return result;
  };
  auto result = run_and_read_back();
  clear_afterwards(place, std::move(helper));
  return result;
}

/// What is left of a run goes when its mounts are gone, and the place of the next one is made:
/// neither is waited for.
void Sandbox::clear_afterwards(const RelPath& place, EndingProcess helper) {
  const auto ending = std::make_shared<EndingProcess>(std::move(helper));
  afterwards_.post([this, place, ending]() -> Result<void> {
    ending->wait();
    GALLEY_TRY(erase_layer(home_.directory(), place));
    return make_spares();
  });
}

/// Who ran one command may never run another: the second one shows that there are more to come.
Result<void> Sandbox::make_spares() {
  bool lacks_place = false;
  bool lacks_helper = false;
  {
    const std::lock_guard lock(layers_mutex_);
    if (++runs_ < 2) return {};
    lacks_place = !spare_;
    lacks_helper = !spare_helper_;
  }
  if (lacks_helper) {
    auto started = WaitingProcess::start_spare(options_.helper);
    const std::lock_guard lock(layers_mutex_);
    if (started) spare_helper_ = std::move(*started);  // else the next command tells why
  }
  if (!lacks_place) return {};
  GALLEY_ASSIGN(RunPlace made, make_run_directory());
  const std::lock_guard lock(layers_mutex_);
  spare_ = std::move(made);
  return {};
}

Result<CommandResult> Sandbox::run_on_copy(const Command& command, Overlay& overlay,
                                           SandboxRequest request) {
  if (!command.keep.empty()) {
    return fail(ErrorKind::kRefused, "sandbox.unavailable",
                "a command that keeps directories between runs needs the namespaces; see galley "
                "doctor for what this machine lacks, or take `keep` away");
  }
  GALLEY_ASSIGN(const int64_t began_ns, file_system_now());
  GALLEY_ASSIGN(const auto outputs, scratch());
  GALLEY_ASSIGN(CopyRun copy, CopyRun::make(overlay, *outputs, options_.workspace));
  copy.adapt(request);
  EndingProcess helper;
  GALLEY_ASSIGN(CommandResult result, start(command, request, helper));
  GALLEY_ASSIGN(std::vector<RelPath> deleted, copy.extract());
  GALLEY_TRY(collect(command, copy.upper(), overlay, result));
  GALLEY_TRY(absorb(command, copy.upper(), overlay, result, began_ns, std::move(deleted)));
  return result;
}

std::string find_helper() {
  char self[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
  if (size <= 0) return {};
  const std::string program(self, static_cast<size_t>(size));
  const std::string folder = program.substr(0, program.rfind('/'));
  for (const std::string& candidate :
       {folder + "/galley-sandbox", folder + "/../libexec/galley/galley-sandbox",
        folder + "/../galley-sandbox"}) {
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return {};
}

bool is_inside(const std::string& path, const std::string& workspace) {
  char canonical[PATH_MAX];
  if (realpath(path.c_str(), canonical) == nullptr) return false;
  return std::string_view(canonical).starts_with(workspace + "/");
}

/// Places for layers. A lower layer cannot lie inside another (ELOOP), which the workspace is; an
/// upper one may.
Result<Homes> open_homes(const SandboxOptions& options, LayerUse use) {
  GALLEY_ASSIGN(LayerHome upper, LayerHome::open(options.layer_home, use));
  Homes homes{std::move(upper), std::nullopt};
  if (!options.scratch_home.empty() || is_inside(homes.upper.path(), options.workspace)) {
    GALLEY_ASSIGN(LayerHome outside, LayerHome::open(options.scratch_home, use));
    homes.outside.emplace(std::move(outside));
  }
  return homes;
}

/// As open_homes; where no overlay can be had and copies will do, for those.
Result<Homes> open_homes(const SandboxOptions& options, bool& is_copying) {
  if (is_copying) return open_homes(options, LayerUse::kCopy);
  auto homes = open_homes(options, LayerUse::kOverlay);
  if (homes || !options.allow_copy) return homes;
  is_copying = true;
  return open_homes(options, LayerUse::kCopy);
}

}  // namespace

Result<std::unique_ptr<CommandRunner>> make_sandbox(SandboxOptions options, const Clock& clock) {
  if (options.helper.empty()) options.helper = find_helper();
  if (options.helper.empty()) {
    return fail(ErrorKind::kRefused, "sandbox.unavailable",
                "the program galley-sandbox is not beside galley nor in ../libexec/galley; "
                "install it there");
  }
  char canonical[PATH_MAX];
  if (realpath(options.workspace.c_str(), canonical) == nullptr) {
    return os_error(errno, "cannot find the workspace", options.workspace);
  }
  options.workspace = canonical;
  GALLEY_ASSIGN(auto workspace, open_disk_directory(options.workspace));
  bool is_copying = options.force_copy;
  GALLEY_ASSIGN(Homes homes, open_homes(options, is_copying));
  auto sandbox = std::make_unique<Sandbox>(std::move(options), std::move(workspace),
                                           std::move(homes), is_copying, clock);
  GALLEY_TRY(sandbox->prepare());
  return std::unique_ptr<CommandRunner>(std::move(sandbox));
}

}  // namespace galley
