#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace galley {

/// How a HostProcess is started.
struct HostProcessOptions {
  std::string directory;                 ///< its working directory; empty: ours
  std::vector<std::string> environment;  ///< NAME=value, beside our own
  std::string output;                    ///< a device that it writes to; empty: where we write
  bool shares_input = false;             ///< it reads what we would read, not what write() gives
};

/// Checks that no word is a path in `workspace` or the name of a program on PATH that lies there:
/// who can edit the workspace could change what runs outside every sandbox.
/// Errors: kRefused `host.inside_workspace`.
Result<void> check_outside(const std::vector<std::string>& words, const std::string& workspace);

/// As check_outside(), for every word of a line for the shell, such as $PAGER.
Result<void> check_line_outside(const std::string& line, const std::string& workspace);

/// How a program ended, as a shell has it: its exit status, or 128 + n for signal n.
[[nodiscard]] int shell_status(int wait_status);

/// A program that the user chose and that runs outside every sandbox, with the user's rights and
/// environment: a pager, an editor, a hook. It is never a command that an agent named.
///
/// Ownership: the destructor closes its input and waits for it.
/// Threads:   confined to one thread.
class HostProcess {
 public:
  /// Starts `argv`, whose first word is looked up on PATH, with a pipe as its standard input. Its
  /// output goes where ours goes.
  static Result<std::unique_ptr<HostProcess>> start(const std::vector<std::string>& argv,
                                                    const HostProcessOptions& options = {});
  virtual ~HostProcess() = default;

  /// Returns false when it no longer reads, as a pager that was quit: not an error.
  virtual bool write(std::string_view text) = 0;
  /// Closes its input, waits, and returns its exit status: 128 + n for signal n.
  virtual Result<int> wait() = 0;
};

}  // namespace galley
