#include "engine/audit/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "engine/audit/audit_chain.h"
#include "engine/audit/audit_document.h"
#include "tools/json_input.h"

namespace galley {
namespace {

using nlohmann::json;

constexpr const char* kLogName = "audit.jsonl";
constexpr const char* kHeadName = "audit.head";
constexpr std::chrono::milliseconds kLockWait{5'000};
constexpr std::chrono::milliseconds kLockPause{1};
constexpr size_t kTailBytes = 2 * kMaxAuditRecordBytes;

RelPath name_of(const char* name) { return *RelPath::parse(name); }

tl::unexpected<Error> damaged(const std::string& why) {
  return fail(ErrorKind::kInvalid, "audit.damaged",
              "the audit log cannot be continued: " + why +
                  "; see `galley audit verify`, then move .galley/audit.jsonl and "
                  ".galley/audit.head aside to begin a new log",
              fmt::format(".galley/{}", kLogName));
}

/// What the end of the log says: the last whole record, and bytes of one that was cut short.
struct Tail {
  AuditPosition position;
  uint64_t whole_bytes = 0;  ///< of the log up to and with the last newline
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

/// The record that says what was lost before it.
json gap_record(const Tail& tail, const std::optional<AuditHead>& head, int64_t wall_ns) {
  nlohmann::ordered_json output;
  if (!tail.fragment.empty()) {
    output["cut_bytes"] = tail.fragment.size();
    output["cut_sha256"] = ContentId::of(tail.fragment).hex();
  }
  if (head && head->position.seq > tail.position.seq) {
    output["lost_records"] = head->position.seq - tail.position.seq;
    output["last_known_hash"] = head->position.hash.hex();
  }
  AuditEvent event;
  event.kind = AuditKind::kGap;
  event.reason = "the log ended before it should: a crash, a power loss, or someone cut it";
  event.output = std::make_shared<const nlohmann::ordered_json>(std::move(output));
  return audit_document(event, wall_ns);
}

/// Puts a record into the chain.
std::string linked(json record, AuditPosition& position) {
  record["seq"] = position.seq + 1;
  record["prev"] = position.hash.hex();
  record.erase("hash");
  position = {position.seq + 1, ContentId::of(json_text(record))};
  record["hash"] = position.hash.hex();
  return json_text(record) + "\n";
}

/// A record that was kept as text, in a journal for example.
Result<json> read_record(std::string_view record) {
  if (record.size() > kMaxAuditRecordBytes) {
    return fail(ErrorKind::kInvalid, "audit.record",
                "the audit record has " + std::to_string(record.size()) + " bytes, more than " +
                    std::to_string(kMaxAuditRecordBytes));
  }
  GALLEY_ASSIGN(json line, parse_json(record));
  if (line.is_object() && line.contains("execution_id")) return line;
  return fail(ErrorKind::kInvalid, "audit.record", "this is not a record of audit_record()");
}

Result<std::vector<json>> read_records(const std::vector<std::string_view>& records) {
  std::vector<json> read;
  for (const std::string_view record : records) {
    GALLEY_ASSIGN(json line, read_record(record));
    read.push_back(std::move(line));
  }
  return read;
}

}  // namespace

AuditLog::AuditLog(const WritableDirectory& galley_directory, const Clock& clock)
    : directory_(&galley_directory), clock_(&clock) {}

Result<std::unique_ptr<WritableFile>> AuditLog::lock(OpenMode mode) const {
  GALLEY_ASSIGN(auto file, directory_->open_writable_file(name_of(kHeadName), mode));
  const Deadline deadline = Deadline::after(*clock_, kLockWait);
  for (;;) {
    GALLEY_ASSIGN(const bool locked, file->try_lock(LockMode::kExclusive));
    if (locked) return file;
    if (deadline.has_passed(*clock_)) {
      return fail(ErrorKind::kTimeout, "audit.locked",
                  "another process has held the audit log for 5 seconds; try again",
                  std::string(".galley/") + kHeadName);
    }
    std::this_thread::sleep_for(kLockPause);
  }
}

Result<AuditPosition> AuditLog::append_locked(WritableFile& head_file,
                                              std::vector<nlohmann::json> records) {
  GALLEY_ASSIGN(auto log,
                directory_->open_writable_file(name_of(kLogName), OpenMode::kOpenOrCreate));
  GALLEY_ASSIGN(const FileStat stat, log->stat());
  GALLEY_ASSIGN(const std::optional<AuditHead> head, read_audit_head(head_file));
  AuditPosition position;
  uint64_t end = stat.size;
  std::string lines;
  if (head && head->log_bytes == stat.size) {
    position = head->position;
  } else {
    GALLEY_ASSIGN(const Tail tail, read_tail(*log, stat.size));
    position = tail.position;
    end = tail.whole_bytes;
    if (!tail.fragment.empty() || (head && head->position.seq > position.seq)) {
      lines = linked(gap_record(tail, head, clock_->wall_ns()), position);
    }
    if (!tail.fragment.empty()) GALLEY_TRY(log->truncate(end));
  }
  for (json& record : records) lines += linked(std::move(record), position);
  GALLEY_TRY(log->write_at(end, lines));
  GALLEY_TRY(write_audit_head(head_file, {position, end + lines.size()}));
  // Its name once; of its contents settle() takes care.
  if (stat.size == 0) GALLEY_TRY(directory_->sync());
  return position;
}

Result<AuditPosition> AuditLog::append(std::string_view record) {
  GALLEY_ASSIGN(auto read, read_records({record}));
  GALLEY_ASSIGN(const auto head_file, lock(OpenMode::kOpenOrCreate));
  return append_locked(*head_file, std::move(read));
}

Result<AuditPosition> AuditLog::append(const AuditEvent& event) {
  std::vector<json> records;
  records.push_back(audit_document(event, clock_->wall_ns()));
  GALLEY_ASSIGN(const auto head_file, lock(OpenMode::kOpenOrCreate));
  return append_locked(*head_file, std::move(records));
}

namespace {

/// The id in a line of the log, with its quotes. What a caller may fill in as he likes (`input`,
/// `output`) stands behind it, since keys are sorted.
std::string_view execution_id_of(std::string_view line) {
  constexpr std::string_view kKey = "\"execution_id\":";
  const size_t key = line.find(kKey);
  if (key == std::string_view::npos) return {};
  const std::string_view rest = line.substr(key + kKey.size());
  for (size_t end = 1; end < rest.size(); ++end) {
    if (rest[end] == '\\') ++end;
    if (end < rest.size() && rest[end] == '"') return rest.substr(0, end + 1);
  }
  return {};
}

}  // namespace

Result<std::vector<size_t>> AuditLog::missing(const std::vector<std::string>& records) const {
  std::map<std::string, size_t, std::less<>> wanted;  // by execution_id
  for (size_t i = 0; i < records.size(); ++i) {
    GALLEY_ASSIGN(const json parsed, parse_json(records[i]));
    if (!parsed.is_object() || !parsed.contains("execution_id")) {
      return fail(ErrorKind::kInvalid, "audit.record", "this is not a record of audit_record()");
    }
    wanted.emplace(json_text(parsed["execution_id"]), i);
  }
  GALLEY_ASSIGN(const FileStat stat, directory_->stat(name_of(kLogName)));
  // What was made just now stands near the end: larger and larger parts of it are looked through.
  constexpr uint64_t kGrowth = 8;
  for (uint64_t window = kTailBytes; !wanted.empty(); window *= kGrowth) {
    const uint64_t from = stat.size > window ? stat.size - window : 0;
    GALLEY_TRY(for_each_audit_line(
        *directory_, name_of(kLogName),
        [&](std::string_view line, bool is_whole) {
          const auto found = is_whole ? wanted.find(execution_id_of(line)) : wanted.end();
          if (found != wanted.end()) wanted.erase(found);
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
  GALLEY_ASSIGN(auto read, read_records(lines));
  GALLEY_TRY(append_locked(*head_file, std::move(read)));
  return lines.size();
}

Result<void> AuditLog::close_gap() {
  GALLEY_ASSIGN(const FileStat head, directory_->stat(name_of(kHeadName)));
  GALLEY_ASSIGN(const FileStat log, directory_->stat(name_of(kLogName)));
  if (head.kind == FileKind::kAbsent && log.kind == FileKind::kAbsent) return {};
  GALLEY_ASSIGN(const auto head_file, lock(OpenMode::kOpenOrCreate));
  GALLEY_TRY(append_locked(*head_file, {}));
  return sync();
}

Result<void> AuditLog::add(const std::vector<std::string>& records) {
  GALLEY_ASSIGN(auto read, read_records({records.begin(), records.end()}));
  GALLEY_ASSIGN(const auto head_file, lock(OpenMode::kOpenOrCreate));
  GALLEY_TRY(append_locked(*head_file, std::move(read)));
  return {};
}

Result<void> AuditLog::settle(const std::vector<std::string>& records) {
  GALLEY_TRY(append_missing(records));
  return sync();
}

Result<std::string> AuditLog::first_timestamp() const {
  std::string first;
  GALLEY_ASSIGN(const FileStat stat, directory_->stat(name_of(kLogName)));
  if (stat.kind == FileKind::kAbsent) return first;
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
  std::optional<AuditHead> head;
  std::unique_ptr<WritableFile> head_file;  // holds the lock
  GALLEY_ASSIGN(const FileStat stat, directory_->stat(name_of(kHeadName)));
  if (stat.kind != FileKind::kAbsent) {
    GALLEY_ASSIGN(head_file, lock(OpenMode::kRead));
    GALLEY_ASSIGN(head, read_audit_head(*head_file));
  }
  AuditChainCheck check(head);
  GALLEY_TRY(for_each_audit_line(
      *directory_, name_of(kLogName),
      [&](std::string_view line, bool is_whole) { check.take(line, is_whole); }));
  return check.finish();
}

}  // namespace galley
