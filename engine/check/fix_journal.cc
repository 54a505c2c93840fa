#include "engine/check/fix_journal.h"

#include <fmt/format.h>

#include <string_view>

#include "base/text.h"
#include "staging/overlay/node_text.h"

namespace galley {
namespace {

constexpr std::string_view kFixMagic = "galley fix 1 ";
constexpr uint64_t kMaxFixJournalBytes = uint64_t{256} << 20U;
constexpr uint32_t kFixFileMode = 0600;
constexpr const char* kFixFolder = "fix";

RelPath journal_file() { return chosen_path("journal"); }

/// Takes the next word of a line and leaves the rest.
std::string take_word(std::string_view& line) {
  const size_t end = std::min(line.find(' '), line.size());
  std::string word(line.substr(0, end));
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

std::optional<FollowingFile> parse_following(std::string_view line) {
  FollowingFile file;
  file.old_id = take_word(line);
  file.new_id = take_word(line);
  const auto held = ContentId::from_hex(take_word(line));
  const auto fixed = ContentId::from_hex(take_word(line));
  auto path = read_path_name(line);
  if (!held || !fixed || !path || path->is_protected()) return {};
  file.held = *held;
  file.fixed = *fixed;
  file.path = *std::move(path);
  return file;
}

/// Returns nullopt for a text that is incomplete, changed, or of another version.
std::optional<FixJournal> parse_fix_journal(std::string_view text) {
  const size_t end = text.rfind("end ");
  if (!text.starts_with(kFixMagic) || end == std::string_view::npos) return {};
  if (text.substr(end) != "end " + ContentId::of(text.substr(0, end)).hex() + "\n") return {};
  FixJournal journal;
  for (std::string_view rest = text.substr(0, end); !rest.empty();) {
    std::string_view line = take_line(rest);
    if (line.starts_with(kFixMagic)) {
      journal.nonce = line.substr(kFixMagic.size());
      continue;
    }
    const std::string kind = take_word(line);
    if (kind == "index") {
      // Earlier versions wrote the path as it is.
      auto index = read_name(line);
      journal.indexes.push_back(index ? *std::move(index) : std::string(line));
    }
    if (kind != "file") continue;
    auto file = parse_following(line);
    if (!file) return {};
    journal.files.push_back(*std::move(file));
  }
  return journal;
}

}  // namespace

RelPath fix_folder(const StateDirectory& state) { return state.own(kFixFolder); }

RelPath fix_slot(size_t n) { return chosen_path(std::to_string(n)); }

Result<void> write_fix_journal(const WritableDirectory& folder, const FixJournal& journal) {
  std::string text = std::string(kFixMagic) + journal.nonce + "\n";
  for (const std::string& index : journal.indexes) {
    text += "index ";
    append_name(text, index);
    text += '\n';
  }
  for (const FollowingFile& file : journal.files) {
    text += fmt::format("file {} {} {} {} ", file.old_id, file.new_id, file.held.hex(),
                        file.fixed.hex());
    append_name(text, file.path.str());
    text += '\n';
  }
  text += "end " + ContentId::of(text).hex() + "\n";
  const RelPath fresh = chosen_path("journal.new");
  {
    GALLEY_ASSIGN(const auto file,
                  folder.open_writable_file(fresh, OpenMode::kCreateNew, kFixFileMode));
    GALLEY_TRY(file->write_at(0, text));
    GALLEY_TRY(file->sync());
  }
  GALLEY_TRY(folder.rename(fresh, folder, journal_file(), RenameMode::kReplace));
  return folder.sync();
}

Result<std::optional<FixJournal>> read_fix_journal(const Directory& folder) {
  const auto text = read_file(folder, journal_file(), kMaxFixJournalBytes);
  if (!text && text.error().kind == ErrorKind::kNotFound) return std::optional<FixJournal>();
  if (!text) return fail(text.error());
  auto journal = parse_fix_journal(*text);
  if (journal) return journal;
  return fail(ErrorKind::kInvalid, "check.fix_journal",
              "the journal of an interrupted check --fix, " + journal_file().str() + " in " +
                  kFixFolder +
                  " of .galley, is damaged or of another version: the numbered files "
                  "next to it may hold what other programs saved, so look at them, then remove "
                  "their folder");
}

}  // namespace galley
