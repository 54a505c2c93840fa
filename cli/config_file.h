#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/rel_path.h"
#include "base/result.h"
#include "staging/fs/directory.h"
#include "staging/fs/replace_file.h"

namespace galley {

/// A configuration file of another program, which is replaced as a whole or not at all.
///
/// Below `project` links are not followed, since the author of the project may have planted them.
/// In a person's home they are, since dotfile managers create them.
///
/// Ownership: a value; holds no descriptor. Threads: confined to one thread.
/// Errors:    kRefused `agents.not_plain`, `agents.foreign_owner`, `path.through_symlink`; kQuota
///            `limit.file_size`; kIo.
class ConfigFile {
 public:
  /// Reads a file. If the file or its folder is missing, text() is nullopt. `project` is empty for
  /// a file outside of projects.
  static Result<ConfigFile> read(const std::string& path, const std::string& project);

  /// Returns the absolute path, after links are followed.
  [[nodiscard]] std::string path() const { return folder_ + "/" + name_.str(); }
  [[nodiscard]] const std::optional<std::string>& text() const { return text_; }

  /// Replaces the contents in one step. A new file gets `mode`, and an existing one keeps its own.
  /// nullopt removes the file.
  /// Errors: kConflict `agents.changed` if the file changed since read().
  Result<void> replace(const std::optional<std::string>& text, uint32_t mode) const;

  /// Undoes replace(written, …): the file is as it was at read().
  /// Errors: kConflict `agents.changed` if the file changed since.
  Result<void> restore(const std::optional<std::string>& written) const;

 private:
  ConfigFile(std::string folder, RelPath name, bool is_in_project)
      : folder_(std::move(folder)), name_(std::move(name)), is_in_project_(is_in_project) {}
  Result<void> look();
  Result<void> write(const std::optional<std::string>& text, uint32_t mode,
                     const std::optional<std::string>& expected) const;
  Result<void> replace_under_lock(const WritableDirectory& within, const ScratchFile& fresh,
                                  const std::optional<std::string>& text, uint32_t mode,
                                  const std::optional<std::string>& expected) const;
  [[nodiscard]] Error changed() const;

  std::string folder_;  ///< absolute: the project, or the folder of the file
  RelPath name_;        ///< below it
  bool is_in_project_;
  std::optional<std::string> text_;
  FileStat stat_;
};

[[nodiscard]] bool has_folder(const std::string& folder);

[[nodiscard]] bool is_empty_folder(const std::string& folder);

/// Marks a folder that was there and empty before something was written to it.
void keep_when_empty(const std::string& folder);

/// Removes a folder if it is empty. If it has the mark, only the mark is removed.
void remove_if_empty(const std::string& folder);

}  // namespace galley
