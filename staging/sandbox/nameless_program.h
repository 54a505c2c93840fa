#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "staging/sandbox/helper/descriptors.h"

// A program that is executed and has no name in any directory: memfd_create(2), or a file that was
// unlinked before anything was written to it. Nothing stays behind, however the process ends.

namespace galley {

/// Where a nameless program may lie, best first.
struct ProgramPlaces {
  bool memory = true;                    ///< a machine may forbid this (sysctl vm.memfd_noexec)
  std::vector<std::string> directories;  ///< tried in order; one that is mounted noexec is passed
};

/// In memory, else below $XDG_RUNTIME_DIR, $TMPDIR, /tmp, /var/tmp.
[[nodiscard]] ProgramPlaces usual_program_places();

/// Returns a descriptor, open for reading only, of a file with these bytes that can be executed as
/// `/proc/self/fd/<descriptor>`. What lies in memory is sealed: nobody can change it.
///
/// Errors: kRefused `sandbox.unavailable` where no place can be had.
[[nodiscard]] Result<Fd> make_nameless_program(std::string_view bytes, const ProgramPlaces& places);

/// A copy of a descriptor whose number is above those that a child is given, so that no dup2 of a
/// spawn overwrites it; closed, with errno set, when that fails.
[[nodiscard]] Fd high_copy(int descriptor);

/// The path by which this process, and a child that has the descriptor, executes it.
[[nodiscard]] std::string path_of_descriptor(int descriptor);
/// The descriptor of such a path; -1 for any other path.
[[nodiscard]] int descriptor_of_path(std::string_view path);

}  // namespace galley
