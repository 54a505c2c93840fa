#include "engine/policy/capability.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "base/glob.h"

namespace galley {
namespace {

constexpr size_t kMaxCapabilityBytes = 1024;

tl::unexpected<Error> invalid(std::string_view text, std::string_view why) {
  return fail(ErrorKind::kInvalid, "capability.invalid",
              fmt::format("capability `{}`: {}; for example `fs:read`, `fs:write:src/**`, "
                          "`exec:git`, `net:none` or `custom:deploy`",
                          text.substr(0, kMaxCapabilityBytes), why));
}

constexpr std::array<std::string_view, 5> kFileActions = {"read", "write", "create", "modify",
                                                          "delete"};

constexpr std::string_view kFiles = "fs";
constexpr std::string_view kPrograms = "exec";
constexpr std::string_view kNetwork = "net";

bool is_closed_domain(std::string_view domain) {
  return domain == kFiles || domain == kPrograms || domain == kNetwork;
}

/// Letters, digits, `_`, `-`, `.` and the two wildcards: characters that read the same everywhere.
bool is_open_word(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == '*' || c == '?';
  });
}

/// `domain:action:pattern`; the last two may be missing.
struct Parts {
  std::string_view domain;
  std::string_view action;
  std::string_view pattern;
  bool has_action = false;
  bool has_pattern = false;

  explicit Parts(std::string_view text) {
    const size_t colon = text.find(':');
    domain = text.substr(0, colon);
    has_action = colon != text.npos;
    if (!has_action) return;
    action = text.substr(colon + 1);
    if (domain == kPrograms) return;  // a program may have a colon in its name
    const size_t end = action.find(':');
    has_pattern = end != action.npos;
    if (!has_pattern) return;
    pattern = action.substr(end + 1);
    action = action.substr(0, end);
  }
};

/// Whether a file capability of `action` covers at least a part of the need.
bool speaks_of(std::string_view action, std::string_view needed) {
  const bool is_part_of_write = action == "create" || action == "modify" || action == "delete";
  return action == needed || (needed == "write" && is_part_of_write) ||
         (action == "write" && needed != "read");
}

/// Compares a program by its name. A path must be given as it is written: `./git` of the tree is
/// not the `git` of the system.
bool names_program(const Capability& capability, std::string_view program) {
  if (capability.action == "*" || capability.action == program) return true;
  const auto name = RelPath::parse(program);
  return name && program.find('/') == program.npos && capability.paths.selects(*name);
}

Result<Capability> parse_open(Capability capability, const Parts& parts) {
  if (!is_open_word(parts.domain)) {
    return invalid(capability.text, "a domain has letters, digits, `_`, `-` and `.`");
  }
  std::string action(parts.action);
  std::replace(action.begin(), action.end(), '/', '.');
  if (!is_open_word(action)) {
    return invalid(capability.text,
                   "an action has letters, digits, `_`, `-`, `.`, `/`, `*` and `?`");
  }
  if (parts.has_pattern && parts.pattern.empty()) {
    return invalid(capability.text, "it ends in a colon");
  }
  capability.action = parts.action;
  capability.pattern = parts.pattern;
  return capability;
}

}  // namespace

Result<Capability> Capability::parse(std::string_view text) {
  Capability capability;
  capability.text = text;
  if (text.size() > kMaxCapabilityBytes) return invalid(text, "it is too long");
  std::string_view rest = text;
  if (rest.starts_with('!')) {
    capability.is_denial = true;
    rest.remove_prefix(1);
  }
  const Parts parts(rest);
  if (!parts.has_action) return invalid(text, "it has no action");
  capability.domain = parts.domain;
  capability.action = parts.action;
  if (capability.domain == kPrograms) {
    if (capability.action.empty()) return invalid(text, "it names no program");
    // `./gradlew` is in the workspace itself. A glob with a `/` in front is one of a path.
    const bool is_in_root = capability.action.starts_with("./");
    auto program = GlobList::parse({capability.action.substr(is_in_root ? 1 : 0)});
    if (!program) return invalid(text, program.error().message);
    capability.paths = std::move(*program);
    return capability;
  }
  if (capability.domain == kNetwork) {
    const bool is_known = parts.action == "none" || parts.action == "host";
    if (!is_known || parts.has_pattern) {
      return invalid(text, "net takes none or host: single hosts cannot be enforced");
    }
    // `net:none` means the same as `!net:host`.
    capability.is_denial ^= parts.action == "none";
    capability.action = "host";
    return capability;
  }
  if (capability.domain != kFiles) return parse_open(std::move(capability), parts);
  if (std::find(kFileActions.begin(), kFileActions.end(), capability.action) ==
      kFileActions.end()) {
    return invalid(text, "fs takes read, write, create, modify or delete");
  }
  if (!parts.has_pattern) return capability;
  auto paths = GlobList::parse({std::string(parts.pattern)});
  if (!paths) return invalid(text, paths.error().message);
  capability.paths = std::move(*paths);
  return capability;
}

bool Capability::is_open() const { return !is_closed_domain(domain); }

bool is_open_need(std::string_view needed) { return !is_closed_domain(Parts(needed).domain); }

bool Capability::concerns(std::string_view needed) const {
  const Parts parts(needed);
  if (is_open() || !is_closed_domain(parts.domain)) return covers(needed);
  if (domain != parts.domain) return false;
  if (!parts.has_action) return true;
  if (domain == kFiles) return speaks_of(action, parts.action);
  return domain == kPrograms ? names_program(*this, parts.action) : action == parts.action;
}

