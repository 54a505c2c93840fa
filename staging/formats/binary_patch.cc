#include "staging/formats/binary_patch.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/text.h"

namespace galley {
namespace {

constexpr std::string_view kAlphabet =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
constexpr size_t kGroup = 5;
constexpr uint64_t kMaxDeflateRatio = 1032;  // zlib's maximum compression ratio
constexpr uint64_t kDeflateSlack = 64;
constexpr size_t kDeltaHeaderBytes = 20;  // two numbers of at most ten bytes

tl::unexpected<Error> corrupt_binary(std::string what) {
  return fail(
      ErrorKind::kInvalid, "edit.corrupt_binary",
      "the binary patch is damaged: " + std::move(what) + "; make it again with git diff --binary");
}

std::array<int, 256> decode_table() {
  std::array<int, 256> table{};
  table.fill(-1);
  for (size_t i = 0; i < kAlphabet.size(); ++i) {
    table[static_cast<unsigned char>(kAlphabet[i])] = static_cast<int>(i);
  }
  return table;
}

Result<void> check_size(uint64_t size) {
  if (size <= kMaxBinaryPatchBytes) return {};
  return fail(ErrorKind::kQuota, "limit.binary_patch",
              "the binary patch states that it makes " + std::to_string(size) +
                  " bytes, more than the " + std::to_string(kMaxBinaryPatchBytes) +
                  " that binary patches may");
}

Result<std::string> inflate_all(std::string_view deflated, uint64_t size) {
  GALLEY_TRY(check_size(size));
  // Refuse a size that the bytes cannot inflate to, before anything is allocated.
  if (size > deflated.size() * kMaxDeflateRatio + kDeflateSlack) {
    return corrupt_binary("it does not inflate to the size it states");
  }
  std::string out(size, '\0');
  uLongf length = size;
  uLong used = deflated.size();
  const int code = uncompress2(reinterpret_cast<Bytef*>(out.data()), &length,
                               reinterpret_cast<const Bytef*>(deflated.data()), &used);
  // zlib reports an empty result in an empty buffer as Z_BUF_ERROR.
  if (size == 0) return out;
  if (code != Z_OK || length != size) {
    return corrupt_binary("it does not inflate to the size it states");
  }
  return out;
}

/// The first bytes that `deflated` inflates to; fewer if it is shorter or damaged.
std::string inflate_head(std::string_view deflated, size_t count) {
  std::string out(count, '\0');
  z_stream stream{};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(deflated.data()));
  stream.avail_in = static_cast<uInt>(std::min<size_t>(deflated.size(), 4096));
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(count);
  if (inflateInit(&stream) != Z_OK) return {};
  inflate(&stream, Z_SYNC_FLUSH);
  out.resize(count - stream.avail_out);
  inflateEnd(&stream);
  return out;
}

/// Reads git's pack delta (git's Documentation/gitformat-pack, "Deltified representation").
class DeltaReader {
 public:
  DeltaReader(std::string_view delta, std::string_view base) : delta_(delta), base_(base) {}

  struct Sizes {
    uint64_t base = 0;
    uint64_t result = 0;
  };
  Result<Sizes> sizes() {
    Sizes stated;
    GALLEY_ASSIGN(stated.base, varint());
    GALLEY_ASSIGN(stated.result, varint());
    return stated;
  }

  Result<std::string> run() {
    GALLEY_ASSIGN(const auto stated, sizes());
    const auto [base_size, result_size] = stated;
    if (base_size != base_.size()) {
      return fail(ErrorKind::kInvalid, "edit.binary_base",
                  "the binary delta was made for a file of " + std::to_string(base_size) +
                      " bytes, this one has " + std::to_string(base_.size()));
    }
    GALLEY_TRY(check_size(result_size));
    // The instructions are read twice: the first pass verifies the size, and then it is allocated.
    const size_t begin = at_;
    uint64_t made = 0;
    while (at_ < delta_.size()) {
      GALLEY_ASSIGN(const std::string_view piece, next());
      made += piece.size();
      if (made > result_size) return corrupt_binary("it overruns");
    }
    if (made != result_size) return corrupt_binary("the delta makes another size than it states");
    std::string out;
    out.reserve(result_size);
    for (at_ = begin; at_ < delta_.size();) {
      GALLEY_ASSIGN(const std::string_view piece, next());
      out.append(piece);
    }
    return out;
  }

