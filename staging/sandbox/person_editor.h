#pragma once

#include <string>

#include "base/result.h"

namespace galley {

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
