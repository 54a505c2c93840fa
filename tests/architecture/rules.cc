#include "tests/architecture/rules.h"

#include <algorithm>
#include <array>
#include <functional>
#include <regex>
#include <set>
#include <sstream>
#include <utility>
#include <vector>

#include "tests/architecture/source_text.h"

namespace galley::architecture {
namespace {

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool ends_with(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

std::string at(std::string_view path, int line, const std::string& what) {
  return std::string(path) + ":" + std::to_string(line) + ": " + what;
}

/// Returns the rooms that `folder` may include: itself and all rooms below it.
std::set<std::string> reachable_from(const std::string& folder) {
  std::set<std::string> reached = {folder};
  std::function<void(const std::string&)> visit = [&](const std::string& name) {
    for (const Room& room : rooms()) {
      if (room.folder != name) continue;
      for (const std::string& below : room.depends) {
        if (reached.insert(below).second) visit(below);
      }
    }
  };
  visit(folder);
  return reached;
}

const std::vector<Door>& system_doors() {
  static const std::vector<Door> table = {
      {"emmintrin.h", {"staging/text/lines.cc"}},
      {"fcntl.h", {"staging/fs/", "staging/sandbox/"}},
      {"dirent.h", {"staging/fs/", "staging/sandbox/"}},
      // libgit2 opens the repository by itself; its paths have to be compared with the workspace's.
      {"filesystem", {"staging/fs/", "staging/git/git_repository.cc"}},
      {"fstream", {"staging/fs/"}},
      {"spawn.h", {"staging/sandbox/"}},
      {"sched.h", {"staging/sandbox/"}},
      {"sys/mount.h", {"staging/sandbox/"}},
      {"sys/prctl.h", {"staging/sandbox/"}},
      {"sys/personality.h", {"staging/sandbox/helper/"}},
      {"sys/stat.h", {"staging/fs/", "staging/sandbox/"}},
      {"sys/wait.h", {"staging/sandbox/"}},
      {"sys/syscall.h", {"staging/fs/", "staging/sandbox/"}},
      {"linux/", {"staging/fs/", "staging/sandbox/"}},
      {"net/", {"staging/sandbox/"}},
      {"arpa/inet.h", {"staging/fs/", "staging/sandbox/egress_proxy"}},
      {"netinet/", {"staging/fs/", "staging/sandbox/egress_proxy", "staging/sandbox/helper/"}},
      {"netdb.h", {"staging/sandbox/egress_proxy"}},
      {"sys/ptrace.h", {"staging/sandbox/"}},
      {"dlfcn.h", {"staging/git/", "base/ed25519_key"}},
  };
  return table;
}

/// Headers of the operating system that do no harm anywhere.
bool is_plain_system_header(std::string_view header) {
  static const std::set<std::string_view> table = {
      "unistd.h",      "signal.h",       "pthread.h",   "poll.h",          "errno.h",
      "sys/ioctl.h",   "sys/uio.h",      "sys/types.h", "sys/resource.h",  "sys/random.h",
      "sys/socket.h",  "sys/un.h",       "elf.h",       "sys/time.h",      "time.h",
      "fnmatch.h",     "limits.h",       "stdlib.h",    "string.h",        "sys/utsname.h",
      "sys/mman.h",    "sys/file.h",     "sys/xattr.h", "sys/vfs.h",       "sys/statvfs.h",
      "sys/eventfd.h", "sys/signalfd.h", "termios.h",   "pwd.h",           "grp.h",
      "syslog.h",      "locale.h",       "wchar.h",     "immintrin.h",     "emmintrin.h",
      "nmmintrin.h",   "cpuid.h",        "arm_acle.h",  "sys/sysmacros.h", "sys/statfs.h",
      "sys/auxv.h",    "stdio.h",        "endian.h",    "byteswap.h",      "malloc.h"};
  return table.count(header) != 0;
}

bool is_standard_header(std::string_view header) {
  return header.find('.') == std::string_view::npos && header.find('/') == std::string_view::npos;
}

const Door* door_of(std::string_view header) {
  for (const auto* doors : {&library_doors(), &system_doors()}) {
    for (const Door& door : *doors) {
      const std::string_view name = door.header;
      // A folder or a family of headers is named by its prefix, a single header by its whole name.
      const bool is_family = ends_with(name, "/") || name == "git2";
      if (is_family ? starts_with(header, name) : header == name) return &door;
    }
  }
  return nullptr;
}

bool is_inside_door(const Door& door, std::string_view path) {
  return std::any_of(door.places.begin(), door.places.end(),
                     [&](const char* place) { return starts_with(path, place); });
}

/// Headers of one room's own that show a third-party type.
bool may_show_foreign_types(std::string_view path) {
  static const std::set<std::string_view> table = {"staging/git/git_repository.h",
                                                   "staging/sandbox/helper/seccomp_filter.h"};
  // Messages of the Model Context Protocol are JSON.
  return table.count(path) != 0 || starts_with(path, "cli/") || starts_with(path, "server/") ||
         starts_with(path, "tools/mcp/");
}

bool may_touch_the_system(std::string_view path) {
  // The program for gRPC has a pipe, by which a signal ends its wait.
  return starts_with(path, "staging/fs/") || starts_with(path, "staging/sandbox/") ||
         path == "server/grpc/main.cc";
}

/// The word before `position`, with what joins it to the call: decides call or declaration.
bool is_call_of_system(const std::string& code, size_t position, bool is_ambiguous) {
  size_t i = position;
  const bool is_global = i >= 2 && code.compare(i - 2, 2, "::") == 0;
  if (is_global) {
    i -= 2;
    size_t before = i;
    while (before > 0 && (std::isalnum(static_cast<unsigned char>(code[before - 1])) != 0 ||
                          code[before - 1] == '_' || code[before - 1] == '>')) {
      --before;
    }
    const std::string_view owner = std::string_view(code).substr(before, i - before);
    return owner.empty() || owner == "std" || owner == "return";
  }
  if (is_ambiguous) return false;
  while (i > 0 && std::isspace(static_cast<unsigned char>(code[i - 1])) != 0) --i;
  if (i == 0) return true;
  const char previous = code[i - 1];
  if (previous == '.' || previous == '>' || previous == '*') return false;
  if (previous == '&') return i >= 2 && code[i - 2] == '&';
  if (std::isalnum(static_cast<unsigned char>(previous)) == 0 && previous != '_') return true;
  return i >= 6 && code.compare(i - 6, 6, "return") == 0;
}

Violations calls_matching(std::string_view path, const std::string& code, const std::regex& names,
                          bool is_ambiguous) {
  Violations found;
  for (auto it = std::sregex_iterator(code.begin(), code.end(), names);
       it != std::sregex_iterator(); ++it) {
    const auto position = static_cast<size_t>(it->position(0));
    if (!is_call_of_system(code, position, is_ambiguous)) continue;
    // The algorithm, not the function of <cstdio>.
    if ((*it)[1].str() == "remove" && code.compare(position - 5, 5, "std::") == 0) continue;
    const auto line = std::count(code.begin(), code.begin() + it->position(0), '\n') + 1;
    found.push_back(at(path, static_cast<int>(line),
                       "calls " + (*it)[1].str() + " outside staging/fs and staging/sandbox"));
  }
  return found;
}

}  // namespace

const std::vector<Door>& library_doors() {
  static const std::vector<Door> table = {
      {"dtl/", {"staging/text/"}},
      {"xxhash.h", {"staging/text/", "staging/placing/", "staging/printing/"}},
      {"zlib.h", {"staging/formats/", "staging/printing/"}},
      {"git2", {"staging/git/"}},
      {"valijson/", {"tools/schema"}},
      {"re2/",
       {"staging/text/", "staging/formats/", "staging/printing/", "tools/", "engine/validators/"}},
      {"toml++/", {"engine/policy/"}},
      {"yaml-cpp/", {"engine/validators/"}},
      {"pugixml.hpp", {"engine/validators/"}},
      {"sqlite3.h", {"engine/history/"}},
      {"openssl/", {"base/"}},
      {"CLI/", {"cli/"}},
      {"tl/expected.hpp", {"include/galley/error.h"}},
      {"fmt/", {"staging/", "engine/", "cli/"}},
      {"nlohmann/", {"tools/", "engine/", "testing/", "server/", "cli/"}},
      {"grpcpp/", {"server/grpc/"}},
      {"grpc/", {"server/grpc/"}},
      {"nats/", {"server/nats/"}},
      {"tree_sitter/", {"staging/sandbox/syntax/grammars/"}},
  };
  return table;
}

const std::vector<Room>& rooms() {
  static const std::vector<Room> table = {
      {"base", {}},
      {"staging/fs", {"base"}},
      {"staging/text", {"base"}},
      {"staging/formats", {"base", "staging/text"}},
      {"staging/placing", {"base", "staging/text", "staging/formats"}},
      {"staging/printing", {"base", "staging/text"}},
      {"staging/overlay",
       {"base", "staging/fs", "staging/text", "staging/formats", "staging/placing",
        "staging/printing"}},
      {"staging/sandbox/helper", {}},
      {"staging/sandbox/syntax", {}},
      {"staging/sandbox/syntax/grammars", {"staging/sandbox/syntax"}},
      {"staging/sandbox",
       {"base", "staging/fs", "staging/overlay", "staging/sandbox/helper",
        "staging/sandbox/syntax"}},
      {"staging/sandbox/terminal", {"base", "staging/sandbox", "staging/sandbox/helper"}},
      {"staging/git", {"base", "staging/fs", "staging/sandbox"}},
      {"tools",
       {"base", "staging/fs", "staging/text", "staging/formats", "staging/placing",
        "staging/printing", "staging/overlay", "staging/sandbox"}},
      {"tools/mcp", {"base", "staging/overlay", "staging/sandbox", "tools"}},
      {"engine/policy",
       {"base", "staging/fs", "staging/text", "staging/placing", "staging/overlay",
        "staging/sandbox"}},
      {"engine/validators",
       {"base", "staging/fs", "staging/text", "staging/placing", "staging/overlay",
        "staging/sandbox", "engine/policy"}},
      {"engine/commit",
       {"base", "staging/fs", "staging/git", "staging/text", "staging/overlay", "engine/policy"}},
      {"engine/history",
       {"base", "staging/fs", "staging/text", "staging/printing", "staging/overlay",
        "engine/policy", "engine/commit"}},
      {"engine/audit",
       {"base", "staging/fs", "staging/overlay", "tools", "engine/commit", "engine/history"}},
      {"engine/calls",
       {"base", "staging/fs", "staging/git", "staging/overlay", "staging/sandbox", "tools",
        "engine/policy", "engine/audit"}},
      {"engine/agent_tools",
       {"base", "staging/fs", "staging/git", "staging/overlay", "staging/sandbox", "tools",
        "engine/commit", "engine/history", "engine/audit"}},
      {"engine/stages",
       {"base", "staging/fs", "staging/overlay", "staging/sandbox", "engine/commit"}},
      {"engine/review",
       {"base", "staging/text", "staging/printing", "staging/overlay", "engine/policy"}},
      {"engine/pipeline",
       {"base", "staging/fs", "staging/formats", "staging/git", "staging/overlay",
        "staging/sandbox", "tools", "tools/mcp", "engine/policy", "engine/validators",
        "engine/commit", "engine/history", "engine/audit", "engine/calls", "engine/agent_tools",
        "engine/stages"}},
      {"testing",
       {"base", "staging/fs", "staging/text", "tools", "engine/calls", "engine/pipeline"}},
      {"engine/check",
       {"base", "staging/fs", "staging/formats", "staging/git", "staging/overlay",
        "staging/sandbox", "tools", "engine/policy", "engine/validators", "engine/commit",
        "engine/audit", "engine/calls", "engine/pipeline"}},
      {"engine/git_hooks",
       {"base", "staging/fs", "staging/git", "staging/overlay", "staging/sandbox", "engine/policy",
        "engine/commit", "engine/history", "engine/audit", "engine/stages", "engine/pipeline"}},
      {"server/http", {"base"}},
      {"server/mcp", {"base", "staging/fs", "tools", "tools/mcp", "server/http"}},
      {"server/session",
       {"base", "tools", "engine/commit", "engine/calls", "engine/stages", "engine/pipeline",
        "server/mcp"}},
      {"server/acp", {"base", "tools", "tools/mcp"}},
      {"server/agents", {"base", "tools", "engine/policy"}},
      {"server/telemetry", {"base", "staging/fs", "tools", "engine/policy", "server/http"}},
      {"server/grpc",
       {"base", "staging/fs", "tools", "engine/policy", "engine/pipeline", "server/session",
        "server/telemetry"}},
      {"cli",
       {"base",
        "staging/fs",
        "staging/formats",
        "staging/printing",
        "staging/overlay",
        "staging/sandbox",
        "staging/sandbox/terminal",
        "tools",
        "tools/mcp",
        "engine/policy",
        "engine/validators",
        "engine/commit",
        "engine/history",
        "engine/audit",
        "engine/calls",
        "engine/stages",
        "engine/review",
        "engine/pipeline",
        "engine/check",
        "engine/git_hooks",
        "server/acp",
        "server/http",
        "server/mcp",
        "server/session",
        "server/agents"}},
      {"server/nats",
       {"base", "staging/fs", "staging/git", "tools", "engine/policy", "engine/commit",
        "engine/audit", "engine/calls", "engine/stages", "engine/pipeline", "server/session",
        "server/telemetry"}},
  };
  return table;
}

std::vector<Room> rooms_in_cmake(std::string_view cmake_lists) {
  static const std::regex call(R"((?:^|\n)galley_room\(([^)]*)\))");
  static const std::regex word(R"([^\s]+)");
  const std::string text(cmake_lists);
  std::vector<Room> found;
  for (auto it = std::sregex_iterator(text.begin(), text.end(), call); it != std::sregex_iterator();
       ++it) {
    const std::string arguments = (*it)[1].str();
    Room room;
    bool in_depends = false;
    for (auto w = std::sregex_iterator(arguments.begin(), arguments.end(), word);
         w != std::sregex_iterator(); ++w) {
      const std::string token = w->str();
      if (room.folder.empty()) {
        room.folder = token;
      } else if (token == "DEPENDS" || token == "LINK") {
        in_depends = token == "DEPENDS";
      } else if (in_depends) {
        room.depends.push_back(token);
      }
    }
    found.push_back(room);
  }
  return found;
}

const std::map<std::string, std::string>& installed_headers() {
  static const std::map<std::string, std::string> table = {
      {"galley/error.h", "base"},
      {"galley/path.h", "base"},
      {"galley/edit.h", "staging/formats"},
      {"galley/proposal.h", "staging/overlay"},
      {"galley/tool.h", "tools"},
      {"galley/define_tool.h", "tools"},
      {"galley/config.h", "engine/policy"},
      {"galley/verdict.h", "engine/policy"},
      {"galley/outcome.h", "engine/commit"},
      {"galley/history.h", "engine/history"},
      {"galley/call_queue.h", "engine/pipeline"},
      {"galley/transaction.h", "engine/pipeline"},
      {"galley/workspace.h", "engine/pipeline"},
      {"galley/galley.h", "engine/pipeline"},
      {"galley/testing/assertion.h", "testing"},
      {"galley/testing/fake_clock.h", "testing"},
      {"galley/testing/mock_tool.h", "testing"},
      {"galley/testing/temporary_workspace.h", "testing"},
      {"galley/testing/testing.h", "testing"},
      {"galley/testing/tool_tester.h", "testing"},
  };
  return table;
}

std::string room_of(std::string_view path) {
  constexpr std::string_view kInstalled = "include/";
  const auto installed = installed_headers().find(
      std::string(starts_with(path, kInstalled) ? path.substr(kInstalled.size()) : path));
  if (installed != installed_headers().end()) return installed->second;
  std::string best;
  for (const Room& room : rooms()) {
    if (starts_with(path, room.folder + "/") && room.folder.size() > best.size()) {
      best = room.folder;
    }
  }
  return best;
}

Violations upward_arrows(std::string_view path, std::string_view source) {
  Violations found;
  const std::string room = room_of(path);
  const std::set<std::string> allowed = reachable_from(room);
  for (const Include& include : includes_of(source)) {
    if (include.is_angled && !starts_with(include.header, "galley/")) continue;
    // protoc writes these in the build.
    if (room == "server/grpc" && ends_with(include.header, ".pb.h")) continue;
    const std::string target = room_of(include.header);
    if (target.empty()) {
      found.push_back(
          at(path, include.line, "includes " + include.header + ", which is no room's"));
    } else if (allowed.count(target) == 0) {
      found.push_back(at(path, include.line, room + " may not see " + include.header));
    }
  }
  return found;
}

Violations wrong_doors(std::string_view path, std::string_view source) {
  Violations found;
  for (const Include& include : includes_of(source)) {
    if (!include.is_angled || starts_with(include.header, "galley/")) continue;
    const Door* door = door_of(include.header);
    if (door == nullptr) {
      if (is_standard_header(include.header) || is_plain_system_header(include.header)) continue;
      found.push_back(at(path, include.line, "<" + include.header + "> has no door"));
      continue;
    }
    const bool is_inside = is_inside_door(*door, path);
    if (!is_inside) {
      found.push_back(at(path, include.line, "<" + include.header + "> outside its door"));
    }
  }
  return found;
}

Violations foreign_types_in_header(std::string_view path, std::string_view source) {
  Violations found;
  if (!ends_with(path, ".h")) return found;
  const bool is_installed = starts_with(path, "include/");
  for (const Include& include : includes_of(source)) {
    const bool is_ours = starts_with(include.header, "galley/");
    if (is_installed && !include.is_angled) {
      found.push_back(at(path, include.line, "is installed without " + include.header));
    }
    if (!include.is_angled || is_ours || is_standard_header(include.header)) continue;
    const bool is_expected = include.header == "tl/expected.hpp" && is_installed;
    const bool may_show =
        !is_installed && (include.header == "nlohmann/json_fwd.hpp" ||
                          is_plain_system_header(include.header) || may_show_foreign_types(path));
    if (is_expected || may_show) continue;
    found.push_back(at(path, include.line, "header shows <" + include.header + ">"));
  }
  return found;
}

Violations raw_system_calls(std::string_view path, std::string_view source) {
  // Words that are also our own method names count only when written ::name or std::name.
  static const std::regex ambiguous(
      R"(\b(open|rename|remove|link|symlink|mkdir|truncate|read|write|close|stat|clone|fork|system|creat|chmod|chown|sync|flock)\s*\()");
  static const std::regex certain(
      R"(\b(openat2?|renameat2?|unlink|unlinkat|mkdirat|rmdir|linkat|symlinkat|fchmod|fchmodat|fchown|lchown|fchownat|ftruncate|fallocate|pwritev?|writev|fsync|fdatasync|syncfs|fopen|freopen|fdopen|mkstemp|mkdtemp|mknod|opendir|execve|execvp|execvpe|execv|execl|execlp|execle|fexecve|vfork|clone3|posix_spawnp?|popen|waitpid|waitid|unshare|setns|pivot_root|syscall|mount|umount2)\s*\()");
  static const std::regex names(R"(std::(filesystem|fstream|ifstream|ofstream)\b)");
  Violations found;
  if (may_touch_the_system(path)) return found;
  const std::string code = without_comments_and_literals(source);
  for (const auto& part :
       {calls_matching(path, code, ambiguous, true), calls_matching(path, code, certain, false)}) {
    found.insert(found.end(), part.begin(), part.end());
  }
  for (auto it = std::sregex_iterator(code.begin(), code.end(), names);
       it != std::sregex_iterator(); ++it) {
    const std::string name = (*it)[1].str();
    if (is_inside_door(*door_of(name == "filesystem" ? name : "fstream"), path)) continue;
    const auto line = std::count(code.begin(), code.begin() + it->position(0), '\n') + 1;
    found.push_back(at(path, static_cast<int>(line), "uses std::" + name));
  }
  return found;
}

Violations output_of_the_library(std::string_view path, std::string_view source) {
  Violations found;
  static const std::set<std::string_view> programs = {"base/result.cc", "server/grpc/main.cc",
                                                      "server/nats/main.cc"};
  if (starts_with(path, "cli/") || programs.count(path) != 0) return found;
  const std::string code = without_comments_and_literals(source);
  for (const std::string_view name : {"std::cout", "std::cerr", "std::clog", "printf(", "fprintf(",
                                      "vfprintf(", "puts(", "perror(", "syslog("}) {
    for (size_t i = code.find(name); i != code.npos; i = code.find(name, i + 1)) {
      const char before = i == 0 ? ' ' : code[i - 1];
      if (std::isalnum(static_cast<unsigned char>(before)) != 0 || before == '_') continue;
      const auto line = std::count(code.begin(), code.begin() + static_cast<int64_t>(i), '\n') + 1;
      found.push_back(at(path, static_cast<int>(line), "writes to a standard stream"));
    }
  }
  return found;
}

Violations too_long(std::string_view path, std::string_view source) {
  Violations found;
  if (const int lines = line_count(source); lines > kMaxFileLines) {
    found.push_back(at(path, lines, "file of " + std::to_string(lines) + " lines"));
  }
  for (const FunctionExtent& function : functions_of(source)) {
    const int lines = function.last_line - function.first_line + 1;
    if (lines > kMaxFunctionLines) {
      found.push_back(at(path, function.first_line,
                         "function of " + std::to_string(lines) +
                             " lines: " + function.head.substr(0, function.head.find('\n'))));
    }
  }
  return found;
}

Violations bad_manners(std::string_view path, std::string_view source, bool has_own_header) {
  Violations found;
  if (ends_with(path, ".h") && source.find("#pragma once\n") == std::string_view::npos) {
    found.push_back(at(path, 1, "header without #pragma once"));
  }
  if (has_own_header) {
    const std::string own = std::string(path.substr(0, path.size() - 3)) + ".h";
    const std::string installed = "galley" + own.substr(own.rfind('/'));
    const auto includes = includes_of(source);
    if (includes.empty() ||
        (includes.front().header != own && includes.front().header != installed)) {
      found.push_back(at(path, 1, "does not include " + own + " first"));
    }
  }
  static const std::regex vague(
      R"(\b(?:class|struct)\s+(\w*(?:Manager|Helper|Util|Utils|Impl))\b)");
  const std::string code = without_comments_and_literals(source);
  for (auto it = std::sregex_iterator(code.begin(), code.end(), vague);
       it != std::sregex_iterator(); ++it) {
    const auto line = std::count(code.begin(), code.begin() + it->position(0), '\n') + 1;
    found.push_back(at(path, static_cast<int>(line), "says nothing: " + (*it)[1].str()));
  }
  return found;
}

Violations inner_types(std::string_view path, std::string_view source,
                       const std::set<std::string>& installed) {
  static const std::regex declaration(R"(^(?:class|struct|enum class) (\w+)(?: : \w+)?;$)");
  std::set<std::string> declared;
  std::vector<std::pair<size_t, std::string>> seen;
  bool is_ours = false;
  size_t number = 0;
  std::istringstream lines{std::string(source)};
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::smatch match;
    if (std::regex_match(line, match, declaration)) {
      if (!installed.contains(match[1])) declared.insert(match[1]);
      continue;
    }
    const bool begins =
        line.find("or Galley's own rooms") != std::string::npos || line.ends_with("private:");
    is_ours = begins || (is_ours && line != "};");
    const std::string code = without_comments_and_literals(line);
    if (!is_ours && code.find("friend ") == std::string::npos) seen.emplace_back(number, code);
  }
  Violations found;
  for (const std::string& name : declared) {
    const std::regex word("\\b" + name + "\\b");
    for (const auto& [at, code] : seen) {
      if (!std::regex_search(code, word)) continue;
      found.push_back(std::string(path) + ":" + std::to_string(at) + ": " + name +
                      " is not installed");
    }
  }
  return found;
}

}  // namespace galley::architecture
