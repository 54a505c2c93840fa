#include "staging/git/git_repository.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

namespace galley {

namespace {

std::string without_slash(const char* path) {
  std::string text = path;
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

// Frees an object of libgit2 with its function from the table.
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

  /// The index on disk; the caller frees it.
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
  if (work_tree == nullptr) return std::optional<GitRepository>();  // bare: without a work tree
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
  code = git->index_read(index, 0);  // reads it only if the file has changed
  if (code >= 0) return index;
  git->index_free(index);
  return fail(git->error(code, "read the index of", work_tree));
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

namespace {

// The version of the header first. In the others, all types that are used have the same layout.
constexpr std::array kNames = {"libgit2.so.1.5", "libgit2.so.1.6", "libgit2.so.1.7",
                               "libgit2.so.1.8", "libgit2.so.1.9", "libgit2.so.1.4",
                               "libgit2.so.1.3"};

// Extensions that do not affect reading. libgit2 refuses them unless they are listed.
constexpr std::array<const char*, 2> kHarmlessExtensions = {"worktreeconfig", "partialclone"};

Error missing(const std::string& why) {
  return {ErrorKind::kNotFound, "git.library_missing",
          "git data cannot be read: libgit2 could not be loaded (" + why +
              "); install the package libgit2-1.5"};
}

class SymbolTable {
 public:
  explicit SymbolTable(void* library) : library_(library) {}

  template <class Function>
  void look_up(const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library_, name));
    if (function == nullptr && absent_.empty()) absent_ = name;
  }
  [[nodiscard]] const std::string& absent() const { return absent_; }

 private:
  void* library_;
  std::string absent_;
};

std::string look_up_all(void* library, GitLibrary& git) {
  SymbolTable table(library);
  table.look_up("git_libgit2_init", git.libgit2_init);
  table.look_up("git_libgit2_opts", git.libgit2_opts);
  table.look_up("git_error_last", git.error_last);
  table.look_up("git_buf_dispose", git.buf_dispose);
  table.look_up("git_repository_discover", git.repository_discover);
  table.look_up("git_repository_open", git.repository_open);
  table.look_up("git_repository_free", git.repository_free);
  table.look_up("git_repository_workdir", git.repository_workdir);
  table.look_up("git_repository_path", git.repository_path);
  table.look_up("git_repository_index", git.repository_index);
  table.look_up("git_index_read", git.index_read);
  table.look_up("git_index_free", git.index_free);
  table.look_up("git_index_find_prefix", git.index_find_prefix);
  table.look_up("git_patch_from_buffers", git.patch_from_buffers);
  table.look_up("git_patch_to_buf", git.patch_to_buf);
  table.look_up("git_patch_free", git.patch_free);
  return table.absent();
}

struct Loaded {
  GitLibrary git;
  std::optional<Error> error;
};

Loaded load() {
  Loaded loaded;
  void* library = nullptr;
  std::string why;
  for (const char* name : kNames) {
    // Never closed: libgit2 leaves thread-local state that needs its code.
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
    if (why.empty()) why = dlerror();
  }
  if (library == nullptr) {
    loaded.error = missing(why);
    return loaded;
  }
  if (const auto absent = look_up_all(library, loaded.git); !absent.empty()) {
    loaded.error = missing("it lacks " + absent);
    return loaded;
  }
  if (loaded.git.libgit2_init() < 0) {
    loaded.error = missing("its start failed");
    return loaded;
  }
  // An older library without this option can still read repositories without such extensions.
  loaded.git.libgit2_opts(GIT_OPT_SET_EXTENSIONS, kHarmlessExtensions.data(),
                          kHarmlessExtensions.size());
  return loaded;
}

}  // namespace

Result<const GitLibrary*> GitLibrary::get() {
  static const Loaded loaded = load();
  if (loaded.error) return fail(*loaded.error);
  return &loaded.git;
}

Error GitLibrary::error(int code, std::string_view action, std::string_view subject) const {
  const git_error* last = error_last();
  const std::string words = last != nullptr && last->message != nullptr ? last->message : "";
  // Version 1.5 reports the failed look-up of safe.directory instead of GIT_EOWNER.
  if (code == GIT_EOWNER || words.find("safe.directory") != std::string::npos ||
      words.find("not owned by current user") != std::string::npos) {
    return {ErrorKind::kRefused, "git.other_owner",
            fmt::format("the git repository {0} belongs to another user, so libgit2 does not read "
                        "it; trust it with `git config --global --add safe.directory {0}`",
                        subject)};
  }
  if (words.find("unsupported extension") != std::string::npos) {
    return {ErrorKind::kRefused, "git.unsupported_extension",
            fmt::format("the git repository {} uses an extension that libgit2 cannot read ({}); "
                        "work without git data there",
                        subject, words)};
  }
  return {ErrorKind::kIo, "git.failed",
          fmt::format("cannot {} {}: {}", action, subject,
                      words.empty() ? fmt::format("libgit2 error {}", code) : words)};
}

Result<std::string> libgit2_diff(std::string_view before, std::string_view after,
                                 const std::string& path) {
  GALLEY_ASSIGN(const GitLibrary* git, GitLibrary::get());
  git_patch* patch = nullptr;
  git_diff_options options{};
  options.version = GIT_DIFF_OPTIONS_VERSION;
  options.ignore_submodules = GIT_SUBMODULE_IGNORE_UNSPECIFIED;
  options.context_lines = 3;
  options.flags = GIT_DIFF_INDENT_HEURISTIC;  // git's default, and Galley's
  int code = git->patch_from_buffers(&patch, before.data(), before.size(), path.c_str(),
                                     after.data(), after.size(), path.c_str(), &options);
  if (code < 0) return fail(git->error(code, "compare", path));
  git_buf text{};
  code = git->patch_to_buf(&text, patch);
  git->patch_free(patch);
  if (code < 0) return fail(git->error(code, "print the diff of", path));
  std::string out(text.ptr, text.size);
  git->buf_dispose(&text);
  return out;
}

}  // namespace galley
