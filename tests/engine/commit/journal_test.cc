#include "engine/commit/journal.h"

#include <gtest/gtest.h>

#include "doubles/memory_directory.h"
#include "engine/commit/journal_bytes.h"
#include "engine/commit/journal_format.h"
#include "engine/commit/journal_writer.h"

namespace galley {
namespace {

RelPath path(std::string_view text) { return *RelPath::parse(text); }

Node file_node(std::string_view content, uint32_t mode = 0644) {
  return Node{FileKind::kRegular, mode, ContentId::of(content), content.size()};
}

/// A journal of five files with every record type of the body.
Journal five_files() {
  Journal journal;
  journal.id = TxId{7};
  journal.parent = TxId{6};
  journal.workspace = {1, 2, 3};
  journal.time_ns = 1'700'000'000'000'000'000;
  journal.stamp_ns = 42;
  journal.boot = "boot-1";
  journal.proposal = ContentId::of("proposal");
  journal.meta.agent = "agent";
  journal.meta.tool = "apply";
  journal.meta.message = "why";
  journal.meta.undoes = TxId{5};
  journal.meta.session = "7f-3a";
  journal.meta.turn = 4;
  journal.meta.prompt = "clean up";
  journal.meta.also_undoes = {TxId{4}, TxId{2}};
  journal.meta.audit = {"{\"seq\":1}", "{\"seq\":2}"};
  for (const auto* name : {"a", "b", "c", "d/e", "f"}) {
    JournalOp op;
    op.path = path(name);
    op.before = {file_node(std::string("old ") + name), 1000, 1000, 12, {{"user.x", "y"}}};
    op.after = {file_node(std::string("new ") + name, 0755), 1000, 1000, 0, {}};
    if (op.path == path("f")) op.copied_from = path("a");
    for (const auto* side : {"old ", "new "}) {
      const std::string content = std::string(side) + name;
      journal.images[ContentId::of(content)] = std::make_shared<const std::string>(content);
    }
    journal.ops.push_back(op);
  }
  return journal;
}

std::string encode(const Journal& journal) {
  const auto directory = make_memory_directory();
  auto file = directory->open_writable_file(path("j"), OpenMode::kCreateNew);
  JournalWriter writer(**file);
  EXPECT_TRUE(writer.begin(journal));
  for (const auto& [id, content] : journal.images) EXPECT_TRUE(writer.image(id, *content));
  for (const auto& [id, size] : journal.blobs) EXPECT_TRUE(writer.blob(id, size));
  EXPECT_TRUE(writer.finish());
  return *(*file)->read_at(0, 1 << 20U);
}

std::string with_trailers(const std::string& bytes, bool is_aborted) {
  const auto directory = make_memory_directory();
  auto file = directory->open_writable_file(path("j"), OpenMode::kCreateNew);
  EXPECT_TRUE((*file)->write_at(0, bytes));
  JournalTrailer trailer(**file, parse_journal(bytes));
  EXPECT_TRUE(is_aborted ? trailer.abort("a conflict") : trailer.applied("boot-1"));
  EXPECT_TRUE(trailer.note({"a", "kept"}));
  return *(*file)->read_at(0, 1 << 20U);
}

TEST(Journal, ChecksumIsCrc32cOfRfc3720) {
  EXPECT_EQ(crc32c("123456789"), 0xe3069283U);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aaU);
  EXPECT_EQ(crc32c("456789", crc32c("123")), crc32c("123456789"));
}

TEST(Journal, ReadsBackWhatWasWritten) {
  const Journal written = five_files();
  const JournalVerdict verdict = parse_journal(encode(written));
  ASSERT_EQ(verdict.state, JournalState::kCommitted) << verdict.problem;
  const Journal& read = verdict.journal;
  EXPECT_EQ(read.id, written.id);
  EXPECT_EQ(read.parent, written.parent);
  EXPECT_EQ(read.workspace, written.workspace);
  EXPECT_EQ(read.time_ns, written.time_ns);
  EXPECT_EQ(read.stamp_ns, written.stamp_ns);
  EXPECT_EQ(read.boot, written.boot);
  EXPECT_EQ(read.proposal, written.proposal);
  EXPECT_EQ(read.meta.agent, "agent");
  EXPECT_EQ(read.meta.message, "why");
  EXPECT_EQ(read.meta.undoes, TxId{5});
  EXPECT_EQ(read.meta.session, "7f-3a");
  EXPECT_EQ(read.meta.turn, 4U);
  EXPECT_EQ(read.meta.prompt, "clean up");
  EXPECT_EQ(read.meta.also_undoes, (std::vector{TxId{4}, TxId{2}}));
  EXPECT_EQ(read.meta.audit, written.meta.audit);
  EXPECT_EQ(read.ops, written.ops);
  ASSERT_EQ(read.images.size(), written.images.size());
  for (const auto& [id, content] : written.images) EXPECT_EQ(*read.images.at(id), *content);
  EXPECT_FALSE(read.is_aborted);
  EXPECT_FALSE(read.applied_boot);
}

TEST(Journal, AnOwnerBelongsToTheChangeOnlyIfACallSetIt) {
  Journal written = five_files();
  JournalSide& side = written.ops[0].after;
  side.node.kind = FileKind::kRegular;
  side.uid = 1000;
  side.gid = 1001;
  EXPECT_EQ(parse_journal(encode(written)).journal.ops, written.ops);
  side.node.owner = Node::Owner{1000, 1001};
  const JournalVerdict verdict = parse_journal(encode(written));
  ASSERT_EQ(verdict.state, JournalState::kCommitted) << verdict.problem;
  EXPECT_EQ(verdict.journal.ops, written.ops);
  EXPECT_EQ(verdict.journal.changes()[0].after.owner, side.node.owner);
  EXPECT_FALSE(verdict.journal.changes()[0].before.owner);
}

TEST(Journal, AFailedFlushIsValidUntilTheNextAppliedRecord) {
  const auto directory = make_memory_directory();
  auto file = directory->open_writable_file(path("j"), OpenMode::kCreateNew);
  const std::string bytes = encode(five_files());
  ASSERT_TRUE((*file)->write_at(0, bytes));
  JournalTrailer trailer(**file, parse_journal(bytes));
  const auto unflushed = [&] {
    return parse_journal(*(*file)->read_at(0, 1 << 20U)).journal.unflushed_boot;
  };
  ASSERT_TRUE(trailer.applied("boot-1"));
  EXPECT_EQ(unflushed(), std::nullopt);
  ASSERT_TRUE(trailer.unflushed("boot-1"));
  EXPECT_EQ(unflushed(), "boot-1");
  ASSERT_TRUE(trailer.applied("boot-2"));
  EXPECT_EQ(unflushed(), std::nullopt);
}

/// A journal in a file, judged through a window that is smaller than it.
JournalVerdict judge_file(std::string_view bytes, ImageUse use) {
  const auto directory = make_memory_directory();
  auto file = directory->open_writable_file(path("j"), OpenMode::kCreateNew);
  EXPECT_TRUE((*file)->write_at(0, bytes));
  auto verdict = parse_journal(**file, bytes.size(), use);
  EXPECT_TRUE(verdict);
  return *std::move(verdict);
}

TEST(Journal, AFileIsParsedLikeItsBytes) {
  constexpr size_t kLarge = 900'000;
  Journal journal = five_files();
  for (JournalOp& op : journal.ops) {
    std::string content(kLarge, op.path.str().front());
    op.after.node = file_node(content);
    const ContentId id = op.after.node.content;
    journal.images[id] = std::make_shared<const std::string>(std::move(content));
  }
  const auto directory = make_memory_directory();
  auto file = directory->open_writable_file(path("j"), OpenMode::kCreateNew);
  JournalWriter writer(**file);
  ASSERT_TRUE(writer.begin(journal));
  for (const auto& [id, content] : journal.images) ASSERT_TRUE(writer.image(id, *content));
  ASSERT_TRUE(writer.finish());
  JournalTrailer trailer(**file, writer);
  ASSERT_TRUE(trailer.applied("boot-1"));
  std::string bytes = *(*file)->read_at(0, 8 * kLarge);
  ASSERT_GT(bytes.size(), 5 * kLarge);

  const JournalVerdict kept = judge_file(bytes, ImageUse::kKeep);
  ASSERT_EQ(kept.state, JournalState::kCommitted) << kept.problem;
  EXPECT_EQ(kept.journal.images.size(), journal.images.size());
  EXPECT_EQ(kept.journal.applied_boot, "boot-1");
  const JournalVerdict skipped = judge_file(bytes, ImageUse::kSkip);
  ASSERT_EQ(skipped.state, JournalState::kCommitted) << skipped.problem;
  EXPECT_EQ(skipped.journal.ops, kept.journal.ops);
  EXPECT_EQ(skipped.end, kept.end);
  EXPECT_EQ(skipped.chain, kept.chain);
  EXPECT_TRUE(skipped.journal.images.empty());

  for (const ImageUse use : {ImageUse::kKeep, ImageUse::kSkip}) {
    for (const size_t size : {bytes.size() / 2, size_t{100}, size_t{0}}) {
      const auto cut = std::string_view(bytes).substr(0, size);
      EXPECT_EQ(judge_file(cut, use).state, parse_journal(cut).state) << size;
      EXPECT_EQ(judge_file(cut, use).state, JournalState::kNotCommitted) << size;
    }
    std::string rotten = bytes;
    rotten[rotten.size() / 2] ^= 1;
    EXPECT_EQ(judge_file(rotten, use).state, JournalState::kDamaged);
    EXPECT_EQ(parse_journal(rotten).state, JournalState::kDamaged);
  }
}

TEST(Journal, TrailersContinueTheChain) {
  const std::string body = encode(five_files());
  const Journal applied = parse_journal(with_trailers(body, false)).journal;
  EXPECT_EQ(applied.applied_boot, "boot-1");
  ASSERT_EQ(applied.notes.size(), 1U);
  EXPECT_EQ(applied.notes[0].text, "kept");
  const Journal aborted = parse_journal(with_trailers(body, true)).journal;
  EXPECT_TRUE(aborted.is_aborted);
  EXPECT_EQ(aborted.abort_reason, "a conflict");
}

TEST(Journal, EveryTruncationIsTornAndNeverCommitted) {
  const std::string bytes = encode(five_files());
  for (size_t size = 0; size < bytes.size(); ++size) {
    ASSERT_EQ(parse_journal(std::string_view(bytes).substr(0, size)).state,
              JournalState::kNotCommitted)
        << size;
  }
}

TEST(Journal, EveryFlippedBitOfTheBodyIsDamage) {
  std::string bytes = encode(five_files());
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    const auto verdict = parse_journal(bytes);
    ASSERT_EQ(verdict.state, JournalState::kDamaged) << "bit " << bit << verdict.problem;
    ASSERT_FALSE(verdict.problem.empty());
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
  }
}

