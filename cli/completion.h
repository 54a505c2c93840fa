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

/// Where values come from that the table does not have.
enum class ValueSource : uint8_t {
  kNone,
  kFiles,
  kDirectories,
  kOpenTransactions,
  kHistory,
  kTools,
};

/// What can stand in the place of the last word of a command line.
struct Completion {
  std::vector<CompletionCandidate> candidates;
  ValueSource source = ValueSource::kNone;
  std::string prefix;                    ///< what the words of `source` begin with
  std::vector<std::string> directories;  ///< of -C, in order
};

/// `words` are those after `galley` up to the cursor; the last may be empty. A value that stands
/// after a word `=` of its own (as bash splits a line) is completed without its option.
[[nodiscard]] Completion complete(const OptionTable& table, const std::vector<std::string>& words);

/// Whether a word can be put on a command line as it is: nothing in it means anything to a shell.
[[nodiscard]] bool is_plain_word(std::string_view word);

/// The script that makes a shell (`bash`, `zsh`, `fish`) ask `galley complete`.
[[nodiscard]] std::string_view completion_script(std::string_view shell);

}  // namespace galley
