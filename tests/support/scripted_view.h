#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>
#include <vector>

#include "base/result.h"
#include "staging/fs/disk_directory.h"
#include "tests/support/temp_directory.h"

namespace galley {

/// A child process with an overlay in its own namespaces, which executes commands of the test. It
/// is like a run without the sandbox.
///
/// Each call is a list of words. It returns "ok" followed by the text that was read, or "E"
/// followed by errno. Paths are relative to the view; `..` in a path is not checked.
class ScriptedView {
 public:
  /// `layers` is the lowerdir of overlayfs. `folder` has the directories `upper` and `work`.
  ScriptedView(const std::string& layers, const std::string& folder) {
    int ends[2];
    GALLEY_CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0);
    const std::string options = "lowerdir=" + layers + ",upperdir=" + folder +
                                "/upper,workdir=" + folder + "/work,userxattr,volatile";
    const uid_t user = geteuid();
    const gid_t group = getegid();
    child_ = fork();
    GALLEY_CHECK(child_ >= 0);
    if (child_ == 0) {
      (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
      // The child must not keep the parent's open files: a lock belongs to each process that has
      // its file open.
      if (ends[1] > 3) (void)close_range(3, static_cast<unsigned>(ends[1]) - 1, 0);
      (void)close_range(static_cast<unsigned>(ends[1]) + 1, ~0U, 0);
      serve(ends[1], place_.path(), options, user, group);
    }
    close(ends[1]);
    socket_ = ends[0];
    missing_ = receive();
    if (missing_.rfind("ok", 0) == 0) {
      mount_fd_ = std::stoi(missing_.substr(2));
      missing_.clear();
    }
  }
  ~ScriptedView() { end(); }
  ScriptedView(const ScriptedView&) = delete;
  ScriptedView& operator=(const ScriptedView&) = delete;

  /// Returns why this machine cannot mount a view; empty if it can.
  [[nodiscard]] const std::string& missing() const { return missing_; }
  [[nodiscard]] pid_t process() const { return child_; }
  [[nodiscard]] int mount_fd() const { return mount_fd_; }
  [[nodiscard]] std::unique_ptr<WritableDirectory> mount() const {
    auto opened = open_writable_disk_directory("/proc/" + std::to_string(child_) + "/fd/" +
                                               std::to_string(mount_fd_));
    GALLEY_CHECK(opened.has_value());
    return *std::move(opened);
  }

  std::string call(const std::vector<std::string>& words) const {
    std::string message;
    for (const std::string& word : words) message += word + '\0';
    GALLEY_CHECK(send(socket_, message.data(), message.size(), MSG_NOSIGNAL) ==
                 static_cast<ssize_t>(message.size()));
    return receive();
  }
  [[nodiscard]] std::string read(const std::string& path) const { return call({"read", path}); }
  [[nodiscard]] std::string list(const std::string& path) const { return call({"list", path}); }

  void end() {
    if (child_ <= 0) return;
    (void)kill(child_, SIGKILL);
    (void)waitpid(child_, nullptr, 0);
    child_ = -1;
    close(socket_);
  }

 private:
  static constexpr size_t kMaxMessage = 65536;

  [[nodiscard]] std::string receive() const {
    std::string message(kMaxMessage, '\0');
    const ssize_t got = recv(socket_, message.data(), message.size(), 0);
    message.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return message;
  }

  static void put(const std::string& path, const std::string& text) {
    const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd >= 0) (void)!write(fd, text.data(), text.size());
    if (fd >= 0) close(fd);
  }

