#include "staging/git/git_library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <optional>

namespace galley {

namespace {

// The header's own version first; the others keep the layout of everything we touch.
constexpr std::array kNames = {"libgit2.so.1.5", "libgit2.so.1.6", "libgit2.so.1.7",
                               "libgit2.so.1.8", "libgit2.so.1.9", "libgit2.so.1.4",
                               "libgit2.so.1.3"};

// Extensions that change nothing of what we read: libgit2 refuses them unless it is told so.
constexpr std::array<const char*, 2> kHarmlessExtensions = {"worktreeconfig", "partialclone"};

Error missing(const std::string& why) {
  return {ErrorKind::kNotFound,
          "git.library_missing",
          "git data cannot be read: libgit2 could not be loaded (" + why +
              "); install the package libgit2-1.5",
          {},
          0};
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
  table.look_up("git_index_get_bypath", git.index_get_bypath);
  table.look_up("git_index_find_prefix", git.index_find_prefix);
  table.look_up("git_blob_lookup", git.blob_lookup);
  table.look_up("git_blob_rawcontent", git.blob_rawcontent);
  table.look_up("git_blob_rawsize", git.blob_rawsize);
  table.look_up("git_blob_free", git.blob_free);
  table.look_up("git_reference_name_to_id", git.reference_name_to_id);
  table.look_up("git_commit_lookup", git.commit_lookup);
  table.look_up("git_commit_tree", git.commit_tree);
  table.look_up("git_commit_free", git.commit_free);
  table.look_up("git_tree_entry_bypath", git.tree_entry_bypath);
  table.look_up("git_tree_entry_id", git.tree_entry_id);
  table.look_up("git_tree_entry_filemode", git.tree_entry_filemode);
  table.look_up("git_tree_entry_free", git.tree_entry_free);
  table.look_up("git_tree_free", git.tree_free);
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
    // Never closed: libgit2 leaves thread-local state behind that must not lose its code.
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
  // An older library without this option still reads every repository without such extensions.
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
  // 1.5 reports the failed look-up of safe.directory instead of its GIT_EOWNER.
  if (code == GIT_EOWNER || words.find("safe.directory") != std::string::npos ||
      words.find("not owned by current user") != std::string::npos) {
    return {ErrorKind::kRefused,
            "git.other_owner",
            fmt::format("the git repository {0} belongs to another user, so libgit2 does not read "
                        "it; trust it with `git config --global --add safe.directory {0}`",
                        subject),
            {},
            0};
  }
  if (words.find("unsupported extension") != std::string::npos) {
    return {ErrorKind::kRefused,
            "git.unsupported_extension",
            fmt::format("the git repository {} uses an extension that libgit2 cannot read ({}); "
                        "work without git data there",
                        subject, words),
            {},
            0};
  }
  return {ErrorKind::kIo,
          "git.failed",
          fmt::format("cannot {} {}: {}", action, subject,
                      words.empty() ? fmt::format("libgit2 error {}", code) : words),
          {},
          0};
}

}  // namespace galley
