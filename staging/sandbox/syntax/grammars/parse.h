#pragma once

#include <memory>
#include <string_view>

#include "staging/sandbox/syntax/wire.h"

namespace galley {

/// Parses texts with Tree-sitter and reports where they do not follow their grammar.
///
/// Threads: confined to one thread.
class SyntaxParser {
 public:
  SyntaxParser();
  ~SyntaxParser();
  SyntaxParser(const SyntaxParser&) = delete;
  SyntaxParser& operator=(const SyntaxParser&) = delete;

  /// Returns the errors in the order of their places, those of brackets last.
  [[nodiscard]] SyntaxAnswer parse(SyntaxLanguage language, std::string_view text);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace galley
