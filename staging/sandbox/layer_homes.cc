#include "staging/sandbox/layer_homes.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file_mode.h"
#include "staging/fs/disk_directory.h"
#include "staging/sandbox/layer_objects.h"

namespace galley {

namespace {

bool is_inside(const std::string& path, const std::string& workspace) {
  char canonical[PATH_MAX];
  if (realpath(path.c_str(), canonical) == nullptr) return false;
  return std::string_view(canonical).starts_with(workspace + "/");
}

Result<void> make_folder(const LayerHome& home, const char* name) {
  return make_directories(home.directory(), *RelPath::parse(name), kPrivateDirectory);
}

Result<void> empty_folder(const LayerHome& home, const char* name) {
  GALLEY_ASSIGN(const auto folder, home.directory().open_writable_directory(*RelPath::parse(name)));
  GALLEY_ASSIGN(const auto entries, folder->list());
  for (const DirectoryEntry& entry : entries) {
    GALLEY_ASSIGN(const RelPath left, RelPath::parse(entry.name));
    GALLEY_TRY(erase_layer(*folder, left));
  }
  return {};
}

}  // namespace

Result<LayerHomes> LayerHomes::open(const SandboxOptions& options, LayerUse use) {
  GALLEY_ASSIGN(LayerHome upper, LayerHome::open(options.layer_home, use));
  LayerHomes homes(std::move(upper));
  if (!options.scratch_home.empty() || is_inside(homes.upper_.path(), options.workspace)) {
    GALLEY_ASSIGN(LayerHome lower, LayerHome::open(options.scratch_home, use));
    homes.lower_.emplace(std::move(lower));
  }
  return homes;
}

Result<void> LayerHomes::prepare(const Directory& workspace, LayerUse use) const {
  for (const char* name : {"run", "keep"}) GALLEY_TRY(make_folder(upper_, name));
  for (const char* name : {"changes", "scratch"}) GALLEY_TRY(make_folder(lower(), name));
  GALLEY_TRY(empty_folder(upper_, "run"));
  GALLEY_TRY(empty_folder(lower(), "changes"));
  GALLEY_ASSIGN(const auto scratch, open_scratch());
  GALLEY_TRY(set_root_like(*scratch, workspace, false));
  if (use == LayerUse::kCopy) return {};
  auto hidden = make_whiteout(*scratch, *RelPath::parse(".galley"));
  if (!hidden && hidden.error().os_error == EEXIST) return {};
  return hidden;
}

Result<std::unique_ptr<WritableDirectory>> LayerHomes::open_scratch() const {
  return lower().directory().open_writable_directory(*RelPath::parse("scratch"));
}

namespace {

constexpr const char* kLastingMark = "made-by-galley";
/// A file that is locked as long as the process that made the home lives.
constexpr const char* kHeldMark = "held-by-galley";
constexpr std::string_view kHomeName = "galley-";
constexpr size_t kDrawnLetters = 6;

std::vector<std::string> places() {
  std::vector<std::string> all;
  if (const char* given = std::getenv("TMPDIR"); given != nullptr && *given == '/') {
    all.emplace_back(given);
  }
  for (const char* usual : {"/tmp", "/var/tmp", "/dev/shm"}) all.emplace_back(usual);
  return all;
}

Error unavailable(const std::string& why) {
  return {ErrorKind::kRefused, "sandbox.unavailable",
          "no directory can hold a command's layer:" + why +
              "; set TMPDIR to a directory on ext4, xfs, btrfs or tmpfs",
          "", 0};
}

/// File systems on which this process has already found that upper layers work.
///
/// Threads: safe to share.
class ProvenSystems {
 public:
  bool has(dev_t device) {
    const std::lock_guard lock(mutex_);
    return devices_.contains(device);
  }
  void add(dev_t device) {
    const std::lock_guard lock(mutex_);
    devices_.insert(device);
  }

