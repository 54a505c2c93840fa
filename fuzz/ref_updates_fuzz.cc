// Reads any bytes as the standard input of a git hook. Reading ends, and the result has the same
// content as the input.
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/git_hooks/ref_updates.h"

namespace galley {
namespace {

std::string id_text(const std::string& id, const RefUpdate& update) {
  const std::string& other = update.old_id.empty() ? update.new_id : update.old_id;
  return id.empty() ? std::string(other.empty() ? 40 : other.size(), '0') : id;
}

void check(const std::vector<RefUpdate>& updates) {
  std::string received;
  std::string pushed;
  for (const RefUpdate& one : updates) {
    GALLEY_CHECK(one.ref.starts_with("refs/"));
    GALLEY_CHECK(one.ref.find_first_of(" \n") == std::string::npos);
    const std::string old_id = id_text(one.old_id, one);
    const std::string new_id = id_text(one.new_id, one);
    received += old_id + " " + new_id + " " + one.ref + "\n";
    pushed += "HEAD " + new_id + " " + one.ref + " " + old_id + "\n";
    const auto alone = parse_update({one.ref, old_id, new_id});
    GALLEY_CHECK(alone && *alone == one);
  }
  const auto again = parse_received_refs(received);
  GALLEY_CHECK(again && *again == updates);
  const auto other = parse_pushed_refs(pushed);
  GALLEY_CHECK(other && *other == updates);
}

}  // namespace
}  // namespace galley

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto received = galley::parse_received_refs(text);
  if (received) galley::check(*received);
  const auto pushed = galley::parse_pushed_refs(text);
  if (pushed) galley::check(*pushed);
  return 0;
}
