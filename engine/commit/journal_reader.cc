#include <algorithm>
#include <unordered_map>

#include "base/file_mode.h"
#include "base/limits.h"
#include "engine/commit/journal.h"
#include "engine/commit/journal_bytes.h"
#include "engine/commit/journal_format.h"
#include "engine/commit/mutant.h"
#include "staging/overlay/change_set.h"

namespace galley {
namespace {

using namespace journal_format;

struct Record {
  uint16_t type = 0;
  uint16_t flags = 0;
  uint32_t crc = 0;        ///< the chain up to its end
  std::string_view frame;  ///< the chained part
  std::string_view payload;
  size_t bytes = 0;  ///< with frame and padding
};

/// Parses one file from its start. A step that finds a problem records it instead of failing.
class JournalParser {
 public:
  JournalParser(JournalBytes& bytes, ImageUse use) : bytes_(bytes), use_(use) {}

  JournalVerdict run() &&;

 private:
  bool read_header();
  /// Reads the record at `at_`; returns false if that record breaks the chain.
  bool read_record(Record& record);
  void take(const Record& record);
  bool read_body();
  void read_trailers();
  bool take_body_record(const Record& record);
  bool read_meta(LittleEndianReader in);
  bool read_session(LittleEndianReader in);
  bool read_git_commit(LittleEndianReader in);
  bool read_op(LittleEndianReader in);
  bool read_image(std::string_view payload);
  bool read_commit(const Record& record);
  bool read_trailer(const Record& record);
  [[nodiscard]] bool is_commit_ahead();
  [[nodiscard]] std::string check_contents() const;
  bool problem(std::string text) {
    verdict_.problem = std::move(text);
    return false;
  }

