#include "staging/sandbox/host_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <utility>

#include "base/file_mode.h"
#include "base/limits.h"
#include "staging/fs/directory.h"
#include "staging/fs/host_file.h"
#include "staging/sandbox/command_runner.h"
#include "staging/sandbox/layer_homes.h"
#include "staging/sandbox/piped_process.h"
#include "staging/sandbox/process_end.h"

extern char** environ;  // NOLINT(readability-redundant-declaration)

namespace galley {
namespace {

/// Ignores a signal during its life.
class SignalIgnored {
 public:
  explicit SignalIgnored(int number) : number_(number) {
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(number, &ignore, &before_);
  }
  ~SignalIgnored() { ::sigaction(number_, &before_, nullptr); }
  SignalIgnored(const SignalIgnored&) = delete;
  SignalIgnored& operator=(const SignalIgnored&) = delete;

 private:
  int number_;
  struct sigaction before_ {};
};

/// Ctrl-C is for the pager or editor that has the terminal. This process must end later.
struct InterruptsIgnored {
  SignalIgnored interrupt{SIGINT};
  SignalIgnored quit{SIGQUIT};
};

class SpawnedProcess final : public HostProcess {
 public:
  SpawnedProcess(pid_t pid, int input, std::unique_ptr<InterruptsIgnored> interrupts,
                 std::chrono::milliseconds time)
      : pid_(pid), input_(input), interrupts_(std::move(interrupts)), time_(time) {}
  ~SpawnedProcess() override { (void)finish(); }

  bool write(std::string_view text) override {
    // A pager that was quit must not end this process: the write returns EPIPE instead.
    const SignalIgnored broken_pipe(SIGPIPE);
    while (!text.empty()) {
      const ssize_t count = ::write(input_, text.data(), text.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) break;
      text.remove_prefix(static_cast<size_t>(count));
    }
    return text.empty();
  }

  Result<int> wait() override {
    end_input();
    if (pid_ < 0 || has_ended_by(pid_, TimeLimit(time_))) return finish();
    const bool has_ended = end_tree(pid_, PipedProcess::kEndTime);
    if (has_ended) GALLEY_TRY(finish());
    forget();
    return fail(ErrorKind::kTimeout, "host.timeout",
                "it took longer than " + std::to_string(time_.count()) + " ms and " +
                    (has_ended ? "was ended" : "could not be ended"));
  }

 private:
  /// While this waits, Ctrl-C is for the program.
  void end_input() {
    if (input_ >= 0) ::close(input_);
    input_ = -1;
    if (pid_ >= 0 && interrupts_ == nullptr) {
      interrupts_ = std::make_unique<InterruptsIgnored>();
    }
  }

  Result<int> finish() {
    end_input();
    if (pid_ < 0) return status_;
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0) {
      if (errno != EINTR) return fail(os_error(errno, "waiting for a program", ""));
    }
    forget();
    status_ = shell_status(status);
    return status_;
  }

  /// Stops waiting for it.
  void forget() {
    pid_ = -1;
    interrupts_.reset();
  }

  pid_t pid_;
  int input_;
  int status_ = 0;
  std::unique_ptr<InterruptsIgnored> interrupts_;
  std::chrono::milliseconds time_;
};

/// posix_spawn takes char* but does not change the texts.
std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  return pointers;
}

bool lies_in(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

/// Returns the first program of that name in the directories of PATH, including relative ones;
/// empty if there is none.
std::string found_on_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  const std::string all = path == nullptr ? "" : path;
  for (size_t begin = 0; begin <= all.size() && path != nullptr;) {
    const size_t end = std::min(all.find(':', begin), all.size());
    const std::string directory = end == begin ? "." : all.substr(begin, end - begin);
    const std::string candidate = directory + "/" + name;
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
    begin = end + 1;
  }
  return {};
}

/// The editor runs in the copy's directory, where a relative name would mean another file.
Result<void> check_editor(const EditorRequest& request) {
  const std::string program = request.editor.substr(0, request.editor.find_first_of(" \t"));
  const bool has_slash = program.find('/') != std::string::npos;
  const bool is_whole = program.starts_with('/') || program.find_first_of("\"'$~") == 0;
  if (has_slash && !is_whole) {
    return fail(ErrorKind::kRefused, "editor.relative",
                "the editor '" + program +
                    "' is named by a relative path; name it by its whole "
                    "path");
  }
  return check_line_outside(request.editor, request.workspace);
}

/// Ctrl-C in the editor would also end a shell that waits for the editor. So the editor replaces
/// the shell if the line is one plain command.
std::string shell_line(const std::string& editor) {
  const bool is_plain = editor.find_first_of(";|&()<>{}=!`\n") == std::string::npos;
  return (is_plain ? "exec " : "") + editor + " \"$@\"";
}

