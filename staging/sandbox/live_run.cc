#include "staging/sandbox/live_run.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>

#include "base/file_mode.h"
#include "base/limits.h"
#include "staging/fs/disk_directory.h"
#include "staging/fs/host_file.h"
#include "staging/overlay/view_times.h"
#include "staging/sandbox/change_set_layer.h"
#include "staging/sandbox/helper/descriptors.h"
#include "staging/sandbox/host_folders.h"
#include "staging/sandbox/layer_homes.h"
#include "staging/sandbox/layer_objects.h"
#include "staging/sandbox/nameless_program.h"
#include "staging/sandbox/request_builder.h"
#include "staging/sandbox/resolve_program.h"

namespace galley {

namespace {

constexpr const char* kLiveFolder = "live";

RelPath known(std::string_view text) { return *RelPath::parse(text); }

/// Replaces a descriptor, which is closed.
Fd high(int fd) {
  const Fd low(fd);
  return duplicate_high(low.get());
}

struct LiveEnds {
  Fd ours;
  Fd theirs;
};

Result<LiveEnds> make_channel() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return os_error(errno, "cannot make a socket", "");
  }
  return LiveEnds{high(ends[0]), high(ends[1])};
}

Result<LiveEnds> make_input_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return os_error(errno, "cannot make a pipe", "");
  let_others_open(ends[0]);
  return LiveEnds{high(ends[1]), high(ends[0])};
}

/// Makes the layers of the staged changes and of the restored files, with the scratch layer between
/// them.
Result<std::vector<std::string>> lower_layers(const LiveHomes& homes, const Overlay& overlay,
                                              const Directory& workspace) {
  GALLEY_ASSIGN(const auto lower, open_writable_disk_directory(homes.lower));
  GALLEY_TRY(erase_layer(*lower, known(kLiveFolder)));
  std::vector<std::string> lowers = {homes.lower + "/scratch"};
  const ChangeSet changes = overlay.changes();
  GALLEY_ASSIGN(const ChangeSet restored_set, restored_files(overlay));
  if (changes.empty() && restored_set.empty()) return lowers;
  GALLEY_ASSIGN(const LayerHome live, LayerHome::open(homes.lower + "/" + kLiveFolder));
  GALLEY_TRY(live.directory().make_directory(known("changes"), kPrivateDirectory));
  LayerCache layers(live, workspace);
  GALLEY_ASSIGN(const auto layer, layers.layer_of(changes, *overlay.store()));
  GALLEY_ASSIGN(const auto restored, layers.layer_of(restored_set, *overlay.store()));
  if (layer != nullptr) lowers.insert(lowers.begin(), layer->path);
  if (restored != nullptr) lowers.push_back(restored->path);
  return lowers;
}

/// Adds the fields of a live run to the request of a command.
void complete(SandboxRequest& request, const LiveOptions& options) {
  request.live = 1;
  request.terminal = options.is_terminal ? 1 : 0;
  request.rows = options.rows;
  request.columns = options.columns;
  // A home inside the workspace is a folder of the workspace, so it is not made.
  const bool is_inside = (options.home + "/").starts_with(request.workspace + "/");
  request.home = is_inside ? std::string() : options.home;
  request.git_config = options.git_config;
  request.writable = options.writable;
  for (const HostLayer& layer : options.layers) {
    request.layered.push_back(layer.path);
    request.layer_lowers.push_back(layer.below.empty() ? layer.path : layer.below);
    request.layer_homes.push_back(layer.home);
    std::erase(request.frozen, layer.path);
  }
  for (const std::string& path : options.writable) std::erase(request.frozen, path);
  request.frozen.insert(request.frozen.end(), options.frozen.begin(), options.frozen.end());
  request.has_input = options.is_terminal ? 0 : 1;
  request.grace_ms = static_cast<uint64_t>(kStopGrace.count());
  request.upper_home = options.homes.upper;
  // Writes to the repository go to the upper layer and are later dropped.
  std::erase(request.frozen, request.workspace + "/.git");
}

