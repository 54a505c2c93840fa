#include "staging/text/binary_patch.h"

#include <zlib.h>

#include <array>

#include "base/limits.h"

namespace galley {
namespace {

constexpr std::string_view kAlphabet =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
constexpr size_t kGroup = 5;

tl::unexpected<Error> corrupt(std::string what) {
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

Result<std::string> inflate_all(std::string_view deflated, uint64_t size) {
  if (size > limits::kMaxFileBytes) {
    return fail(ErrorKind::kQuota, "limit.file_size", "the binary patch makes a file over 1 GiB");
  }
  std::string out(size, '\0');
  uLongf length = size;
  uLong used = deflated.size();
  const int code = uncompress2(reinterpret_cast<Bytef*>(out.data()), &length,
                               reinterpret_cast<const Bytef*>(deflated.data()), &used);
  // zlib reports an empty result in an empty buffer as Z_BUF_ERROR.
  if (size == 0) return out;
  if (code != Z_OK || length != size) return corrupt("it does not inflate to the size it states");
  return out;
}

/// Reads git's pack delta (git's Documentation/gitformat-pack, "Deltified representation").
class DeltaReader {
 public:
  DeltaReader(std::string_view delta, std::string_view base) : delta_(delta), base_(base) {}

  Result<std::string> run() {
    GALLEY_ASSIGN(const uint64_t base_size, varint());
    GALLEY_ASSIGN(const uint64_t result_size, varint());
    if (base_size != base_.size()) {
      return fail(ErrorKind::kInvalid, "edit.binary_base",
                  "the binary delta was made for a file of " + std::to_string(base_size) +
                      " bytes, this one has " + std::to_string(base_.size()));
    }
    if (result_size > limits::kMaxFileBytes) {
      return fail(ErrorKind::kQuota, "limit.file_size", "the binary delta makes a file over 1 GiB");
    }
    out_.reserve(result_size);
    while (at_ < delta_.size()) GALLEY_TRY(step(result_size));
    if (out_.size() != result_size) return corrupt("the delta makes another size than it states");
    return std::move(out_);
  }

 private:
  Result<uint8_t> byte() {
    if (at_ >= delta_.size()) return corrupt("the delta ends early");
    return static_cast<uint8_t>(delta_[at_++]);
  }

  Result<uint64_t> varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 63; shift += 7) {
      GALLEY_ASSIGN(const uint8_t part, byte());
      value |= uint64_t{part & 0x7fU} << shift;
      if ((part & 0x80U) == 0) return value;
    }
    return corrupt("a number in the delta is too long");
  }

  /// The bytes of a little-endian number that `flags` says are there.
  Result<uint64_t> sparse(unsigned flags, unsigned count) {
    uint64_t value = 0;
    for (unsigned i = 0; i < count; ++i) {
      if ((flags >> i & 1U) == 0) continue;
      GALLEY_ASSIGN(const uint8_t part, byte());
      value |= uint64_t{part} << (8 * i);
    }
    return value;
  }

  Result<void> step(uint64_t limit) {
    GALLEY_ASSIGN(const uint8_t op, byte());
    if (op == 0) return corrupt("the delta holds a reserved instruction");
    if ((op & 0x80U) == 0) {
      if (delta_.size() - at_ < op || out_.size() + op > limit) return corrupt("it overruns");
      out_.append(delta_.substr(at_, op));
      at_ += op;
      return {};
    }
    GALLEY_ASSIGN(const uint64_t offset, sparse(op, 4));
    GALLEY_ASSIGN(uint64_t size, sparse(op >> 4U & 7U, 3));
    if (size == 0) size = 0x10000;
    if (offset > base_.size() || size > base_.size() - offset || out_.size() + size > limit) {
      return corrupt("the delta reaches past its base");
    }
    out_.append(base_.substr(offset, size));
    return {};
  }

  std::string_view delta_;
  std::string_view base_;
  size_t at_ = 0;
  std::string out_;
};

}  // namespace

Result<std::string> decode_base85_line(std::string_view line) {
  static const std::array<int, 256> kTable = decode_table();
  if (line.empty()) return corrupt("an empty line");
  size_t length = 0;
  if (line[0] >= 'A' && line[0] <= 'Z') length = static_cast<size_t>(line[0] - 'A') + 1;
  if (line[0] >= 'a' && line[0] <= 'z') length = static_cast<size_t>(line[0] - 'a') + 27;
  line.remove_prefix(1);
  if (length == 0 || line.size() != (length + 3) / 4 * kGroup) {
    return corrupt("a line has the wrong length");
  }
  std::string out;
  for (size_t at = 0; at < line.size(); at += kGroup) {
    uint64_t value = 0;
    for (size_t i = 0; i < kGroup; ++i) {
      const int digit = kTable[static_cast<unsigned char>(line[at + i])];
      if (digit < 0) return corrupt("a line has a letter that is not base85");
      value = value * 85 + static_cast<unsigned>(digit);
    }
    if (value > UINT32_MAX) return corrupt("a group is out of range");
    for (int shift = 24; shift >= 0; shift -= 8) {
      if (out.size() < length) out.push_back(static_cast<char>(value >> shift & 0xffU));
    }
  }
  return out;
}

Result<std::string> apply_binary(const BinaryPatch& patch, std::string_view base) {
  GALLEY_ASSIGN(std::string bytes, inflate_all(patch.deflated, patch.inflated_size));
  if (patch.kind == BinaryPatch::Kind::kLiteral) return bytes;
  return DeltaReader(bytes, base).run();
}

}  // namespace galley
