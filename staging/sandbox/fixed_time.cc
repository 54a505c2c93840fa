#include "staging/sandbox/fixed_time.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/printable.h"

namespace galley {
namespace {

constexpr size_t kElfHeadBytes = 8192;  // linkers put the program headers right behind the header

/// Whether a file is an ELF program (elf(5)) that starts without this machine's dynamic loader.
bool is_without_loader(const std::string& program) {
  struct stat found {};
  if (stat(program.c_str(), &found) != 0 || !S_ISREG(found.st_mode)) return false;
  std::string head(kElfHeadBytes, '\0');
  const int file = ::open(program.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  const ssize_t got = file < 0 ? 0 : ::read(file, head.data(), head.size());
  if (file >= 0) ::close(file);
  head.resize(got < 0 ? 0 : static_cast<size_t>(got));
  if (!head.starts_with(ELFMAG)) return false;
  if (head.size() < sizeof(Elf64_Ehdr)) return false;  // the kernel does not start it
  if (head[EI_CLASS] != ELFCLASS64) return true;       // it has another loader
  Elf64_Ehdr header{};
  std::memcpy(&header, head.data(), sizeof header);
  Elf64_Phdr segment{};
  uint64_t at = header.e_phoff;
  for (int i = 0; i < header.e_phnum; ++i, at += sizeof segment) {
    if (at > head.size() - sizeof segment) return false;  // unknown
    std::memcpy(&segment, head.data() + at, sizeof segment);
    if (segment.p_type == PT_INTERP) return false;
  }
  return true;
}

}  // namespace

Result<void> check_fixed_clock(const std::string& library, const std::string& program) {
  constexpr const char* kReason = "sandbox.no_fixed_clock";
  if (library.empty()) {
    return fail(ErrorKind::kRefused, kReason,
                "a deterministic command needs libfaketime, without which it sees the real clock: "
                "install the package libfaketime");
  }
  if (!is_without_loader(program)) return {};
  return fail(ErrorKind::kRefused, kReason,
              "'" + printable_line(program) +
                  "' is linked statically, so it would see the real clock and real random bytes: "
                  "it cannot run as a deterministic command");
}

std::vector<std::string> fixed_time_places() {
  return {"/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
          "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
          "/usr/lib64/faketime/libfaketimeMT.so.1", "/usr/lib/faketime/libfaketimeMT.so.1"};
}

std::string fixed_time_library(const std::vector<std::string>& places) {
  for (const std::string& place : places) {
    struct stat found {};
    if (stat(place.c_str(), &found) == 0 && S_ISREG(found.st_mode)) return place;
  }
  return {};
}

std::map<std::string, std::string> deterministic_environment(const std::string& library) {
  std::map<std::string, std::string> all = {
      {"SOURCE_DATE_EPOCH", "315532800"},  // 1980-01-01, the first date zip can hold
      {"TZ", "UTC"},
      {"LC_ALL", "C.UTF-8"},
      {"LANG", "C.UTF-8"},
      {"PYTHONHASHSEED", "0"},
  };
  all["LD_PRELOAD"] = library;
  all["FAKETIME"] = "1980-01-01 00:00:00";
  // Waiting programs must see that time passes, and make must see which file is newer.
  all["DONT_FAKE_MONOTONIC"] = all["FAKETIME_DONT_FAKE_MONOTONIC"] = "1";
  all["NO_FAKE_STAT"] = "1";
  // Of getrandom. The generator gives only zeros for a small seed.
  all["FAKERANDOM_SEED"] = "0x9e3779b97f4a7c15";
  return all;
}

std::vector<std::string> determinism_notes(const std::string& library) {
  return {"programs saw a clock that stands still (" + library +
              "); those that are linked statically or ask the kernel themselves did not",
          "still random: process ids, the order of threads, times of files, uptime, and "
          "OpenSSL, which reads the processor's counter"};
}

}  // namespace galley
