#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

#include "cli/progress.h"
#include "staging/sandbox/host_process.h"

namespace galley {

class Hyperlinks;

enum class ColorWhen { kAuto, kAlways, kNever };

/// What text is written on.
struct Paper {
  bool has_color = false;
  size_t width = 80;  ///< columns
  /// Contents of files are shown as base/printable.h has them; else byte for byte.
  bool is_printable = false;
  const Hyperlinks* links = nullptr;  ///< null: places are text
};

/// The two streams of the program: results on stdout, talk on stderr.
///
/// Ownership: owns the pager, if one was started; what is said and finish() wait for it.
/// Threads:   confined to one thread.
class Terminal {
 public:
  struct Options {
    ColorWhen color = ColorWhen::kAuto;
    bool is_json = false;
    bool is_raw = false;    ///< exact bytes on a terminal, too
    bool is_quiet = false;  ///< no progress
    bool has_pager = true;  ///< false: a long result is written as it is
  };
  explicit Terminal(const Options& options);

  /// Whether results are coloured: asked for, or a terminal without NO_COLOR.
  [[nodiscard]] bool has_color() const { return has_color_; }
  [[nodiscard]] bool has_error_color() const { return has_error_color_; }
  [[nodiscard]] bool is_terminal() const { return is_terminal_; }
  [[nodiscard]] bool is_input_terminal() const { return is_input_terminal_; }
  [[nodiscard]] bool is_error_terminal() const { return is_error_terminal_; }
  /// Whether contents are escaped: on a terminal, and so before its pager, but not with --raw.
  [[nodiscard]] bool escapes() const { return is_terminal_ && !options_.is_raw; }
  [[nodiscard]] bool escapes_errors() const { return is_error_terminal_ && !options_.is_raw; }
  /// Whether places in results are links: asked for, or a terminal that is known to have them.
  [[nodiscard]] bool has_links(std::string_view when) const;
  /// What results are written on.
  [[nodiscard]] Paper paper() const { return {has_color_, width(), escapes()}; }
  /// What came from a file, as stdout gets it: printable on a terminal, exact elsewhere.
  [[nodiscard]] std::string content(std::string_view bytes) const;
  /// Columns of the terminal; 80 when it is none.
  [[nodiscard]] size_t width() const;

  /// Writes a result. With `pages`, text of more lines than the terminal has goes through the
  /// pager, and so does what is printed after it until there is something to say.
  void print(std::string_view text, bool pages = false);
  /// Nothing in this directory is run as a pager: the workspace's contents are not the person's.
  void keep_pager_outside(std::string directory) { workspace_ = std::move(directory); }
  /// A pager that writes to `device`; null when none is wanted or can be started.
  [[nodiscard]] std::unique_ptr<HostProcess> start_pager(const std::string& device) const;
  /// What is done from now on, shown when it takes long and this is a terminal.
  void work_on(std::string text);
  /// Gives the terminal to somebody else: no progress, no pager.
  void hand_over();
  /// Writes talk to stderr as it is; whoever made the text has escaped what came from outside.
  void talk(std::string_view text);
  /// Writes one line of talk to stderr.
  void say(std::string_view line);
  /// What went wrong, indented and coloured, with the program's name in front.
  void complain(std::string_view line);
  /// Flushes, closes the pager and waits; false when stdout could not be written.
  bool finish();

 private:
  [[nodiscard]] bool is_longer_than_screen(std::string_view text) const;

  Options options_;
  bool is_terminal_ = false;
  bool is_input_terminal_ = false;
  bool is_error_terminal_ = false;
  bool has_color_ = false;
  bool has_error_color_ = false;
  std::string workspace_;
  std::unique_ptr<HostProcess> pager_;
  Progress progress_;
};

/// Printable text whose lines after the first are indented, so that none looks like one of ours.
[[nodiscard]] std::string indented(std::string_view text);

}  // namespace galley
