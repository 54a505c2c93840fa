#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The protocol between the engine and its helper program, over one socket. Both are built from this
// file and check kWireVersion, so the layout is private to one build.
//
//   engine -> helper   one byte, the number of descriptors sent with it (descriptors.h): the
//                      command's standard input, the channel of a live run and the socket of
//                      its proxy, if it has them
//   engine -> helper   u64 length, then a SandboxRequest as encode() writes it
//   engine -> helper   one byte, any time later: kCancelByte kills the command, as the end of the
//                      stream does; kStopByte asks it to end first; kRefreshByte makes a live
//                      run see the workspace as it is now (kRefreshed)
//   helper -> engine   one HelperReport, when every process of the command is dead; the helper
//                      itself ends when the kernel has taken the namespaces down
//
// In a live run, pid 1 sends descriptors over the channel when the view exists: the mounted overlay
// and, with `terminal`, the other end of its terminal. The command starts when the engine has
// answered with kStartByte, so that it changes nothing before the run is on record.
//
// With `proxy`, pid 1 listens on kProxyPort of the loopback device of the command's own network,
// and sends the listening socket over the socket of its proxy.
//
// A helper that is started with kSpareArgument and a number of milliseconds makes its namespaces
// before there is a request. If no request arrives in that time it ends with kSpareExpired, having
// done nothing.

