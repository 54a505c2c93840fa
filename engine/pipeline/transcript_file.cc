#include "engine/pipeline/transcript_file.h"

#include <chrono>
#include <nlohmann/json.hpp>

#include "base/file_mode.h"
#include "staging/fs/disk_directory.h"
#include "staging/fs/host_file.h"
#include "staging/fs/replace_file.h"

namespace galley {
namespace {

constexpr std::chrono::milliseconds kLockTime{5000};
constexpr uint32_t kOthers = 0077;

/// Returns the changes of one call in a group that was staged together.
ChangeSet changes_of(const ToolResult& result, const std::vector<StagedStep>& steps) {
  for (const StagedStep& step : steps) {
    if (step.execution_id == result.meta.execution_id) return step.changes;
  }
  return {};
}

}  // namespace

Result<TranscriptFile> TranscriptFile::open(const std::string& path, TranscriptHeader header) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == path.npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  GALLEY_ASSIGN(const std::string real_folder, absolute_path(folder));
  // Every file is below a workspace at `/`.
  const bool has_outside = !header.root.empty() && header.root != "/";
  if (has_outside && is_at_or_below(real_folder, header.root)) {
    return fail(
        ErrorKind::kUsage, "transcript.in_workspace",
        "a transcript in the workspace would be an edit that the gate did not see; name a file "
        "outside of '" +
            header.root + "'",
        path);
  }
  GALLEY_ASSIGN(auto directory, open_writable_disk_directory(real_folder));
  GALLEY_ASSIGN(RelPath name, RelPath::parse(slash == path.npos ? path : path.substr(slash + 1)));
  TranscriptFile transcript(std::move(directory), std::move(name), std::move(header));
  GALLEY_TRY(transcript.open_own());
  return transcript;
}

Result<std::unique_ptr<WritableFile>> TranscriptFile::open_own() const {
  GALLEY_ASSIGN(auto file,
                folder_->open_writable_file(name_, OpenMode::kOpenOrCreate, kPrivateFile));
  GALLEY_ASSIGN(const FileStat stat, file->stat());
  if ((stat.mode & kOthers) == 0) return file;
  return fail(ErrorKind::kRefused, "transcript.mode",
              "others may read '" + name_.str() + "': a transcript has full contents; chmod 600 it",
              name_.str());
}

Result<void> TranscriptFile::check_room() {
  if (broken_) return *broken_;
  GALLEY_ASSIGN(const FileStat stat, folder_->stat(name_));
  if (stat.size < kMaxTranscriptBytes) return {};
  return fail(ErrorKind::kQuota, "limit.transcript",
              "the transcript has reached " + std::to_string(kMaxTranscriptBytes) +
                  " bytes; go on with another file");
}

SecretProvider TranscriptFile::watched(const SecretProvider& provider) {
  if (!provider) return provider;
  return [this, provider](const std::string& name) {
    auto value = provider(name);
    if (!value) return value;
    given_.insert(name);
    std::string& known = secrets_[name];
    if (known != *value) lines_.add_secret(name, known = *value);
    return value;
  };
}

void TranscriptFile::add(const std::vector<ToolCall>& calls, std::vector<ToolResult>& results,
                         const std::vector<StagedStep>& steps, const CallOptions& options,
                         const ToolRegistry& tools) {
  // Other processes may write in between. The header says which process made the calls after it.
  std::string text = TranscriptLines::header(header_);
  for (size_t i = 0; i < results.size() && i < calls.size(); ++i) {
    TranscriptEntry entry;
    entry.tool = calls[i].tool;
    if (const auto tool = tools.get(entry.tool)) entry.version = (*tool)->tool->info().version;
    if (calls[i].args) {
      entry.arguments = std::make_shared<const nlohmann::ordered_json>(*calls[i].args);
    }
    entry.options = options;
    if (!calls[i].call_id.empty()) entry.options.call_id = calls[i].call_id;
    if (!calls[i].reason.empty()) entry.options.reason = calls[i].reason;
    entry.result = results[i];
    entry.changes = changes_of(results[i], steps);
    entry.secrets.assign(given_.begin(), given_.end());
    text += lines_.call(entry);
  }
  given_.clear();
  const auto written = append(text);
  if (written) return;
  broken_ = written.error();
  for (ToolResult& result : results) {
    result.meta.warnings.push_back("the transcript lacks this call: " + broken_->message);
  }
}

void TranscriptFile::add(const StagedStep& step) {
  const auto written = append(TranscriptLines::header(header_) + TranscriptLines::step(step));
  if (!written) broken_ = written.error();
}

Result<void> TranscriptFile::append(const std::string& text) {
  GALLEY_ASSIGN(const auto file, open_own());
  GALLEY_ASSIGN(const bool is_mine, take_lock(*file, kLockTime));
  if (!is_mine) {
    return fail(ErrorKind::kTimeout, "transcript.locked",
                "another process keeps the transcript locked");
  }
  GALLEY_ASSIGN(const FileStat stat, file->stat());
  const auto written = file->write_at(stat.size, text);
  if (!written) (void)file->truncate(stat.size);
  return written;
}

}  // namespace galley