 private:
  std::mutex mutex_;
  std::set<dev_t> devices_;
};

Result<void> erase_home(const std::string& path) {
  const size_t slash = path.rfind('/');
  GALLEY_ASSIGN(const auto parent,
                open_writable_disk_directory(path.substr(0, std::max<size_t>(slash, 1))));
  GALLEY_ASSIGN(const RelPath name, RelPath::parse(path.substr(slash + 1)));
  return erase_layer(*parent, name);
}

/// Locks the mark before it gets its name. So a mark that another process can lock belongs to a
/// dead process.
Result<std::unique_ptr<WritableFile>> hold(const WritableDirectory& home) {
  const RelPath fresh = *RelPath::parse(std::string(kHeldMark) + ".new");
  GALLEY_ASSIGN(auto file, home.open_writable_file(fresh, OpenMode::kCreateNew, kPrivateFile));
  GALLEY_TRY(file->try_lock(LockMode::kExclusive));
  GALLEY_TRY(home.rename(fresh, home, *RelPath::parse(kHeldMark), RenameMode::kReplace));
  return file;
}

bool is_folder_of_ours(const std::string& path, uint32_t mode) {
  struct stat found {};
  return lstat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == geteuid() &&
         (found.st_mode & kPermissionBits) == mode;
}

/// Whether a home was made by open() and no process holds it. It belongs to this process until
/// `held` is closed.
bool is_abandoned(const std::string& path, std::unique_ptr<WritableFile>& held) {
  const bool is_ours =
      is_folder_of_ours(path, kPrivateDirectory) || is_folder_of_ours(path, kSearchableDirectory);
  if (!is_ours || is_layer_home(path)) return false;
  const auto home = open_writable_disk_directory(path);
  if (!home) return false;
  const RelPath mark = *RelPath::parse(kHeldMark);
  const auto there = (*home)->stat(mark);
  if (!there || there->kind != FileKind::kRegular || there->uid != geteuid()) return false;
  auto file = (*home)->open_writable_file(mark, OpenMode::kOpenOrCreate, kPrivateFile);
  if (!file) return false;
  const auto is_locked = (*file)->try_lock(LockMode::kExclusive);
  held = *std::move(file);
  return is_locked && *is_locked;
}

}  // namespace

std::string why_no_upper_layer(const WritableDirectory& directory) {
  struct statfs system {};
  if (fstatfs(directory.descriptor(), &system) != 0) return "it cannot be looked at";
  if (system.f_type == OVERLAYFS_SUPER_MAGIC)
    return "it lies on overlayfs, which cannot be stacked";
  static ProvenSystems proven;
  struct stat found {};
  const bool is_known = fstat(directory.descriptor(), &found) == 0;
  if (is_known && proven.has(found.st_dev)) return "";
  // The test makes one object and no folder: removing a folder can wait for the disk.
  const RelPath whiteout = *RelPath::parse("upper-probe");
  (void)erase_layer(directory, whiteout);
  const char* mark = "user.overlay.probe";
  const bool keeps_attributes = bool(directory.set_attribute(RelPath::root(), {mark, "y"}));
  const bool holds_whiteouts = bool(make_whiteout(directory, whiteout));
  (void)directory.remove_attribute(RelPath::root(), mark);
  (void)directory.remove_file(whiteout);
  if (!keeps_attributes) return "it cannot keep user extended attributes";
  if (!holds_whiteouts) return "it cannot hold whiteouts";
  if (is_known) proven.add(found.st_dev);
  return "";
}

Result<LayerHome> LayerHome::open(const std::string& wanted, LayerUse use) {
  const auto why_not = [use](const WritableDirectory& directory) {
    return use == LayerUse::kCopy ? std::string() : why_no_upper_layer(directory);
  };
  if (!wanted.empty()) {
    if (mkdir(wanted.c_str(), kPrivateDirectory) != 0 && errno != EEXIST) {
      return os_error(errno, "cannot make the layer directory", wanted);
    }
    GALLEY_ASSIGN(auto directory, open_writable_disk_directory(wanted));
    GALLEY_TRY(directory->set_mode(RelPath::root(), kPrivateDirectory));
    // If the directory has held layers before, the test is not needed.
    GALLEY_ASSIGN(const FileStat run, directory->stat(*RelPath::parse("run")));
    GALLEY_ASSIGN(const FileStat scratch, directory->stat(*RelPath::parse("scratch")));
    const bool is_proven = run.kind == FileKind::kDirectory || scratch.kind == FileKind::kDirectory;
    const std::string why = is_proven ? std::string() : why_not(*directory);
    if (!why.empty()) return unavailable(" " + wanted + ": " + why);
    return LayerHome(std::move(directory), wanted, nullptr);
  }
  std::string reasons;
  for (const std::string& place : places()) {
    std::string path = place + "/galley-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) {
      reasons += " " + place + ": it cannot be written;";
      continue;
    }
    GALLEY_ASSIGN(auto directory, open_writable_disk_directory(path));
    auto held = hold(*directory);
    if (!held) {
      reasons += " " + place + ": " + held.error().message + ";";
      (void)erase_home(path);
      continue;
    }
    LayerHome home(std::move(directory), path, *std::move(held));
    const std::string why = why_not(home.directory());
    if (why.empty()) return home;
    reasons += " " + place + ": " + why + ";";
  }
  return unavailable(reasons);
}

