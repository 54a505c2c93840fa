#include "engine/commit/journal_writer.h"

#include "base/limits.h"
#include "base/result.h"
#include "engine/commit/journal_bytes.h"
#include "engine/commit/journal_format.h"

namespace galley {
namespace {

using namespace journal_format;

constexpr size_t kBufferBytes = size_t{1} << 20U;

std::string frame(uint16_t type, size_t payload_bytes, uint32_t sequence) {
  LittleEndianWriter out;
  out.u32(static_cast<uint32_t>(payload_bytes));
  out.u16(type);
  out.u16(kMustUnderstand);
  out.u32(sequence);
  return out.str();
}

void write_side(LittleEndianWriter& out, const JournalSide& side) {
  out.u8(static_cast<uint8_t>(side.node.kind));
  out.u32(side.node.mode | side.special);
  out.u64(side.node.size);
  out.id(side.node.content);
  out.u32(side.uid);
  out.u32(side.gid);
  out.i64(side.mtime_ns);
  out.u16(static_cast<uint16_t>(side.attributes.size()));
  for (const auto& attribute : side.attributes) {
    out.text(attribute.name);
    out.text(attribute.value);
  }
}

std::string encode_header(const Journal& journal) {
  LittleEndianWriter out;
  out.bytes(kMagic);
  out.u16(kMajor);
  out.u16(kMinor);
  out.u32(kHeaderBytes);
  out.u64(journal.id.value);
  out.u64(journal.parent.value);
  out.bytes({reinterpret_cast<const char*>(journal.workspace.data()), journal.workspace.size()});
  out.i64(journal.time_ns);
  out.u32(0);
  out.u32(crc32c(out.str()));
  return out.str();
}

std::string encode_meta(const Journal& journal) {
  LittleEndianWriter out;
  out.i64(journal.stamp_ns);
  out.text(journal.boot);
  out.id(journal.proposal);
  out.text(journal.meta.agent);
  out.text(journal.meta.tool);
  out.text(journal.meta.message);
  out.u64(journal.meta.undoes ? journal.meta.undoes->value : 0);
  if (journal.meta.owner) out.text(*journal.meta.owner);
  return out.str();
}

std::string encode_session(const CommitMeta& meta) {
  LittleEndianWriter out;
  out.text(meta.session);
  out.u64(meta.turn);
  out.text(std::string_view(meta.prompt).substr(0, kMaxPromptBytes));
  out.u32(static_cast<uint32_t>(meta.also_undoes.size()));
  for (const TxId id : meta.also_undoes) out.u64(id.value);
  return out.str();
}

std::string encode_op(const JournalOp& op) {
  LittleEndianWriter out;
  uint8_t flags = 0;
  if (op.renamed_from) flags |= kHasRenamedFrom;
  if (op.copied_from) flags |= kHasCopiedFrom;
  if (op.before.node.owner) flags |= kOwnsBefore;
  if (op.after.node.owner) flags |= kOwnsAfter;
  out.u8(flags);
  out.text(op.path.str());
  if (op.renamed_from) out.text(op.renamed_from->str());
  if (op.copied_from) out.text(op.copied_from->str());
  write_side(out, op.before);
  write_side(out, op.after);
  return out.str();
}

Result<void> check_text(std::string_view what, std::string_view text) {
  if (text.size() <= kMaxTextBytes) return {};
  return fail(ErrorKind::kQuota, "limit.journal_text",
              "the " + std::string(what) + " of the commit has " + std::to_string(text.size()) +
                  " bytes; a journal takes at most " + std::to_string(kMaxTextBytes));
}

Result<void> check_side(const JournalOp& op, const JournalSide& side) {
  const auto refuse = [&](const std::string& what) {
    return fail(ErrorKind::kQuota, "limit.attributes",
                "'" + op.path.str() + "' has " + what +
                    "; a commit could not keep them, so it does not touch this file",
                op.path.str());
  };
  if (side.attributes.size() > kMaxAttributes) {
    return refuse(std::to_string(side.attributes.size()) + " extended attributes, more than " +
                  std::to_string(kMaxAttributes));
  }
  for (const auto& attribute : side.attributes) {
    const bool is_too_long = attribute.name.size() > kMaxAttributeNameBytes ||
                             attribute.value.size() > kMaxAttributeBytes;
    if (is_too_long) return refuse("an extended attribute longer than Linux allows");
  }
  return {};
}

Result<void> check_op(const JournalOp& op) {
  GALLEY_TRY(check_side(op, op.before));
  GALLEY_TRY(check_side(op, op.after));
  for (const auto* source : {&op.renamed_from, &op.copied_from}) {
    if (!*source || !(*source)->is_protected()) continue;
    return fail(ErrorKind::kRefused, "path.protected",
                "'" + (*source)->str() + "' is protected; no edit may take from it",
                (*source)->str());
  }
  const Node& after = op.after.node;
  const bool is_impossible_link = after.kind == FileKind::kSymlink &&
                                  (after.size == 0 || after.size > limits::kMaxSymlinkBytes);
  if (is_impossible_link) {
    return fail(ErrorKind::kQuota, "limit.symlink",
                "the target of the symbolic link '" + op.path.str() + "' has " +
                    std::to_string(after.size) + " bytes; Linux takes 1 to " +
                    std::to_string(limits::kMaxSymlinkBytes),
                op.path.str());
  }
  if (op.before.attributes.empty() && op.after.attributes.empty()) return {};
  if (encode_op(op).size() <= kMaxPayloadBytes) return {};
  return fail(ErrorKind::kQuota, "limit.attributes",
              "the extended attributes of '" + op.path.str() + "' have more than " +
                  std::to_string(kMaxPayloadBytes) +
                  " bytes in all; a commit could not keep them, so it does not touch this file",
              op.path.str());
}

}  // namespace

Result<void> check_journal_limits(const Journal& journal) {
  GALLEY_TRY(check_text("message", journal.meta.message));
  GALLEY_TRY(check_text("agent", journal.meta.agent));
  GALLEY_TRY(check_text("tool", journal.meta.tool));
  GALLEY_TRY(check_text("boot id", journal.boot));
  GALLEY_CHECK(journal.meta.session.empty() || is_session_id(journal.meta.session));
  for (const auto& op : journal.ops) GALLEY_TRY(check_op(op));
  return {};
}

Result<void> JournalWriter::begin(const Journal& journal) {
  GALLEY_CHECK(written_ == 0 && buffer_.empty());
  GALLEY_TRY(check_journal_limits(journal));
  buffer_ = encode_header(journal);
  chain_ = crc32c(buffer_);
  digest_.update(buffer_);
  GALLEY_TRY(record(kMeta, encode_meta(journal)));
  if (!journal.meta.session.empty() || !journal.meta.also_undoes.empty()) {
    GALLEY_TRY(record(kSession, encode_session(journal.meta)));
  }
  if (!journal.meta.git_commit.empty()) {
    LittleEndianWriter out;
    out.text(journal.meta.git_commit);
    GALLEY_TRY(record(kGitCommit, out.str()));
  }
  for (const auto& line : journal.meta.audit) GALLEY_TRY(record(kAudit, line));
  for (const auto& op : journal.ops) GALLEY_TRY(record(kOp, encode_op(op)));
  return {};
}

/// `raw` is the part of the payload that has its own content id as a checksum.
Result<void> JournalWriter::record(uint16_t type, std::string_view payload, std::string_view raw) {
  const size_t size = payload.size() + raw.size();
  if (size > kMaxPayloadBytes || sequence_ >= kMaxJournalRecords - kTrailerRecords ||
      end() + size > kMaxJournalBytes - kTrailerBytes) {
    return fail(ErrorKind::kQuota, "limit.journal",
                "the change is too large for one journal; commit it in parts");
  }
  const std::string head = frame(type, size, sequence_++);
  chain_ = crc32c(raw, crc32c(payload, crc32c(head, chain_)));
  LittleEndianWriter crc;
  crc.u32(chain_);
  buffer_.append(head).append(crc.str()).append(payload).append(raw);
  buffer_.append(padding(size), '\0');
  if (type != kCommit) {
    digest_.update(head);
    digest_.update(payload);
  }
  return buffer_.size() >= kBufferBytes ? flush() : Result<void>();
}

Result<void> JournalWriter::image(const ContentId& id, std::string_view bytes) {
  GALLEY_CHECK(bytes.size() <= kMaxImageBytes);
  LittleEndianWriter out;
  out.u8(kCodecRaw);
  out.u64(bytes.size());
  out.id(id);
  return record(kImage, out.str(), bytes);
}

Result<void> JournalWriter::blob(const ContentId& id, uint64_t size) {
  LittleEndianWriter out;
  out.id(id);
  out.u64(size);
  return record(kBlob, out.str());
}

Result<void> JournalWriter::finish() {
  LittleEndianWriter out;
  out.bytes(kCommitMagic);
  out.u32(sequence_);
  out.u64(end());
  out.id(digest_.finish());
  GALLEY_TRY(record(kCommit, out.str()));
  return flush();
}

Result<void> JournalWriter::flush() {
  if (buffer_.empty()) return {};
  GALLEY_TRY(file_->write_at(written_, buffer_));
  written_ += buffer_.size();
  buffer_.clear();
  return {};
}

Result<void> JournalTrailer::append(uint16_t type, std::string_view payload) {
  const std::string head = frame(type, payload.size(), sequence_);
  const uint32_t crc = crc32c(payload, crc32c(head, chain_));
  LittleEndianWriter out;
  out.bytes(head);
  out.u32(crc);
  out.bytes(payload);
  out.bytes(std::string(padding(payload.size()), '\0'));
  GALLEY_TRY(file_->write_at(end_, out.str()));
  end_ += out.str().size();
  chain_ = crc;
  ++sequence_;
  return {};
}

Result<void> JournalTrailer::abort(std::string_view reason) {
  LittleEndianWriter out;
  out.text(reason.substr(0, kMaxTextBytes));
  return append(kAbort, out.str());
}

Result<void> JournalTrailer::applied(std::string_view boot) {
  LittleEndianWriter out;
  out.text(boot);
  return append(kApplied, out.str());
}

Result<void> JournalTrailer::unflushed(std::string_view boot) {
  LittleEndianWriter out;
  out.text(boot);
  return append(kUnflushed, out.str());
}

Result<void> JournalTrailer::note(const JournalNote& note) {
  LittleEndianWriter out;
  out.text(std::string_view(note.path).substr(0, RelPath::kMaxBytes));
  out.text(std::string_view(note.text).substr(0, kMaxTextBytes));
  const bool is_nearly_full = sequence_ >= kMaxJournalRecords - kTrailerRecords / 2 ||
                              end_ + out.str().size() > kMaxJournalBytes - kTrailerBytes / 2;
  if (is_nearly_full) return {};
  return append(kNote, out.str());
}

}  // namespace galley
