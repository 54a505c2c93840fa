#include "staging/git/git_repository.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

#include "staging/git/git_library.h"

namespace galley {

namespace {

std::string without_slash(const char* path) {
  std::string text = path;
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

GitOid oid_of(const git_oid& id) {
  std::array<uint8_t, GitOid::kBytes> bytes{};
  std::memcpy(bytes.data(), id.id, bytes.size());
  return GitOid(bytes);
}

git_oid raw_oid(const GitOid& id) {
  git_oid raw{};
  std::memcpy(raw.id, id.bytes().data(), GitOid::kBytes);
  return raw;
}

// Frees what libgit2 handed out with the function that the table names for it.
template <class T>
using Owned = std::unique_ptr<T, void (*)(T*)>;

}  // namespace

struct GitRepository::Handle {
  const GitLibrary* git;
  git_repository* repository;

  Handle(const GitLibrary* library, git_repository* opened) : git(library), repository(opened) {}
  ~Handle() { git->repository_free(repository); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  /// The index as it is on disk; the caller frees it.
  [[nodiscard]] Result<git_index*> open_index(const std::string& work_tree) const;
};

GitRepository::GitRepository(std::unique_ptr<Handle> handle) : handle_(std::move(handle)) {}
GitRepository::GitRepository(GitRepository&&) noexcept = default;
GitRepository& GitRepository::operator=(GitRepository&&) noexcept = default;
GitRepository::~GitRepository() = default;

Result<std::optional<GitRepository>> GitRepository::discover(const std::string& workspace_root) {
  GALLEY_ASSIGN(const GitLibrary* git, GitLibrary::get());
  git_buf found{};
  int code = git->repository_discover(&found, workspace_root.c_str(), 0, nullptr);
  if (code == GIT_ENOTFOUND) return std::optional<GitRepository>();
  if (code < 0) return fail(git->error(code, "look for a git repository at", workspace_root));
  const std::string place = without_slash(found.ptr);
  git->buf_dispose(&found);

  git_repository* opened = nullptr;
  code = git->repository_open(&opened, place.c_str());
  if (code < 0) {
    const auto subject = std::filesystem::path(place).filename() == ".git"
                             ? std::filesystem::path(place).parent_path().string()
                             : place;
    return fail(git->error(code, "open the git repository", subject));
  }
  GitRepository repository(std::make_unique<Handle>(git, opened));
  const char* work_tree = git->repository_workdir(opened);
  if (work_tree == nullptr) return std::optional<GitRepository>();  // bare: holds no work tree
  repository.work_tree_ = without_slash(work_tree);
  repository.git_directory_ = without_slash(git->repository_path(opened));

  std::error_code failed;
  const auto root = std::filesystem::canonical(workspace_root, failed);
  if (failed) return fail(os_error(failed.value(), "resolve", workspace_root));
  const auto tree = std::filesystem::canonical(repository.work_tree_, failed);
  if (failed) return fail(os_error(failed.value(), "resolve", repository.work_tree_));
  const auto below = root.lexically_relative(tree).string();
  if (below == ".." || below.rfind("../", 0) == 0) return std::optional<GitRepository>();
  if (below != ".") repository.prefix_ = below + "/";
  return std::optional<GitRepository>(std::move(repository));
}

std::string GitRepository::in_work_tree(const RelPath& path) const { return prefix_ + path.str(); }

Result<git_index*> GitRepository::Handle::open_index(const std::string& work_tree) const {
  git_index* index = nullptr;
  int code = git->repository_index(&index, repository);
  if (code < 0) return fail(git->error(code, "open the index of", work_tree));
  code = git->index_read(index, 0);  // only when the file changed since
  if (code >= 0) return index;
  git->index_free(index);
  return fail(git->error(code, "read the index of", work_tree));
}

Result<std::optional<GitEntry>> GitRepository::index_entry(const RelPath& path) const {
  const auto& git = *handle_->git;
  GALLEY_ASSIGN(git_index * index, handle_->open_index(work_tree_));
  const Owned<git_index> owned(index, git.index_free);
  const auto* entry = git.index_get_bypath(index, in_work_tree(path).c_str(), 0);
  if (entry == nullptr) return std::optional<GitEntry>();
  return std::optional<GitEntry>({entry->mode, oid_of(entry->id)});
}

Result<bool> GitRepository::tracks_below(const RelPath& path) const {
  const auto& git = *handle_->git;
  GALLEY_ASSIGN(git_index * index, handle_->open_index(work_tree_));
  const Owned<git_index> owned(index, git.index_free);
  const std::string prefix = in_work_tree(path) + "/";
  size_t at = 0;
  const int code = git.index_find_prefix(&at, index, prefix.c_str());
  if (code < 0 && code != GIT_ENOTFOUND) {
    return fail(git.error(code, "look into the index of", work_tree_));
  }
  return code >= 0;
}

Result<std::optional<GitEntry>> GitRepository::head_entry(const RelPath& path) const {
  const auto& git = *handle_->git;
  GALLEY_ASSIGN(const auto head, head_commit());
  if (!head) return std::optional<GitEntry>();
  const git_oid id = raw_oid(*head);
  git_commit* commit = nullptr;
  int code = git.commit_lookup(&commit, handle_->repository, &id);
  if (code < 0) return fail(git.error(code, "read commit", head->hex()));
  const Owned<git_commit> owned_commit(commit, git.commit_free);
  git_tree* tree = nullptr;
  code = git.commit_tree(&tree, commit);
  if (code < 0) return fail(git.error(code, "read the tree of commit", head->hex()));
  const Owned<git_tree> owned_tree(tree, git.tree_free);
  git_tree_entry* entry = nullptr;
  code = git.tree_entry_bypath(&entry, tree, in_work_tree(path).c_str());
  if (code == GIT_ENOTFOUND) return std::optional<GitEntry>();
  if (code < 0) return fail(git.error(code, "read from HEAD", path.str()));
  const Owned<git_tree_entry> owned_entry(entry, git.tree_entry_free);
  return std::optional<GitEntry>(
      {static_cast<uint32_t>(git.tree_entry_filemode(entry)), oid_of(*git.tree_entry_id(entry))});
}

Result<std::string> GitRepository::blob(const GitOid& id) const {
  const auto& git = *handle_->git;
  const git_oid raw = raw_oid(id);
  git_blob* blob = nullptr;
  const int code = git.blob_lookup(&blob, handle_->repository, &raw);
  if (code < 0) return fail(git.error(code, "read blob", id.hex()));
  const Owned<git_blob> owned(blob, git.blob_free);
  return std::string(static_cast<const char*>(git.blob_rawcontent(blob)),
                     static_cast<size_t>(git.blob_rawsize(blob)));
}

Result<std::optional<GitOid>> GitRepository::head_commit() const {
  git_oid id{};
  const int code = handle_->git->reference_name_to_id(&id, handle_->repository, "HEAD");
  if (code == GIT_ENOTFOUND || code == GIT_EUNBORNBRANCH) return std::optional<GitOid>();
  if (code < 0) return fail(handle_->git->error(code, "read HEAD of", work_tree_));
  return std::optional<GitOid>(oid_of(id));
}

}  // namespace galley