LayerHome::~LayerHome() {
  if (held_ == nullptr || directory_ == nullptr) return;
  directory_.reset();
  // A destructor cannot report errors; remaining files are in a private directory of $TMPDIR.
  (void)erase_home(path_);
}

Result<std::string> LayerHome::make_persistent() {
  GALLEY_ASSIGN(LayerHome home, open(""));
  GALLEY_TRY(home.directory().open_writable_file(*RelPath::parse(kLastingMark),
                                                 OpenMode::kCreateNew, kPrivateFile));
  home.held_.reset();
  return home.path_;
}

bool is_layer_home(const std::string& path) {
  const bool is_named_so =
      path.starts_with('/') && path.find("/galley-", path.rfind('/')) != path.npos;
  // Only make_persistent() leaves this mark. Name and mode are not enough: a folder of the user may
  // have both.
  const std::string mark = path + "/" + kLastingMark;
  struct stat found {};
  return is_named_so && is_folder_of_ours(path, kPrivateDirectory) &&
         lstat(mark.c_str(), &found) == 0 && S_ISREG(found.st_mode) && found.st_uid == geteuid();
}

std::vector<std::string> clear_abandoned_layer_homes(bool dry_run) {
  std::vector<std::string> cleared;
  for (const std::string& place : places()) {
    const auto directory = open_disk_directory(place);
    const auto entries =
        directory ? (*directory)->list() : Result<std::vector<DirectoryEntry>>(directory.error());
    if (!entries) continue;
    for (const DirectoryEntry& entry : *entries) {
      const bool is_named_so = entry.name.starts_with(kHomeName) &&
                               entry.name.size() == kHomeName.size() + kDrawnLetters;
      const std::string path = place + "/" + entry.name;
      std::unique_ptr<WritableFile> held;
      if (!is_named_so || !is_abandoned(path, held)) continue;
      if (std::find(cleared.begin(), cleared.end(), path) != cleared.end()) continue;
      if (dry_run || erase_home(path)) cleared.push_back(path);
    }
  }
  return cleared;
}

Result<void> remove_layer_home(const std::string& path) {
  if (!is_layer_home(path)) return {};
  // From here on it is a home that a killed command left: gc removes what remains of it.
  GALLEY_ASSIGN(const auto home, open_writable_disk_directory(path));
  GALLEY_ASSIGN(const auto held, home->open_writable_file(*RelPath::parse(kHeldMark),
                                                          OpenMode::kOpenOrCreate, kPrivateFile));
  GALLEY_TRY(held->try_lock(LockMode::kExclusive));
  GALLEY_TRY(home->remove_file(*RelPath::parse(kLastingMark)));
  return erase_home(path);
}

Result<std::shared_ptr<const LayerCache::Layer>> LayerCache::layer_of(const ChangeSet& changes,
                                                                      const ContentStore& store) {
  if (changes.empty()) return std::shared_ptr<const Layer>();
  const ContentId id = view_id(changes);
  const std::lock_guard lock(mutex_);
  for (const auto& layer : layers_) {
    if (layer->layer.shown() == id) return layer;
  }
  // Updates a layer that no command uses, because it usually differs only a little.
  const auto free = std::find_if(layers_.begin(), layers_.end(),
                                 [](const auto& layer) { return layer.use_count() == 1; });
  std::shared_ptr<Layer> layer;
  if (free != layers_.end()) {
    layer = *free;
    layers_.erase(free);  // added again only if it shows all of the change set
  } else {
    GALLEY_ASSIGN(layer, make_layer());
  }
  GALLEY_TRY(layer->layer.show(changes, store));
  layers_.push_back(layer);
  return layer;
}

Result<std::shared_ptr<LayerCache::Layer>> LayerCache::make_layer() {
  GALLEY_ASSIGN(const RelPath place, RelPath::parse("changes/" + std::to_string(next_number_++)));
  GALLEY_TRY(home_->directory().make_directory(place, kPrivateDirectory));
  GALLEY_ASSIGN(auto directory, home_->directory().open_writable_directory(place));
  return std::make_shared<Layer>(
      Layer{ChangeSetLayer(std::move(directory), *workspace_), home_->path() + "/" + place.str()});
}

}  // namespace galley