  JournalBytes& bytes_;
  ImageUse use_;
  uint64_t at_ = 0;
  uint32_t chain_ = 0;
  uint32_t sequence_ = 0;
  bool has_meta_ = false;
  bool is_unreadable_ = false;  ///< the chain is intact, but a payload is invalid
  ContentHasher digest_;
  std::unordered_map<ContentId, uint64_t> image_sizes_;
  JournalVerdict verdict_;
};

constexpr size_t kGitIdBytes = 64;  // a SHA-256 in hexadecimal

std::optional<RelPath> read_path(LittleEndianReader& in) {
  auto path = RelPath::parse(in.text(RelPath::kMaxBytes));
  if (!path || in.failed() || path->is_protected()) return {};
  return std::move(*path);
}

bool read_side(LittleEndianReader& in, JournalSide& side) {
  const uint8_t kind = in.u8();
  if (kind > static_cast<uint8_t>(FileKind::kSymlink)) return false;
  side.node.kind = static_cast<FileKind>(kind);
  const uint32_t mode = in.u32();
  side.node.mode = mode & kPermissionBits;
  side.special = mode & kSpecialBits;
  side.node.size = in.u64();
  side.node.content = in.id();
  side.uid = in.u32();
  side.gid = in.u32();
  side.mtime_ns = in.i64();
  const uint16_t count = in.u16();
  if (count > kMaxAttributes) return false;
  for (uint16_t i = 0; i < count && !in.failed(); ++i) {
    const auto name = in.text(kMaxAttributeNameBytes);
    const auto value = in.text(kMaxAttributeBytes);
    side.attributes.push_back({std::string(name), std::string(value)});
  }
  return !in.failed() && (mode & ~(kPermissionBits | kSpecialBits)) == 0;
}

bool JournalParser::read_header() {
  LittleEndianReader in(bytes_.at(0, kHeaderBytes));
  const auto raw = in.bytes(kHeaderBytes);
  if (in.failed()) return problem("the header is cut short");
  LittleEndianReader header(raw);
  if (header.bytes(kMagic.size()) != kMagic) return problem("the header has no magic number");
  const uint16_t major = header.u16();
  header.u16();
  const uint32_t size = header.u32();
  Journal& journal = verdict_.journal;
  journal.id.value = header.u64();
  journal.parent.value = header.u64();
  const auto workspace = header.bytes(journal.workspace.size());
  std::copy(workspace.begin(), workspace.end(), journal.workspace.begin());
  journal.time_ns = header.i64();
  const uint32_t flags = header.u32();
  if (header.u32() != crc32c(raw.substr(0, kHeaderBytes - sizeof(uint32_t)))) {
    return problem("the header's checksum is wrong");
  }
  if (major != kMajor || size != kHeaderBytes || flags != 0 || journal.id.value == 0) {
    is_unreadable_ = true;
    return problem("it was written by a newer version of Galley");
  }
  chain_ = crc32c(raw);
  digest_.update(raw);
  at_ = kHeaderBytes;
  return true;
}

bool JournalParser::read_record(Record& record) {
  const uint32_t size = LittleEndianReader(bytes_.at(at_, kFrameBytes)).u32();
  if (size > kMaxPayloadBytes) return false;
  LittleEndianReader in(bytes_.at(at_, kFrameBytes + size + padding(size)));
  record.frame = in.bytes(kChainedFrameBytes);
  const uint32_t crc = in.u32();
  LittleEndianReader frame(record.frame);
  frame.u32();
  record.type = frame.u16();
  record.flags = frame.u16();
  const uint32_t sequence = frame.u32();
  if (in.failed() || sequence != sequence_) return false;
  record.payload = in.bytes(size);
  const auto pad = in.bytes(padding(size));
  if (in.failed() || pad.find_first_not_of('\0') != std::string_view::npos) return false;
  record.bytes = kFrameBytes + size + pad.size();
  record.crc = crc32c(record.payload, crc32c(record.frame, chain_));
  return record.crc == crc;
}

void JournalParser::take(const Record& record) {
  chain_ = record.crc;
  at_ += record.bytes;
  ++sequence_;
}

bool JournalParser::read_meta(LittleEndianReader in) {
  Journal& journal = verdict_.journal;
  journal.stamp_ns = in.i64();
  journal.boot = in.text(kMaxTextBytes);
  journal.proposal = in.id();
  journal.meta.agent = in.text(kMaxTextBytes);
  journal.meta.tool = in.text(kMaxTextBytes);
  journal.meta.message = in.text(kMaxTextBytes);
  if (const TxId undoes{in.u64()}; undoes.value != 0) journal.meta.undoes = undoes;
  if (!in.is_done()) journal.meta.owner = in.text(kMaxTextBytes);
  if (!in.is_done() || has_meta_) return problem("its description cannot be read");
  has_meta_ = true;
  return true;
}

bool JournalParser::read_session(LittleEndianReader in) {
  CommitMeta& meta = verdict_.journal.meta;
  meta.session = in.text(kMaxSessionBytes);
  meta.turn = in.u64();
  meta.prompt = in.text(kMaxPromptBytes);
  const uint32_t count = in.u32();
  for (uint32_t i = 0; i < count && !in.failed(); ++i) meta.also_undoes.push_back(TxId{in.u64()});
  const bool is_valid = meta.session.empty() || is_session_id(meta.session);
  return (in.is_done() && is_valid) || problem("its session cannot be read");
}

bool JournalParser::read_git_commit(LittleEndianReader in) {
  std::string& id = verdict_.journal.meta.git_commit;
  id = in.text(kGitIdBytes);
  const bool is_valid = !id.empty() && id.find_first_not_of("0123456789abcdef") == id.npos;
  return (in.is_done() && is_valid) || problem("its git commit cannot be read");
}

bool JournalParser::read_op(LittleEndianReader in) {
  JournalOp op;
  const uint8_t flags = in.u8();
  auto path = read_path(in);
  if (!path) return problem("it names a path that no transaction may touch");
  op.path = std::move(*path);
  if ((flags & kHasRenamedFrom) != 0) op.renamed_from = read_path(in);
  if ((flags & kHasCopiedFrom) != 0) op.copied_from = read_path(in);
  const bool has_sources = op.renamed_from.has_value() == ((flags & kHasRenamedFrom) != 0) &&
                           op.copied_from.has_value() == ((flags & kHasCopiedFrom) != 0);
  if (!has_sources || !read_side(in, op.before) || !read_side(in, op.after) || !in.is_done()) {
    return problem("an operation cannot be read");
  }
  const auto take_owner = [](JournalSide& side) {
    side.node = with_owner(side.node, {side.uid, side.gid});
  };
  if ((flags & kOwnsBefore) != 0) take_owner(op.before);
  if ((flags & kOwnsAfter) != 0) take_owner(op.after);
  const bool is_directory = op.after.node.kind == FileKind::kDirectory;
  if ((op.after.special & ~(is_directory ? kSticky | kSetGroupId : 0U)) != 0) {
    return problem("it gives a file bits by which it would run as another");
  }
  auto& ops = verdict_.journal.ops;
  if (!ops.empty() && !(ops.back().path < op.path)) return problem("its paths are out of order");
  ops.push_back(std::move(op));
  return true;
}

bool JournalParser::read_image(std::string_view payload) {
  LittleEndianReader in(payload);
  const uint8_t codec = in.u8();
  const uint64_t size = in.u64();
  const ContentId id = in.id();
  const auto raw = in.rest();
  if (in.failed() || codec != kCodecRaw || size != raw.size() || size > kMaxImageBytes) {
    return problem("an image cannot be read");
  }
  image_sizes_.emplace(id, raw.size());
  if (use_ == ImageUse::kSkip) return true;
  if (ContentId::of(raw) != id) return problem("an image is not the content it names");
  verdict_.journal.images.emplace(id, std::make_shared<const std::string>(raw));
  return true;
}

bool JournalParser::take_body_record(const Record& record) {
  const bool is_image = record.type == kImage;
  digest_.update(record.frame);
  digest_.update(is_image ? record.payload.substr(0, kImagePrefixBytes) : record.payload);
  switch (record.type) {
    case kMeta:
      return read_meta(LittleEndianReader(record.payload));
    case kSession:
      return read_session(LittleEndianReader(record.payload));
    case kGitCommit:
      return read_git_commit(LittleEndianReader(record.payload));
    case kOp:
      return read_op(LittleEndianReader(record.payload));
    case kImage:
      return read_image(record.payload);
    case kAudit:
      verdict_.journal.meta.audit.emplace_back(record.payload);
      return true;
    case kBlob: {
      LittleEndianReader in(record.payload);
      const ContentId id = in.id();
      const uint64_t size = in.u64();
      if (!in.is_done()) return problem("a blob record cannot be read");
      verdict_.journal.blobs.emplace(id, size);
      return true;
    }
    default:
      if ((record.flags & kMustUnderstand) == 0) return true;
      return problem("it holds a record that this version does not know");
  }
}

bool JournalParser::read_commit(const Record& record) {
  LittleEndianReader in(record.payload);
  const auto magic = in.bytes(kCommitMagic.size());
  const uint32_t count = in.u32();
  const uint64_t length = in.u64();
  const ContentId digest = in.id();
  if (!in.is_done() || magic != kCommitMagic || count != sequence_ || length != at_) {
    return problem("its commit record cannot be read");
  }
  if (digest != digest_.finish()) return problem("its digest is wrong");
  if (!has_meta_) return problem("it has no description");
  if (std::string text = check_contents(); !text.empty()) return problem(std::move(text));
  return true;
}

std::string JournalParser::check_contents() const {
  const Journal& journal = verdict_.journal;
  if (journal.ops.empty()) return "it has no operation";
  const auto has_content = [&](const Node& node) {
    if (node.kind == FileKind::kAbsent || node.kind == FileKind::kDirectory) {
      return node.content.is_none() && node.size == 0;
    }
    if (const auto image = image_sizes_.find(node.content); image != image_sizes_.end()) {
      return image->second == node.size;
    }
    const auto blob = journal.blobs.find(node.content);
    return blob != journal.blobs.end() && blob->second == node.size;
  };
  for (const auto& op : journal.ops) {
    // A pure change of mode displaces no content, so its images may be missing.
    const bool is_mode_only = op.before.node.kind == op.after.node.kind &&
                              op.before.node.content == op.after.node.content;
    if (is_mode_only) continue;
    if (!has_content(op.before.node) || !has_content(op.after.node)) {
      return "a content is missing for " + op.path.str();
    }
    const bool is_link = op.after.node.kind == FileKind::kSymlink;
    if (is_link && (op.after.node.size == 0 || op.after.node.size > limits::kMaxSymlinkBytes)) {
      return "a symbolic link has an impossible target";
    }
  }
  return {};
}

/// Returns true when the whole body is there and its COMMIT is valid.
bool JournalParser::read_body() {
  while (true) {
    Record record;
    if (sequence_ >= kMaxJournalRecords || !read_record(record)) {
      return problem("it ends before its commit record");
    }
    if (record.type == kCommit) {
      if (!read_commit(record)) {
        is_unreadable_ = true;
        return false;
      }
      take(record);
      return true;
    }
    if (!take_body_record(record)) {
      // The checksum matches, so these bytes were written like this: it is not a torn write.
      is_unreadable_ = true;
      return false;
    }
    take(record);
  }
}

bool JournalParser::read_trailer(const Record& record) {
  LittleEndianReader in(record.payload);
  Journal& journal = verdict_.journal;
  switch (record.type) {
    case kAbort: {
      std::string reason(in.text(kMaxTextBytes));
      if (!in.is_done()) return false;
      journal.is_aborted = true;
      journal.abort_reason = std::move(reason);
      return true;
    }
    case kApplied: {
      std::string boot(in.text(kMaxTextBytes));
      if (!in.is_done()) return false;
      journal.applied_boot = std::move(boot);
      journal.unflushed_boot.reset();
      return true;
    }
    case kUnflushed: {
      std::string boot(in.text(kMaxTextBytes));
      if (!in.is_done()) return false;
      journal.unflushed_boot = std::move(boot);
      return true;
    }
    case kNote: {
      JournalNote note;
      note.path = in.text(RelPath::kMaxBytes);
      note.text = in.text(kMaxTextBytes);
      if (!in.is_done()) return false;
      journal.notes.push_back(std::move(note));
      return true;
    }
    default:
      return (record.flags & kMustUnderstand) == 0;
  }
}

/// A torn trailer counts as never written: reading stops before it, and the next one overwrites it.
void JournalParser::read_trailers() {
  Record record;
  while (sequence_ < kMaxJournalRecords && read_record(record) && read_trailer(record)) {
    take(record);
  }
}

/// Whether a complete commit record seems to follow the break. Then this journal was complete once,
/// and deleting it would treat damage as an unfinished write. Two of its three marks are enough, so
/// that one flipped bit in the record itself does not hide it.
bool JournalParser::is_commit_ahead() {
  if (is_mutant(Mutant::kRotIsTorn)) return false;
  constexpr size_t kRecordBytes = kFrameBytes + kCommitPayloadBytes + padding(kCommitPayloadBytes);
  for (uint64_t offset = at_; offset + kRecordBytes <= bytes_.size(); offset += kAlignment) {
    LittleEndianReader in(bytes_.at(offset, kRecordBytes));
    const uint32_t size = in.u32();
    const uint16_t type = in.u16();
    const bool has_frame = size == kCommitPayloadBytes && type == kCommit;
    in.bytes(kFrameBytes - sizeof(uint32_t) - sizeof(uint16_t));
    const bool has_magic = in.bytes(kCommitMagic.size()) == kCommitMagic;
    in.u32();
    const bool has_length = in.u64() == offset;
    if (int{has_frame} + int{has_magic} + int{has_length} >= 2) return true;
  }
  return false;
}

JournalVerdict JournalParser::run() && {
  const bool is_whole = read_header() && read_body();
  if (is_whole) {
    read_trailers();
    verdict_.state = JournalState::kCommitted;
    verdict_.end = at_;
    verdict_.chain = chain_;
    verdict_.sequence = sequence_;
    return std::move(verdict_);
  }
  verdict_.state =
      is_unreadable_ || is_commit_ahead() ? JournalState::kDamaged : JournalState::kNotCommitted;
  return std::move(verdict_);
}

}  // namespace

JournalVerdict parse_journal(std::string_view bytes, ImageUse use) {
  BytesInMemory source(bytes);
  return JournalParser(source, use).run();
}

Result<JournalVerdict> parse_journal(File& file, uint64_t size, ImageUse use) {
  BytesInFile source(file, size);
  JournalVerdict verdict = JournalParser(source, use).run();
  // A read error is not a verdict about the journal.
  if (source.error()) return fail(*source.error());
  return verdict;
}

ChangeSet Journal::changes() const {
  ChangeSet changes;
  changes.reserve(ops.size());
  for (const auto& op : ops) {
    Change change;
    change.path = op.path;
    change.before = op.before.node;
    change.after = op.after.node;
    change.renamed_from = op.renamed_from;
    change.copied_from = op.copied_from;
    changes.push_back(std::move(change));
  }
  return changes;
}

}  // namespace galley
