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
  bool is_null = false;  ///< is /dev/null or has the time stamp of the epoch (GNU diff -N)
  bool is_given = false;
  bool is_epoch = false;         ///< has the time stamp of the epoch
  bool is_badly_quoted = false;  ///< begins with a quote, but is not a quoted name
};

/// Reads git's C-style quoted name at the start of `text` ("a/\303\244.txt", with the quotes).
/// Returns the name and its quoted length in bytes; nullopt if the quoting is invalid.
struct QuotedName {
  std::string name;
  size_t length = 0;
};
[[nodiscard]] std::optional<QuotedName> read_quoted_name(std::string_view text);

/// Reads the name in the rest of a `---` or `+++` line, quoted or not. It ends before a tab or a
/// time stamp.
[[nodiscard]] HeaderName read_header_name(std::string_view text);

/// Reads the name in the rest of a `rename from` or similar line, which is all of it.
[[nodiscard]] HeaderName read_whole_name(std::string_view text);

/// What a message says of a badly quoted name.
[[nodiscard]] std::string bad_quotes(const HeaderName& name);

/// Returns the name in `text`, unquoted if all of it is one quoted name, as git writes it.
[[nodiscard]] std::string unquoted_name(std::string_view text);

/// Splits the rest of a `diff --git` line into its two names; nullopt if it cannot be split.
/// `strip` is -p, which says how long the prefixes are.
struct NamePair {
  std::string old_name;
  std::string new_name;
};
[[nodiscard]] std::optional<NamePair> split_git_names(std::string_view text,
                                                      std::optional<uint32_t> strip);

/// Returns the name that both names of a `diff --git` line have behind their prefixes, such as i/
/// and w/; empty if the names are equal or differ in more.
[[nodiscard]] std::string name_behind_prefixes(const NamePair& names);

/// Returns `name` without its first `count` components, as for -p; empty if it has too few.
[[nodiscard]] std::string strip_components(std::string_view name, uint32_t count);

/// Adds the words of a line that look like file names to `names`, each once, up to a small limit.
/// The line may be prose, a title or a fence.
void add_mentioned_names(std::string_view line, std::vector<std::string>& names);

/// Sets the paths of `edit` from its header names. Returns false if neither name identifies a file.
bool resolve_paths(const HeaderName& old_name, const HeaderName& new_name,
                   const ReadOptions& options, EditSet& set, FileEdit& edit);

}  // namespace galley
