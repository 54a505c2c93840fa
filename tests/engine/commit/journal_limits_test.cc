#include <gtest/gtest.h>

#include "base/limits.h"
#include "doubles/memory_directory.h"
#include "engine/commit/journal_format.h"
#include "engine/commit/journal_writer.h"
#include "support/commit_fixture.h"

namespace galley {
namespace {

using namespace journal_format;

/// A journal of one changed file that is well within every limit.
Journal small_journal() {
  Journal journal;
  journal.id = TxId{1};
  journal.boot = "boot";
  JournalOp op;
  op.path = rel("a");
  for (auto* side : {&op.before, &op.after}) {
    const std::string content = side == &op.before ? "old" : "new";
    side->node = Node{FileKind::kRegular, 0644, ContentId::of(content), content.size()};
    journal.images[side->node.content] = std::make_shared<const std::string>(content);
  }
  journal.ops.push_back(op);
  return journal;
}

/// A journal within check_journal_limits is written and read back unchanged; the writer refuses
/// every other one, too.
::testing::AssertionResult is_taken(const Journal& journal) {
  const auto checked = check_journal_limits(journal);
  const auto directory = make_memory_directory();
  auto file = directory->open_writable_file(rel("j"), OpenMode::kCreateNew);
  JournalWriter writer(**file);
  auto written = writer.begin(journal);
  for (const auto& [id, content] : journal.images) {
    if (written) written = writer.image(id, *content);
  }
  if (written) written = writer.finish();
  if (checked.has_value() != written.has_value()) {
    return ::testing::AssertionFailure() << "the check and the writer differ";
  }
  if (!checked) {
    EXPECT_EQ(checked.error().kind, ErrorKind::kQuota);
    return ::testing::AssertionFailure() << checked.error().message;
  }
  JournalTrailer trailer(**file, writer);
  EXPECT_TRUE(trailer.applied(journal.boot));
  const auto verdict = parse_journal(**file, (*file)->stat()->size);
  if (!verdict || verdict->state != JournalState::kCommitted) {
    ADD_FAILURE() << "written, and cannot be read: " << (verdict ? verdict->problem : "");
    return ::testing::AssertionFailure() << "unreadable";
  }
  EXPECT_EQ(verdict->journal.ops, journal.ops);
  EXPECT_EQ(verdict->journal.meta.message, journal.meta.message);
  EXPECT_EQ(verdict->journal.applied_boot, journal.boot);
  return ::testing::AssertionSuccess();
}

// Limit: kMaxTextBytes of engine/commit/journal_format.h
TEST(JournalLimits, TextsAreAcceptedUpToTheirLimit) {
  for (std::string CommitMeta::*text :
       {&CommitMeta::message, &CommitMeta::agent, &CommitMeta::tool}) {
    Journal journal = small_journal();
    journal.meta.*text = std::string(kMaxTextBytes, 'x');
    EXPECT_TRUE(is_taken(journal));
    journal.meta.*text += "x";
    EXPECT_FALSE(is_taken(journal));
  }
  Journal journal = small_journal();
  journal.boot = std::string(kMaxTextBytes, 'x');
  EXPECT_TRUE(is_taken(journal));
  journal.boot += "x";
  EXPECT_FALSE(is_taken(journal));
}

// Limit: kMaxAttributes of engine/commit/journal_format.h
TEST(JournalLimits, AttributesAreAcceptedUpToTheirMaximumNumber) {
  for (JournalSide JournalOp::*side : {&JournalOp::before, &JournalOp::after}) {
    Journal journal = small_journal();
    auto& attributes = (journal.ops[0].*side).attributes;
    for (size_t i = 0; i < kMaxAttributes; ++i) {
      attributes.push_back({"user." + std::to_string(i), "v"});
    }
    EXPECT_TRUE(is_taken(journal));
    attributes.push_back({"user.one too many", "v"});
    EXPECT_FALSE(is_taken(journal));
  }
}

TEST(JournalLimits, TheCommitOfGitIsAnIdInHexadecimal) {
  Journal journal = small_journal();
  for (const std::string& id : {std::string(40, 'a'), std::string(64, '0'), std::string("../x"),
                                std::string(65, 'a'), std::string("A0")}) {
    journal.meta.git_commit = id;
    const auto directory = make_memory_directory();
    auto file = directory->open_writable_file(rel("j"), OpenMode::kCreateNew);
    JournalWriter writer(**file);
    ASSERT_TRUE(writer.begin(journal));
    for (const auto& [name, content] : journal.images) ASSERT_TRUE(writer.image(name, *content));
    ASSERT_TRUE(writer.finish());
    const auto verdict = parse_journal(**file, (*file)->stat()->size);
    ASSERT_TRUE(verdict.has_value());
    const bool is_id = id == std::string(40, 'a') || id == std::string(64, '0');
    EXPECT_EQ(verdict->state == JournalState::kCommitted, is_id) << id;
    if (is_id) {
      EXPECT_EQ(verdict->journal.meta.git_commit, id);
    }
  }
}

// Limit: kMaxAttributeBytes of engine/commit/journal_format.h
// Limit: kMaxAttributeNameBytes of engine/commit/journal_format.h
TEST(JournalLimits, AnAttributeIsAcceptedUpToTheLimitsOfNameAndValue) {
  Journal journal = small_journal();
  auto& attributes = journal.ops[0].before.attributes;
  attributes = {{std::string(kMaxAttributeNameBytes, 'n'), std::string(kMaxAttributeBytes, 'v')}};
  EXPECT_TRUE(is_taken(journal));
  attributes[0].name += "n";
  EXPECT_FALSE(is_taken(journal));
  attributes[0] = {"user.n", std::string(kMaxAttributeBytes + 1, 'v')};
  EXPECT_FALSE(is_taken(journal));
}

// Limit: kMaxPayloadBytes of engine/commit/journal_format.h
TEST(JournalLimits, AttributesAreAcceptedUpToTheSizeOfARecord) {
  Journal journal = small_journal();
  auto& attributes = journal.ops[0].before.attributes;
  // An operation of this journal without attributes, and the frame of one attribute.
  constexpr size_t kBare = 1 + (4 + 1) + 2 * (1 + 4 + 8 + 32 + 4 + 4 + 8 + 2);
  constexpr size_t kFrame = 4 + 1 + 4;
  size_t left = kMaxPayloadBytes - kBare;
  while (left >= kFrame) {
    const size_t value = std::min(kMaxAttributeBytes, left - kFrame);
    attributes.push_back({"n", std::string(value, 'v')});
    left -= kFrame + value;
  }
  ASSERT_EQ(left, 0U);
  EXPECT_TRUE(is_taken(journal));
  attributes[0].name += "n";
  EXPECT_FALSE(is_taken(journal));
}

// Limit: kMaxSymlinkBytes of base/limits.h
TEST(JournalLimits, LinkTargetsAreAcceptedUpToTheirLimit) {
  for (const size_t size : {size_t{1}, limits::kMaxSymlinkBytes}) {
    Journal journal = small_journal();
    const std::string target(size, 't');
    journal.ops[0].after.node = {FileKind::kSymlink, 0, ContentId::of(target), size};
    journal.images[ContentId::of(target)] = std::make_shared<const std::string>(target);
    EXPECT_TRUE(is_taken(journal)) << size;
    journal.ops[0].after.node.size = size == 1 ? 0 : size + 1;
    EXPECT_FALSE(is_taken(journal)) << size;
  }
}

TEST(JournalLimits, AProtectedSourceIsRefused) {
  Journal journal = small_journal();
  journal.ops[0].copied_from = rel(".git/config");
  EXPECT_EQ(check_journal_limits(journal).error().reason, "path.protected");
}

// Limit: kMaxJournalRecords of engine/commit/journal.h
TEST(JournalLimits, LongNotesAreCutAndNotesLeaveRoomForLaterRecords) {
  const auto directory = make_memory_directory();
  auto file = directory->open_writable_file(rel("j"), OpenMode::kCreateNew);
  const Journal journal = small_journal();
  JournalWriter writer(**file);
  ASSERT_TRUE(writer.begin(journal));
  for (const auto& [id, content] : journal.images) ASSERT_TRUE(writer.image(id, *content));
  ASSERT_TRUE(writer.finish());
  JournalVerdict nearly_full = *parse_journal(**file, (*file)->stat()->size);
  JournalTrailer trailer(**file, nearly_full);
  ASSERT_TRUE(trailer.note(
      {std::string(RelPath::kMaxBytes + 1, 'p'), std::string(kMaxTextBytes + 1, 't')}));
  const auto noted = parse_journal(**file, (*file)->stat()->size);
  ASSERT_EQ(noted->journal.notes.size(), 1U);
  EXPECT_EQ(noted->journal.notes[0].text.size(), kMaxTextBytes);
  const uint64_t size = (*file)->stat()->size;
  nearly_full.sequence = kMaxJournalRecords - kTrailerRecords / 2;
  ASSERT_TRUE(JournalTrailer(**file, nearly_full).note({"a", "kept"}));
  EXPECT_EQ((*file)->stat()->size, size);
}

/// The promise as a user meets it: a refusal, nothing touched, and a workspace that goes on.
void expect_refused_without_a_trace(const WritableDirectory& workspace, const Proposal& proposal,
                                    const CommitMeta& meta, const std::string& reason) {
  const TreePicture before = picture_of(workspace);
  const auto outcome = publish(workspace, proposal, test_options(), meta);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().reason, reason) << outcome.error().message;
  EXPECT_EQ(outcome.error().kind, ErrorKind::kQuota);
  EXPECT_EQ(picture_of(workspace), before);
  const auto state = StateDirectory::open(workspace);
  EXPECT_TRUE(journal_ids((*state)->journals())->empty());
  EXPECT_TRUE((*state)->slots().list()->empty());
  ASSERT_TRUE(publish(workspace, ChangeBuilder(workspace).write("next", "n").proposal()));
}

TEST(JournalLimits, AFileWithTooManyAttributesIsRefused) {
  const auto workspace = make_memory_directory();
  put_file(*workspace, "a", "old");
  for (int i = 0; i < 4200; ++i) {
    ASSERT_TRUE(workspace->set_attribute(rel("a"), {"user." + std::to_string(i), "v"}));
  }
  expect_refused_without_a_trace(*workspace, ChangeBuilder(*workspace).write("a", "new").proposal(),
                                 {}, "limit.attributes");
}

TEST(JournalLimits, AMessageOverAMegabyteIsRefused) {
  const auto workspace = make_memory_directory();
  put_file(*workspace, "a", "old");
  CommitMeta meta;
  meta.message = std::string(kMaxTextBytes + 1, 'm');
  expect_refused_without_a_trace(*workspace, ChangeBuilder(*workspace).write("a", "new").proposal(),
                                 meta, "limit.journal_text");
}

}  // namespace
}  // namespace galley