 private:
  Result<uint8_t> byte() {
    if (at_ >= delta_.size()) return corrupt_binary("the delta ends early");
    return static_cast<uint8_t>(delta_[at_++]);
  }

  Result<uint64_t> varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 63; shift += 7) {
      GALLEY_ASSIGN(const uint8_t part, byte());
      value |= uint64_t{part & 0x7fU} << shift;
      if ((part & 0x80U) == 0) return value;
    }
    return corrupt_binary("a number in the delta is too long");
  }

  /// Reads a little-endian number. `flags` has a bit for each byte that is present.
  Result<uint64_t> sparse(unsigned flags, unsigned count) {
    uint64_t value = 0;
    for (unsigned i = 0; i < count; ++i) {
      if ((flags >> i & 1U) == 0) continue;
      GALLEY_ASSIGN(const uint8_t part, byte());
      value |= uint64_t{part} << (8 * i);
    }
    return value;
  }

  /// Returns the bytes that the next instruction adds.
  Result<std::string_view> next() {
    GALLEY_ASSIGN(const uint8_t op, byte());
    if (op == 0) return corrupt_binary("the delta holds a reserved instruction");
    if ((op & 0x80U) == 0) {
      if (delta_.size() - at_ < op) return corrupt_binary("it overruns");
      at_ += op;
      return delta_.substr(at_ - op, op);
    }
    GALLEY_ASSIGN(const uint64_t offset, sparse(op, 4));
    GALLEY_ASSIGN(uint64_t size, sparse(op >> 4U & 7U, 3));
    if (size == 0) size = 0x10000;
    if (offset > base_.size() || size > base_.size() - offset) {
      return corrupt_binary("the delta reaches past its base");
    }
    return base_.substr(offset, size);
  }

  std::string_view delta_;
  std::string_view base_;
  size_t at_ = 0;
};

/// Reads the two parts of one file.
class BinaryReader {
 public:
  BinaryReader(const Lines& document, size_t at, std::string_view path)
      : document_(document), at_(at), path_(path) {}

  [[nodiscard]] size_t at() const { return at_; }
  /// True if the document ended before the empty line after the part, and the part is incomplete.
  [[nodiscard]] bool is_cut() const { return is_cut_; }

  /// Returns false if no part begins here.
  Result<bool> read_part(BinaryPatch& part) {
    if (at_ >= document_.size()) return false;
    std::string_view line = text();
    if (line.starts_with("literal ")) {
      part.kind = BinaryPatch::Kind::kLiteral;
      line.remove_prefix(8);
    } else if (line.starts_with("delta ")) {
      part.kind = BinaryPatch::Kind::kDelta;
      line.remove_prefix(6);
    } else {
      return false;
    }
    const auto size = number_of<uint64_t>(line);
    if (!size) {
      return fail(ErrorKind::kInvalid, "edit.bad_header",
                  here() + ": a binary patch without a size", path_);
    }
    part.inflated_size = *size;
    for (++at_; at_ < document_.size() && !text().empty(); ++at_) {
      auto bytes = decode_base85_line(text());
      if (!bytes) {
        bytes.error().message = here() + ": " + bytes.error().message;
        return fail(std::move(bytes.error()));
      }
      part.deflated += *bytes;
    }
    is_ended_ = at_ < document_.size();
    if (is_ended_) ++at_;
    return true;
  }

  /// Checks the stated sizes before anything is inflated: a document of a few bytes can state any
  /// number of gibibytes.
  Result<void> count_stated(const BinaryPatch& part, uint64_t& total) {
    auto stated = stated_bytes(part);
    if (!stated) {
      stated.error().message = "before " + here() + ": " + stated.error().message;
      return fail(std::move(stated.error()));
    }
    total += *stated;
    if (total > kMaxBinaryPatchBytes) {
      return fail(ErrorKind::kQuota, "limit.binary_patch",
                  "before " + here() +
                      ": its binary patches state that together they make more than " +
                      std::to_string(kMaxBinaryPatchBytes) + " bytes; split it");
    }
    // Without the empty line at its end, only the part itself shows whether it is complete.
    is_cut_ = !is_ended_ && !is_whole(part);
    return {};
  }

