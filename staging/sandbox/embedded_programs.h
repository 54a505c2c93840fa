#pragma once

#include <span>
#include <string_view>

namespace galley {

/// A program embedded in an executable, byte for byte.
struct EmbeddedProgram {
  std::string_view name;
  std::string_view bytes;
};

/// The embedded programs of this executable. By default the list is empty. The single-file program
/// links its own definition (cmake/single_file.cc) instead of embedded_programs.cc.
[[nodiscard]] std::span<const EmbeddedProgram> embedded_programs();

}  // namespace galley
