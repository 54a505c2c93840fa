#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "cli/progress.h"
#include "staging/sandbox/host_process.h"

namespace galley {

class Hyperlinks;

enum class ColorWhen { kAuto, kAlways, kNever };

/// The properties of an output device.
struct OutputStyle {
  bool has_color = false;
  size_t width = 80;  ///< columns
  /// Whether contents of files are escaped (base/printable.h); otherwise they are written
  /// unchanged.
  bool is_printable = false;
  const Hyperlinks* links = nullptr;  ///< null: places are plain text
};

/// The two output streams of the program: results on stdout, messages on stderr.
///
/// Ownership: owns the pager, if one was started. Messages and finish() wait for its end.
/// Threads:   confined to one thread.
class Terminal {
 public:
  struct Options {
    ColorWhen color = ColorWhen::kAuto;
    bool is_json = false;
    bool is_raw = false;    ///< unchanged bytes, also on a terminal
    bool is_quiet = false;  ///< no progress
    bool has_pager = true;  ///< false: never starts a pager
  };
  explicit Terminal(const Options& options);

  /// Whether results are coloured: if requested, or on a terminal without NO_COLOR.
  [[nodiscard]] bool has_color() const { return has_color_; }
  [[nodiscard]] bool has_error_color() const { return has_error_color_; }
  [[nodiscard]] bool is_terminal() const { return is_terminal_; }
  [[nodiscard]] bool is_input_terminal() const { return is_input_terminal_; }
  [[nodiscard]] bool is_error_terminal() const { return is_error_terminal_; }
  /// Whether contents are escaped: on a terminal (also through its pager), but not with --raw.
  [[nodiscard]] bool escapes() const { return is_terminal_ && !options_.is_raw; }
  [[nodiscard]] bool escapes_errors() const { return is_error_terminal_ && !options_.is_raw; }
  /// Whether places in results are links: if requested, or on a terminal that is known to support
  /// them.
  [[nodiscard]] bool has_links(std::string_view when) const;
  /// The properties of standard output.
  [[nodiscard]] OutputStyle style() const { return {has_color_, width(), escapes()}; }
  /// Returns text of a file for stdout: escaped on a terminal, unchanged elsewhere.
  [[nodiscard]] std::string content(std::string_view bytes) const;
  /// Returns the columns of the terminal; 80 if it is not a terminal.
  [[nodiscard]] size_t width() const;

  /// Writes a result. With `pages`, text that is longer than the screen goes through the pager.
  /// Further results go there as well, until a message is written.
  void print(std::string_view text, bool pages = false);
  /// Forbids pagers in this directory: a person does not control the contents of the workspace.
  void keep_pager_outside(std::string directory) { workspace_ = std::move(directory); }
  /// Starts a pager that writes to `device`. Returns null if the person wants no pager, or if it
  /// cannot be started.
  [[nodiscard]] std::unique_ptr<HostProcess> start_pager(const std::string& device) const;
  /// Sets the current work. It is shown on a terminal if it takes long.
  void work_on(std::string text);
  /// Stops progress and pager, so that another program can use the terminal.
  void release_terminal();
  /// Writes a message to stderr unchanged; the caller has escaped untrusted text.
  void print_message(std::string_view text);
  /// Writes one line to stderr.
  void say(std::string_view line);
  /// Writes an error, indented and coloured, after the program's name.
  void print_error(std::string_view line);
  /// Nobody reads stdout any longer, so finish() does not report what could not be written.
  void forget_output() { has_no_reader_ = true; }
  /// Flushes, closes the pager and waits. Returns false if stdout could not be written.
  bool finish();

 private:
  [[nodiscard]] bool is_longer_than_screen(std::string_view text) const;

  Options options_;
  bool is_terminal_ = false;
  bool is_input_terminal_ = false;
  bool is_error_terminal_ = false;
  bool has_color_ = false;
  bool has_error_color_ = false;
  bool has_no_reader_ = false;
  std::string workspace_;
  std::unique_ptr<HostProcess> pager_;
  Progress progress_;
};

/// Escapes text and indents its lines after the first, so that none looks like a line of ours.
[[nodiscard]] std::string indented(std::string_view text);

}  // namespace galley
