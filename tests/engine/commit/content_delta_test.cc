#include "engine/commit/content_delta.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/limits.h"
#include "doubles/fault_directory.h"
#include "doubles/memory_directory.h"
#include "engine/commit/blob_store.h"
#include "engine/commit/journal_bytes.h"
#include "support/commit_fixture.h"

namespace galley {
namespace {

/// Text that does not repeat itself.
std::string text_of(size_t bytes, uint32_t seed) {
  std::mt19937 random(seed);
  std::string text;
  while (text.size() < bytes) text += std::to_string(random()) + "\n";
  text.resize(bytes);
  return text;
}

std::string path_of(std::string_view content, std::string_view ending = "") {
  const std::string hex = ContentId::of(content).hex();
  return "blob/own/" + hex.substr(0, 2) + "/" + hex + std::string(ending);
}

uint64_t size_of(const Directory& state, const std::string& path) {
  const auto stat = state.stat(rel(path));
  return stat && stat->kind == FileKind::kRegular ? stat->size : 0;
}

void write(const WritableDirectory& state, std::string_view content, std::string_view old = {}) {
  std::optional<ReplacedContent> replaced;
  if (!old.empty()) replaced = ReplacedContent{ContentId::of(old), old};
  const auto named = write_blob(state, rel("blob/own"), ContentId::of(content), content, replaced);
  ASSERT_TRUE(named) << named.error().message;
}

/// Reads it whole and in pieces.
std::string read(const Directory& state, std::string_view content) {
  const auto found = read_blob(state, rel("blob/own"), ContentId::of(content));
  std::string result = found ? **found : found.error().reason;
  std::string joined;
  const auto passed = read_blob(state, rel("blob/own"), ContentId::of(content),
                                [&joined](std::string_view piece) -> Result<void> {
                                  joined += piece;
                                  return {};
                                });
  EXPECT_EQ(passed ? joined : passed.error().reason, result);
  return result;
}

class ContentDeltaTest : public testing::Test {
 protected:
  std::shared_ptr<WritableDirectory> state_ = make_memory_directory();
  std::string first_ = text_of(200'000, 1);
  std::string second_ = std::string(first_).insert(50'000, "a new line\n");
  std::string third_ = std::string(second_).replace(150'000, 20, "another");
};

TEST_F(ContentDeltaTest, AnyChainOfEditsHasOneBaseAndGivesItsBytes) {
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    std::string now = text_of(random() % 300, random());
    const std::string base = now;
    ContentDelta delta = ContentDelta::whole(ContentId::of(now), now.size());
    for (int edit = 0; edit < 30; ++edit) {
      const size_t at = random() % (now.size() + 1);
      const std::string next =
          std::string(now).replace(at, random() % 40, text_of(random() % 30, random()));
      delta = delta.changed(now, next);
      now = next;
      const std::string file = delta.encode(now);
      const auto parsed = parse_delta(file.substr(0, kDeltaHeadBytes), file.size());
      ASSERT_TRUE(parsed && *parsed == delta) << round << " " << edit;
      ASSERT_EQ(delta.base, ContentId::of(base));
      std::string made;
      size_t added_at = file.size() - delta.added();
      for (const DeltaPiece& piece : delta.pieces) {
        made += base.substr(piece.from, piece.copied) + file.substr(added_at, piece.added);
        added_at += piece.added;
      }
      ASSERT_EQ(made, now) << round << " " << edit;
    }
  }
}

TEST_F(ContentDeltaTest, ALargeFileWithOneChangedLineIsStoredOnce) {
  write(*state_, first_);
  write(*state_, second_, first_);
  write(*state_, third_, second_);
  EXPECT_EQ(size_of(*state_, path_of(first_)), first_.size());
  for (const auto& content : {second_, third_}) {
    EXPECT_EQ(size_of(*state_, path_of(content)), 0U);
    const uint64_t delta = size_of(*state_, path_of(content, kDeltaEnding));
    EXPECT_TRUE(delta > 0 && delta < 200) << delta;
  }
  for (const auto& content : {first_, second_, third_}) EXPECT_EQ(read(*state_, content), content);
}

TEST_F(ContentDeltaTest, AJournalNamesTheBase) {
  write(*state_, first_);
  write(*state_, second_, first_);
  const std::map<ContentId, uint64_t> expected{{ContentId::of(first_), first_.size()},
                                               {ContentId::of(third_), third_.size()}};
  const ReplacedContent replaced{ContentId::of(second_), second_};
  for (int i = 0; i < 2; ++i) {  // made, and found
    EXPECT_EQ(*write_blob(*state_, rel("blob/own"), ContentId::of(third_), third_, replaced),
              expected);
  }
}

TEST_F(ContentDeltaTest, AContentWithLargeChangesIsStoredWhole) {
  write(*state_, first_);
  const std::string large = first_ + text_of(first_.size() / 10, 2);
  write(*state_, large, first_);
  EXPECT_EQ(size_of(*state_, path_of(large)), large.size());
  // Many small changes, too: the added bytes of all of them count.
  std::string now = first_;
  for (uint32_t i = 0; i < 40; ++i) {
    const std::string next = std::string(now).insert(i * 4000, text_of(500, i));
    write(*state_, next, now);
    now = next;
    EXPECT_EQ(read(*state_, now), now);
    EXPECT_LE(size_of(*state_, path_of(now, kDeltaEnding)), now.size() / kDeltaFraction);
  }
}

TEST_F(ContentDeltaTest, ASmallPartOfALargeContentDoesNotKeepIt) {
  write(*state_, first_);
  for (const size_t part : {size_t{120'000}, size_t{90'000}}) {
    const std::string rest = first_.substr(0, part);
    write(*state_, rest, first_);
    EXPECT_EQ(read(*state_, rest), rest);
    EXPECT_EQ(size_of(*state_, path_of(rest)) == 0, part == 120'000) << part;
  }
}

// Limit: kMaxDeltaPieces of engine/commit/content_delta.h
TEST_F(ContentDeltaTest, ADeltaHasALimitedNumberOfPieces) {
  std::string content(4'000'000, 'x');
  ContentDelta delta = ContentDelta::whole(ContentId::of(content), content.size());
  delta.pieces.clear();
  for (size_t i = 0; i < kMaxDeltaPieces; ++i) delta.pieces.push_back({0, 1, 0});
  delta.size = kMaxDeltaPieces;
  const auto parses = [&] {
    const std::string file = delta.encode(content.substr(0, delta.size));
    return parse_delta(file, file.size()).has_value();
  };
  EXPECT_TRUE(parses());
  delta.pieces.push_back({0, 1, 0});
  ++delta.size;
  EXPECT_FALSE(parses());
  delta.pieces.back().copied = delta.size = content.size() - kMaxDeltaPieces;
  EXPECT_FALSE(delta.is_worthwhile());
}

TEST_F(ContentDeltaTest, ADamagedDeltaIsAnErrorAndNeverWrongBytes) {
  write(*state_, first_);
  write(*state_, second_, first_);
  const std::string path = path_of(second_, kDeltaEnding);
  const std::string good = *read_file(*state_, rel(path), 1000);
  for (size_t size = 0; size < good.size(); ++size) {
    put_file(*state_, path, good.substr(0, size));
    EXPECT_EQ(read(*state_, second_), "blob.damaged") << size;
  }
  for (size_t at = 0; at < good.size() * 8; ++at) {
    std::string bad = good;
    bad[at / 8] = static_cast<char>(bad[at / 8] ^ (1 << (at % 8)));
    put_file(*state_, path, bad);
    EXPECT_EQ(read(*state_, second_), "blob.damaged") << at;
  }
  put_file(*state_, path, good + "x");
  EXPECT_EQ(read(*state_, second_), "blob.damaged");
  put_file(*state_, path, good);
  EXPECT_EQ(read(*state_, second_), second_);
  put_file(*state_, path_of(first_), std::string(first_).replace(9, 1, "?"));
  EXPECT_EQ(read(*state_, second_), "blob.damaged");
  ASSERT_TRUE(state_->remove_file(rel(path_of(first_))));
  EXPECT_EQ(read(*state_, second_), "blob.damaged");
}

TEST_F(ContentDeltaTest, AHostileDeltaIsRefused) {
  const ContentId id = ContentId::of("base");
  const auto parses = [&](const std::vector<DeltaPiece>& pieces, uint64_t size,
                          uint64_t base_size) {
    LittleEndianWriter out;
    out.bytes("GALLEYD\1");
    out.id(id);
    out.u64(base_size);
    out.u64(size);
    out.u32(static_cast<uint32_t>(pieces.size()));
    uint64_t added = 0;
    for (const DeltaPiece& piece : pieces) {
      for (const uint64_t number : {piece.from, piece.copied, piece.added}) out.u64(number);
      added += piece.added;
    }
    return parse_delta(out.str(), out.str().size() + added).has_value();
  };
  constexpr uint64_t kHuge = ~uint64_t{0};
  EXPECT_TRUE(parses({{5, 5, 0}}, 5, 10));
  EXPECT_FALSE(parses({{6, 5, 0}}, 5, 10));          // behind the end of the base
  EXPECT_FALSE(parses({{kHuge, 5, 0}}, 5, 10));      // wraps around
  EXPECT_FALSE(parses({{0, 5, kHuge - 4}}, 0, 10));  // sizes that wrap around
  EXPECT_FALSE(parses({{0, 5, 0}}, 6, 10));          // less than it says
  EXPECT_FALSE(parses({{0, 7, 0}}, 6, 10));          // more
  const uint64_t large = limits::kMaxFileBytes;
  EXPECT_TRUE(parses({{0, large, 0}}, large, large));
  EXPECT_FALSE(parses({{0, large, 0}, {0, 1, 0}}, large + 1, large));
  EXPECT_FALSE(parses({{0, 1, 0}}, 1, large + 1));
}

TEST_F(ContentDeltaTest, ADamagedContentIsStoredWhole) {
  write(*state_, first_);
  write(*state_, second_, first_);
  write(*state_, third_, second_);
  // The base of two deltas.
  put_file(*state_, path_of(first_), "damaged");
  write(*state_, first_, third_);
  put_file(*state_, path_of(third_, kDeltaEnding), "damaged");
  write(*state_, third_, second_);
  EXPECT_EQ(size_of(*state_, path_of(third_, kDeltaEnding)), 0U);
  for (const auto& content : {first_, second_, third_}) EXPECT_EQ(read(*state_, content), content);
}

TEST_F(ContentDeltaTest, ALostBaseIsStoredWholeAgain) {
  write(*state_, first_);
  write(*state_, second_, first_);
  write(*state_, third_, second_);
  ASSERT_TRUE(state_->remove_file(rel(path_of(first_))));
  const auto found = read_blob(*state_, rel("blob/own"), ContentId::of(second_));
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().message.find(ContentId::of(first_).hex()), std::string::npos);
  // It comes back as a small change of another content.
  const std::string other = first_ + "one more line";
  write(*state_, other);
  write(*state_, first_, other);
  for (const auto& content : {first_, second_, third_}) EXPECT_EQ(read(*state_, content), content);
  EXPECT_EQ(size_of(*state_, path_of(first_)), first_.size());
}

TEST_F(ContentDeltaTest, ABaseOfAnEarlierGalleyIsReadAndNeverUsed) {
  const std::string hex = ContentId::of(first_).hex();
  const std::string path = "blob/" + hex.substr(0, 2) + "/" + hex;
  put_file(*state_, path, first_);
  EXPECT_EQ(read(*state_, first_), first_);
  write(*state_, first_);
  write(*state_, second_, first_);
  ASSERT_TRUE(state_->remove_file(rel(path)));
  for (const auto& content : {first_, second_}) EXPECT_EQ(read(*state_, content), content);
  put_file(*state_, path, first_);
  ASSERT_TRUE(remove_blob(*state_, rel("blob/own"), ContentId::of(first_)));
  EXPECT_EQ(read(*state_, first_), "blob.damaged");
}

TEST_F(ContentDeltaTest, AFailedReplacementLeavesTheDamagedFile) {
  for (size_t at = 1;; ++at) {
    const auto tree = std::make_shared<MemoryTree>();
    const auto state = open_memory_tree(tree);
    write(*state, first_);
    const std::string damaged = std::string(first_).replace(9, 1, "?");
    put_file(*state, path_of(first_), damaged);
    const auto plan = std::make_shared<FaultPlan>();
    plan->at = at;
    plan->kills = true;
    const auto dying = make_fault_directory(open_memory_tree(tree), plan);
    static_cast<void>(write_blob(*dying, rel("blob/own"), ContentId::of(first_), first_));
    // Deltas whose pieces are not damaged can be read at all times.
    EXPECT_EQ(size_of(*state, path_of(first_)), first_.size()) << at;
    write(*state, first_);
    EXPECT_EQ(read(*state, first_), first_) << at;
    EXPECT_EQ(size_of(*state, path_of(first_, ".new")), 0U) << at;
    if (!plan->is_dead) break;
  }
}

TEST_F(ContentDeltaTest, AFailedReadDoesNotCountAsDamage) {
  const auto tree = std::make_shared<MemoryTree>();
  const auto state = open_memory_tree(tree);
  write(*state, first_);
  write(*state, second_, first_);
  for (size_t at = 1;; ++at) {
    const auto plan = std::make_shared<FaultPlan>();
    plan->at = at;
    plan->os_error = EMFILE;
    const auto failing = make_fault_directory(open_memory_tree(tree), plan);
    const auto written =
        write_blob(*failing, rel("blob/own"), ContentId::of(second_), second_, std::nullopt);
    EXPECT_NE(written.has_value(), plan->has_failed) << at;
    // It would be stored whole if it counted as damaged.
    EXPECT_EQ(size_of(*state, path_of(second_)), 0U) << at;
    if (!plan->has_failed) break;
  }
}

TEST_F(ContentDeltaTest, AKilledWriteOfADeltaIsRepeated) {
  for (size_t at = 1;; ++at) {
    const auto tree = std::make_shared<MemoryTree>();
    const auto state = open_memory_tree(tree);
    write(*state, first_);
    const auto plan = std::make_shared<FaultPlan>();
    plan->at = at;
    plan->kills = true;
    const auto dying = make_fault_directory(open_memory_tree(tree), plan);
    static_cast<void>(write_blob(*dying, rel("blob/own"), ContentId::of(second_), second_,
                                 ReplacedContent{ContentId::of(first_), first_}));
    write(*state, second_, first_);
    EXPECT_EQ(read(*state, second_), second_) << at;
    EXPECT_EQ(size_of(*state, path_of(second_, ".delta.new")), 0U) << at;
    if (!plan->is_dead) break;
  }
}

}  // namespace
}  // namespace galley