TEST(Journal, ATornOrFlippedTrailerIsIgnored) {
  const std::string body = encode(five_files());
  std::string bytes = with_trailers(body, true);
  for (size_t size = body.size(); size < bytes.size(); ++size) {
    const auto verdict = parse_journal(std::string_view(bytes).substr(0, size));
    ASSERT_EQ(verdict.state, JournalState::kCommitted);
    ASSERT_LE(verdict.end, size);
  }
  for (size_t bit = body.size() * 8; bit < bytes.size() * 8; ++bit) {
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
    ASSERT_EQ(parse_journal(bytes).state, JournalState::kCommitted);
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << bit % 8));
  }
}

TEST(Journal, EveryZeroedBlockIsNoticed) {
  const std::string bytes = encode(five_files());
  constexpr size_t kBlock = 512;
  for (size_t start = 0; start < bytes.size(); start += kBlock) {
    std::string torn = bytes;
    torn.replace(start, std::min(kBlock, bytes.size() - start),
                 std::min(kBlock, bytes.size() - start), '\0');
    ASSERT_NE(parse_journal(torn).state, JournalState::kCommitted) << start;
  }
}

TEST(Journal, AStaleTailOfAnOlderJournalBreaksTheChain) {
  Journal other = five_files();
  other.id = TxId{8};
  const std::string bytes = encode(five_files());
  const std::string stale = encode(other);
  ASSERT_EQ(bytes.size(), stale.size());
  for (size_t cut = 64; cut < bytes.size(); cut += 8) {
    ASSERT_NE(parse_journal(bytes.substr(0, cut) + stale.substr(cut)).state,
              JournalState::kCommitted)
        << cut;
  }
}

