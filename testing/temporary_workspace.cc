#include <galley/testing/temporary_workspace.h>

#include <cstdlib>
#include <utility>
#include <vector>

#include "base/encoding.h"
#include "base/file_mode.h"
#include "base/limits.h"
#include "staging/fs/directory.h"
#include "staging/fs/disk_directory.h"

namespace galley {
namespace {

constexpr uint32_t kDirectoryMode = 0755;
constexpr uint32_t kFileMode = 0644;
constexpr size_t kNameDigits = 12;

Result<void> put_file(const WritableDirectory& directory, std::string_view name,
                      std::string_view content) {
  GALLEY_ASSIGN(const RelPath path, RelPath::parse(name));
  if (!path.parent().is_root()) {
    GALLEY_TRY(make_directories(directory, path.parent(), kDirectoryMode));
  }
  GALLEY_ASSIGN(const auto file,
                directory.open_writable_file(path, OpenMode::kOpenOrCreate, kFileMode));
  GALLEY_TRY(file->truncate(0));
  return file->write_at(0, content);
}

Result<void> add_files(const Directory& directory, const std::string& above,
                       std::map<std::string, std::string>& files) {
  GALLEY_ASSIGN(const auto entries, directory.list());
  for (const DirectoryEntry& entry : entries) {
    GALLEY_ASSIGN(const RelPath name, RelPath::parse(entry.name));
    if (name.is_protected()) continue;
    if (entry.kind == FileKind::kDirectory) {
      GALLEY_ASSIGN(const auto below, directory.open_directory(name));
      GALLEY_TRY(add_files(*below, above + entry.name + "/", files));
    } else if (entry.kind == FileKind::kRegular) {
      GALLEY_ASSIGN(files[above + entry.name], read_file(directory, name, limits::kMaxFileBytes));
    }
  }
  return {};
}

}  // namespace

struct TemporaryWorkspace::Place {
  Place(std::unique_ptr<WritableDirectory> parent, RelPath own_name, std::string own_path)
      : above(std::move(parent)), name(std::move(own_name)), path(std::move(own_path)) {}
  ~Place() {
    workspace.reset();
    directory.reset();
    (void)remove_tree(*above, name);
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  std::unique_ptr<WritableDirectory> above;
  RelPath name;
  std::string path;
  std::unique_ptr<WritableDirectory> directory;
  std::unique_ptr<Workspace> workspace;
};

TemporaryWorkspace::TemporaryWorkspace(std::unique_ptr<Place> place) : place_(std::move(place)) {}
TemporaryWorkspace::TemporaryWorkspace(TemporaryWorkspace&&) noexcept = default;
TemporaryWorkspace& TemporaryWorkspace::operator=(TemporaryWorkspace&&) noexcept = default;
TemporaryWorkspace::~TemporaryWorkspace() = default;

Result<TemporaryWorkspace> TemporaryWorkspace::make(const std::map<std::string, std::string>& files,
                                                    WorkspaceOptions options) {
  const char* const set = std::getenv("TMPDIR");
  const std::string above = set != nullptr && *set == '/' ? set : "/tmp";
  GALLEY_ASSIGN(auto parent, open_writable_disk_directory(above));
  GALLEY_ASSIGN(RelPath name, RelPath::parse("galley-test-" + random_hex(kNameDigits)));
  GALLEY_TRY(parent->make_directory(name, kPrivateDirectory));
  std::string path = above + "/" + name.str();
  auto place = std::make_unique<Place>(std::move(parent), std::move(name), std::move(path));
  GALLEY_ASSIGN(place->directory, place->above->open_writable_directory(place->name));
  for (const auto& [file, content] : files) {
    GALLEY_TRY(put_file(*place->directory, file, content));
  }
  TemporaryWorkspace made(std::move(place));
  GALLEY_TRY(made.reopen(std::move(options)));
  return made;
}

const std::string& TemporaryWorkspace::path() const { return place_->path; }
Workspace& TemporaryWorkspace::workspace() const { return *place_->workspace; }

Result<void> TemporaryWorkspace::reopen(WorkspaceOptions options) {
  place_->workspace.reset();
  GALLEY_ASSIGN(place_->workspace, Workspace::open(place_->path, std::move(options)));
  return {};
}

Result<void> TemporaryWorkspace::write(std::string_view path, std::string_view content) const {
  return put_file(*place_->directory, path, content);
}

Result<std::string> TemporaryWorkspace::read(std::string_view path) const {
  GALLEY_ASSIGN(const RelPath name, RelPath::parse(path));
  return read_file(*place_->directory, name, limits::kMaxFileBytes);
}

Result<std::map<std::string, std::string>> TemporaryWorkspace::files() const {
  std::map<std::string, std::string> found;
  GALLEY_TRY(add_files(*place_->directory, "", found));
  return found;
}

}  // namespace galley
