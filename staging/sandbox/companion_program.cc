#include "staging/sandbox/companion_program.h"

#include <unistd.h>

#include <climits>
#include <map>
#include <mutex>

#include "staging/sandbox/embedded_programs.h"
#include "staging/sandbox/nameless_program.h"

namespace galley {
namespace {

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

}  // namespace galley
