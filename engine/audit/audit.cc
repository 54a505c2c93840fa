#include "engine/audit/audit.h"

#include <fmt/format.h>
#include <algorithm>
#include <cerrno>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "base/file_mode.h"
#include "engine/audit/audit_chain.h"
#include "tools/json_input.h"

namespace galley {

namespace {

using nlohmann::json;

constexpr const char* kLogName = "audit.jsonl";
constexpr const char* kEarlierHeadName = "audit.head";
constexpr int kMaxClosedLogs = 10'000;
constexpr std::chrono::milliseconds kLockWait{5'000};
constexpr std::chrono::milliseconds kLockPause{1};
constexpr size_t kTailBytes = 2 * kMaxAuditRecordBytes;

RelPath name_of(const char* name) { return *RelPath::parse(name); }

/// Adds the way out to the damage of a log.
std::string with_repair(const std::string& why) {
  return why + "; `galley doctor --repair` sets it aside and begins a new one";
}

tl::unexpected<Error> damaged(const std::string& why) {
  return fail(
      ErrorKind::kInvalid, "audit.damaged",
      with_repair("the audit log cannot be continued: " + why + "; see `galley audit verify`"),
      fmt::format(".galley/{}", kLogName));
}

/// A log that is not a regular file cannot be opened. That is damage, and has its remedy.
bool is_no_file(const Error& error) {
  return error.reason == "path.is_directory" || error.reason == "path.is_symlink" ||
         error.reason == "path.special_file";
}

/// The end of the log: the last complete record, and the bytes of an incomplete one.
struct Tail {
  AuditPosition position;
  uint64_t whole_bytes = 0;  ///< of the log up to and including the last newline
  std::string fragment;
};

Result<Tail> read_tail(File& log, uint64_t size) {
  const uint64_t from = size > kTailBytes ? size - kTailBytes : 0;
  GALLEY_ASSIGN(const std::string bytes, log.read_at(from, static_cast<size_t>(size - from)));
  Tail tail;
  const size_t last_newline = bytes.rfind('\n');
  if (last_newline == std::string::npos) {
    if (from > 0) return damaged("its last record is longer than any that Galley writes");
    tail.fragment = bytes;
    return tail;
  }
  tail.whole_bytes = from + last_newline + 1;
  tail.fragment = bytes.substr(last_newline + 1);
  size_t start = last_newline == 0 ? std::string::npos : bytes.rfind('\n', last_newline - 1);
  start = start == std::string::npos ? 0 : start + 1;
  if (start == 0 && from > 0) {
    return damaged("its last record is longer than any that Galley writes");
  }
  const auto link = read_audit_link(std::string_view(bytes).substr(start, last_newline - start));
  if (!link) return damaged("its last record cannot be read (" + link.error().message + ")");
  if (link->stated != link->computed) return damaged("its last record was changed");
  tail.position = {link->seq, link->computed};
  return tail;
}

/// The length of the log without the zeros at its end. A power cut leaves zeros when the file had
/// grown but its bytes had not been written.
Result<uint64_t> bytes_before_zeros(File& log, uint64_t size) {
  while (size > 0) {
    const uint64_t from = size > kTailBytes ? size - kTailBytes : 0;
    GALLEY_ASSIGN(const std::string bytes, log.read_at(from, static_cast<size_t>(size - from)));
    const size_t last = bytes.find_last_not_of('\0');
    if (last != std::string::npos) return from + last + 1;
    size = from;
  }
  return size;
}

/// Whether the last record is complete. The head covers the records before it.
Result<bool> ends_whole(File& log, uint64_t size) {
  if (size == 0) return true;
  GALLEY_ASSIGN(const std::string last, log.read_at(size - 1, 1));
  return last == "\n";
}

/// Refuses a log that has another record at the position of the head, because it was not written
/// here.
Result<void> check_anchor(File& log, const AuditHead& head, const Tail& tail) {
  if (head.position.seq == 0 || head.position == tail.position) return {};
  if (tail.position.seq < head.position.seq) return {};  // cut short, which a record will report
  if (head.log_bytes < tail.whole_bytes) {
    GALLEY_ASSIGN(const Tail then, read_tail(log, head.log_bytes));
    if (then.fragment.empty() && then.position == head.position) return {};
  }
  return damaged(fmt::format("record {} is not the one that was written here", head.position.seq));
}

AuditMembers gap(const char* why, nlohmann::ordered_json output, int64_t wall_ns) {
  AuditEvent event;
  event.kind = AuditKind::kGap;
  event.reason = why;
  event.output = std::make_shared<const nlohmann::ordered_json>(std::move(output));
  return audit_members(event, wall_ns);
}

/// Builds the record that says what was lost before it. `cut` is the number of bytes that are cut
/// off.
AuditMembers gap_record(const Tail& tail, uint64_t cut, const std::optional<AuditHead>& head,
                        int64_t wall_ns) {
  nlohmann::ordered_json output;
  if (cut > 0) output["cut_bytes"] = cut;
  if (!tail.fragment.empty()) output["cut_sha256"] = ContentId::of(tail.fragment).hex();
  if (head && head->position.seq > tail.position.seq) {
    output["lost_records"] = head->position.seq - tail.position.seq;
    output["last_known_hash"] = head->position.hash.hex();
  }
  return gap("the log ended before it should: a crash, a power loss, or another program cut it",
             std::move(output), wall_ns);
}

/// Parses a record that was kept as text, for example in a journal.
Result<AuditMembers> read_record(std::string_view record) {
  if (record.size() > kMaxAuditRecordBytes) {
    return fail(ErrorKind::kInvalid, "audit.record",
                "the audit record has " + std::to_string(record.size()) + " bytes, more than " +
                    std::to_string(kMaxAuditRecordBytes));
  }
  GALLEY_ASSIGN(const json line, parse_json(record));
  if (line.is_object() && line.contains("execution_id")) return AuditMembers::of(line);
  return fail(ErrorKind::kInvalid, "audit.record", "this is not a record of audit_record()");
}

Result<std::vector<AuditMembers>> read_records(const std::vector<std::string_view>& records) {
  std::vector<AuditMembers> read;
  for (const std::string_view record : records) {
    GALLEY_ASSIGN(AuditMembers line, read_record(record));
    read.push_back(std::move(line));
  }
  return read;
}

}  // namespace

AuditLog::AuditLog(const WritableDirectory& directory, const Clock& clock, RelPath head)
    : directory_(&directory), clock_(&clock), head_(std::move(head)) {}

Result<std::unique_ptr<WritableFile>> AuditLog::open_head(OpenMode mode) const {
  const bool makes = mode == OpenMode::kOpenOrCreate;
  auto file = directory_->open_writable_file(head_, makes ? OpenMode::kReadWrite : mode);
  if (file || file.error().kind != ErrorKind::kNotFound) return file;
  if (!makes) return directory_->open_writable_file(name_of(kEarlierHeadName), mode);
  GALLEY_TRY(make_directories(*directory_, head_.parent(), kPrivateDirectory));
  (void)directory_->rename(name_of(kEarlierHeadName), *directory_, head_, RenameMode::kNoReplace);
  return directory_->open_writable_file(head_, mode, kPrivateFile);
}

Result<std::unique_ptr<WritableFile>> AuditLog::lock(OpenMode mode) const {
  auto opened = open_head(mode);
  const bool is_blocked =
      !opened && (is_no_file(opened.error()) || opened.error().os_error == ENOTDIR);
  if (is_blocked) return damaged(opened.error().message);
  if (!opened) return fail(opened.error());
  auto file = *std::move(opened);
  const Deadline deadline = Deadline::after(*clock_, kLockWait);
  for (;;) {
    GALLEY_ASSIGN(const bool locked, file->try_lock(LockMode::kExclusive));
    if (locked) return file;
    if (deadline.has_passed(*clock_)) {
      return fail(ErrorKind::kTimeout, "audit.locked",
                  "another process has held the audit log for 5 seconds; try again",
                  ".galley/" + head_.str());
    }
    std::this_thread::sleep_for(kLockPause);
  }
}

Result<AuditPosition> AuditLog::append_locked(WritableFile& head_file,
                                              const std::vector<AuditMembers>& records, bool is_new,
                                              const std::string& anchor) {
  auto opened = directory_->open_writable_file(name_of(kLogName), OpenMode::kOpenOrCreate);
  if (!opened && is_no_file(opened.error())) return damaged(opened.error().message);
  if (!opened) return fail(opened.error());
  const auto log = *std::move(opened);
  GALLEY_ASSIGN(const FileStat stat, log->stat_at_open());
  std::optional<AuditHead> head;
  if (!is_new) {
    GALLEY_ASSIGN(head, read_audit_head(head_file));
  }
  AuditPosition position;
  uint64_t end = stat.size;
  std::string lines;
  GALLEY_ASSIGN(const bool is_whole, ends_whole(*log, stat.size));
  if (head && head->log_bytes == stat.size && is_whole) {
    position = head->position;
  } else {
    GALLEY_ASSIGN(const uint64_t written, bytes_before_zeros(*log, stat.size));
    GALLEY_ASSIGN(const Tail tail, read_tail(*log, written));
    if (head) GALLEY_TRY(check_anchor(*log, *head, tail));
    position = tail.position;
    end = tail.whole_bytes;
    const uint64_t cut = stat.size - end;
    if (cut > 0 || (head && head->position.seq > position.seq)) {
      lines = gap_record(tail, cut, head, clock_->wall_ns()).linked(position);
    }
    if (cut > 0) GALLEY_TRY(log->truncate(end));
    if (!head && !is_new && position.seq > 0) {
      // Records that are missing at the end of the log were not noticed.
      lines += gap("the anchor of the log was missing",
                   {{"anchor", anchor.empty() ? "missing" : anchor}}, clock_->wall_ns())
                   .linked(position);
    }
  }
  for (const AuditMembers& record : records) lines += record.linked(position);
  // The anchor is there before the first record, so one that is missing later was lost.
  if (!head && !is_new && stat.size == 0) GALLEY_TRY(write_audit_head(head_file, AuditHead()));
  GALLEY_TRY(log->write_at(end, lines));
  GALLEY_TRY(write_audit_head(head_file, {position, end + lines.size()}));
  // Makes its name durable once; settle() makes its contents durable.
  if (stat.size == 0) GALLEY_TRY(directory_->sync());
  return position;
}

Result<AuditPosition> AuditLog::append(std::string_view record) {
  GALLEY_ASSIGN(const auto read, read_records({record}));
  return append(read);
}

Result<AuditPosition> AuditLog::append(const AuditEvent& event) {
  return append(std::vector{audit_members(event, clock_->wall_ns())});
}

Result<AuditPosition> AuditLog::append(const std::vector<AuditMembers>& records) {
  GALLEY_ASSIGN(const auto head_file, lock(OpenMode::kOpenOrCreate));
  return append_locked(*head_file, records);
}

namespace {

using WantedRecords = std::map<std::string, size_t, std::less<>>;  // by execution_id, as JSON

/// Whether `text` begins with a wanted id.
bool begins_with_id(const WantedRecords& wanted, std::string_view text) {
  for (size_t end = 1; end < text.size(); ++end) {
    if (text[end] == '\\') ++end;
    if (end < text.size() && text[end] == '"') return wanted.contains(text.substr(0, end + 1));
  }
  return false;
}

/// Removes the record that a line of the log contains.
void remove_found(WantedRecords& wanted, std::string_view line) {
  constexpr std::string_view kKey = "\"execution_id\":";
  for (size_t at = line.find(kKey); at != std::string_view::npos; at = line.find(kKey, at)) {
    at += kKey.size();
    if (!begins_with_id(wanted, line.substr(at))) continue;
    // The member may also be in `context`, `input` or `output`, whose contents callers choose.
    const json record = json::parse(line, nullptr, false);
    if (record.is_object()) wanted.erase(json_text(record.value("execution_id", json())));
    return;
  }
}

}  // namespace

Result<std::vector<size_t>> AuditLog::missing(const std::vector<std::string>& records) const {
  WantedRecords wanted;
  for (size_t i = 0; i < records.size(); ++i) {
    GALLEY_ASSIGN(const json parsed, parse_json(records[i]));
    if (!parsed.is_object() || !parsed.contains("execution_id")) {
      return fail(ErrorKind::kInvalid, "audit.record", "this is not a record of audit_record()");
    }
    wanted.emplace(json_text(parsed["execution_id"]), i);
  }
  GALLEY_ASSIGN(const FileStat stat, directory_->stat(name_of(kLogName)));
  const bool is_file = stat.kind == FileKind::kRegular;  // else it has no records
  // New records are near the end, so the search begins there and takes larger parts each time.
  constexpr uint64_t kGrowth = 8;
  for (uint64_t window = kTailBytes; is_file && !wanted.empty(); window *= kGrowth) {
    const uint64_t from = stat.size > window ? stat.size - window : 0;
    GALLEY_TRY(for_each_audit_line(
        *directory_, name_of(kLogName),
        [&](std::string_view line, bool is_whole) {
          if (is_whole) remove_found(wanted, line);
        },
        from));
    if (from == 0) break;
  }
  std::vector<size_t> indexes;
  for (const auto& [id, index] : wanted) indexes.push_back(index);
  std::sort(indexes.begin(), indexes.end());
  return indexes;
}

Result<size_t> AuditLog::append_missing(const std::vector<std::string>& records) {
  if (records.empty()) return size_t{0};
  GALLEY_ASSIGN(const auto head_file, lock(OpenMode::kOpenOrCreate));
  GALLEY_ASSIGN(const auto indexes, missing(records));
  if (indexes.empty()) return size_t{0};
  std::vector<std::string_view> lines;
  for (const size_t index : indexes) lines.push_back(records[index]);
  GALLEY_ASSIGN(const auto read, read_records(lines));
  GALLEY_TRY(append_locked(*head_file, read));
  return lines.size();
}

Result<void> AuditLog::close_gap() {
  GALLEY_ASSIGN(const bool is_begun, is_there());
  if (!is_begun) return {};
  GALLEY_ASSIGN(const auto head_file, lock(OpenMode::kOpenOrCreate));
  GALLEY_TRY(append_locked(*head_file, {}));
  return sync();
}

Result<bool> AuditLog::is_there() const {
  for (const RelPath& place : {head_, name_of(kEarlierHeadName), name_of(kLogName)}) {
    GALLEY_ASSIGN(const FileStat stat, directory_->stat(place));
    if (stat.kind != FileKind::kAbsent) return true;
  }
  return false;
}

namespace {

/// Nothing if the log is not a regular file.
Result<std::optional<ContentId>> hash_of_log(const Directory& directory) {
  constexpr size_t kChunk = size_t{1} << 20U;
  GALLEY_ASSIGN(const FileStat stat, directory.stat(name_of(kLogName)));
  if (stat.kind != FileKind::kRegular) return std::optional<ContentId>();
  GALLEY_ASSIGN(const auto file, directory.open_file(name_of(kLogName)));
  ContentHasher hasher;
  for (uint64_t offset = 0;; offset += kChunk) {
    GALLEY_ASSIGN(const std::string bytes, file->read_at(offset, kChunk));
    hasher.update(bytes);
    if (bytes.size() < kChunk) return std::optional<ContentId>(hasher.finish());
  }
}

/// Renames `path` to an unused name: `before`, a number, `after`.
Result<std::string> rename_aside(const WritableDirectory& directory, const RelPath& path,
                                 const std::string& before, const std::string& after) {
  for (int number = 1; number <= kMaxClosedLogs; ++number) {
    std::string name = before + std::to_string(number) + after;
    auto moved = directory.rename(path, directory, name_of(name.c_str()), RenameMode::kNoReplace);
    if (moved) return name;
    if (moved.error().os_error != EEXIST) return fail(moved.error());
  }
  return fail(ErrorKind::kQuota, "limit.audit_logs",
              "there are too many closed audit logs in .galley; move some of them elsewhere");
}

/// Renames objects of another kind in the place of the anchor or of its folders. Returns the new
/// name of one; empty if there was none.
Result<std::string> clear_place_of_head(const WritableDirectory& directory, const RelPath& head) {
  std::vector<RelPath> places = {head, name_of(kEarlierHeadName)};
  for (RelPath above = head.parent(); !above.is_root(); above = above.parent()) {
    places.insert(places.begin(), above);
  }
  std::string aside;
  for (const RelPath& place : places) {
    GALLEY_ASSIGN(const FileStat stat, directory.stat(place));
    const bool is_file = place == head || place == places.back();
    if (stat.kind == FileKind::kAbsent) continue;
    if (stat.kind == (is_file ? FileKind::kRegular : FileKind::kDirectory)) continue;
    GALLEY_ASSIGN(aside, rename_aside(directory, place, place.str() + ".", ""));
  }
  return aside;
}

}  // namespace

Result<std::string> AuditLog::begin_new_log() {
  GALLEY_ASSIGN(const bool is_begun, is_there());
  if (!is_begun) return std::string();
  GALLEY_ASSIGN(const std::string anchor, clear_place_of_head(*directory_, head_));
  GALLEY_ASSIGN(const auto head_file, lock(OpenMode::kOpenOrCreate));
  GALLEY_ASSIGN(const auto head, read_audit_head(*head_file));
  const auto mended = append_locked(*head_file, {}, false, anchor);
  if (!mended && mended.error().reason != "audit.damaged") return fail(mended.error());
  const auto found = verify_locked(head_file.get());
  if (!found && found.error().reason != "audit.malformed") return fail(found.error());
  const bool is_sound =
      mended && found &&
      std::all_of(found->defects.begin(), found->defects.end(),
                  [](const AuditDefect& defect) { return defect.reason == "audit.lost"; });
  if (is_sound && !head) GALLEY_TRY(sync());
  if (is_sound) return std::string();
  nlohmann::ordered_json output;
  GALLEY_ASSIGN(const auto whole, hash_of_log(*directory_));
  GALLEY_ASSIGN(std::string name, rename_aside(*directory_, name_of(kLogName), "audit.", ".jsonl"));
  output["closed"] = name;
  if (whole) output["closed_sha256"] = whole->hex();
  if (found && found->sound.seq > 0) {
    output["last_known_seq"] = found->sound.seq;
    output["last_known_hash"] = found->sound.hash.hex();
  }
  // Until the record is written, the anchor of the old log shows that records are missing.
  GALLEY_TRY(append_locked(*head_file,
                           {gap("the log before this one was damaged and is set aside",
                                std::move(output), clock_->wall_ns())},
                           true));
  GALLEY_TRY(sync());
  return name;
}

Result<void> AuditLog::add(const std::vector<std::string>& records) {
  GALLEY_ASSIGN(const auto read, read_records({records.begin(), records.end()}));
  GALLEY_TRY(append(read));
  return {};
}

Result<void> AuditLog::settle(const std::vector<std::string>& records) {
  GALLEY_TRY(append_missing(records));
  return sync();
}

Result<std::string> AuditLog::first_timestamp() const {
  std::string first;
  GALLEY_ASSIGN(const FileStat stat, directory_->stat(name_of(kLogName)));
  if (stat.kind != FileKind::kRegular) return first;
  GALLEY_ASSIGN(const auto log, directory_->open_file(name_of(kLogName)));
  GALLEY_ASSIGN(const std::string bytes, log->read_at(0, kTailBytes));
  return audit_timestamp(std::string_view(bytes).substr(0, bytes.find('\n')));
}

Result<void> AuditLog::sync() {
  GALLEY_ASSIGN(auto log,
                directory_->open_writable_file(name_of(kLogName), OpenMode::kOpenOrCreate));
  return log->sync_data();
}

Result<AuditVerification> AuditLog::verify() const {
  const auto head_file = lock(OpenMode::kRead);
  if (head_file) return verify_locked(head_file->get());
  if (head_file.error().kind == ErrorKind::kNotFound) return verify_locked(nullptr);
  if (head_file.error().reason != "audit.damaged") return fail(head_file.error());
  AuditVerification found;
  found.defects.push_back({0, 0, "audit.malformed", head_file.error().message});
  return found;
}

Result<AuditVerification> AuditLog::verify_locked(File* head_file) const {
  std::optional<AuditHead> head;
  if (head_file != nullptr) {
    GALLEY_ASSIGN(head, read_audit_head(*head_file));
  }
  AuditChainCheck check(head);
  auto read = for_each_audit_line(
      *directory_, name_of(kLogName),
      [&](std::string_view line, bool is_whole) { check.take(line, is_whole); });
  if (read) {
    AuditVerification found = check.finish();
    if (!head && found.records > 0) {
      found.defects.push_back(
          {0, 0, "audit.truncated",
           "the anchor of the log is missing or cannot be read: a power loss, or another program "
           "removed it, so records at the end may be missing; `galley doctor --repair` notes that "
           "in the log"});
    }
    return found;
  }
  const Error& error = read.error();
  if (!is_no_file(error)) return fail(error);
  AuditVerification found;
  found.defects.push_back({0, 0, "audit.malformed", with_repair(error.message)});
  return found;
}

}  // namespace galley
