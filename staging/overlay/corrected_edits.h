#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "staging/formats/edit_set.h"

namespace galley {

/// A text file and what the corrected edits make of it.
struct CorrectedText {
  std::string path;
  bool is_new = false;
  std::string before;
  std::string after;
};

/// Old texts, each of which occurs once in its file, and the texts to put there.
using TextPairs = std::vector<std::pair<std::string, std::string>>;

/// The edits of a document that does not fit, written so that they do. Each has the file's own
/// lines as context.
struct CorrectedEdits {
  struct File {
    std::string path;
    bool is_new = false;
    std::string text;  ///< of a new file
    TextPairs pairs;   ///< of a file that exists, in order
    TextPairs as_one;  ///< the same as one pair
  };
  std::vector<File> files;
  /// The edits in the dialect of the document; empty if that dialect is JSON.
  std::string document;
};

/// Writes the changes in a dialect. Returns nullopt if some text does not occur only once.
[[nodiscard]] std::optional<CorrectedEdits> corrected_edits(const std::vector<CorrectedText>& texts,
                                                            EditFormat format);

}  // namespace galley
