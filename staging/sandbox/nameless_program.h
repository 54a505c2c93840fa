#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "staging/sandbox/helper/descriptors.h"

// A program that is executed without a name in any directory: from memfd_create(2), or from a file
// that was unlinked before it was written. Nothing is left behind, however the process ends.

namespace galley {

/// Possible places of a nameless program, best first.
struct ProgramPlaces {
  bool memory = true;                    ///< a machine may forbid this (sysctl vm.memfd_noexec)
  std::vector<std::string> directories;  ///< tried in order; a noexec mount is skipped
};

/// In memory, else below $XDG_RUNTIME_DIR, $TMPDIR, /tmp, /var/tmp.
[[nodiscard]] ProgramPlaces usual_program_places();

/// Returns a read-only descriptor of a file with these bytes that can be executed as
/// `/proc/self/fd/<descriptor>`. A file in memory is sealed: no process can change it.
///
/// Errors: kRefused `sandbox.unavailable` when every place fails.
[[nodiscard]] Result<Fd> make_nameless_program(std::string_view bytes, const ProgramPlaces& places);

/// Returns a copy of a descriptor with a high number. When a child is spawned, dup2 overwrites only
/// lower numbers. On failure the copy is closed and errno is set.
[[nodiscard]] Fd duplicate_high(int descriptor);

/// Returns the path by which this process, or a child that has the descriptor, executes the file.
[[nodiscard]] std::string path_of_descriptor(int descriptor);
/// Returns the descriptor of such a path; -1 for any other path.
[[nodiscard]] int descriptor_of_path(std::string_view path);

/// Returns a path by which this process can execute one of its own programs. This is an embedded
/// program (embedded_programs.h), or else one that is installed next to this program or in its
/// libexec directory.
///
/// An embedded program always has the right version, so installed ones are then ignored. Its path
/// is that of a descriptor (nameless_program.h), which stays open until the process ends; forked
/// children may use it, too.
/// Threads: safe to call from any.
/// Errors:  kNotFound `program.not_installed`; those of make_nameless_program().
[[nodiscard]] Result<std::string> companion_program(std::string_view name);

/// Replaces this process by a program: the path of companion_program(), and its arguments. Returns
/// only if that fails.
[[nodiscard]] Error become_program(const std::string& path,
                                   const std::vector<std::string>& arguments);

}  // namespace galley
