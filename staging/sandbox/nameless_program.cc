#include "staging/sandbox/nameless_program.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>

#include "base/text.h"
#include "staging/sandbox/embedded_programs.h"
#include "staging/sandbox/helper/descriptors.h"

namespace galley {
namespace {

constexpr std::string_view kDescriptors = "/proc/self/fd/";
constexpr unsigned kMfdExec = 0x10;  // MFD_EXEC of Linux 6.3, which Debian 12's headers lack

/// Opens the same file for reading only, because a file that is open for writing cannot be executed
/// (ETXTBSY). The descriptor has a high number (duplicate_high()). Returns nothing if the file
/// still cannot be executed.
std::optional<Fd> for_reading(const Fd& written) {
  const std::string path = path_of_descriptor(written.get());
  const Fd low(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!low.is_open() || access(path.c_str(), X_OK) != 0) return {};
  Fd fd = duplicate_high(low.get());
  return fd.is_open() ? std::optional(std::move(fd)) : std::nullopt;
}

std::optional<Fd> in_memory(std::string_view bytes) {
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  Fd fd(memfd_create("galley", kFlags | kMfdExec));
  if (!fd.is_open() && errno == EINVAL) fd = Fd(memfd_create("galley", kFlags));
  if (!fd.is_open() || !write_all(fd.get(), bytes)) return {};
  constexpr int kSeals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
  if (fcntl(fd.get(), F_ADD_SEALS, kSeals) != 0) return {};
  return for_reading(fd);
}

std::optional<Fd> in_directory(const std::string& directory, std::string_view bytes) {
  std::string name = directory + "/galley-XXXXXX";
  Fd fd(mkostemp(name.data(), O_CLOEXEC));
  if (!fd.is_open()) return {};
  if (unlink(name.c_str()) != 0 || !write_all(fd.get(), bytes)) return {};
  if (fchmod(fd.get(), S_IRUSR | S_IXUSR) != 0) return {};
  return for_reading(fd);
}

/// The embedded programs as executable files; each is made once.
class UnpackedPrograms {
 public:
  static UnpackedPrograms& instance() {
    static UnpackedPrograms programs;
    return programs;
  }
  Result<std::string> path_of(const EmbeddedProgram& program) {
    const std::lock_guard lock(mutex_);
    auto found = made_.find(program.name);
    if (found == made_.end()) {
      GALLEY_ASSIGN(Fd fd, make_nameless_program(program.bytes, usual_program_places()));
      found = made_.emplace(program.name, std::move(fd)).first;
    }
    return path_of_descriptor(found->second.get());
  }

 private:
  std::mutex mutex_;
  std::map<std::string_view, Fd> made_;
};

}  // namespace

ProgramPlaces usual_program_places() {
  ProgramPlaces places;
  for (const char* name : {"XDG_RUNTIME_DIR", "TMPDIR"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value == '/') places.directories.emplace_back(value);
  }
  places.directories.emplace_back("/tmp");
  places.directories.emplace_back("/var/tmp");
  return places;
}

Result<Fd> make_nameless_program(std::string_view bytes, const ProgramPlaces& places) {
  if (places.memory) {
    if (auto made = in_memory(bytes)) return std::move(*made);
  }
  for (const std::string& directory : places.directories) {
    if (auto made = in_directory(directory, bytes)) return std::move(*made);
  }
  return fail(ErrorKind::kRefused, "sandbox.unavailable",
              "there is no place to start a program from: this machine executes nothing from "
              "memory, nor below $XDG_RUNTIME_DIR, $TMPDIR, /tmp or /var/tmp; set TMPDIR to a "
              "directory that is not mounted noexec, or put galley-sandbox next to galley");
}

Fd duplicate_high(int descriptor) {
  constexpr int kFirstFree = 10;
  return Fd(fcntl(descriptor, F_DUPFD_CLOEXEC, kFirstFree));
}

std::string path_of_descriptor(int descriptor) {
  return std::string(kDescriptors) + std::to_string(descriptor);
}

int descriptor_of_path(std::string_view path) {
  if (!path.starts_with(kDescriptors)) return -1;
  return number_of<int>(path.substr(kDescriptors.size())).value_or(-1);
}

Result<std::string> companion_program(std::string_view name) {
  for (const EmbeddedProgram& program : embedded_programs()) {
    if (program.name == name) return UnpackedPrograms::instance().path_of(program);
  }
  char self[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
  if (size > 0) {
    const std::string program(self, static_cast<size_t>(size));
    const std::string folder = program.substr(0, program.rfind('/'));
    for (const char* place : {"/", "/../libexec/galley/", "/../"}) {
      std::string candidate = folder + place + std::string(name);
      if (access(candidate.c_str(), X_OK) == 0) return candidate;
    }
  }
  return fail(
      ErrorKind::kNotFound, "program.not_installed",
      "the program " + std::string(name) + " is neither next to galley nor in ../libexec/galley");
}

Error become_program(const std::string& path, const std::vector<std::string>& arguments) {
  std::vector<char*> words = {const_cast<char*>(path.c_str())};  // execv does not change them
  for (const std::string& one : arguments) words.push_back(const_cast<char*>(one.c_str()));
  words.push_back(nullptr);
  ::execv(path.c_str(), words.data());
  return os_error(errno, "starting", path);
}

}  // namespace galley
