#include <gtest/gtest.h>

#include "crash/cases.h"
#include "doubles/memory_directory.h"

namespace galley {
namespace {

constexpr const char* kToken = "the user's own bytes";

/// The four ways a program saves a file.
enum class Save { kInPlace, kRename, kCreate, kHeldDescriptor };

const char* name_of(Save save) {
  switch (save) {
    case Save::kInPlace:
      return "in place";
    case Save::kRename:
      return "temp + rename";
    case Save::kCreate:
      return "create";
    case Save::kHeldDescriptor:
      return "held descriptor";
  }
  return "";
}

bool holds_token(const WritableDirectory& directory) {
  const auto entries = directory.list();
  if (!entries) return false;
  for (const auto& entry : *entries) {
    const RelPath name = rel(entry.name);
    if (entry.kind == FileKind::kDirectory) {
      // The user cannot reach contents that only a slot, a stage or a journal has.
      const bool is_hidden = entry.name == "slot" || entry.name == "j" || entry.name == "undo";
      const auto child = directory.open_writable_directory(name);
      if (!is_hidden && child && holds_token(**child)) return true;
    } else if (entry.kind == FileKind::kRegular) {
      const auto content = read_file(directory, name, 1U << 20U);
      if (content && content->find(kToken) != std::string::npos) return true;
    }
  }
  return false;
}

void settle(const WritableDirectory& workspace) {
  ASSERT_TRUE(reopen(workspace));
  const auto retired = retire_all(workspace);
  ASSERT_TRUE(retired) << retired.error().message;
}

class ForeignSaveFacts : public testing::TestWithParam<CrashCase> {};

INSTANTIATE_TEST_SUITE_P(Of, ForeignSaveFacts, testing::ValuesIn(crash_cases()),
                         [](const auto& shape) { return name_of_test(shape.param); });

/// Runs one commit with one save right before call `at`; false when the commit has fewer calls.
bool run_with_save(const CrashCase& shape, const RelPath& path, Save save, size_t at, bool kills,
                   size_t& cases) {
  const auto workspace = make_case(shape);
  const WritableDirectory& raw = *workspace.directory;
  std::unique_ptr<WritableFile> held;
  if (save == Save::kHeldDescriptor) {
    auto opened = raw.open_writable_file(path, OpenMode::kReadWrite);
    if (!opened) return false;
    held = std::move(*opened);
  }
  bool is_saved = false;
  const auto plan = std::make_shared<FaultPlan>();
  plan->at = at;
  plan->kills = kills;
  plan->before = [&] {
    switch (save) {
      case Save::kInPlace: {
        const auto file = raw.open_writable_file(path, OpenMode::kReadWrite);
        is_saved = file && (*file)->write_at((*file)->stat()->size, kToken);
        break;
      }
      case Save::kRename: {
        const auto file = raw.open_writable_file(rel("editor.tmp"), OpenMode::kCreateNew, 0644);
        ASSERT_TRUE(file && (*file)->write_at(0, kToken));
        is_saved = bool(raw.rename(rel("editor.tmp"), raw, path, RenameMode::kReplace));
        if (!is_saved) {
          ASSERT_TRUE(raw.remove_file(rel("editor.tmp")));
        }
        break;
      }
      case Save::kCreate: {
        const auto file = raw.open_writable_file(path, OpenMode::kCreateNew, 0644);
        is_saved = file && (*file)->write_at(0, kToken);
        break;
      }
      case Save::kHeldDescriptor:
        is_saved = bool(held->write_at(held->stat()->size, kToken));
        break;
    }
  };
  const auto spoiled = make_fault_directory(open_memory_tree(workspace.tree), plan);
  const auto outcome = publish(*spoiled, *workspace.proposal);
  if (plan->calls.size() < at) return false;
  if (!kills) {
    EXPECT_TRUE(outcome) << shape.name << ": " << outcome.error().message;
  }
  settle(raw);
  if (!is_saved) return true;
  ++cases;
  const AsRoot as_root(raw);
  EXPECT_TRUE(holds_token(raw)) << shape.name << ": a save " << name_of(save) << " of "
                                << path.str() << " before call " << at << " ("
                                << plan->calls[at - 1].name << " " << plan->calls[at - 1].path
                                << ")" << (kills ? " and a kill" : "") << " is gone";
  return true;
}

TEST_P(ForeignSaveFacts, ASaveBeforeAnyCallIsNeverLost) {
  const CrashCase& shape = GetParam();
  const auto workspace = make_case(shape);
  size_t cases = 0;
  for (const bool kills : {false, true}) {
    for (const auto& change : workspace.proposal->changes()) {
      for (const Save save :
           {Save::kInPlace, Save::kRename, Save::kCreate, Save::kHeldDescriptor}) {
        for (size_t at = 1; run_with_save(shape, change.path, save, at, kills, cases);
             at += stride_of(shape, 7)) {
          if (HasFailure()) return;
        }
      }
    }
  }
  std::printf(
      "CRASH | foreign saves: %-19s |       | %6zu |      - |      - |       - |     0 |      0\n",
      shape.name.c_str(), cases);
  EXPECT_GT(cases, 0U);
}

TEST_P(ForeignSaveFacts, AFileMadeInAChangedDirectoryIsNeverLost) {
  const CrashCase& shape = GetParam();
  const auto workspace = make_case(shape);
  size_t cases = 0;
  for (const auto& change : workspace.proposal->changes()) {
    const bool is_directory =
        change.before.kind == FileKind::kDirectory || change.after.kind == FileKind::kDirectory;
    if (!is_directory) continue;
    const RelPath inside = *change.path.join(rel("made by the user"));
    for (const bool kills : {false, true}) {
      for (size_t at = 1; run_with_save(shape, inside, Save::kCreate, at, kills, cases);
           at += stride_of(shape, 7)) {
        if (HasFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace galley