namespace galley {

inline constexpr uint64_t kWireVersion = 0x67616c6c6579000e;       // "galley", 14
inline constexpr uint64_t kMaxRequestBytes = uint64_t{16} << 20U;  ///< one request to the helper
/// The size of the files that replace /dev/random and /dev/urandom in a deterministic call.
inline constexpr uint64_t kMaxFixedRandomBytes = uint64_t{64} << 10U;
/// Where a command's proxy listens (egress_proxy.h).
inline constexpr uint16_t kProxyPort = 3128;
inline constexpr int kControlFd = 3;  ///< of the helper
/// A nameless helper's own file (nameless_program.h); the helper closes it.
inline constexpr int kProgramFd = 4;
inline constexpr char kCancelByte = 'c';
inline constexpr char kStopByte = 's';
inline constexpr char kStartByte = 'g';
inline constexpr char kRefreshByte = 'r';
/// The file in `upper_home` that pid 1 replaces after a refresh. It was modified before that, so
/// the run has seen every file that came to its place in the workspace before this time.
inline constexpr const char* kRefreshed = "refreshed";
inline constexpr const char* kSpareArgument = "spare";
inline constexpr const char* kSpareMs = "10000";
inline constexpr int kSpareExpired = 3;

/// Everything that the helper needs; the engine has resolved and checked it.
struct SandboxRequest {
  uint64_t version = kWireVersion;
  uint64_t copy_level = 0;  ///< 1: no namespaces, `workspace` is a copy already
  uint64_t has_input = 0;   ///< 1: a descriptor for standard input is sent with it
  std::string program;      ///< absolute, inside the view
  std::vector<std::string> argv;
  std::vector<std::string> environment;
  std::string workspace;          ///< absolute and canonical; the view has the same path
  uint64_t workspace_device = 0;  ///< the device that `workspace` must still have
  uint64_t workspace_inode = 0;
  std::string working_directory;       ///< absolute, inside
  std::vector<std::string> lowers;     ///< layers over the workspace, topmost first
  std::string upper_home;              ///< has `upper` and `work`
  std::vector<std::string> frozen;     ///< absolute paths in the view, made read-only
  std::vector<std::string> keep_from;  ///< directories of the host
  std::vector<std::string> keep_to;    ///< their paths inside, absolute
  std::vector<std::string> system;     ///< read-only directories and files of the host
  std::vector<std::string> readable;   ///< the same, in a home; each exists
  uint64_t restricts_programs = 0;     ///< 1: only `programs` and what they need may be executed
  std::vector<std::string> programs;   ///< absolute, inside; a directory ends in `/`
  std::vector<std::string> covered;    ///< absolute files of the host, replaced by an empty one
  std::vector<std::string> hidden;     ///< the same, for files of credentials
  uint64_t uid = 0;                    ///< of the command, inside
  uint64_t gid = 0;
  uint64_t umask = 0;
  uint64_t host_network = 0;
  uint64_t proxy = 0;         ///< 1: a socket for its proxy is sent with it
  uint64_t fixed_random = 0;  ///< 1: /dev/random and /dev/urandom are a file of fixed bytes
  uint64_t wall_ms = 0;
  uint64_t grace_ms = 0;
  uint64_t cpu_s = 0;
  uint64_t memory_bytes = 0;
  uint64_t processes = 0;
  uint64_t file_bytes = 0;
  uint64_t written_bytes = 0;
  uint64_t open_files = 0;
  uint64_t private_bytes = 0;
  uint64_t live = 0;      ///< 1: a channel is sent with it, and the view has terminals
  uint64_t terminal = 0;  ///< 1: its standard streams are its own terminal
  uint64_t rows = 0;      ///< of that terminal
  uint64_t columns = 0;
  std::string spelled;         ///< a path made a link to spelled_folder, or ""
  std::string spelled_folder;  ///< the workspace or a folder in it
  std::string home;            ///< where a new empty directory is made, or ""
  std::string git_config;      ///< text of its `.gitconfig`, unless it exists; "": none
  std::vector<std::string>
      writable;  ///< directories of the host that it may write; no link is in their paths
  std::vector<std::string> layered;       ///< the same, as overlays: its writes go elsewhere
  std::vector<std::string> layer_lowers;  ///< their lower layers: mostly the same folders
  std::vector<std::string> layer_homes;   ///< their homes: each holds `upper` and `work`
};

enum class HelperOutcome : uint32_t { kEnded, kSetupFailed, kExecFailed };

/// Values of HelperReport::breach; 0 is none.
enum class HelperBreach : uint32_t { kNone, kWall, kCpu, kMemory, kWritten, kCancelled, kStopped };

struct HelperReport {
  uint64_t version = kWireVersion;
  HelperOutcome outcome = HelperOutcome::kSetupFailed;
  int32_t wait_status = 0;
  int32_t os_error = 0;
  HelperBreach breach = HelperBreach::kNone;
  uint64_t limit = 0;
  uint64_t figure = 0;
  uint64_t cpu_ns = 0;
  uint64_t peak_memory_bytes = 0;
  uint64_t written_bytes = 0;
  uint32_t landlock_abi = 0;
  uint32_t is_alone = 0;        ///< of pid 1's note: no other process is left in its namespace
  uint32_t left_processes = 0;  ///< ran when the command ended by itself, and were killed
  uint32_t left_files = 0;      ///< were in its private temporary directory then
  char left_process[16] = {};   ///< the name of one of them
  char left_file[128] = {};     ///< the path of one in that directory; empty if it is too long
  char step[64] = {};           ///< of the set-up that failed
};

/// Calls `field` for every member, in wire order: only this function knows the order.
template <class Field, class Request>
void for_each_field(Request& r, Field field) {
  field(r.version), field(r.copy_level), field(r.has_input), field(r.program), field(r.argv),
      field(r.environment);
  field(r.workspace), field(r.workspace_device), field(r.workspace_inode);
  field(r.working_directory), field(r.lowers), field(r.upper_home), field(r.frozen);
  field(r.keep_from), field(r.keep_to), field(r.system), field(r.readable);
  field(r.restricts_programs), field(r.programs), field(r.covered), field(r.hidden);
  field(r.uid), field(r.gid), field(r.umask);
  field(r.host_network), field(r.proxy), field(r.fixed_random), field(r.wall_ms), field(r.grace_ms),
      field(r.cpu_s);
  field(r.memory_bytes), field(r.processes), field(r.file_bytes), field(r.written_bytes);
  field(r.open_files), field(r.private_bytes);
  field(r.live), field(r.terminal), field(r.rows), field(r.columns);
  field(r.spelled), field(r.spelled_folder), field(r.home), field(r.git_config), field(r.writable),
      field(r.layered);
  field(r.layer_lowers), field(r.layer_homes);
}

/// Appends values to a string.
struct RequestWriter {
  std::string* out;
  void operator()(uint64_t value) const {
    out->append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void operator()(const std::string& text) const {
    (*this)(uint64_t{text.size()});
    out->append(text);
  }
  void operator()(const std::vector<std::string>& list) const {
    (*this)(uint64_t{list.size()});
    for (const std::string& text : list) (*this)(text);
  }
};

/// Reads values from the front of `rest`. When the bytes run out, `ok` becomes false and stays
/// false.
struct RequestReader {
  std::string_view* rest;
  bool* ok;
  void operator()(uint64_t& value) const {
    value = 0;
    if (!*ok || rest->size() < sizeof value) {
      *ok = false;
      return;
    }
    std::memcpy(&value, rest->data(), sizeof value);
    rest->remove_prefix(sizeof value);
  }
  void operator()(std::string& text) const {
    uint64_t size = 0;
    (*this)(size);
    if (!*ok || rest->size() < size) {
      *ok = false;
      return;
    }
    text.assign(rest->substr(0, size));
    rest->remove_prefix(size);
  }
  void operator()(std::vector<std::string>& list) const {
    uint64_t count = 0;
    (*this)(count);
    for (uint64_t i = 0; *ok && i < count; ++i) {
      std::string text;
      (*this)(text);
      if (*ok) list.push_back(std::move(text));
    }
  }
};

[[nodiscard]] inline std::string encode(const SandboxRequest& request) {
  std::string out;
  for_each_field(request, RequestWriter{&out});
  return out;
}

[[nodiscard]] inline bool decode(std::string_view bytes, SandboxRequest& request) {
  bool ok = true;
  for_each_field(request, RequestReader{&bytes, &ok});
  return ok && bytes.empty() && request.version == kWireVersion;
}

}  // namespace galley
