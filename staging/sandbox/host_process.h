#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace galley {

/// How a HostProcess is started.
struct HostProcessOptions {
  std::string directory;                 ///< its working directory; empty: this process's
  std::vector<std::string> environment;  ///< NAME=value, added to this process's
  std::string output;                    ///< a device for its output; empty: this process's
  bool output_is_complaint = false;      ///< its output goes to this process's standard error
  bool shares_input = false;             ///< it reads this process's input, not what write() sends
  std::chrono::milliseconds time{0};     ///< for wait(); 0: no limit
};

/// Checks that no word is a path in `workspace`, or a name that PATH finds in it. Otherwise an
/// agent that edits the workspace could change a program that runs outside every sandbox.
/// Errors: kRefused `host.inside_workspace`.
Result<void> check_outside(const std::vector<std::string>& words, const std::string& workspace);

/// As check_outside(), for every word of a shell command line, such as $PAGER.
Result<void> check_line_outside(const std::string& line, const std::string& workspace);

/// The status of an ended program in a shell's form: its exit status, or 128 + n for signal n.
[[nodiscard]] int shell_status(int wait_status);

/// A program that the user chose and that runs outside every sandbox, with the user's rights and
/// environment: a pager, an editor, a hook. It is never a command from an agent.
///
/// Ownership: the destructor closes the program's input and waits for its end.
/// Threads:   confined to one thread.
class HostProcess {
 public:
  /// Starts `argv`, whose first word is looked up on PATH, with a pipe as its standard input. Its
  /// output goes to this process's output.
  static Result<std::unique_ptr<HostProcess>> start(const std::vector<std::string>& argv,
                                                    const HostProcessOptions& options = {});
  virtual ~HostProcess() = default;

  /// Returns false when the program no longer reads, for example a pager that was quit. This is not
  /// an error.
  virtual bool write(std::string_view text) = 0;
  /// Closes its input, waits, and returns its exit status: 128 + n for signal n. After its time, it
  /// is ended by end_tree().
  /// Errors: kTimeout `host.timeout` when it was ended, or could not be.
  virtual Result<int> wait() = 0;
};

/// A person's editor, and the file to edit.
struct EditorRequest {
  std::string editor;     ///< a shell command line, as in $EDITOR; the file's path is added
  std::string name;       ///< of the file, one component: editors use it to choose a language
  std::string workspace;  ///< must contain neither the editor nor the copy
};

/// Lets a person edit a private copy of `text`, and returns the edited text. The copy (0600) is in
/// a temporary directory (0700), which is removed afterwards with everything that the editor left
/// in it. The editor runs outside every sandbox, in the copy's directory.
///
/// Errors: kRefused `host.inside_workspace`, `editor.relative`; kRefused `editor.failed` when it
///         ends with a status other than 0 or leaves no regular file; kQuota `limit.input_size`.
Result<std::string> edit_by_person(const EditorRequest& request, const std::string& text);

}  // namespace galley
