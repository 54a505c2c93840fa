#include "staging/sandbox/person_editor.h"

#include "base/file_mode.h"
#include "base/limits.h"
#include "staging/fs/directory.h"
#include "staging/sandbox/host_process.h"
#include "staging/sandbox/layer_homes.h"

namespace galley {
namespace {

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