  [[nodiscard]] std::string here() const {
    return "line " + std::to_string(at_ + 1) + " of the patch";
  }

 private:
  [[nodiscard]] std::string_view text() const { return without_terminator(document_[at_]); }

  const Lines& document_;
  size_t at_;
  std::string path_;
  bool is_ended_ = false;
  bool is_cut_ = false;
};

tl::unexpected<Error> truncated(const BinaryReader& reader, const std::string& path,
                                std::string_view what) {
  return fail(ErrorKind::kInvalid, "edit.truncated",
              reader.here() + ": the patch ends before the binary patch of '" + path +
                  "' is whole; " + std::string(what),
              path);
}

}  // namespace

Result<std::string> decode_base85_line(std::string_view line) {
  static const std::array<int, 256> kTable = decode_table();
  if (line.empty()) return corrupt_binary("an empty line");
  size_t length = 0;
  if (line[0] >= 'A' && line[0] <= 'Z') length = static_cast<size_t>(line[0] - 'A') + 1;
  if (line[0] >= 'a' && line[0] <= 'z') length = static_cast<size_t>(line[0] - 'a') + 27;
  line.remove_prefix(1);
  if (length == 0 || line.size() != (length + 3) / 4 * kGroup) {
    return corrupt_binary("a line has the wrong length");
  }
  std::string out;
  for (size_t at = 0; at < line.size(); at += kGroup) {
    uint64_t value = 0;
    for (size_t i = 0; i < kGroup; ++i) {
      const int digit = kTable[static_cast<unsigned char>(line[at + i])];
      if (digit < 0) return corrupt_binary("a line has a letter that is not base85");
      value = value * 85 + static_cast<unsigned>(digit);
    }
    if (value > UINT32_MAX) return corrupt_binary("a group is out of range");
    for (int shift = 24; shift >= 0; shift -= 8) {
      if (out.size() < length) out.push_back(static_cast<char>(value >> shift & 0xffU));
    }
  }
  return out;
}

Result<uint64_t> stated_bytes(const BinaryPatch& patch) {
  GALLEY_TRY(check_size(patch.inflated_size));
  if (patch.kind == BinaryPatch::Kind::kLiteral) return patch.inflated_size;
  const std::string head = inflate_head(patch.deflated, kDeltaHeaderBytes);
  const auto stated = DeltaReader(head, {}).sizes();
  if (!stated) return patch.inflated_size;  // damaged: apply_binary reports it
  GALLEY_TRY(check_size(stated->result));
  return patch.inflated_size + stated->result;
}

bool is_whole(const BinaryPatch& patch) {
  return !patch.deflated.empty() && inflate_all(patch.deflated, patch.inflated_size).has_value();
}

Result<std::string> apply_binary(const BinaryPatch& patch, std::string_view base) {
  GALLEY_ASSIGN(std::string bytes, inflate_all(patch.deflated, patch.inflated_size));
  if (patch.kind == BinaryPatch::Kind::kLiteral) return bytes;
  return DeltaReader(bytes, base).run();
}

Result<size_t> read_binary_patch(const Lines& document, size_t at, const ReadOptions& options,
                                 FileEdit& edit, BinaryTotals& totals) {
  BinaryReader reader(document, at, edit.path);
  BinaryPatch forward;
  GALLEY_ASSIGN(const bool has_forward, reader.read_part(forward));
  if (!has_forward) {
    return fail(ErrorKind::kInvalid, "edit.corrupt_binary",
                reader.here() + ": 'literal' or 'delta' expected after 'GIT binary patch'",
                edit.path);
  }
  GALLEY_TRY(reader.count_stated(forward, totals.forward));
  if (reader.is_cut()) return truncated(reader, edit.path, "send it whole");
  edit.binary = std::move(forward);
  BinaryPatch backward;
  GALLEY_ASSIGN(const bool has_backward, reader.read_part(backward));
  if (!has_backward) return reader.at();
  GALLEY_TRY(reader.count_stated(backward, totals.backward));
  if (!reader.is_cut()) {
    edit.binary_reverse = std::move(backward);
  } else if (!options.recount) {
    return truncated(reader, edit.path,
                     "send it whole, or --recount takes it without the part that goes back");
  }
  return reader.at();
}

}  // namespace galley
