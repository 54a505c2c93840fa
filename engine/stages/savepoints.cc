#include "engine/stages/savepoints.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/file_mode.h"
#include "base/text.h"
#include "staging/overlay/overlay_file.h"
#include "staging/overlay/staged_step.h"

namespace galley {
namespace {

constexpr std::string_view kMagic = "galley savepoint 1\n";
constexpr std::string_view kFolder = "savepoints";
constexpr std::string_view kForkFile = "fork";
constexpr uint64_t kMaxSavepointBytes = uint64_t{256} << 20U;
constexpr uint64_t kMaxForkBytes = 256;

RelPath name_of(std::string_view text) { return RelPath::parse(text).value(); }

Result<void> replace_savepoint_file(const WritableDirectory& directory, const std::string& name,
                                    std::string_view content) {
  const RelPath scratch = name_of(name + ".new");
  GALLEY_ASSIGN(const auto file,
                directory.open_writable_file(scratch, OpenMode::kOpenOrCreate, kPrivateFile));
  GALLEY_TRY(file->truncate(0));
  GALLEY_TRY(file->write_at(0, content));
  return directory.rename(scratch, directory, name_of(name), RenameMode::kReplace);
}

Result<void> check_savepoint_name(std::string_view name) {
  const bool is_good = !name.empty() && name.size() <= kMaxSavepointNameBytes &&
                       std::all_of(name.begin(), name.end(), [](char c) {
                         return static_cast<uint8_t>(c) >= ' ' && c != 127;
                       });
  if (is_good) return {};
  return fail(ErrorKind::kUsage, "savepoint.bad_name",
              "a savepoint's name has 1 to " + std::to_string(kMaxSavepointNameBytes) +
                  " bytes and no control characters");
}

/// Numbers of the savepoint files, ascending.
Result<std::vector<uint64_t>> numbers_in(const Directory& stage) {
  std::vector<uint64_t> numbers;
  GALLEY_ASSIGN(const FileStat stat, stage.stat(name_of(kFolder)));
  if (stat.kind != FileKind::kDirectory) return numbers;
  GALLEY_ASSIGN(const auto folder, stage.open_directory(name_of(kFolder)));
  GALLEY_ASSIGN(const auto entries, folder->list());
  for (const DirectoryEntry& entry : entries) {
    const auto number = number_of<uint64_t>(entry.name);
    if (number) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

struct Kept {
  Savepoint about;
  Overlay::Entries entries;
};

tl::unexpected<Error> damaged_savepoint(uint64_t number) {
  return fail(ErrorKind::kInvalid, "stage.damaged",
              "savepoint " + std::to_string(number) +
                  " of this transaction is damaged; what is staged now is not");
}

Result<Kept> read_savepoint(const Directory& stage, uint64_t number) {
  GALLEY_ASSIGN(const std::string text,
                read_file(stage, name_of(std::string(kFolder) + "/" + std::to_string(number)),
                          kMaxSavepointBytes));
  std::string_view rest = text;
  if (!rest.starts_with(kMagic)) return damaged_savepoint(number);
  rest.remove_prefix(kMagic.size());
  Kept kept;
  const char* end = rest.data() + rest.size();
  const auto [at, code] = std::from_chars(rest.data(), end, kept.about.made_ns);
  if (code != std::errc() || at == end || *at != '\n') return damaged_savepoint(number);
  rest.remove_prefix(static_cast<size_t>(at - rest.data()) + 1);
  const size_t line = rest.find('\n');
  if (line == std::string_view::npos) return damaged_savepoint(number);
  kept.about.name = rest.substr(0, line);
  auto entries = decode_entries(rest.substr(line + 1));
  if (!entries) return damaged_savepoint(number);
  kept.entries = *std::move(entries);
  kept.about.changes = ShownPaths(kept.entries).count();
  return kept;
}

/// The number and state of the newest savepoint of this name.
Result<std::pair<uint64_t, Kept>> find_savepoint(const Directory& stage, std::string_view name) {
  GALLEY_ASSIGN(const std::vector<uint64_t> numbers, numbers_in(stage));
  std::string known;
  for (auto number = numbers.rbegin(); number != numbers.rend(); ++number) {
    GALLEY_ASSIGN(Kept kept, read_savepoint(stage, *number));
    if (kept.about.name == name) return std::pair(*number, std::move(kept));
    if (!known.empty()) known.insert(0, ", ");
    known.insert(0, kept.about.name);
  }
  return fail(ErrorKind::kNotFound, "savepoint.not_found",
              "there is no savepoint '" + std::string(name) + "'; there " +
                  (known.empty() ? "are none" : "are: " + known));
}

Result<std::string> parent_of(const Directory& stages, const std::string& id) {
  const auto path = RelPath::parse(id + "/" + std::string(kForkFile));
  if (!path) return std::string();
  auto text = read_file(stages, *path, kMaxForkBytes);
  if (!text && text.error().kind == ErrorKind::kNotFound) return std::string();
  if (!text) return fail(text.error());
  while (!text->empty() && text->back() == '\n') text->pop_back();
  return text;
}

}  // namespace

// --- savepoints -----------------------------------------------------------------------------

Result<void> make_savepoint(const WritableDirectory& stage, std::string_view name,
                            const Overlay::Entries& entries, const Clock& clock) {
  GALLEY_TRY(check_savepoint_name(name));
  GALLEY_ASSIGN(const std::vector<uint64_t> numbers, numbers_in(stage));
  if (numbers.size() >= kMaxSavepoints) {
    return fail(ErrorKind::kQuota, "limit.savepoints",
                "a transaction has at most " + std::to_string(kMaxSavepoints) + " savepoints");
  }
  GALLEY_TRY(make_directories(stage, name_of(kFolder), kPrivateDirectory));
  const uint64_t number = numbers.empty() ? 1 : numbers.back() + 1;
  std::string text(kMagic);
  text += std::to_string(clock.wall_ns()) + "\n" + std::string(name) + "\n";
  text += encode_entries(entries);
  GALLEY_ASSIGN(const auto folder, stage.open_writable_directory(name_of(kFolder)));
  return replace_savepoint_file(*folder, std::to_string(number), text);
}

Result<std::vector<Savepoint>> list_savepoints(const Directory& stage) {
  GALLEY_ASSIGN(const std::vector<uint64_t> numbers, numbers_in(stage));
  std::vector<Savepoint> savepoints;
  for (const uint64_t number : numbers) {
    GALLEY_ASSIGN(Kept kept, read_savepoint(stage, number));
    savepoints.push_back(std::move(kept.about));
  }
  return savepoints;
}

Result<Overlay::Entries> entries_at_savepoint(const Directory& stage, std::string_view name) {
  GALLEY_ASSIGN(auto found, find_savepoint(stage, name));
  return std::move(found.second.entries);
}

Result<void> drop_savepoints_after(const WritableDirectory& stage, std::string_view name) {
  GALLEY_ASSIGN(const auto found, find_savepoint(stage, name));
  GALLEY_ASSIGN(const std::vector<uint64_t> numbers, numbers_in(stage));
  // Remove the newest first. If the process is killed in between, the rest is still a valid chain.
  for (auto number = numbers.rbegin(); number != numbers.rend() && *number > found.first;
       ++number) {
    GALLEY_TRY(stage.remove_file(name_of(std::string(kFolder) + "/" + std::to_string(*number))));
  }
  return {};
}

// --- forks ----------------------------------------------------------------------------------

Result<void> note_fork(const WritableDirectory& child, std::string_view parent_id) {
  return replace_savepoint_file(child, std::string(kForkFile), std::string(parent_id) + "\n");
}

Result<std::vector<std::string>> forks_of(const Directory& stages, std::string_view id) {
  GALLEY_ASSIGN(const auto entries, stages.list());
  std::map<std::string, std::set<std::string>> kin;
  std::set<std::string> there;
  for (const DirectoryEntry& entry : entries) {
    if (entry.kind != FileKind::kDirectory) continue;
    there.insert(entry.name);
    GALLEY_ASSIGN(const std::string parent, parent_of(stages, entry.name));
    if (parent.empty()) continue;
    // A removed parent still connects its children.
    kin[parent].insert(entry.name);
    kin[entry.name].insert(parent);
  }
  std::set<std::string> family = {std::string(id)};
  std::vector<std::string> todo = {std::string(id)};
  while (!todo.empty()) {
    const std::string here = todo.back();
    todo.pop_back();
    for (const std::string& other : kin[here]) {
      if (family.insert(other).second) todo.push_back(other);
    }
  }
  std::vector<std::string> result;
  std::set_intersection(family.begin(), family.end(), there.begin(), there.end(),
                        std::back_inserter(result));
  return result;
}

}  // namespace galley
