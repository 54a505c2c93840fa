#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

/// Constants of journal format version 1, shared by the writer and the reader.
///
///     journal := header record* COMMIT trailer*
///     header  := magic[8] major:u16 minor:u16 header_bytes:u32 txid:u64 parent:u64 workspace[16]
///                time_ns:i64 flags:u32 crc32c:u32                                  (64 bytes)
///     record  := payload_bytes:u32 type:u16 flags:u16 sequence:u32 crc32c:u32      (16 bytes)
///                payload  zero padding to a multiple of 8
///
/// Everything is little endian. The crc of a record covers its first 12 bytes and its payload. It
/// continues the crc of the record before it; the first record continues the header's. Stale,
/// reordered or spliced records break the chain. COMMIT has the SHA-256 of everything before it
/// except the bytes of images, because each image record has their own SHA-256. That digest makes
/// one write of many blocks atomic, as in LevelDB's log and ext4's journal_checksum, without a
/// flush between body and commit record.
namespace galley::journal_format {

inline constexpr std::string_view kMagic{"GALLEYJ\x01", 8};
inline constexpr std::string_view kCommitMagic{"GALLEYC\x01", 8};
inline constexpr uint16_t kMajor = 1;
inline constexpr uint16_t kMinor = 0;
inline constexpr size_t kHeaderBytes = 64;
inline constexpr size_t kFrameBytes = 16;
inline constexpr size_t kChainedFrameBytes = 12;  ///< the part of a frame before its crc
inline constexpr size_t kAlignment = 8;
inline constexpr uint16_t kMustUnderstand = 1;

enum RecordType : uint16_t {
  kMeta = 1,
  kAudit = 2,
  kOp = 3,
  kImage = 4,
  kBlob = 5,
  kCommit = 6,
  kSession = 7,    ///< optional; an older reader skips it
  kGitCommit = 8,  ///< optional, of a git workspace; an older reader skips it
  kAbort = 16,
  kApplied = 17,
  kNote = 18,
  kUnflushed = 19,
};

inline constexpr uint8_t kCodecRaw = 0;
inline constexpr size_t kImagePrefixBytes = 1 + 8 + 32;  ///< codec, length, content id
inline constexpr size_t kCommitPayloadBytes = 8 + 4 + 8 + 32;

/// With the last two, the owner of that side is part of the change; an older reader ignores them.
enum OpFlags : uint8_t { kHasRenamedFrom = 1, kHasCopiedFrom = 2, kOwnsBefore = 4, kOwnsAfter = 8 };

// The reader and the writer share these limits. The reader accepts everything that
// check_journal_limits() accepts.
inline constexpr size_t kMaxTextBytes = size_t{1} << 20U;  ///< message, agent, tool, reason
inline constexpr size_t kMaxAttributes = 4096;             ///< extended attributes of one object
inline constexpr size_t kMaxAttributeNameBytes = 255;      ///< one attribute name (XATTR_NAME_MAX)
inline constexpr size_t kMaxAttributeBytes = size_t{64} << 10U;  ///< one attribute (XATTR_SIZE_MAX)
inline constexpr size_t kMaxPayloadBytes = size_t{16} << 20U;    ///< one record of a journal
/// The body of a journal leaves this room free, so that ABORT and APPLIED always fit.
inline constexpr uint32_t kTrailerRecords = 4096;
inline constexpr uint64_t kTrailerBytes = uint64_t{16} << 20U;

inline constexpr size_t padding(size_t bytes) {
  return (kAlignment - bytes % kAlignment) % kAlignment;
}

}  // namespace galley::journal_format
