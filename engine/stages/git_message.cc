#include "engine/stages/git_message.h"

#include "base/file_mode.h"

namespace galley {
namespace {

RelPath message_file() { return *RelPath::parse("git-commit"); }

}  // namespace

Result<void> keep_git_message(const WritableDirectory& stage, const std::string& message) {
  if (message.size() > kMaxGitMessageBytes) {
    return fail(ErrorKind::kQuota, "limit.git_message",
                "a commit message has at most " + std::to_string(kMaxGitMessageBytes) + " bytes");
  }
  GALLEY_ASSIGN(const auto file,
                stage.open_writable_file(message_file(), OpenMode::kOpenOrCreate, kPrivateFile));
  GALLEY_TRY(file->truncate(0));
  return file->write_at(0, message);
}

Result<std::string> kept_git_message(const Directory& stage) {
  auto message = read_file(stage, message_file(), kMaxGitMessageBytes);
  if (message || message.error().kind != ErrorKind::kNotFound) return message;
  return std::string();
}

}  // namespace galley
