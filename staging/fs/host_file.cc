#include "staging/fs/host_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string_view>

#include "base/file_mode.h"
#include "staging/fs/disk_directory.h"

namespace galley {
namespace {

constexpr size_t kFilePieceBytes = size_t{64} << 10U;

Result<std::string> read_all(int descriptor, const std::string& name, uint64_t max_bytes) {
  std::string text;
  struct stat info {};
  if (::fstat(descriptor, &info) == 0) {
    if (S_ISDIR(info.st_mode)) {
      return fail(ErrorKind::kInvalid, "input.is_directory",
                  "'" + name + "' is a directory; name a file, or - for standard input");
    }
    if (S_ISREG(info.st_mode)) text.reserve(static_cast<size_t>(info.st_size) + 1);
  }
  for (;;) {
    char piece[kFilePieceBytes];
    const ssize_t count = ::read(descriptor, piece, sizeof piece);
    if (count == 0) return text;
    if (count < 0 && errno != EINTR) return fail(os_error(errno, "reading", name));
    text.append(piece, static_cast<size_t>(std::max<ssize_t>(count, 0)));
    if (text.size() > max_bytes) {
      return fail(
          ErrorKind::kQuota, "limit.input_size",
          "'" + name + "' is larger than " + std::to_string(max_bytes) + " bytes; split it");
    }
  }
}

bool others_can_change(int descriptor) {
  struct stat info {};
  const bool is_safe = ::fstat(descriptor, &info) == 0 &&
                       (info.st_uid == geteuid() || info.st_uid == 0) &&
                       (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  return !is_safe;
}

Result<std::string> read_file(const std::string& path, uint64_t max_bytes, bool is_unshared) {
  if (path == "-") return read_all(STDIN_FILENO, "standard input", max_bytes);
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0 && errno == ENOENT) {
    return fail(ErrorKind::kUsage, "input.not_found", "there is no file '" + path + "'");
  }
  if (descriptor < 0) return fail(os_error(errno, "opening", path));
  const bool is_refused = is_unshared && others_can_change(descriptor);
  auto text = is_refused ? Result<std::string>() : read_all(descriptor, path, max_bytes);
  ::close(descriptor);
  if (!is_refused) return text;
  return fail(ErrorKind::kRefused, "file.others_write",
              "other users can change '" + path +
                  "': it has to belong to you or root; then run: chmod go-w " + path);
}

/// Sets $PWD to the current directory as the person spelled it, including links.
void keep_spelling(const std::string& path) {
  const char* const before = std::getenv("PWD");
  const std::string whole =
      path.starts_with('/') || before == nullptr ? path : std::string(before) + "/" + path;
  const std::string plain = normalized_path(whole);
  char spelled[PATH_MAX];
  char here[PATH_MAX];
  const bool is_so = realpath(plain.c_str(), spelled) != nullptr &&
                     getcwd(here, sizeof here) != nullptr && std::string_view(spelled) == here;
  if (is_so) (void)setenv("PWD", plain.c_str(), 1);
}

}  // namespace

std::string normalized_path(const std::string& path) {
  std::error_code failed;
  std::string plain = std::filesystem::absolute(path, failed).lexically_normal().string();
  if (failed) return {};
  if (plain.size() > 1 && plain.ends_with('/')) plain.pop_back();
  return plain;
}

Result<std::string> read_host_file(const std::string& path, uint64_t max_bytes) {
  return read_file(path, max_bytes, false);
}

Result<std::string> read_unshared_file(const std::string& path, uint64_t max_bytes) {
  return read_file(path, max_bytes, true);
}

std::optional<std::string> read_own_file(const std::string& path, uint64_t max_bytes,
                                         uint32_t other_owner) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return {};
  struct stat info {};
  const bool is_sound =
      ::fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode) &&
      static_cast<uint64_t>(info.st_size) <= max_bytes &&
      (info.st_uid == geteuid() || info.st_uid == 0 || info.st_uid == other_owner);
  auto text = is_sound ? read_all(descriptor, path, max_bytes) : Result<std::string>("");
  ::close(descriptor);
  if (!is_sound || !text) return {};
  return std::move(*text);
}

Result<std::string> read_private_file(const std::string& path, uint64_t max_bytes) {
  constexpr mode_t kOthers = S_IRWXG | S_IRWXO;
  const int descriptor =
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
  if (descriptor < 0 && errno != ELOOP) return fail(os_error(errno, "opening", path));
  struct stat info {};
  const bool is_private = descriptor >= 0 && ::fstat(descriptor, &info) == 0 &&
                          S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
                          (info.st_mode & kOthers) == 0;
  auto text = is_private ? read_all(descriptor, path, max_bytes)
                         : Result<std::string>(Error{
                               ErrorKind::kRefused, "file.not_private",
                               "'" + path +
                                   "' is not read: it has to be a regular file of your own that "
                                   "no other user may read or write (chmod 600)",
                               path, 0});
  if (descriptor >= 0) ::close(descriptor);
  return text;
}

namespace {

Result<void> write_all(int descriptor, std::string_view text, const std::string& name) {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count < 0 && errno != EINTR) return fail(os_error(errno, "writing", name));
    text.remove_prefix(static_cast<size_t>(std::max<ssize_t>(count, 0)));
  }
  return {};
}

