#include "staging/sandbox/helper/programs.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <string_view>
#include <vector>

#include "staging/sandbox/helper/descriptors.h"

namespace galley {
namespace {

constexpr size_t kHeadBytes = 4096;
constexpr int kMaxInterpreters = 5;  // the kernel's own limit (fs/exec.c)
constexpr int kMaxSegments = 64;

std::string_view take_word(std::string_view& line) {
  constexpr const char* kBlank = " \t";
  line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
  const std::string_view word = line.substr(0, std::min(line.find_first_of(kBlank), line.size()));
  line.remove_prefix(word.size());
  return word;
}

std::string find_on_path(const SandboxRequest& request, std::string_view name) {
  constexpr std::string_view kPath = "PATH=";
  for (const std::string& variable : request.environment) {
    if (!variable.starts_with(kPath)) continue;
    std::string_view path = std::string_view(variable).substr(kPath.size());
    while (!path.empty()) {
      const size_t end = std::min(path.find(':'), path.size());
      const std::string file = std::string(path.substr(0, end)) + "/" + std::string(name);
      if (access(file.c_str(), X_OK) == 0) return file;
      path.remove_prefix(std::min(end + 1, path.size()));
    }
  }
  return {};
}

/// `#!/usr/bin/env -S python3 -u`: the interpreter, and the program that env would start.
std::vector<std::string> of_first_line(const SandboxRequest& request, std::string_view line) {
  std::vector<std::string> found;
  const std::string_view interpreter = take_word(line);
  if (!interpreter.starts_with('/')) return found;
  found.emplace_back(interpreter);
  if (!interpreter.ends_with("/env")) return found;
  std::string_view word = take_word(line);
  while (word.starts_with('-') || word.find('=') != word.npos) word = take_word(line);
  const std::string program = word.empty() ? std::string() : find_on_path(request, word);
  if (!program.empty()) found.push_back(program);
  return found;
}

/// The PT_INTERP segment (elf(5)), for the class of this program, which is the kernel's.
std::string loader_of(int file, std::string_view head) {
  Elf64_Ehdr header{};
  if (head.size() < sizeof header) return {};
  std::memcpy(&header, head.data(), sizeof header);
  const int count = std::min<int>(header.e_phnum, kMaxSegments);
  for (int i = 0; i < count; ++i) {
    Elf64_Phdr segment{};
    const auto at = static_cast<off_t>(header.e_phoff + static_cast<uint64_t>(i) * sizeof segment);
    if (pread(file, &segment, sizeof segment, at) != static_cast<ssize_t>(sizeof segment)) break;
    if (segment.p_type != PT_INTERP) continue;
    std::array<char, PATH_MAX> name{};
    const size_t size = std::min<size_t>(segment.p_filesz, name.size() - 1);
    if (pread(file, name.data(), size, static_cast<off_t>(segment.p_offset)) <= 0) break;
    return name.data();
  }
  return {};
}

std::vector<std::string> needs_of(const SandboxRequest& request, const std::string& path) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::array<char, kHeadBytes> bytes{};
  const ssize_t got = file.is_open() ? read(file.get(), bytes.data(), bytes.size()) : 0;
  if (got <= 0) return {};
  const std::string_view head(bytes.data(), static_cast<size_t>(got));
  if (head.starts_with("#!")) return of_first_line(request, head.substr(2, head.find('\n') - 2));
  if (!head.starts_with(ELFMAG) || head.size() < EI_NIDENT || head[EI_CLASS] != ELFCLASS64) {
    return {};
  }
  const std::string loader = loader_of(file.get(), head);
  return loader.empty() ? std::vector<std::string>() : std::vector<std::string>{loader};
}

}  // namespace

std::set<std::string> executable_files(const SandboxRequest& request) {
  std::set<std::string> all(request.programs.begin(), request.programs.end());
  all.insert(request.program);
  std::vector<std::string> fresh(all.begin(), all.end());
  for (int depth = 0; depth < kMaxInterpreters && !fresh.empty(); ++depth) {
    std::vector<std::string> needed;
    for (const std::string& path : fresh) {
      if (path.ends_with('/')) continue;
      for (std::string& need : needs_of(request, path)) {
        if (all.insert(need).second) needed.push_back(std::move(need));
      }
    }
    fresh = std::move(needed);
  }
  return all;
}

}  // namespace galley