/// Makes `upper` if it is missing, and a new `work`, for an overlay over `below`.
Result<void> prepare_upper(const std::string& place, const Directory& below) {
  GALLEY_ASSIGN(const auto home, open_writable_disk_directory(place));
  GALLEY_ASSIGN(const FileStat upper, home->stat(known("upper")));
  if (upper.kind == FileKind::kAbsent) {
    const std::string why = why_no_upper_layer(*home);
    if (!why.empty()) {
      return fail(ErrorKind::kRefused, "sandbox.unavailable",
                  "what a run writes cannot be kept in " + place + ": " + why);
    }
  }
  GALLEY_TRY(erase_layer(*home, known("work")));
  GALLEY_ASSIGN(const FileStat root, below.stat(RelPath::root()));
  GALLEY_TRY(set_owner_like(*home, RelPath::root(), root));
  for (const char* name : {"upper", "work"}) {
    if (name == std::string_view("upper") && upper.kind == FileKind::kDirectory) continue;
    GALLEY_TRY(home->make_directory(known(name), kPrivateDirectory));
    GALLEY_TRY(set_owner_like(*home, known(name), root));
  }
  GALLEY_ASSIGN(const auto opened, home->open_writable_directory(known("upper")));
  return set_root_like(*opened, below, true);
}

/// The layers over folders of the host.
Result<void> prepare_host_layers(const std::vector<HostLayer>& layers) {
  for (const HostLayer& layer : layers) {
    const auto host = open_disk_directory(layer.below.empty() ? layer.path : layer.below);
    if (!host) {
      return fail(ErrorKind::kNotFound, "run.host_folder",
                  "'" + layer.path +
                      "', over which the transaction has a layer, cannot be opened: " +
                      host.error().message);
    }
    GALLEY_TRY(prepare_upper(layer.home, **host));
  }
  return {};
}

/// Returns the path of a folder with links resolved; empty if it cannot be determined. With
/// `may_be_missing`, only some folder above it must exist.
std::string place_of(const std::string& path, bool may_be_missing) {
  char real[PATH_MAX];
  if (realpath(path.c_str(), real) != nullptr) return real;
  if (!may_be_missing || errno != ENOENT) return {};
  const std::string whole = normalized_path(path);
  struct stat found {};
  // A dangling link is not a missing folder.
  if (whole.size() <= 1 || lstat(whole.c_str(), &found) == 0) return {};
  const size_t slash = whole.rfind('/');
  const std::string above = place_of(slash == 0 ? "/" : whole.substr(0, slash), true);
  if (above.empty()) return {};
  return (above == "/" ? "" : above) + whole.substr(slash);
}

}  // namespace

Result<void> prepare_live_layers(const LiveHomes& homes, const Directory& workspace) {
  GALLEY_ASSIGN(const auto lower, open_writable_disk_directory(homes.lower));
  GALLEY_TRY(make_directories(*lower, known("scratch"), kPrivateDirectory));
  GALLEY_ASSIGN(const auto scratch, lower->open_writable_directory(known("scratch")));
  GALLEY_TRY(set_root_like(*scratch, workspace, false));
  const auto hidden = make_whiteout(*scratch, known(".galley"));
  if (!hidden && hidden.error().os_error != EEXIST) return hidden;
  return prepare_upper(homes.upper, workspace);
}