Result<void> write_in_place(const std::string& path, std::string_view text, int flags) {
  constexpr mode_t kReadAndWrite = 0666;
  const int descriptor =
      ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | flags, kReadAndWrite);
  if (descriptor < 0 && errno == ENOENT) {
    return fail(ErrorKind::kUsage, "output.no_folder",
                "'" + path + "' cannot be written: there is no such folder");
  }
  if (descriptor < 0) return fail(os_error(errno, "opening", path));
  const auto written = write_all(descriptor, text, path);
  if (::close(descriptor) != 0 && written) return fail(os_error(errno, "writing", path));
  return written;
}

/// Returns nothing if its folder takes no new file.
Result<std::optional<bool>> replace_in_one_step(const std::string& path, mode_t mode,
                                                std::string_view text) {
  std::string part = path + ".XXXXXX";
  const int descriptor = ::mkostemp(part.data(), O_CLOEXEC);
  if (descriptor < 0) return std::optional<bool>();
  auto written = write_all(descriptor, text, path);
  if (written && ::fchmod(descriptor, mode) != 0) written = fail(os_error(errno, "writing", path));
  if (::close(descriptor) != 0 && written) written = fail(os_error(errno, "writing", path));
  if (written && ::rename(part.c_str(), path.c_str()) != 0) {
    written = fail(os_error(errno, "writing", path));
  }
  if (written) return std::optional<bool>(true);
  ::unlink(part.c_str());
  return fail(written.error());
}

}  // namespace

Result<void> write_host_file(const std::string& path, std::string_view text, bool is_added) {
  char resolved[PATH_MAX];
  struct stat info {};
  const bool is_there =
      ::realpath(path.c_str(), resolved) != nullptr && ::stat(resolved, &info) == 0;
  const std::string target = is_there ? std::string(resolved) : path;
  if (is_there && S_ISDIR(info.st_mode)) {
    return fail(ErrorKind::kUsage, "output.is_directory",
                "'" + path + "' is a directory; name a file");
  }
  struct stat link {};
  const bool is_dangling = !is_there && ::lstat(path.c_str(), &link) == 0;
  const bool is_own = !is_there || (S_ISREG(info.st_mode) && info.st_uid == geteuid());
  if (!is_added && is_own && !is_dangling) {
    const mode_t mode = is_there ? info.st_mode & 0777U : created_file_mode();
    GALLEY_ASSIGN(const auto done, replace_in_one_step(target, mode, text));
    if (done) return {};
  }
  if (is_added && is_there && !S_ISREG(info.st_mode)) {
    return fail(ErrorKind::kUsage, "output.not_a_file",
                "'" + path + "' is no regular file, so nothing is added to it; name a file");
  }
  const int flags = is_added                             ? O_APPEND | O_CREAT | O_NONBLOCK
                    : is_there && !S_ISREG(info.st_mode) ? 0
                                                         : O_TRUNC | O_CREAT;
  return write_in_place(target, text, flags);
}

bool open_standard_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    const int access = stream == STDOUT_FILENO ? O_RDONLY : O_RDWR;
    if (fcntl(stream, F_GETFD) < 0 && open("/dev/null", access) < 0) return false;
  }
  return true;
}

Result<void> enter_directory(const std::string& path) {
  if (::chdir(path.c_str()) == 0) {
    keep_spelling(path);
    return {};
  }
  return fail(ErrorKind::kUsage, "workspace.not_found",
              "there is no directory '" + path + "' to work in", path);
}

bool is_at_or_below(std::string_view path, std::string_view folder) {
  while (folder.size() > 1 && folder.ends_with('/')) folder.remove_suffix(1);
  if (!path.starts_with(folder)) return false;
  return path.size() == folder.size() || folder == "/" || path[folder.size()] == '/';
}

EnteredLink entered_link(const std::string& root) {
  const char* const told = std::getenv("PWD");
  std::string place = told == nullptr ? std::string() : std::string(told);
  const auto is_below = [&root](const std::string& path) {
    return (path + "/").starts_with(root + "/");
  };
  const bool is_plain =
      place.starts_with('/') && place.size() < PATH_MAX && normalized_path(place) == place;
  EnteredLink entered;
  if (!is_plain || is_below(place)) return entered;
  for (; place.size() > 1; place.resize(place.rfind('/'))) {
    char real[PATH_MAX];
    if (realpath(place.c_str(), real) == nullptr || !is_below(real)) break;
    entered = {place, real};
  }
  return entered;
}

std::string without_entered_link(const std::string& path, const std::string& root) {
  if (!path.starts_with('/') || (path + "/").starts_with(root + "/")) return path;
  const EnteredLink entered = entered_link(root);
  const std::string plain = normalized_path(path);
  const bool is_there = !entered.link.empty() && (plain + "/").starts_with(entered.link + "/");
  return is_there ? entered.folder + plain.substr(entered.link.size()) : path;
}

Result<std::string> absolute_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  if (real == nullptr && errno == ENOENT && path == ".") {
    return fail(ErrorKind::kUsage, "workspace.not_found",
                "the current folder was removed; enter another one");
  }
  if (real == nullptr) return fail(os_error(errno, "opening", path));
  return std::string(real.get());
}

bool is_special_file(const std::string& path) {
  struct stat found {};
  if (stat(path.c_str(), &found) != 0 || S_ISREG(found.st_mode)) return false;
  const bool is_null = S_ISCHR(found.st_mode) && found.st_rdev == makedev(1, 3);
  // To open a socket fails at once.
  return !is_null && !S_ISDIR(found.st_mode) && !S_ISSOCK(found.st_mode);
}

}  // namespace galley
