#include "cli/person.h"

#include <cstdlib>

#include "staging/fs/controlling_terminal.h"

namespace galley {

Result<void> need_person(Session& session, const std::string& text, const std::string& question) {
  const std::string& command = session.arguments().command;
  if (std::getenv("GALLEY_SANDBOX") != nullptr) {
    return fail(ErrorKind::kRefused, "person.inside_exec",
                "`galley " + command +
                    "` is a person's word and is refused inside a command that "
                    "Galley runs");
  }
  if (session.is_unattended()) return {};
  auto terminal = ControllingTerminal::open();
  if (!terminal) {
    return fail(ErrorKind::kRefused, "person.no_terminal",
                "`galley " + command +
                    "` is a person's word: say it at a terminal. On a machine with nobody at it, "
                    "put `unattended = true` into your own configuration (" +
                    session.user().config_path + ")");
  }
  GALLEY_TRY((*terminal)->write(text));
  GALLEY_ASSIGN(const std::string answer, (*terminal)->ask(question + " [y/N] "));
  if (answer == "y" || answer == "yes") return {};
  return fail(ErrorKind::kRefused, "person.said_no", "nothing was done: the answer was no");
}

}  // namespace galley
