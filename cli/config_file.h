#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/rel_path.h"
#include "base/result.h"
#include "staging/fs/directory.h"

namespace galley {

/// A configuration file of another program, which is changed as a whole or not at all.
///
/// Below `project` no link is followed, since whoever wrote the project may have laid it; in the
/// home of a person links are, since programs that keep dotfiles put one there.
///
/// Ownership: a value; holds no descriptor. Threads: confined to one thread.
/// Errors:    kRefused `agents.not_plain`, `agents.foreign_owner`, `path.through_symlink`; kQuota
///            `limit.file_size`; kIo.
class ConfigFile {
 public:
  /// Reads it; one that is not there, folder and all, has no text. `project` is empty for a file
  /// outside of projects.
  static Result<ConfigFile> read(const std::string& path, const std::string& project);

  /// Absolute; where it is when links are followed.
  [[nodiscard]] std::string path() const { return folder_ + "/" + name_.str(); }
  [[nodiscard]] const std::optional<std::string>& text() const { return text_; }
  /// Permission bits of the one that is there.
  [[nodiscard]] uint32_t mode() const { return stat_.mode; }

  /// Puts another text there under the name, in one step; a new file is made with `mode`, one that
  /// is there keeps its own. Nothing stands for no file.
  /// Errors: kConflict `agents.changed` when it is no longer what read() read.
  Result<void> replace(const std::optional<std::string>& text, uint32_t mode) const;

 private:
  ConfigFile(std::string folder, RelPath name, bool is_in_project)
      : folder_(std::move(folder)), name_(std::move(name)), is_in_project_(is_in_project) {}
  Result<void> look();

  std::string folder_;  ///< absolute: the project, or the one that the file is in
  RelPath name_;        ///< below it
  bool is_in_project_;
  std::optional<std::string> text_;
  FileStat stat_;
};

/// Takes a folder away that is empty; any other stays as it is.
void remove_if_empty(const std::string& folder);

}  // namespace galley
