#include "staging/sandbox/namespace_runner.h"

#include <memory>
#include <utility>

#include "staging/overlay/view_times.h"
#include "staging/sandbox/egress_proxy.h"
#include "staging/sandbox/request_builder.h"

namespace galley {

NamespaceRunner::NamespaceRunner(const Parts& parts, std::optional<WaitingProcess> first)
    : parts_(parts),
      layers_(parts.homes.lower(), parts.workspace),
      pool_(parts.homes.upper(), parts.workspace, parts.helper, std::move(first)) {}

Result<CommandResult> NamespaceRunner::run(const Command& command, Overlay& overlay,
                                           SandboxRequest request) {
  GALLEY_TRY(pool_.take_failure());
  ChangeSet changed_files = overlay.changes();
  GALLEY_ASSIGN(ChangeSet restored_set, restored_files(overlay));
  GALLEY_ASSIGN(RetentionSet retained, retain(command, overlay, request));
  if (!command.keep.empty()) {
    const int64_t now_ns = parts_.clock.wall_ns();
    GALLEY_TRY(retained.set_times(overlay, now_ns, changed_files, restored_set));
  }
  // The layer of the few restored files first, or the next command would take it for the others.
  GALLEY_ASSIGN(const auto restored, layers_.layer_of(restored_set, *overlay.store()));
  GALLEY_ASSIGN(const auto changes, layers_.layer_of(changed_files, *overlay.store()));
  GALLEY_ASSIGN(const RelPath directory, pool_.take_directory());
  if (changes != nullptr) request.lowers.push_back(changes->path);
  request.lowers.push_back(parts_.homes.scratch_path());
  if (restored != nullptr) request.lowers.push_back(restored->path);
  request.upper_home = parts_.homes.upper().path() + "/" + directory.str();
  ExitingProcess helper;
  auto result = run_in(directory, command, overlay, request, helper);
  pool_.retire(directory, std::move(helper));
  return result;
}

Result<CommandResult> NamespaceRunner::run_in(const RelPath& directory, const Command& command,
                                              Overlay& overlay, const SandboxRequest& request,
                                              ExitingProcess& helper) {
  GALLEY_ASSIGN(const int64_t began_ns, parts_.read_back.file_system_now());
  const auto started = parts_.clock.steady();
  std::unique_ptr<EgressProxy> proxy;
  if (request.proxy != 0) {
    GALLEY_ASSIGN(auto hosts, parse_allowed_hosts(command.hosts));
    GALLEY_ASSIGN(proxy, EgressProxy::start(std::move(hosts)));
  }
  GALLEY_ASSIGN(HelperRun ended,
                pool_.run(request, command, proxy == nullptr ? -1 : proxy->inner_end()));
  helper = std::move(ended.helper);
  GALLEY_ASSIGN(CommandResult result, result_of(request, command, std::move(ended)));
  if (proxy != nullptr) result.refused_hosts = proxy->refused();
  result.wall = parts_.clock.steady() - started;
  GALLEY_ASSIGN(const RelPath path, directory.join(*RelPath::parse("upper")));
  GALLEY_ASSIGN(const auto upper, parts_.homes.upper().directory().open_writable_directory(path));
  GALLEY_TRY(parts_.read_back.take(command, {*upper, began_ns, {}}, overlay, result));
  return result;
}

Result<RetentionSet> NamespaceRunner::retain(const Command& command, Overlay& overlay,
                                             SandboxRequest& request) {
  if (command.keep.empty()) return RetentionSet();
  GALLEY_TRY(refuse_links_to_keep(command.keep, overlay));
  const std::string& given = parts_.keep_home;
  const std::string home = given.empty() ? parts_.homes.upper().path() + "/keep" : given;
  GALLEY_ASSIGN(const FileStat root, parts_.workspace.stat(RelPath::root()));
  GALLEY_ASSIGN(RetentionSet retained, RetentionSet::take(home, command, root, parts_.clock));
  request.keep_from = retained.paths();
  for (const RelPath& path : command.keep) {
    request.keep_to.push_back(request.workspace + "/" + path.str());
  }
  return retained;
}

}  // namespace galley
