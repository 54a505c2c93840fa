// galley-syntax: reports where texts do not follow the grammars of their languages. Galley starts
// it. It reads requests from its stdin and writes answers to its stdout (wire.h), and confines
// itself before it reads the first byte.
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "staging/sandbox/syntax/confine.h"
#include "staging/sandbox/syntax/grammars/parse.h"
#include "staging/sandbox/syntax/wire.h"

namespace {

constexpr int kNotConfined = 3;

size_t read_input(char* to, size_t size) {
  size_t done = 0;
  while (done < size) {
    const ssize_t got = read(STDIN_FILENO, to + done, size - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<size_t>(got);
  }
  return done;
}

bool write_output(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = write(STDOUT_FILENO, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(wrote));
  }
  return true;
}

}  // namespace

int main() {
  galley::SyntaxParser parser;
  if (!galley::confine_process(galley::kMaxSyntaxMemory)) return kNotConfined;
  const galley::SyntaxService service{
      read_input, write_output, [&parser](galley::SyntaxLanguage language, std::string_view text) {
        return parser.parse(language, text);
      }};
  const bool is_served = galley::serve_syntax(service);
  // Skips the destructors, which would only free memory.
  _exit(is_served ? 0 : 1);
}
