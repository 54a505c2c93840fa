#include "staging/sandbox/read_back.h"

#include <sys/vfs.h>
#include <unistd.h>

#include <chrono>
#include <utility>

#include "base/file_mode.h"
#include "base/limits.h"

namespace galley {
namespace {

uint64_t in_ms(std::chrono::nanoseconds span) {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::milliseconds>(span).count());
}

/// Collects the files to return, from the effects of the command or else from the proposed tree.
Result<void> collect(const Command& command, const WritableDirectory& upper, Overlay& overlay,
                     CommandResult& result) {
  for (const RelPath& path : command.collect) {
    GALLEY_ASSIGN(const FileStat made, upper.stat(path));
    if (made.kind == FileKind::kRegular) {
      GALLEY_ASSIGN(result.collected[path], read_file(upper, path, limits::kMaxFileBytes));
    } else if (made.kind == FileKind::kAbsent) {
      const auto proposed = overlay.read(path);
      if (proposed) result.collected[path] = **proposed;
    }
  }
  return {};
}

/// Whether less is left in this file system than most programs write at once.
bool is_full(const Directory& directory) {
  constexpr uint64_t kLeast = uint64_t{64} << 10U;
  struct statfs system {};
  if (fstatfs(directory.descriptor(), &system) != 0 || system.f_blocks == 0) return false;
  const uint64_t blocks = geteuid() == 0 ? system.f_bfree : system.f_bavail;
  return blocks < kLeast / static_cast<uint64_t>(system.f_bsize);
}

}  // namespace

Result<int64_t> ReadBack::file_system_now() const {
  // Setting the mode of a directory sets its time stamp.
  const RelPath stamped = *RelPath::parse("run");
  const WritableDirectory& home = homes_->upper().directory();
  GALLEY_TRY(home.set_mode(stamped, kPrivateDirectory));
  GALLEY_ASSIGN(const FileStat stat, home.stat(stamped));
  return stat.ctime_ns;
}

/// The deadline is the wall limit plus the grace, minus the time that the command took. Without a
/// wall limit it never passes.
Deadline ReadBack::deadline(const Command& command, const CommandResult& result) const {
  const auto wall = command.limits.with_defaults().wall;
  if (wall.count() == 0) return {};
  const auto left = wall + kReadBackGrace - result.wall;
  return Deadline::after(*clock_, std::chrono::duration_cast<std::chrono::milliseconds>(left));
}

Result<void> ReadBack::take(const Command& command, const FinishedLayer& layer, Overlay& overlay,
                            CommandResult& result) const {
  if (is_full(homes_->upper().directory())) result.full_folder = homes_->upper().path();
  GALLEY_TRY(collect(command, layer.upper, overlay, result));
  const bool is_wanted = command.effects == EffectsRule::kStageAlways ||
                         (command.effects == EffectsRule::kStageOnSuccess && result.succeeded());
  if (!is_wanted || result.breach) return {};
  return absorb(command, layer, overlay, result);
}

Result<void> ReadBack::absorb(const Command& command, const FinishedLayer& layer, Overlay& overlay,
                              CommandResult& result) const {
  GALLEY_ASSIGN(const auto scratch, homes_->open_scratch());
  GALLEY_ASSIGN(const int64_t ended_ns, file_system_now());
  const uint64_t file_bytes = command.limits.with_defaults().max_file_bytes;
  const AbsorbRules rules{
      is_ignored_, command.propose_ignored,   command.keep, layer.deleted, layer.began_ns,
      ended_ns,    deadline(command, result), clock_,       file_bytes};
  const auto before = clock_->steady();
  auto report = absorb_layer(layer.upper, *scratch, overlay, rules);
  if (!report && report.error().kind == ErrorKind::kTimeout) {
    const auto took = result.wall + (clock_->steady() - before);
    result.breach =
        LimitBreach{LimitKind::kReadBack,
                    in_ms(command.limits.with_defaults().wall + kReadBackGrace), in_ms(took)};
    return {};
  }
  if (!report) return fail(report.error());
  if (report->has_cut_files) {
    result.breach = LimitBreach{LimitKind::kFileSize, file_bytes, file_bytes};
  }
  result.refused = std::move(report->refused);
  result.effects_staged = result.refused.empty();
  result.staged_paths = result.effects_staged ? report->staged : 0;
  result.ignored_paths = report->ignored;
  result.protected_paths = report->protected_paths;
  result.ignored_path = std::move(report->first_ignored);
  result.protected_names = std::move(report->protected_names);
  result.other_bits = std::move(report->other_bits);
  return {};
}

}  // namespace galley
