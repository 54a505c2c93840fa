#pragma once

#include <string>

#include "base/result.h"

namespace galley {

/// Which editor a person uses, on which file.
struct EditorRequest {
  std::string editor;     ///< a line for the shell, as $EDITOR has it; the file's path is added
  std::string name;       ///< of the file, one component: editors choose a language by it
  std::string workspace;  ///< neither the editor nor the copy may lie in it
};

/// Lets a person edit a private copy of `text`, and returns the edited text. The copy (0600) lies
/// in a temporary directory (0700), which is removed afterwards with all that the editor left
/// there. The editor runs outside every sandbox, in the copy's directory.
///
/// Errors: kRefused `host.inside_workspace`, `editor.relative`; kRefused `editor.failed` when it
///         ends with another status than 0 or leaves no regular file; kQuota `limit.input_size`.
Result<std::string> edit_by_person(const EditorRequest& request, const std::string& text);

}  // namespace galley
