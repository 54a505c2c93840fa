#include "engine/audit/audit_chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/limits.h"
#include "tools/json_input.h"

namespace galley {
namespace {

using nlohmann::json;

constexpr size_t kChunkBytes = size_t{1} << 20U;
constexpr std::string_view kHeadMagic = "galley-audit-head 1 ";
constexpr size_t kNumberDigits = 20;
constexpr size_t kHexDigits = 64;
constexpr size_t kHeadBytes = kHeadMagic.size() + 2 * (kNumberDigits + 1) + kHexDigits + 1;

tl::unexpected<Error> malformed(const std::string& why) {
  return fail(ErrorKind::kInvalid, "audit.malformed", why);
}

Result<ContentId> hash_field(const json& record, const char* key) {
  const auto field = record.find(key);
  if (field != record.end() && field->is_string()) {
    const auto id = ContentId::from_hex(field->get_ref<const std::string&>());
    if (id) return *id;
  }
  return malformed(std::string("'") + key + "' is not a SHA-256 in hexadecimal");
}

std::optional<uint64_t> number(std::string_view digits) {
  uint64_t value = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (code != std::errc() || end != digits.data() + digits.size()) return {};
  return value;
}

bool is_loss(const AuditDefect& defect) { return defect.reason == "audit.lost"; }

std::string range(uint64_t first, uint64_t last) {
  return first == last ? fmt::format("record {} is", first)
                       : fmt::format("records {} to {} are", first, last);
}

/// What the record of a repair knows about its gap. It counts the lost records if the head of the
/// log named a later one.
std::string gap_in(const json& record) {
  const auto output = record.find("output");
  const bool is_object = output != record.end() && output->is_object();
  if (is_object && (output->contains("lost_records") || output->contains("closed"))) {
    return "records before it were lost";
  }
  if (is_object && output->contains("anchor")) {
    return "records before it may have been lost, because the anchor of the log was missing or "
           "replaced";
  }
  return "bytes before it were cut off; no record is known to be lost";
}

}  // namespace

bool AuditVerification::is_intact() const {
  return std::all_of(defects.begin(), defects.end(), is_loss);
}

Result<AuditLink> read_audit_link(std::string_view line) {
  GALLEY_ASSIGN(json record, parse_json(line));
  if (!record.is_object()) return malformed("the line is not a JSON object");
  AuditLink link;
  const auto seq = record.find("seq");
  if (seq == record.end() || !seq->is_number_unsigned()) return malformed("'seq' is not a number");
  link.seq = seq->get<uint64_t>();
  GALLEY_ASSIGN(link.prev, hash_field(record, "prev"));
  GALLEY_ASSIGN(link.stated, hash_field(record, "hash"));
  const auto kind = record.find("kind");
  link.is_gap = kind != record.end() && *kind == "audit.gap";
  if (link.is_gap) link.gap = gap_in(record);
  const bool is_canonical = json_text(record) == line;
  record.erase("hash");
  link.computed = ContentId::of(json_text(record));
  if (!is_canonical && link.stated == link.computed) {
    return malformed("the line is not in canonical form");
  }
  return link;
}

std::string audit_timestamp(std::string_view record) {
  const auto parsed = parse_json(record);
  return parsed ? text_member(*parsed, "timestamp") : std::string();
}

Result<std::optional<AuditHead>> read_audit_head(File& file) {
  GALLEY_ASSIGN(const std::string text, file.read_at(0, kHeadBytes + 1));
  const std::string_view view = text;
  if (text.size() != kHeadBytes || !view.starts_with(kHeadMagic)) return std::optional<AuditHead>();
  size_t at = kHeadMagic.size();
  const auto seq = number(view.substr(at, kNumberDigits));
  at += kNumberDigits + 1;
  const auto bytes = number(view.substr(at, kNumberDigits));
  at += kNumberDigits + 1;
  const auto hash = ContentId::from_hex(view.substr(at, kHexDigits));
  if (!seq || !bytes || !hash) return std::optional<AuditHead>();
  return std::optional<AuditHead>(AuditHead{{*seq, *hash}, *bytes});
}

Result<void> write_audit_head(WritableFile& file, const AuditHead& head) {
  return file.write_at(0, fmt::format("{}{:020} {:020} {}\n", kHeadMagic, head.position.seq,
                                      head.log_bytes, head.position.hash.hex()));
}

Result<void> for_each_audit_line(const Directory& directory, const RelPath& path,
                                 const std::function<void(std::string_view, bool)>& take,
                                 uint64_t from) {
  GALLEY_ASSIGN(const FileStat stat, directory.stat(path));
  if (stat.kind == FileKind::kAbsent) return {};
  GALLEY_ASSIGN(const auto file, directory.open_file(path));
  std::string held;
  bool is_in_line = from > 0;  // it begins before `from`
  for (uint64_t offset = from;; offset += kChunkBytes) {
    GALLEY_ASSIGN(const std::string chunk, file->read_at(offset, kChunkBytes));
    held += chunk;
    size_t start = 0;
    for (size_t end = held.find('\n'); end != std::string::npos; end = held.find('\n', start)) {
      if (!is_in_line) take(std::string_view(held).substr(start, end - start), true);
      is_in_line = false;
      start = end + 1;
    }
    held.erase(0, start);
    if (held.size() > limits::kMaxJsonBytes) return malformed("the log has a line without end");
    if (chunk.size() < kChunkBytes) break;
  }
  if (!held.empty() && !is_in_line) take(held, false);
  return {};
}

void AuditChainCheck::report(uint64_t line, uint64_t seq, std::string reason, std::string message) {
  if (result_.defects.size() >= kMaxAuditDefects) return;
  result_.defects.push_back({line, seq, std::move(reason), std::move(message)});
}

bool AuditChainCheck::take_from_absent(uint64_t seq) {
  auto at = absent_.upper_bound(seq);
  if (at == absent_.begin()) return false;
  --at;
  const auto [first, absence] = *at;
  if (seq > absence.last) return false;
  absent_.erase(at);
  if (first < seq) absent_[first] = {seq - 1, absence.line};
  if (seq < absence.last) absent_[seq + 1] = absence;
  return true;
}

void AuditChainCheck::check_place(const AuditLink& link) {
  if (link.seq == expected_) {
    if (link.prev != previous_ && previous_is_sound_) {
      report(line_ - 1, link.seq - 1, "audit.changed",
             fmt::format("record {} (line {}) was replaced: record {} names another hash for it",
                         link.seq - 1, line_ - 1, link.seq));
    }
    return;
  }
  if (link.seq > expected_) {
    absent_[expected_] = {link.seq - 1, line_};
    return;
  }
  const bool is_moved = take_from_absent(link.seq);
  report(line_, link.seq, "audit.reordered",
         is_moved ? fmt::format("record {} is on line {}, out of its order", link.seq, line_)
                  : fmt::format("record {} stands a second time, on line {}", link.seq, line_));
}

void AuditChainCheck::take(std::string_view line, bool is_whole) {
  ++line_;
  if (!is_whole) {
    report(line_, expected_, "audit.truncated",
           fmt::format("the log ends in the middle of record {} (line {})", expected_, line_));
    return;
  }
  const auto link = read_audit_link(line);
  if (!link) {
    report(line_, expected_, "audit.malformed",
           fmt::format("line {} is not a record: {}", line_, link.error().message));
    ++expected_;
    previous_is_sound_ = false;
    return;
  }
  ++result_.records;
  const bool is_sound = link->stated == link->computed;
  if (!is_sound) {
    report(line_, link->seq, "audit.changed",
           fmt::format("record {} (line {}) was changed: its hash does not fit", link->seq, line_));
  }
  check_place(*link);
  if (link->is_gap) {
    report(line_, link->seq, "audit.lost",
           fmt::format("record {} (line {}) shows that {}", link->seq, line_, link->gap));
  }
  const AuditPosition here{link->seq, link->stated};
  if (head_ && head_->position == here) agrees_with_head_ = true;
  if (link->seq < expected_) return;  // out of order: the chain does not continue from this record
  expected_ = link->seq + 1;
  previous_ = link->stated;
  previous_is_sound_ = is_sound;
  result_.last = here;
  if (absent_.empty() && std::all_of(result_.defects.begin(), result_.defects.end(), is_loss)) {
    result_.sound = here;
  }
}

AuditVerification AuditChainCheck::finish() {
  for (const auto& [first, absence] : absent_) {
    report(absence.line, first, "audit.missing",
           fmt::format("{} missing before line {}", range(first, absence.last), absence.line));
  }
  if (head_ && head_->position.seq > 0 && !agrees_with_head_) {
    if (head_->position.seq >= expected_) {
      report(line_ + 1, expected_, "audit.truncated",
             fmt::format("{} missing at the end: its head names record {} (cut off, or lost in a "
                         "power loss)",
                         range(expected_, head_->position.seq), head_->position.seq));
    } else if (result_.defects.empty()) {
      report(line_, head_->position.seq, "audit.changed",
             fmt::format("record {} is not the one that its head names", head_->position.seq));
    }
  }
  return std::move(result_);
}

}  // namespace galley
