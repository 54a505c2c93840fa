#include "staging/formats/binary_patch.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include "staging/formats/read_edits.h"
#include "staging/printing/git_diff_print.h"

namespace galley {
namespace {

constexpr uint64_t kTooMuch = kMaxBinaryPatchBytes + 1;

std::string deflated(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string out(size, '\0');
  EXPECT_EQ(compress(reinterpret_cast<Bytef*>(out.data()), &size,
                     reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()),
            Z_OK);
  out.resize(size);
  return out;
}

std::string varint(uint64_t number) {
  std::string out;
  for (; number > 0x7f; number >>= 7U) out += static_cast<char>((number & 0x7fU) | 0x80U);
  return out + static_cast<char>(number);
}

BinaryPatch delta_of(const std::string& instructions) {
  return {BinaryPatch::Kind::kDelta, instructions.size(), deflated(instructions)};
}

TEST(BinaryPatchLimits, AStatedSizeIsReadWithoutInflating) {
  const BinaryPatch literal{BinaryPatch::Kind::kLiteral, 5, deflated("hello")};
  EXPECT_EQ(*stated_bytes(literal), 5U);
  const BinaryPatch delta = delta_of(varint(10) + varint(1000) + std::string(500, '\1'));
  EXPECT_EQ(*stated_bytes(delta), delta.inflated_size + 1000);
  const BinaryPatch large = delta_of(varint(10) + varint(kTooMuch));
  EXPECT_EQ(stated_bytes(large).error().reason, "limit.binary_patch");
  EXPECT_EQ(apply_binary(large, std::string(10, 'x')).error().reason, "limit.binary_patch");
}

TEST(BinaryPatchLimits, ALiteralCannotStateMoreThanItsBytesCanHold) {
  const BinaryPatch liar{BinaryPatch::Kind::kLiteral, kMaxBinaryPatchBytes, deflated("hello")};
  EXPECT_EQ(apply_binary(liar, "").error().reason, "edit.corrupt_binary");
}

TEST(BinaryPatchLimits, ADeltaThatMakesLessThanItStatesIsRefused) {
  const BinaryPatch liar = delta_of(varint(1) + varint(kMaxBinaryPatchBytes) + "\x90\x01");
  EXPECT_EQ(apply_binary(liar, "x").error().reason, "edit.corrupt_binary");
  const BinaryPatch good = delta_of(varint(1) + varint(3) + "\x90\x01" + "\x02yz");
  EXPECT_EQ(*apply_binary(good, "x"), "xyz");
}

/// A document with `count` new files, each said to be `size` long.
std::string document(int count, uint64_t size, bool is_reverse) {
  std::string text;
  for (int i = 0; i < count; ++i) {
    const std::string name = "f" + std::to_string(i);
    text += "diff --git a/" + name + " b/" + name +
            "\nindex 1111111111111111111111111111111111111111.."
            "2222222222222222222222222222222222222222 100644\n";
    std::string body;
    append_binary_patch(is_reverse ? "x" : "", is_reverse ? "" : "x", body);
    const size_t at = body.find("literal 1\n");
    EXPECT_NE(at, body.npos) << body;
    text += body.replace(at, 9, "literal " + std::to_string(size));
  }
  return text;
}

// Limit: kMaxBinaryPatchBytes of staging/formats/binary_patch.h
TEST(BinaryPatchLimits, TheSizesOfADocumentAreSummedInEachDirection) {
  const uint64_t third = kMaxBinaryPatchBytes / 3;
  for (const bool is_reverse : {false, true}) {
    EXPECT_TRUE(read_unified(document(3, third, is_reverse), {}).has_value());
    const auto over = read_unified(document(4, third, is_reverse), {});
    ASSERT_FALSE(over.has_value());
    EXPECT_EQ(over.error().reason, "limit.binary_patch");
    EXPECT_EQ(over.error().kind, ErrorKind::kQuota);
  }
}

}  // namespace
}  // namespace galley
