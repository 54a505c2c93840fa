// The assembler embeds these programs in the single-file program (cmake/single_file.cmake).
#include "staging/sandbox/embedded_programs.h"

#include <cstdlib>

__asm__(
    ".section .rodata\n"
    ".balign 16\n"
    "galley_sandbox_begin:\n"
    ".incbin \"" GALLEY_SANDBOX_FILE
    "\"\n"
    "galley_sandbox_end:\n"
    ".previous\n");

extern "C" const char galley_sandbox_begin[];
extern "C" const char galley_sandbox_end[];

/// Replaces the handler of libstdc++, which prints the type of the exception and for that brings a
/// demangler of 50 KB.
namespace __gnu_cxx {
void __verbose_terminate_handler() { std::abort(); }  // NOLINT(bugprone-reserved-identifier)
}  // namespace __gnu_cxx

namespace galley {

std::span<const EmbeddedProgram> embedded_programs() {
  static const EmbeddedProgram programs[] = {
      {"galley-sandbox",
       {galley_sandbox_begin, static_cast<size_t>(galley_sandbox_end - galley_sandbox_begin)}}};
  return programs;
}

}  // namespace galley
