#include "staging/sandbox/copy_run.h"

#include <unistd.h>

namespace galley {
namespace {

constexpr uint32_t kPrivateMode = 0700;
constexpr uint32_t kNobody = 65534;  // the user that has nothing, by convention of every system

/// Without namespaces root cannot be fenced in: the command becomes the workspace's owner, or
/// nobody when that is root.
FileStat copy_owner(const FileStat& root) {
  FileStat owner = root;
  if (owner.uid == 0) owner.uid = owner.gid = kNobody;
  return owner;
}

}  // namespace

Result<CopyRun> CopyRun::make(Overlay& overlay, const WritableDirectory& scratch,
                              const std::string& workspace) {
  GALLEY_ASSIGN(auto home, LayerHome::open("", LayerUse::kCopy));
  GALLEY_ASSIGN(const FileStat root, overlay.workspace().stat(RelPath::root()));
  const FileStat owner = copy_owner(root);
  const WritableDirectory& place = home.directory();
  for (const char* name : {"tree", "tmp", "tmp/home", "upper"}) {
    GALLEY_ASSIGN(const RelPath path, RelPath::parse(name));
    GALLEY_TRY(place.make_directory(path, kPrivateMode));
    GALLEY_TRY(imitate_owner(place, path, owner));
  }
  GALLEY_TRY(imitate_owner(place, RelPath::root(), owner));
  GALLEY_ASSIGN(auto tree, place.open_writable_directory(*RelPath::parse("tree")));
  GALLEY_ASSIGN(auto upper, place.open_writable_directory(*RelPath::parse("upper")));
  GALLEY_ASSIGN(auto copy, TreeCopy::make(overlay, workspace, *tree, {scratch, owner}));
  return CopyRun(std::move(home), std::move(tree), std::move(upper), std::move(copy));
}

void CopyRun::adapt(SandboxRequest& request) const {
  const std::string from = request.workspace;
  const std::string to = home_.path() + "/tree";
  const auto move_below = [&](std::string& path) {
    if (path == from || path.starts_with(from + "/")) path = to + path.substr(from.size());
  };
  request.copy_level = 1;
  request.workspace = to;
  request.upper_home = home_.path() + "/tmp";
  move_below(request.program);
  for (std::string& program : request.programs) move_below(program);
  move_below(request.working_directory);
  for (std::string& variable : request.environment) {
    if (variable.starts_with("HOME=")) variable = "HOME=" + request.upper_home + "/home";
    if (variable.starts_with("TMPDIR=")) variable = "TMPDIR=" + request.upper_home;
  }
  if (geteuid() == 0 && request.uid == 0) request.uid = request.gid = kNobody;
}

}  // namespace galley
