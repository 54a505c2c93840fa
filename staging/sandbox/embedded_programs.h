#pragma once

#include <span>
#include <string_view>

namespace galley {

/// A program embedded in an executable, byte for byte.
struct EmbeddedProgram {
  std::string_view name;
  std::string_view bytes;
};

/// The embedded programs of this executable. None by default; the single-file program links another
/// definition than that of embedded_programs.cc (cmake/single_file.cc).
[[nodiscard]] std::span<const EmbeddedProgram> embedded_programs();

}  // namespace galley
