#include "staging/sandbox/helper/admission.h"

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string_view>
#include <utility>

#include "staging/sandbox/helper/descriptors.h"

namespace galley {
namespace {

bool read_all(int fd, void* into, size_t count) {
  auto* at = static_cast<char*>(into);
  while (count > 0) {
    const ssize_t got = read(fd, at, count);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    count -= static_cast<size_t>(got);
  }
  return true;
}

/// Reads the length and the bytes of one request.
bool read_framed(int fd, std::string& bytes) {
  uint64_t size = 0;
  if (!read_all(fd, &size, sizeof size) || size > kMaxRequestBytes) return false;
  bytes.assign(size, '\0');
  return read_all(fd, bytes.data(), size);
}

/// The number of descriptors sent with the request itself.
size_t own_descriptors(const SandboxRequest& request) {
  return (request.has_input != 0 ? 1U : 0U) + (request.live != 0 ? 1U : 0U) +
         (request.proxy != 0 ? 1U : 0U);
}

/// All descriptors of an admission, in the order of take_apart().
std::vector<int> descriptors_of(const ReceivedRequest& received, const LayerTrees& trees) {
  std::vector<int> all;
  if (received.input.is_open()) all.push_back(received.input.get());
  if (received.channel.is_open()) all.push_back(received.channel.get());
  if (received.proxy.is_open()) all.push_back(received.proxy.get());
  if (!trees.workspace.is_open()) return all;
  all.push_back(trees.workspace.get());
  all.push_back(trees.upper_home.get());
  for (const std::vector<Fd>* list : {&trees.lowers, &trees.keep, &trees.readable, &trees.writable,
                                      &trees.layered, &trees.layer_homes}) {
    for (const Fd& tree : *list) all.push_back(tree.get());
  }
  return all;
}

bool take_apart(std::vector<Fd> all, bool has_trees, Admission& admission) {
  const SandboxRequest& request = admission.request;
  LayerTrees& trees = admission.trees;
  const size_t layers = 2 + request.lowers.size() + request.keep_from.size() +
                        request.readable.size() + request.writable.size() + request.layered.size() +
                        request.layer_homes.size();
  if (all.size() != own_descriptors(request) + (has_trees ? layers : 0)) return false;
  size_t next = 0;
  if (request.has_input != 0) admission.input = std::move(all[next++]);
  if (request.live != 0) admission.channel = std::move(all[next++]);
  if (request.proxy != 0) admission.proxy = std::move(all[next++]);
  if (!has_trees) return true;
  trees.workspace = std::move(all[next++]);
  trees.upper_home = std::move(all[next++]);
  const auto take = [&](size_t count, std::vector<Fd>& list) {
    for (size_t i = 0; i < count; ++i) list.push_back(std::move(all[next++]));
  };
  take(request.lowers.size(), trees.lowers);
  take(request.keep_from.size(), trees.keep);
  take(request.readable.size(), trees.readable);
  take(request.writable.size(), trees.writable);
  take(request.layered.size(), trees.layered);
  take(request.layer_homes.size(), trees.layer_homes);
  return true;
}

}  // namespace

bool receive_request(int control, ReceivedRequest& received) {
  std::vector<Fd> descriptors;
  if (!receive_descriptors(control, descriptors) || !read_framed(control, received.bytes) ||
      !decode(received.bytes, received.request) ||
      descriptors.size() != own_descriptors(received.request)) {
    return false;
  }
  size_t next = 0;
  if (received.request.has_input != 0) received.input = std::move(descriptors[next++]);
  if (received.request.live != 0) received.channel = std::move(descriptors[next++]);
  if (received.request.proxy != 0) received.proxy = std::move(descriptors[next++]);
  return true;
}

bool send_admission(int lifeline, const ReceivedRequest& received, const LayerTrees& trees) {
  const uint64_t size = received.bytes.size();
  const std::string_view length(reinterpret_cast<const char*>(&size), sizeof size);
  return send_descriptors(lifeline, descriptors_of(received, trees)) &&
         write_all(lifeline, length) && write_all(lifeline, received.bytes);
}

bool receive_admission(int lifeline, bool has_trees, Admission& admission) {
  std::vector<Fd> descriptors;
  std::string bytes;
  return receive_descriptors(lifeline, descriptors) && read_framed(lifeline, bytes) &&
         decode(bytes, admission.request) &&
         take_apart(std::move(descriptors), has_trees, admission);
}

}  // namespace galley