Result<std::unique_ptr<LiveRun>> LiveRun::start(WaitingProcess helper, SandboxRequest request,
                                                const LiveOptions& options, const Overlay& overlay,
                                                const Directory& workspace) {
  GALLEY_TRY(prepare_live_layers(options.homes, workspace));
  GALLEY_TRY(prepare_host_layers(options.layers));
  GALLEY_ASSIGN(const auto lowers, lower_layers(options.homes, overlay, workspace));
  request.lowers.insert(request.lowers.end(), lowers.begin(), lowers.end());
  complete(request, options);
  GALLEY_ASSIGN(LiveEnds channel, make_channel());
  LiveEnds input;
  std::vector<int> descriptors;
  if (!options.is_terminal) {
    GALLEY_ASSIGN(input, make_input_pipe());
    descriptors.push_back(input.theirs.get());
  }
  descriptors.push_back(channel.theirs.get());
  std::unique_ptr<EgressProxy> proxy;
  if (request.proxy != 0) {
    GALLEY_ASSIGN(auto hosts, parse_allowed_hosts(options.hosts));
    GALLEY_ASSIGN(proxy, EgressProxy::start(std::move(hosts)));
    descriptors.push_back(proxy->inner_end());
  }
  GALLEY_ASSIGN(const auto home, open_writable_disk_directory(options.homes.upper));
  GALLEY_TRY(home->set_mode(RelPath::root(), kPrivateDirectory));
  GALLEY_ASSIGN(const FileStat stamped, home->stat(RelPath::root()));
  GALLEY_ASSIGN(StartedProcess process, std::move(helper).begin(request, descriptors));
  std::unique_ptr<LiveRun> run(
      new LiveRun(std::move(request), std::move(process), std::move(input.ours)));
  run->began_ns_ = stamped.ctime_ns;
  channel.theirs = Fd();
  input.theirs = Fd();
  if (proxy != nullptr) proxy->close_inner_end();
  run->proxy_ = std::move(proxy);
  GALLEY_TRY(run->receive_mount(channel.ours));
  if (options.before_program) GALLEY_TRY(options.before_program(*run));
  GALLEY_TRY(run->let_program_start(channel.ours));
  return run;
}

/// Waits until the view exists or its failure is reported.
Result<void> LiveRun::receive_mount(const Fd& channel) {
  pollfd polled[2] = {{channel.get(), POLLIN, 0}, {control(), POLLIN, 0}};
  int ready = 0;
  do {
    ready = poll(polled, 2, -1);
  } while (ready < 0 && errno == EINTR);
  std::vector<Fd> received;
  const size_t wanted = request_.terminal != 0 ? 2 : 1;
  const bool has_view = (polled[0].revents & POLLIN) != 0 &&
                        receive_descriptors(channel.get(), received) && received.size() == wanted;
  if (!has_view) {
    const auto ended = result();
    if (!ended) return fail(ended.error());
    return fail(ErrorKind::kInternal, "sandbox.helper_died", "the view of the run was not made");
  }
  mount_ = high(received[0].release());
  if (wanted == 2) terminal_ = high(received[1].release());
  return {};
}

Result<void> LiveRun::let_program_start(const Fd& channel) const {
  if (send(channel.get(), &kStartByte, 1, MSG_NOSIGNAL) == 1) return {};
  return fail(ErrorKind::kInternal, "sandbox.helper_died", "the view of the run is gone");
}

LiveRun::~LiveRun() {
  if (is_over_) return;
  process_.control = Fd();  // this kills it
  process_.helper.wait();
}

void LiveRun::refresh() {
  constexpr auto kLook = std::chrono::microseconds(200);
  constexpr int kMaxUnanswered = 3;  // in a row; each one delays the input
  const auto home = open_disk_directory(request_.upper_home);
  if (is_over_ || !home) return;
  const auto last = [&] {
    const auto stat = (*home)->stat(known(kRefreshed));
    return stat ? stat->mtime_ns : 0;
  };
  const int64_t before = last();
  if (before != refreshed_ns_) unanswered_ = 0;  // an answer came late
  refreshed_ns_ = before;
  if (unanswered_ == kMaxUnanswered) return;
  if (send(control(), &kRefreshByte, 1, MSG_NOSIGNAL) != 1) return;
  for (auto waited = kLook; waited < kRefreshTime && last() == before; waited += kLook) {
    std::this_thread::sleep_for(kLook);
  }
  unanswered_ = last() == before ? unanswered_ + 1 : 0;
}

void LiveRun::stop() {
  if (!is_over_) (void)send(control(), &kStopByte, 1, MSG_NOSIGNAL);
}

