#pragma once

#include <string>

#include "base/hash.h"
#include "engine/commit/journal.h"
#include "staging/fs/directory.h"

namespace galley {

/// Checks, before anything is written, that the reader will accept a journal with this description
/// and these operations. journal_format.h has the limits.
/// Errors: kQuota `limit.journal_text`, `limit.attributes`, `limit.journal`; kRefused
///         `path.protected` for a source.
Result<void> check_journal_limits(const Journal& journal);

/// Writes one journal through a bounded buffer.
///
/// Invariant: the bytes are a committed journal only after finish() has returned success and the
///            file was synced.
/// Ownership: borrows the File, which must outlive it.
/// Threads:   confined to one thread.
class JournalWriter {
 public:
  explicit JournalWriter(WritableFile& file) : file_(&file) {}

  /// Writes the header and the META, AUDIT and OP records. Ignores `journal.images` and `blobs`.
  Result<void> begin(const Journal& journal);
  Result<void> image(const ContentId& id, std::string_view bytes);
  Result<void> blob(const ContentId& id, uint64_t size);
  /// Writes COMMIT and flushes the buffer to the file.
  Result<void> finish();

  /// The bytes written so far, and the checksum chain that a trailer continues.
  [[nodiscard]] uint64_t end() const { return written_ + buffer_.size(); }
  [[nodiscard]] uint32_t chain() const { return chain_; }
  [[nodiscard]] uint32_t sequence() const { return sequence_; }

 private:
  Result<void> record(uint16_t type, std::string_view payload, std::string_view raw = {});
  Result<void> flush();

  WritableFile* file_;
  ContentHasher digest_;
  std::string buffer_;
  uint64_t written_ = 0;
  uint32_t chain_ = 0;
  uint32_t sequence_ = 0;
};

/// Appends trailers to a journal that was written or read.
///
/// Ownership: borrows the File. Threads: confined to one thread.
class JournalTrailer {
 public:
  JournalTrailer(WritableFile& file, const JournalVerdict& verdict)
      : file_(&file), end_(verdict.end), chain_(verdict.chain), sequence_(verdict.sequence) {}
  JournalTrailer(WritableFile& file, const JournalWriter& writer)
      : file_(&file), end_(writer.end()), chain_(writer.chain()), sequence_(writer.sequence()) {}

  Result<void> abort(std::string_view reason);
  Result<void> applied(std::string_view boot);
  /// Records that a flush of the tree failed; valid until the next applied().
  Result<void> unflushed(std::string_view boot);
  /// Writes nothing if the journal is nearly full, because later records matter more.
  Result<void> note(const JournalNote& note);

 private:
  Result<void> append(uint16_t type, std::string_view payload);
  WritableFile* file_;
  uint64_t end_;
  uint32_t chain_;
  uint32_t sequence_;
};

}  // namespace galley
