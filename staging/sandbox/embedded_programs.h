#pragma once

#include <span>
#include <string_view>

namespace galley {

/// A program that an executable has inside, byte for byte.
struct EmbeddedProgram {
  std::string_view name;
  std::string_view bytes;
};

/// The programs that this executable has inside. None, unless the link brings another definition
/// than that of embedded_programs.cc: the single-file program does (cmake/single_file.cc).
[[nodiscard]] std::span<const EmbeddedProgram> embedded_programs();

}  // namespace galley
