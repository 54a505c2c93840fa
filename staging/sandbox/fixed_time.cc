#include "staging/sandbox/fixed_time.h"

#include <sys/stat.h>

namespace galley {

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
  if (library.empty()) return all;
  all["LD_PRELOAD"] = library;
  all["FAKETIME"] = "1980-01-01 00:00:00";
  // Waiting programs must see that time passes, and make must see which file is newer.
  all["DONT_FAKE_MONOTONIC"] = all["FAKETIME_DONT_FAKE_MONOTONIC"] = "1";
  all["NO_FAKE_STAT"] = "1";
  all["FAKERANDOM_SEED"] = "0x0000000000000001";  // of getrandom
  return all;
}

std::vector<std::string> determinism_notes(const std::string& library) {
  const std::string clock =
      library.empty()
          ? "programs saw the real clock: libfaketime is not installed on this machine"
          : "programs saw a clock that stands still (" + library +
                "); those that are linked statically or ask the kernel themselves did not";
  return {clock, std::string("still random: ") + (library.empty() ? "getrandom, " : "") +
                     "process ids, addresses, the order of threads, times of files"};
}

}  // namespace galley