  [[noreturn]] static void serve(int socket, const std::string& place, const std::string& options,
                                 uid_t user, gid_t group) {
    const auto tell = [&](const std::string& text) {
      (void)!send(socket, text.data(), text.size(), MSG_NOSIGNAL);
    };
    const auto give_up = [&](const char* what) {
      tell(std::string(what) + ": " + std::strerror(errno));
      _exit(1);
    };
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) give_up("no user namespace");
    put("/proc/self/setgroups", "deny");
    put("/proc/self/uid_map", std::to_string(user) + " " + std::to_string(user) + " 1\n");
    put("/proc/self/gid_map", std::to_string(group) + " " + std::to_string(group) + " 1\n");
    if (::mount("overlay", place.c_str(), "overlay", MS_NOSUID | MS_NODEV, options.c_str()) != 0) {
      give_up("no overlay");
    }
    const int root = open(place.c_str(), O_PATH | O_DIRECTORY);
    if (root < 0 || chdir(place.c_str()) != 0) give_up("no view");
    tell("ok" + std::to_string(root));
    std::string message(kMaxMessage, '\0');
    int held = -1;
    for (;;) {
      const ssize_t got = recv(socket, message.data(), message.size(), 0);
      if (got <= 0) _exit(0);
      std::vector<std::string> words;
      for (size_t at = 0; at < static_cast<size_t>(got);) {
        words.emplace_back(message.c_str() + at);
        at += words.back().size() + 1;
      }
      words.resize(4);
      tell(act(words, place, held));
    }
  }

  static std::string done(bool is_done) { return is_done ? "ok" : "E" + std::to_string(errno); }

  static std::string write_at(const std::string& path, int flags, const std::string& text) {
    const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC | flags, 0644);
    if (fd < 0) return done(false);
    const bool is_done = write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
    close(fd);
    return done(is_done);
  }

  static std::string read_from(int fd) {
    if (fd < 0) return done(false);
    std::string text(kMaxMessage / 2, '\0');
    const ssize_t got = pread(fd, text.data(), text.size(), 0);
    if (got < 0) return done(false);
    text.resize(static_cast<size_t>(got));
    return "ok" + text;
  }

  static std::string names_in(const std::string& path) {
    DIR* stream = opendir(path.c_str());
    if (stream == nullptr) return done(false);
    std::vector<std::string> names;
    while (const dirent* entry = readdir(stream)) names.emplace_back(entry->d_name);
    closedir(stream);
    std::sort(names.begin(), names.end());
    std::string text = "ok";
    for (const std::string& name : names) {
      if (name != "." && name != "..") text += " " + name;
    }
    return text;
  }

  static std::string act(const std::vector<std::string>& words, const std::string& place,
                         int& held) {
    const std::string& what = words[0];
    const std::string path = words[1].empty() ? place : place + "/" + words[1];
    if (what == "write") return write_at(path, O_CREAT | O_TRUNC, words[2]);
    if (what == "append") return write_at(path, O_APPEND, words[2]);
    if (what == "save") {
      const std::string fresh = path + ".new";
      const std::string written = write_at(fresh, O_CREAT | O_TRUNC, words[2]);
      return written != "ok" ? written : done(rename(fresh.c_str(), path.c_str()) == 0);
    }
    if (what == "move") return done(rename(path.c_str(), (place + "/" + words[2]).c_str()) == 0);
    if (what == "remove") return done(unlink(path.c_str()) == 0);
    if (what == "mkdir") return done(mkdir(path.c_str(), 0755) == 0);
    if (what == "rmdir") return done(rmdir(path.c_str()) == 0);
    if (what == "chmod") return done(chmod(path.c_str(), 0755) == 0);
    if (what == "symlink") return done(symlink(words[2].c_str(), path.c_str()) == 0);
    if (what == "link") {
      char target[4096] = {};
      return readlink(path.c_str(), target, sizeof target - 1) < 0 ? done(false)
                                                                   : "ok" + std::string(target);
    }
    if (what == "mode") {
      struct stat found {};
      return lstat(path.c_str(), &found) != 0 ? done(false)
                                              : "ok" + std::to_string(found.st_mode & 0777U);
    }
    if (what == "list") return names_in(path);
    if (what == "enter") return done(chdir(path.c_str()) == 0);
    if (what == "here") return names_in(".");
    if (what == "hold") {
      held = open(path.c_str(), O_RDONLY | O_CLOEXEC);
      return done(held >= 0);
    }
    if (what == "held") return read_from(held);
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    const std::string text = read_from(fd);
    if (fd >= 0) close(fd);
    return text;
  }

  TempDirectory place_;
  pid_t child_ = -1;
  int socket_ = -1;
  int mount_fd_ = -1;
  std::string missing_;
};

}  // namespace galley