Result<void> write_copy(const WritableDirectory& directory, const RelPath& name,
                        const std::string& text) {
  GALLEY_ASSIGN(const auto file,
                directory.open_writable_file(name, OpenMode::kCreateNew, kPrivateFile));
  return file->write_at(0, text);
}

}  // namespace

int shell_status(int wait_status) {
  return WIFEXITED(wait_status) ? WEXITSTATUS(wait_status)
                                : kSignalStatusBase + WTERMSIG(wait_status);
}

Result<void> check_outside(const std::vector<std::string>& words, const std::string& workspace) {
  if (workspace.empty()) return {};
  for (const std::string& word : words) {
    const std::string path = word.find('/') == std::string::npos ? found_on_path(word) : word;
    const auto real = path.empty() ? Result<std::string>("") : absolute_path(path);
    if (!lies_in(path, workspace) && !(real && lies_in(*real, workspace))) continue;
    return fail(ErrorKind::kRefused, "host.inside_workspace",
                "it was not run, because " + word + " lies inside the workspace");
  }
  return {};
}

Result<void> check_line_outside(const std::string& line, const std::string& workspace) {
  constexpr std::string_view kBetweenWords = " \t\n'\"`$;|&()<>=";
  std::vector<std::string> words;
  for (size_t begin = line.find_first_not_of(kBetweenWords); begin != std::string::npos;) {
    const size_t end = std::min(line.find_first_of(kBetweenWords, begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(kBetweenWords, end);
  }
  return check_outside(words, workspace);
}

Result<std::unique_ptr<HostProcess>> HostProcess::start(const std::vector<std::string>& argv,
                                                        const HostProcessOptions& options) {
  if (argv.empty()) return fail(ErrorKind::kUsage, "host.no_program", "no program was named");
  int ends[2] = {-1, -1};
  if (!options.shares_input && ::pipe2(ends, O_CLOEXEC) != 0) {
    return fail(os_error(errno, "making a pipe for", argv[0]));
  }
  std::vector<char*> arguments = pointers_to(argv);
  arguments.push_back(nullptr);
  std::vector<char*> environment = pointers_to(options.environment);
  for (char** one = environ; *one != nullptr; ++one) environment.push_back(*one);
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (!options.directory.empty()) {
    posix_spawn_file_actions_addchdir_np(&actions, options.directory.c_str());
  }
  if (!options.shares_input) posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
  if (!options.output.empty()) {
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, options.output.c_str(), O_WRONLY, 0);
  }
  if (options.output_is_complaint) {
    posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  }
  // Libraries open descriptors that a program would inherit.
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  // A program that reads the terminal may be interrupted from its start.
  auto interrupts = options.shares_input ? std::make_unique<InterruptsIgnored>() : nullptr;
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t usual;
  sigemptyset(&usual);
  sigaddset(&usual, SIGPIPE);  // this process may ignore it
  if (options.shares_input) sigaddset(&usual, SIGINT);
  if (options.shares_input) sigaddset(&usual, SIGQUIT);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t pid = -1;
  const int code = ::posix_spawnp(&pid, argv[0].c_str(), &actions, &attributes, arguments.data(),
                                  environment.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (ends[0] >= 0) ::close(ends[0]);
  if (code != 0) {
    if (ends[1] >= 0) ::close(ends[1]);
    return fail(os_error(code, "starting", argv[0]));
  }
  return std::unique_ptr<HostProcess>(
      std::make_unique<SpawnedProcess>(pid, ends[1], std::move(interrupts), options.time));
}

Result<std::string> edit_by_person(const EditorRequest& request, const std::string& text) {
  GALLEY_TRY(check_editor(request));
  GALLEY_ASSIGN(const RelPath name, RelPath::parse(request.name));
  GALLEY_ASSIGN(const LayerHome home, LayerHome::open("", LayerUse::kCopy));
  GALLEY_TRY(check_outside({home.path() + "/" + request.name}, request.workspace));
  GALLEY_TRY(write_copy(home.directory(), name, text));
  HostProcessOptions options;
  options.directory = home.path();
  options.shares_input = true;
  GALLEY_ASSIGN(const auto editor, HostProcess::start({"sh", "-c", shell_line(request.editor), "sh",
                                                       home.path() + "/" + request.name},
                                                      options));
  GALLEY_ASSIGN(const int status, editor->wait());
  if (status != 0) {
    return fail(ErrorKind::kRefused, "editor.failed",
                "nothing was staged: the editor '" + request.editor + "' ended with " +
                    std::to_string(status));
  }
  auto edited = read_file(home.directory(), name, limits::kMaxFileBytes);
  if (edited) return edited;
  return fail(ErrorKind::kRefused, "editor.failed",
              "nothing was staged: what the editor left cannot be read: " + edited.error().message);
}

}  // namespace galley
