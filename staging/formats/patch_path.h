#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "staging/formats/edit_set.h"

namespace galley {

/// A file name in a diff header, before any prefix is removed.
struct HeaderName {
  std::string text;
  bool is_null = false;  ///< /dev/null, or a time stamp of the epoch (GNU diff -N)
  bool is_given = false;
  bool is_epoch = false;  ///< true because of the time stamp
};

/// Reads git's C-style quoted name at the start of `text` ("a/\303\244.txt", with the quotes).
/// Returns the name and the number of bytes that it used, or nullopt when the quoting is broken.
struct QuotedName {
  std::string name;
  size_t length = 0;
};
[[nodiscard]] std::optional<QuotedName> read_quoted_name(std::string_view text);

/// Reads the name of a `---` or `+++` line, quoted or not, up to a tab or a time stamp.
[[nodiscard]] HeaderName read_header_name(std::string_view text);

/// Splits the rest of a `diff --git` line into its two names.
struct NamePair {
  std::string old_name;
  std::string new_name;
};
[[nodiscard]] std::optional<NamePair> split_git_names(std::string_view text);

/// `name` without its first `count` components, as for -p; empty when it has too few.
[[nodiscard]] std::string strip_components(std::string_view name, uint32_t count);

/// Adds names that look like files in a line of prose, a title or a fence; each once, few in all.
void add_mentioned_names(std::string_view line, std::vector<std::string>& names);

/// Sets the paths of `edit` from its headers. Returns false when neither name identifies a file.
bool resolve_paths(const HeaderName& old_name, const HeaderName& new_name,
                   const ReadOptions& options, EditSet& set, FileEdit& edit);

}  // namespace galley
