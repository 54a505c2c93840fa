#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/option_table.h"

namespace galley {

struct CompletionCandidate {
  std::string word;
  std::string about;
};

/// The source of values that are not in the table.
enum class ValueSource : uint8_t {
  kNone,
  kFiles,
  kDirectories,
  kOpenTransactions,
  kHistory,
  kTools,
};

/// The possible completions of the last word of a command line.
struct Completion {
  std::vector<CompletionCandidate> candidates;
  ValueSource source = ValueSource::kNone;
  std::string prefix;                    ///< common prefix of the words from `source`
  std::vector<std::string> directories;  ///< of -C, in order
};

/// `words` are the words after `galley` up to the cursor; the last may be empty. bash splits a line
/// at `=`, so a value may follow a word `=`; it is then completed without its option.
[[nodiscard]] Completion complete(const OptionTable& table, const std::vector<std::string>& words);

/// Whether a word needs no quotes in a shell.
[[nodiscard]] bool is_plain_word(std::string_view word);

}  // namespace galley
