#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/rel_path.h"
#include "base/result.h"
#include "staging/formats/edit_set.h"
#include "staging/overlay/file_plan.h"
#include "staging/text/diff.h"
#include "staging/text/lines.h"
#include "staging/text/splice.h"

namespace galley {

/// Parses the path that an edit names. It may be absolute below `root`. Refuses protected paths.
Result<RelPath> editable_path(const std::string& text, const std::string& root);

/// Refuses a path that is not a file or a link, an edit of a file if the path is a link, and the
/// reverse. `is_reversed`: the whole document is reversed.
Result<void> check_kind(const FileEdit& edit, const RelPath& path, const PlannedFile& file,
                        bool is_reversed);

/// Refuses a deletion of another content than the current one: that of the index line of an edit
/// without hunks, or the whole content that a reversed edit has created.
Result<void> check_blob(const FileEdit& edit, const RelPath& path, const std::string& content);

/// The error of a deletion whose hunks leave some of the content.
[[nodiscard]] tl::unexpected<Error> deletes_more(const RelPath& path, bool is_reversed);

/// Chooses from two files that exist, if the '---' and '+++' lines name one each, or two readings
/// of one name do. git and GNU patch take `f.c`, not its copy `f.c.orig` or `f.c~`. Refuses others.
[[nodiscard]] Result<RelPath> chosen_of_two(const RelPath& one, const RelPath& other);

/// Finds the file whose path has one directory more or less at its start, if there is only one:
/// `src/app/main.py` for `app/main.py`. Lists the root, and looks up one path in each of its
/// directories.
[[nodiscard]] std::optional<RelPath> same_name_nearby(const Directory& workspace,
                                                      const RelPath& path);

/// The files of a name in a tree, without hidden folders.
struct SameName {
  /// The file that shares more folders above it with a path than any other: `src/app/main.py` for
  /// `main.py` or `source/app/main.py`.
  std::optional<RelPath> nearest;
  bool is_free = false;   ///< there is no such file
  bool is_alone = false;  ///< there is only one
};
/// Finds the files with the same name, anywhere. Nothing is known of a large tree.
[[nodiscard]] SameName same_name_elsewhere(const Directory& workspace, const RelPath& path);

/// Finds the file in the same folder whose name differs only in case, or by a misspelling. Lists
/// that folder.
[[nodiscard]] std::optional<RelPath> nearly_same_name(const Directory& workspace,
                                                      const RelPath& path);

/// Names the file that an absolute path of another root probably means in the error `path.outside`:
/// the nearest of same_name_elsewhere(). Returns it; nothing for another error, or for a file that
/// may not be read.
[[nodiscard]] std::optional<RelPath> name_file_inside(
    const Directory& workspace, const std::function<bool(const RelPath&)>& may_read,
    Error& outside);

/// True if most lines with a letter or digit of each text are lines of the other.
[[nodiscard]] bool has_most_lines(std::string_view one, std::string_view other);

/// Refuses a table (.tsv) whose rows had the same number of tabs, if a line has fewer now, and
/// blanks that may stand for them. For edits that were found without regard to white space.
Result<void> check_columns(const RelPath& path, std::string_view before, std::string_view after);

/// Refuses to add letters in UTF-8 to a file that uses another encoding.
Result<void> check_encoding(const RelPath& path, std::string_view file, std::string_view added);
/// The same for the new texts of all splices. Looks at the file once.
Result<void> check_encoding(const RelPath& path, std::string_view file, const Splices& splices);
/// Refuses bytes that are not UTF-8 if letters in UTF-8 stay in the file.
Result<void> check_utf8_stays(const RelPath& path, std::string_view file, const Splices& splices);
/// Refuses to change a byte that may be a part of a letter in another encoding than UTF-8.
Result<void> check_letters_stay(const RelPath& path, std::string_view file, const Splices& splices);

/// The Error for an edit that was not placed because StageOptions::is_over returned true.
[[nodiscard]] Error interrupted(const std::string& path);

/// Returns ": this patch seems to be applied already", or "reversed".
[[nodiscard]] std::string already_applied_note(bool is_reversed);

/// A name that is valid on Linux but looks like a path of another system or a shell.
struct ForeignName {
  std::string why;             ///< "begins with the drive 'C:' of another system"
  RelPath head;                ///< the path up to the foreign part
  std::vector<RelPath> meant;  ///< possible intended paths in the workspace, longest first
  bool is_sure = false;        ///< `meant` has one path, which is right even if it does not exist
};

/// Checks a name. Returns nothing if it is ordinary.
[[nodiscard]] std::optional<ForeignName> foreign_name(const RelPath& path);

/// True for a comment which has no other meaning than that lines were left out: `// ... existing
/// code ...`, `# rest of the function unchanged`. Stricter than is_elision() of placing/damage.h.
[[nodiscard]] bool stands_for_lines(std::string_view line);

/// The lines of a whole file in which new comments stand where several lines of code are missing.
/// Returns the first such comment as an index into `after`. `changed` is the difference.
[[nodiscard]] std::optional<size_t> comment_for_lines(const Lines& before, const Lines& after,
                                                      const std::vector<ChangedRange>& changed);

/// Refuses the content of a program that is in a markdown fence, if `file` is not.
Result<void> check_fence(const RelPath& path, std::string_view file, std::string_view content);

/// Refuses new text of a file that says that lines were left out, if `file` lacks that line. Checks
/// the fence, too.
Result<void> check_content(const RelPath& path, std::string_view file, std::string_view content);

/// The same for the lines that the edits add. A line that the old lines of its edit have, too, is
/// left to the search for the place.
Result<void> check_added_lines(const RelPath& path, std::string_view file, const FileEdit& edit);

}  // namespace galley