bool Capability::covers(std::string_view needed) const {
  const Parts parts(needed);
  if (is_closed_domain(parts.domain)) {
    if (domain != parts.domain || !concerns(needed)) return false;
    if (domain == kFiles) {
      const bool is_whole = action == parts.action || action == "write";
      return is_whole && paths.is_empty();
    }
    return parts.has_action || action == "*" || domain == kNetwork;
  }
  if (is_closed_domain(domain) || !name_matches(domain, parts.domain)) return false;
  // A need that omits a part needs all of it: only `*` matches the text `*`.
  if (!name_matches(action, parts.has_action ? parts.action : "*")) return false;
  return pattern.empty() || name_matches(pattern, parts.has_pattern ? parts.pattern : "*");
}

namespace {

/// Returns a pattern that matches this path alone.
std::string literal_pattern(std::string_view path) {
  std::string out;
  for (const char byte : path) {
    const bool is_special = std::string_view("*?[\\").find(byte) != std::string_view::npos;
    if (is_special || (out.empty() && (byte == '#' || byte == '!'))) out += '\\';
    out += byte;
  }
  if (out.ends_with(' ')) out.insert(out.size() - 1, 1, '\\');
  return out;
}

/// Whether a capability decides about a need that a tool declares.
bool is_for(const Capability& one, std::string_view needed) {
  // Most capabilities are of another domain. Only patterns of open domains match several domains.
  const std::string_view domain = Parts(needed).domain;
  if (domain != one.domain && is_closed_domain(domain)) return false;
  return one.is_denial ? one.covers(needed) : one.concerns(needed);
}

bool is_for_file(const Capability& one, std::string_view action, const RelPath& path,
                 bool is_directory = false) {
  return one.domain == kFiles && speaks_of(one.action, action) &&
         (one.paths.is_empty() || one.paths.selects(path, is_directory));
}

}  // namespace

Need Need::of(std::string_view text) {
  return {std::string(text),
          [needed = std::string(text)](const Capability& one) { return is_for(one, needed); }};
}

Need Need::file(std::string_view action, const RelPath& path, bool is_directory) {
  const std::string verb = action == "read" ? "fs:read" : "fs:write";
  return {verb + ":" + literal_pattern(path.str()),
          [needed = std::string(action), path, is_directory](const Capability& one) {
            return is_for_file(one, needed, path, is_directory);
          }};
}

Need Need::program(const CalledProgram& program) {
  const auto from_root = [](std::string_view path) {
    while (path.starts_with('/')) path.remove_prefix(1);
    return std::string(path);
  };
  const std::string_view path = program.path;
  const std::string_view below = program.in_workspace;
  const std::string_view missing = program.is_found_by_name ? path.substr(path.rfind('/') + 1)
                                   : below.empty()          ? path
                                                            : below;
  const bool is_in_root = missing == below && below.find('/') == below.npos;
  return {fmt::format("exec:{}{}", is_in_root ? "./" : "", literal_pattern(missing)),
          [called = from_root(path), real = from_root(program.real),
           below = std::string(program.in_workspace),
           is_found_by_name = program.is_found_by_name](const Capability& one) {
            if (one.domain != kPrograms) return false;
            const Glob& glob = one.paths.globs().front();
            const bool is_path = one.action.find('/') != one.action.npos;
            const bool is_any = one.action.find_first_not_of('*') == one.action.npos;
            if (!is_path && !is_any && !is_found_by_name && !one.is_denial) return false;
            const bool is_below = is_path && !one.action.starts_with('/');
            if (is_below && !below.empty() && glob.matches(below, false)) return true;
            // `bin/*` gives the programs of the workspace and not those of the host's /bin.
            const bool is_of_tree = is_below && !one.action.starts_with("**/") && !one.is_denial;
            return !is_of_tree && (glob.matches(called, false) || glob.matches(real, false));
          }};
}

Need Need::network() {
  return {"net:host", [](const Capability& one) { return one.domain == kNetwork; }};
}

Result<Capabilities> parse_capabilities(const std::vector<std::string>& texts) {
  Capabilities capabilities;
  for (const std::string& text : texts) {
    GALLEY_ASSIGN(Capability capability, Capability::parse(text));
    capabilities.push_back(std::move(capability));
  }
  return capabilities;
}

const Capability* deciding_capability(const Capabilities& capabilities, const Need& need) {
  const auto last =
      std::find_if(capabilities.rbegin(), capabilities.rend(),
                   [&need](const Capability& one) { return need.is_matched_by(one); });
  return last == capabilities.rend() ? nullptr : &*last;
}

namespace {

template <class IsFor>
bool last_gives(const Capabilities& capabilities, const IsFor& is_for_need) {
  const auto last = std::find_if(capabilities.rbegin(), capabilities.rend(), is_for_need);
  return last != capabilities.rend() && !last->is_denial;
}

}  // namespace

bool gives(const Capabilities& capabilities, const Need& need) {
  const Capability* last = deciding_capability(capabilities, need);
  return last != nullptr && !last->is_denial;
}

bool gives(const Capabilities& capabilities, std::string_view needed) {
  return last_gives(capabilities, [&](const Capability& one) { return is_for(one, needed); });
}

bool gives_file(const Capabilities& capabilities, std::string_view action, const RelPath& path) {
  return last_gives(capabilities,
                    [&](const Capability& one) { return is_for_file(one, action, path); });
}

}  // namespace galley
