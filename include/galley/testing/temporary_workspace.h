#pragma once

#include <galley/error.h>
#include <galley/workspace.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace galley {

/// A new directory with a workspace in it, below $TMPDIR or /tmp. The destructor removes it with
/// all its contents.
///
/// Ownership: owns the directory and the workspace. Destroy all transactions before it.
/// Threads:   as Workspace; write(), read() and files() from one thread at a time.
/// Errors:    kIo when the disk fails; kInvalid `path.*` for a path that leaves the directory.
class TemporaryWorkspace {
 public:
  /// Creates the directory with these files (path to content) and opens the workspace.
  static Result<TemporaryWorkspace> make(const std::map<std::string, std::string>& files = {},
                                         WorkspaceOptions options = {});
  TemporaryWorkspace(TemporaryWorkspace&&) noexcept;
  TemporaryWorkspace& operator=(TemporaryWorkspace&&) noexcept;
  ~TemporaryWorkspace();

  /// Returns the absolute path of the directory.
  [[nodiscard]] const std::string& path() const;
  [[nodiscard]] Workspace& workspace() const;
  /// Opens the workspace again, as another process would.
  Result<void> reopen(WorkspaceOptions options = {});

  /// Writes a file and its missing parents to the disk, bypassing Galley.
  Result<void> write(std::string_view path, std::string_view content) const;
  /// Reads a file on the disk, bypassing Galley.
  [[nodiscard]] Result<std::string> read(std::string_view path) const;
  /// Returns all files on the disk with their contents, except those in `.galley` and `.git`.
  [[nodiscard]] Result<std::map<std::string, std::string>> files() const;

 private:
  struct Place;
  explicit TemporaryWorkspace(std::unique_ptr<Place> place);
  std::unique_ptr<Place> place_;
};

}  // namespace galley
