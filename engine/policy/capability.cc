#include "engine/policy/capability.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace galley {
namespace {

tl::unexpected<Error> invalid(std::string_view text, std::string_view why) {
  return fail(ErrorKind::kInvalid, "capability.invalid",
              fmt::format("capability `{}`: {}; for example `fs:read`, `fs:write:src/**`, "
                          "`exec:git` or `net:none`",
                          text, why));
}

constexpr std::array<std::string_view, 5> kFileActions = {"read", "write", "create", "modify",
                                                          "delete"};

}  // namespace

Result<Capability> Capability::parse(std::string_view text) {
  Capability capability;
  capability.text = text;
  std::string_view rest = text;
  if (rest.starts_with('!')) {
    capability.is_denial = true;
    rest.remove_prefix(1);
  }
  const size_t colon = rest.find(':');
  if (colon == rest.npos) return invalid(text, "it has no action");
  capability.domain = rest.substr(0, colon);
  rest.remove_prefix(colon + 1);
  if (capability.domain == "exec") {
    capability.action = rest;
    if (rest.empty()) return invalid(text, "it names no program");
    auto program = GlobList::parse({capability.action});
    if (!program) return invalid(text, program.error().message);
    capability.paths = std::move(*program);
    return capability;
  }
  if (capability.domain == "net") {
    capability.action = rest;
    if (rest != "none" && rest != "host") return invalid(text, "net takes none or host");
    return capability;
  }
  if (capability.domain != "fs") return invalid(text, "the domain must be fs, exec or net");
  const size_t end = rest.find(':');
  capability.action = rest.substr(0, end);
  if (std::find(kFileActions.begin(), kFileActions.end(), capability.action) ==
      kFileActions.end()) {
    return invalid(text, "fs takes read, write, create, modify or delete");
  }
  if (end == rest.npos) return capability;
  auto paths = GlobList::parse({std::string(rest.substr(end + 1))});
  if (!paths) return invalid(text, paths.error().message);
  capability.paths = std::move(*paths);
  return capability;
}

}  // namespace galley