Result<CommandResult> LiveRun::result() {
  HelperReport report;
  size_t received = 0;
  while (received < sizeof report) {
    const ssize_t got =
        read(control(), reinterpret_cast<char*>(&report) + received, sizeof report - received);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    received += static_cast<size_t>(got);
  }
  is_over_ = true;
  process_.control = Fd();
  process_.helper.wait();
  if (received != sizeof report || report.version != kWireVersion) {
    return fail(ErrorKind::kInternal, "sandbox.helper_died",
                "galley-sandbox ended without a report; what was written is in the run's layer");
  }
  HelperRun run;
  run.report = report;
  const Command none;
  auto ended = result_of(request_, none, std::move(run));
  if (ended && proxy_ != nullptr) ended->refused_hosts = proxy_->refused();
  return ended;
}

bool is_system_folder(const std::string& folder) {
  constexpr std::array<std::string_view, 7> kNever = {"/proc", "/sys", "/dev", "/run",
                                                      "/boot", "/etc", "/usr"};
  const bool is_never = std::any_of(kNever.begin(), kNever.end(), [&](std::string_view place) {
    return folder == place || folder.starts_with(std::string(place) + "/");
  });
  return is_never || is_in_view(folder, {});
}

Result<std::string> check_host_folder(std::string_view option, const std::string& path,
                                      const std::string& workspace, bool may_be_missing) {
  const auto no = [&](const std::string& why) {
    return fail(ErrorKind::kUsage, "run.host_folder",
                std::string(option) + " cannot name '" + path + "': " + why);
  };
  const std::string place = place_of(path, may_be_missing);
  struct stat found {};
  const bool is_there = stat(place.c_str(), &found) == 0;
  if (place.empty() || (!is_there && !may_be_missing)) return no("there is no such folder");
  if (is_there && !S_ISDIR(found.st_mode)) return no("it is not a folder");
  const auto is_in = [](const std::string& inner, const std::string& outer) {
    return inner == outer || outer == "/" || inner.starts_with(outer + "/");
  };
  if (is_in(workspace, place)) return no("the workspace lies in it");
  if (is_in(place, workspace)) return no("it lies in the workspace, whose changes are staged");
  if (is_system_folder(place)) return no("it belongs to the system");
  const std::string home = home_folder();
  if (!home.empty() && is_in(real_program_path(home), place)) {
    return no("it holds your whole home; name the program's own folder");
  }
  return place;
}

std::map<std::string, std::string> session_environment(bool is_terminal, const std::string& home) {
  std::map<std::string, std::string> all;
  const auto take = [&all](const char* name) {
    if (const char* value = std::getenv(name); value != nullptr) all[name] = value;
  };
  if (is_terminal) {
    for (const char* name : {"TERM", "COLORTERM", "TERM_PROGRAM", "NO_COLOR"}) take(name);
  }
  for (const char* name : {"USER", "LOGNAME", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL",
                           "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"}) {
    take(name);
  }
  if (!home.empty()) all["HOME"] = home;
  return all;
}

Result<LiveFile> read_live_file(const Directory& directory, const RelPath& name,
                                const RelPath& path) {
  LiveFile file;
  for (int attempt = 0; attempt < kMaxReadsOfLiveFile; ++attempt) {
    GALLEY_ASSIGN(const FileStat before, directory.stat(name));
    if (before.size > limits::kMaxFileBytes) {
      file.refusal = "is larger than " + std::to_string(limits::kMaxFileBytes) + " bytes";
      return file;
    }
    auto bytes = read_file(directory, name, limits::kMaxFileBytes);
    if (!bytes && bytes.error().os_error == EACCES) {
      file.refusal = "cannot be read while the command runs: its mode forbids it";
      return file;
    }
    if (!bytes) return fail(bytes.error());
    GALLEY_ASSIGN(const FileStat after, directory.stat(name));
    if (before != after || bytes->size() != after.size) continue;
    // setuid and setgid are never proposed
    file.node =
        Node{FileKind::kRegular, after.mode & kPermissionBits, ContentId::of(*bytes), after.size};
    file.mtime_ns = after.mtime_ns;
    file.bytes = std::make_shared<const std::string>(*std::move(bytes));
    return file;
  }
  return fail(
      ErrorKind::kConflict, "run.file_changes",
      "'" + path.str() + "' changes faster than it can be read; wait until the run has written it",
      path.str());
}

}  // namespace galley