TEST(Journal, ProtectedPathsAreDamage) {
  for (const auto* hostile : {".galley/lock", ".git/hooks/x", "A/.GIT/config", ".sage/x"}) {
    Journal journal = five_files();
    journal.ops.resize(1);
    journal.ops[0].path = path(hostile);
    EXPECT_EQ(parse_journal(encode(journal)).state, JournalState::kDamaged) << hostile;
  }
}

TEST(Journal, PathsOutOfOrderOrTwiceAreDamage) {
  Journal journal = five_files();
  std::swap(journal.ops[0], journal.ops[1]);
  EXPECT_EQ(parse_journal(encode(journal)).state, JournalState::kDamaged);
  journal = five_files();
  journal.ops[1] = journal.ops[0];
  EXPECT_EQ(parse_journal(encode(journal)).state, JournalState::kDamaged);
}

TEST(Journal, AMissingImageIsDamage) {
  Journal journal = five_files();
  journal.images.erase(ContentId::of("old c"));
  const auto verdict = parse_journal(encode(journal));
  EXPECT_EQ(verdict.state, JournalState::kDamaged);
  EXPECT_NE(verdict.problem.find("content is missing for c"), std::string::npos);
}

TEST(Journal, ForeignBytesAreNotAJournal) {
  EXPECT_EQ(parse_journal("").state, JournalState::kNotCommitted);
  EXPECT_EQ(parse_journal("hello").state, JournalState::kNotCommitted);
  EXPECT_EQ(parse_journal(std::string(4096, '\0')).state, JournalState::kNotCommitted);
  EXPECT_EQ(parse_journal(std::string(4096, '\xff')).state, JournalState::kNotCommitted);
}

}  // namespace
}  // namespace galley
