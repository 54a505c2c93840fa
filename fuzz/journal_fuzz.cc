// Reads any bytes as a journal. Reading is bounded and never crashes. Recovery of a workspace with
// this journal does not change protected paths.
#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "doubles/memory_directory.h"
#include "engine/commit/journal.h"
#include "engine/commit/recovery.h"
#include "engine/commit/state_format.h"

namespace {

using galley::RelPath;

void put(const galley::WritableDirectory& directory, std::string_view name,
         std::string_view content) {
  const auto path = RelPath::parse(name);
  GALLEY_CHECK(path && make_directories(directory, path->parent(), 0755));
  const auto file = directory.open_writable_file(*path, galley::OpenMode::kCreateNew, 0644);
  GALLEY_CHECK(file && (*file)->write_at(0, content));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto verdict = galley::parse_journal(bytes);
  GALLEY_CHECK(verdict.end <= size);
  if (verdict.state != galley::JournalState::kCommitted) GALLEY_CHECK(!verdict.problem.empty());
  for (const auto& op : verdict.journal.ops) GALLEY_CHECK(!op.path.is_protected());

  const auto workspace = galley::make_memory_directory();
  put(*workspace, ".git/config", "canary");
  put(*workspace, "a", "old");
  GALLEY_CHECK(workspace->make_directory(*RelPath::parse(".galley"), 0700));
  const auto folder = workspace->stat(*RelPath::parse(".galley"));
  galley::StateFormat format{{1, 2, 3}};
  GALLEY_CHECK(folder && bind_to_folder(format, *folder));
  put(*workspace, ".galley/format", format.text());
  put(*workspace, ".galley/j/7.j", bytes);
  const auto state = galley::StateDirectory::open(*workspace);
  GALLEY_CHECK(state && *state);
  const galley::SystemClock clock;
  galley::RecoveryOptions options;
  options.boot_id = "boot";
  static_cast<void>(recover_if_needed(*workspace, **state, clock, options));
  const auto canary = read_file(*workspace, *RelPath::parse(".git/config"), 100);
  GALLEY_CHECK(canary && *canary == "canary");
  return 0;
}
