#include "staging/sandbox/layer_home.h"

#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <vector>

#include "base/check.h"
#include "staging/fs/disk_directory.h"
#include "staging/sandbox/layer.h"

namespace galley {
namespace {

constexpr uint32_t kPrivateMode = 0700;

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

}  // namespace

std::string why_no_upper_layer(const Directory& directory) {
  struct statfs system {};
  if (fstatfs(directory.descriptor(), &system) != 0) return "it cannot be looked at";
  if (system.f_type == OVERLAYFS_SUPER_MAGIC)
    return "it lies on overlayfs, which cannot be stacked";
  const RelPath probe = *RelPath::parse("upper-probe");
  GALLEY_CHECK(probe.components().size() == 1);
  (void)erase_layer(directory, probe);
  if (!directory.make_directory(probe, kPrivateMode)) return "it cannot be written";
  std::string why;
  if (!directory.set_attribute(probe, {"user.overlay.opaque", "y"})) {
    why = "it cannot keep user extended attributes";
  } else if (!make_whiteout(directory, *probe.join(*RelPath::parse("whiteout")))) {
    why = "it cannot hold whiteouts";
  }
  (void)erase_layer(directory, probe);
  return why;
}

Result<LayerHome> LayerHome::open(const std::string& wanted, LayerUse use) {
  const auto why_not = [use](const Directory& directory) {
    return use == LayerUse::kCopy ? std::string() : why_no_upper_layer(directory);
  };
  if (!wanted.empty()) {
    if (mkdir(wanted.c_str(), kPrivateMode) != 0 && errno != EEXIST) {
      return os_error(errno, "cannot make the layer directory", wanted);
    }
    GALLEY_ASSIGN(auto directory, open_disk_directory(wanted));
    GALLEY_TRY(directory->set_mode(RelPath::root(), kPrivateMode));
    const std::string why = why_not(*directory);
    if (!why.empty()) return unavailable(" " + wanted + ": " + why);
    return LayerHome(std::move(directory), wanted, false);
  }
  std::string reasons;
  for (const std::string& place : places()) {
    std::string path = place + "/galley-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) {
      reasons += " " + place + ": it cannot be written;";
      continue;
    }
    GALLEY_ASSIGN(auto directory, open_disk_directory(path));
    const std::string why = why_not(*directory);
    if (why.empty()) return LayerHome(std::move(directory), path, true);
    directory.reset();
    (void)rmdir(path.c_str());
    reasons += " " + place + ": " + why + ";";
  }
  return unavailable(reasons);
}

LayerHome::~LayerHome() {
  if (!is_ours_ || directory_ == nullptr) return;
  directory_.reset();
  const size_t slash = path_.rfind('/');
  const auto parent = open_disk_directory(path_.substr(0, slash));
  const auto name = RelPath::parse(path_.substr(slash + 1));
  // A destructor has nobody to tell; what is left lies in a private directory of $TMPDIR.
  if (parent && name) (void)erase_layer(**parent, *name);
}

}  // namespace galley
