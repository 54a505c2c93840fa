#include "staging/sandbox/copy_runner.h"

#include <unistd.h>

#include <memory>
#include <utility>
#include <vector>

#include "base/file_mode.h"
#include "staging/sandbox/helper_process.h"
#include "staging/sandbox/layer_objects.h"
#include "staging/sandbox/request_builder.h"
#include "staging/sandbox/tree_copy.h"

namespace galley {
namespace {

constexpr uint32_t kNobody = 65534;  // the user without permissions, on every system

/// Without namespaces root cannot be confined. So the command runs as the owner of the workspace,
/// or as `nobody` if the owner is root.
FileStat copy_owner(const FileStat& root) {
  FileStat owner = root;
  if (owner.uid == 0) owner.uid = owner.gid = kNobody;
  return owner;
}

/// The private directory of one run. The destructor removes it with everything in it.
struct CopyPlace {
  LayerHome home;
  std::unique_ptr<WritableDirectory> upper;
  std::unique_ptr<WritableDirectory> tree;
  TreeCopy copy;  ///< borrows `tree`
};

Result<CopyPlace> make_place(Overlay& overlay, const WritableDirectory& scratch,
                             const std::string& workspace) {
  GALLEY_ASSIGN(auto home, LayerHome::open("", LayerUse::kCopy));
  GALLEY_ASSIGN(const FileStat root, overlay.workspace().stat(RelPath::root()));
  const FileStat owner = copy_owner(root);
  const WritableDirectory& place = home.directory();
  for (const char* name : {"tree", "tmp", "tmp/home", "upper"}) {
    GALLEY_ASSIGN(const RelPath path, RelPath::parse(name));
    GALLEY_TRY(place.make_directory(path, kPrivateDirectory));
    GALLEY_TRY(set_owner_like(place, path, owner));
  }
  // Another user's command passes through the home but cannot change it, so that gc can trust its
  // owner and its mark when this process was killed.
  if (geteuid() == 0) GALLEY_TRY(place.set_mode(RelPath::root(), kSearchableDirectory));
  GALLEY_ASSIGN(auto tree, place.open_writable_directory(*RelPath::parse("tree")));
  GALLEY_ASSIGN(auto upper, place.open_writable_directory(*RelPath::parse("upper")));
  GALLEY_ASSIGN(auto copy, TreeCopy::make(overlay, workspace, *tree, {scratch, owner}));
  return CopyPlace{std::move(home), std::move(upper), std::move(tree), std::move(copy)};
}

/// Adapts a request for the namespaces to the copy in `home`.
void adapt(SandboxRequest& request, const std::string& home) {
  const std::string from = request.workspace;
  const std::string to = home + "/tree";
  const auto move_below = [&](std::string& path) {
    if (path == from || path.starts_with(from + "/")) path = to + path.substr(from.size());
  };
  request.copy_level = 1;
  request.workspace = to;
  request.upper_home = home + "/tmp";
  request.writable.clear();  // the host's own folders are visible
  move_below(request.program);
  for (std::string& program : request.programs) move_below(program);
  move_below(request.working_directory);
  for (std::string& variable : request.environment) {
    if (variable.starts_with("HOME=")) variable = "HOME=" + request.upper_home + "/home";
    if (variable.starts_with("TMPDIR=")) variable = "TMPDIR=" + request.upper_home;
  }
  if (geteuid() == 0 && request.uid == 0) request.uid = request.gid = kNobody;
}

}  // namespace

Result<CommandResult> CopyRunner::run(const Command& command, Overlay& overlay,
                                      SandboxRequest request) {
  if (!command.keep.empty()) {
    return fail(ErrorKind::kRefused, "sandbox.unavailable",
                "a command that keeps directories between runs needs the namespaces; see galley "
                "doctor for what this machine lacks, or take `keep` away");
  }
  if (request.proxy != 0) {
    return fail(ErrorKind::kRefused, "sandbox.unavailable",
                "a command that may reach some hosts needs the namespaces; see galley doctor for "
                "what this machine lacks, or allow none");
  }
  GALLEY_ASSIGN(const int64_t began_ns, parts_.read_back.file_system_now());
  GALLEY_ASSIGN(const auto scratch, parts_.homes.open_scratch());
  GALLEY_ASSIGN(CopyPlace place, make_place(overlay, *scratch, request.workspace));
  adapt(request, place.home.path());
  const auto started = parts_.clock.steady();
  GALLEY_ASSIGN(WaitingProcess helper, WaitingProcess::start(parts_.helper));
  // Its ExitingProcess waits before the directory is removed.
  GALLEY_ASSIGN(HelperRun ended, std::move(helper).run(request, command));
  const ExitingProcess ending = std::move(ended.helper);
  GALLEY_ASSIGN(CommandResult result, result_of(request, command, std::move(ended)));
  result.wall = parts_.clock.steady() - started;
  GALLEY_ASSIGN(std::vector<RelPath> deleted, place.copy.extract_changes(*place.upper));
  GALLEY_TRY(parts_.read_back.take(command, {*place.upper, began_ns, std::move(deleted)}, overlay,
                                   result));
  return result;
}

}  // namespace galley
