#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace galley {

/// Reads a file that a person named on the command line: any path, also a link or a pipe. `-` is
/// standard input. Not for a path from an agent or a patch.
/// Errors: kUsage `input.not_found`, kInvalid `input.is_directory`, kQuota `limit.input_size`, kIo.
Result<std::string> read_host_file(const std::string& path, uint64_t max_bytes);

/// The same for a file that says what others may do: it belongs to this user or to root, and no
/// other user may write to it. Standard input is not checked.
/// Errors: also kRefused `file.others_write`.
Result<std::string> read_unshared_file(const std::string& path, uint64_t max_bytes);

/// Reads a regular file that belongs to this user, to root or to `other_owner`. Follows links;
/// never waits for a FIFO or device. Returns nothing if the file is missing, has another kind or
/// owner, or has more than `max_bytes`. For optional files that are ignored if they are not safe.
std::optional<std::string> read_own_file(const std::string& path, uint64_t max_bytes,
                                         uint32_t other_owner);

/// Reads a regular file that belongs to this user and that no other user may read or write (0600).
/// Does not follow links; never waits for a FIFO or device.
/// Errors: kNotFound; kRefused `file.not_private`; kQuota `limit.input_size`; kIo.
Result<std::string> read_private_file(const std::string& path, uint64_t max_bytes);

/// Writes a file that a person named on the command line: through a link, and to a device or FIFO
/// as it is. A regular file is replaced in one step, with its mode. With `is_added`, the text is
/// added to a regular file.
/// Errors: kUsage `output.no_folder`, `output.is_directory`, `output.not_a_file`; kIo.
Result<void> write_host_file(const std::string& path, std::string_view text, bool is_added = false);

/// Opens /dev/null in the place of standard streams that are closed. Otherwise the next file or
/// socket would get their number and be taken for them. A result that is written to a closed
/// standard output still fails. Returns false if that fails.
[[nodiscard]] bool open_standard_streams();

/// Changes to the directory that a person named on the command line.
/// Errors: kUsage `workspace.not_found`.
Result<void> enter_directory(const std::string& path);

/// The absolute path without `.`, `..` and repeated slashes, computed only from the text. Empty for
/// an empty path.
[[nodiscard]] std::string normalized_path(const std::string& path);

/// Whether `path` is `folder` or below it. Compares only the texts.
[[nodiscard]] bool is_at_or_below(std::string_view path, std::string_view folder);

/// A link by which the person entered a workspace, and the folder at or below its root to which it
/// leads. Both are empty if there is none.
struct EnteredLink {
  std::string link;
  std::string folder;
};

/// The shortest part of $PWD that leads to or below `root`, if $PWD is not itself below it.
[[nodiscard]] EnteredLink entered_link(const std::string& root);

/// Returns a path, which may be relative, with the folder in place of the entered link, if it goes
/// through that link.
[[nodiscard]] std::string without_entered_link(const std::string& path, const std::string& root);

/// Whether the path is, or leads to, a FIFO or a device, but not /dev/null: to open it may wait.
[[nodiscard]] bool is_special_file(const std::string& path);

/// The absolute path of an existing directory, with links resolved.
Result<std::string> absolute_path(const std::string& path);

}  // namespace galley
