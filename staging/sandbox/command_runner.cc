#include "staging/sandbox/command_runner.h"

#include "staging/sandbox/live_run.h"

#include <fmt/core.h>

#include "base/printable.h"
#include "base/text.h"
#include "staging/overlay/change_set.h"

namespace galley {
namespace {

constexpr size_t kMaxNamedDirectories = 5;

}  // namespace

CommandLimits AskedLimits::with_defaults() const {
  CommandLimits limits;
  const auto take = [](auto& limit, const auto& asked) {
    if (asked) limit = *asked;
  };
  take(limits.wall, wall);
  take(limits.grace, grace);
  take(limits.cpu, cpu);
  take(limits.max_memory_bytes, max_memory_bytes);
  take(limits.max_processes, max_processes);
  take(limits.max_file_bytes, max_file_bytes);
  take(limits.max_written_bytes, max_written_bytes);
  take(limits.max_open_files, max_open_files);
  take(limits.max_stdout_bytes, max_stdout_bytes);
  take(limits.max_stderr_bytes, max_stderr_bytes);
  take(limits.max_private_bytes, max_private_bytes);
  return limits;
}

std::string CapturedOutput::text() const {
  if (omitted_bytes == 0) return head + tail;
  std::string all = head;
  if (!all.empty() && all.back() != '\n') all.push_back('\n');
  all += fmt::format("[... {} bytes left out ...]\n", omitted_bytes);
  return all + tail;
}

std::vector<std::string> LostWithCommand::sentences() const {
  std::vector<std::string> all;
  if (processes == 1) {
    all.push_back(fmt::format(
        "a background process ({}) ended with the command: start it and use it in one command",
        process));
  } else if (processes > 1) {
    all.push_back(fmt::format(
        "{} background processes ({}, ...) ended with the command: start them and use them in one "
        "command",
        processes, process));
  }
  if (files > 0) {
    all.push_back(
        fmt::format("the command's own temporary directory is gone, with {}{}: write "
                    "what must stay into the workspace",
                    file.empty() ? "its files" : file, files > 1 && !file.empty() ? ", ..." : ""));
  }
  return all;
}

std::vector<std::string> CommandResult::losses() const {
  std::vector<std::string> all = lost.sentences();
  if (!full_folder.empty()) {
    const bool is_own = full_folder.find("/.galley/") == std::string::npos;
    all.push_back("less than 64 KiB is left in " + printable_line(full_folder) +
                  ", where commands write, so a file may be cut off: free some space" +
                  (is_own ? ", or set TMPDIR to a folder that has more" : ""));
  }
  if (!effects_staged) return all;
  if (ignored_paths > 0) {
    all.push_back(
        fmt::format("git ignores '{}'{}, which it changed: not proposed, unless "
                    "sandbox.propose_ignored is true",
                    printable_line(ignored_path),
                    ignored_paths > 1 ? " and " + counted(ignored_paths - 1, "more path") : ""));
  }
  if (!other_bits.empty()) {
    all.push_back(kOtherBitsNote + printable_line(join_some(other_bits, kMaxNamedDirectories)));
  }
  if (protected_paths > 0) {
    const uint64_t more = protected_paths - protected_names.size();
    all.push_back(fmt::format(
        "what it wrote in {} is dropped: no change contains a .git, .galley or .sage; to "
        "make a repository, run git outside of Galley",
        "'" + printable_line(join(protected_names, "', '")) + "'" +
            (more > 0 ? " and " + counted(more, "more path") : "")));
  }
  return all;
}

std::string_view sandbox_level_name(SandboxLevel level) {
  switch (level) {
    case SandboxLevel::kNamespaces:
      return "namespaces";
    case SandboxLevel::kCopy:
      return "copy";
    case SandboxLevel::kNone:
      break;
  }
  return "none";
}

Error LimitBreach::error() const {
  switch (kind) {
    case LimitKind::kWall:
      return {ErrorKind::kTimeout, "sandbox.timeout",
              fmt::format("the command ran for {} ms and the limit is {} ms; every process of it "
                          "was killed",
                          figure, limit),
              "", 0};
    case LimitKind::kCancelled:
      return {ErrorKind::kTimeout, "sandbox.cancelled",
              figure == 0  // the time of a stopped run is not measured
                  ? "the program was stopped, with all that it started"
                  : fmt::format("the command was cancelled after {} ms; every process of it was "
                                "killed",
                                figure),
              "", 0};
    case LimitKind::kReadBack:
      return {ErrorKind::kTimeout, "sandbox.read_back",
              fmt::format("reading back what the command changed was not done {} ms after its "
                          "start, and the limit is {} ms; its effects were dropped: change less, "
                          "or raise sandbox.timeout_ms",
                          figure, limit),
              "", 0};
    case LimitKind::kCpu:
      return {ErrorKind::kQuota, "sandbox.quota_cpu",
              fmt::format("the command used {} s of processor time and the limit is {} s", figure,
                          limit),
              "", 0};
    case LimitKind::kMemory:
      return {ErrorKind::kQuota, "sandbox.quota_memory",
              fmt::format("the command held {} bytes of memory and the limit is {} bytes", figure,
                          limit),
              "", 0};
    case LimitKind::kWritten:
      return {ErrorKind::kQuota, "sandbox.quota_written",
              fmt::format("the command wrote {} bytes and the limit is {} bytes", figure, limit),
              "", 0};
    case LimitKind::kFileSize:
      return {
          ErrorKind::kQuota, "sandbox.quota_file_size",
          fmt::format("the command tried to make a file larger than the limit of {} bytes", limit),
          "", 0};
  }
  return {};
}

Result<std::unique_ptr<LiveRun>> CommandRunner::start(const Command& /*command*/,
                                                      const LiveOptions& /*options*/,
                                                      const Overlay& /*overlay*/) {
  return fail(ErrorKind::kRefused, "sandbox.unavailable",
              "a program that goes on running needs the sandbox of namespaces; galley doctor says "
              "what this machine lacks for it");
}

Overlay overlay_of(const Proposal& proposal, const Directory& workspace, const Clock& clock) {
  // Reading through a proposal never changes its store. An absorbed layer adds contents to it,
  // which a content store permits.
  Overlay overlay(workspace, std::const_pointer_cast<ContentStore>(proposal.store()), clock);
  Overlay::Entries entries;
  for (const Change& change : proposal.changes()) {
    entries.emplace(change.path, Overlay::Entry{change.before,
                                                change.base,
                                                change.after,
                                                change.renamed_from,
                                                change.copied_from,
                                                {},
                                                change.written});
  }
  overlay.restore(std::move(entries));
  return overlay;
}

}  // namespace galley
