#include "engine/audit/audit_export.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/audit/audit.h"
#include "engine/commit/journal_writer.h"
#include "engine/commit/state_directory.h"
#include "staging/overlay/overlay.h"
#include "tests/support/temp_directory.h"

namespace galley {
namespace {

using nlohmann::json;

class ExportTest : public testing::Test {
 protected:
  ExportTest() : state_(*StateDirectory::open_or_create(workspace_.directory())) {}

  /// A retired journal of what the overlay proposes.
  void commit(TxId id, const CommitMeta& meta, const Overlay& overlay) {
    Journal journal;
    journal.id = id;
    journal.workspace = state_.workspace_id();
    journal.time_ns = 1'700'000'000'000'000'000;
    journal.meta = meta;
    const auto file = *state_.undo().open_writable_file(journal_name(id), OpenMode::kCreateNew);
    const Proposal proposal = Proposal::freeze(overlay);
    for (const Change& change : proposal.changes()) {
      JournalOp op;
      op.path = change.path;
      op.before.node = change.before;
      op.after.node = change.after;
      journal.ops.push_back(op);
    }
    JournalWriter writer(*file);
    ASSERT_TRUE(writer.begin(journal).has_value());
    for (const Change& change : proposal.changes()) {
      for (const Node* node : {&change.before, &change.after}) {
        if (node->content.is_none()) continue;
        ASSERT_TRUE(writer.image(node->content, **proposal.content(*node)).has_value());
      }
    }
    ASSERT_TRUE(writer.finish().has_value());
  }

  TempDirectory workspace_;
  StateDirectory state_;
  SystemClock clock_;
};

TEST_F(ExportTest, AiosEntriesHaveEveryField) {
  AuditLog log(state_, clock_);
  AuditEvent event;
  event.kind = AuditKind::kCommit;
  event.tool = "apply";
  event.agent = "coder";
  event.tx = "31";
  event.duration_ms = 45;
  event.capabilities_used = {"fs:write"};
  ASSERT_TRUE(log.append(event).has_value());
  AuditEvent call;
  call.kind = AuditKind::kCall;
  call.tool = "read";
  ASSERT_TRUE(log.append(call).has_value());
  std::vector<json> entries;
  ASSERT_TRUE(export_aios(state_.root(), [&](std::string_view line) {
                entries.push_back(json::parse(line));
              }).has_value());
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0]["agent"], "coder");
  EXPECT_EQ(entries[0]["duration_ms"], 45);
  EXPECT_EQ(entries[0]["backup_path"], ".galley/undo/1f.j");
  EXPECT_EQ(entries[0]["capabilities_used"], json::array({"fs:write"}));
  EXPECT_EQ(entries[1]["backup_path"], "");
  for (const json& entry : entries) {
    for (const char* key :
         {"execution_id", "timestamp", "tool", "agent", "task_id", "goal_id", "input", "output",
          "reason", "duration_ms", "risk_level", "backup_path", "capabilities_used"}) {
      EXPECT_TRUE(entry.contains(key)) << key;
    }
  }
}

TEST_F(ExportTest, TheJournalOfAnOldCommitIsNamedByItsHexadecimalNumber) {
  AuditLog log(state_, clock_);
  AuditEvent event;
  event.kind = AuditKind::kCommit;
  event.tx = "10";
  event.execution_id = std::string(64, 'a') + "-1795000000000000000";  // as it was once named
  ASSERT_TRUE(log.append(event).has_value());
  event.execution_id = "commit-" + event.execution_id;
  ASSERT_TRUE(log.append(event).has_value());
  event.kind = AuditKind::kUndo;
  event.execution_id += "1";
  ASSERT_TRUE(log.append(event).has_value());
  event.kind = AuditKind::kRefusal;
  event.execution_id += "1";
  ASSERT_TRUE(log.append(event).has_value());
  std::vector<std::string> backups;
  ASSERT_TRUE(export_aios(state_.root(), [&](std::string_view line) {
                backups.push_back(json::parse(line)["backup_path"]);
              }).has_value());
  EXPECT_EQ(backups, (std::vector<std::string>{".galley/undo/10.j", ".galley/undo/a.j",
                                               ".galley/undo/a.j", ""}));
}

TEST_F(ExportTest, AiosRefusesInvalidRecordsAndIgnoresATruncatedEnd) {
  workspace_.write(".galley/audit.jsonl", "{\"tool\":7,\"kind\":[]}\n{\"cut");
  size_t lines = 0;
  EXPECT_TRUE(export_aios(state_.root(), [&](std::string_view) { ++lines; }).has_value());
  EXPECT_EQ(lines, 1U);
  workspace_.write(".galley/audit.jsonl", "not json\n");
  EXPECT_EQ(export_aios(state_.root(), [](std::string_view) {}).error().reason, "audit.malformed");
}

TEST_F(ExportTest, AgentTraceNamesTheLinesThatWereAdded) {
  workspace_.write("a.txt", "1\n2\n3\n");
  Overlay overlay(workspace_.directory(), make_memory_store(), clock_);
  ASSERT_TRUE(overlay.write(rel("a.txt"), "1\nnew\n2\n3\nlast\n").has_value());
  CommitMeta meta;
  meta.agent = "coder";
  meta.message = "Because";
  commit(TxId{1}, meta, overlay);
  std::vector<json> traces;
  ASSERT_TRUE(export_agent_trace(History(state_), "0.1.0", [&](std::string_view line) {
                traces.push_back(json::parse(line));
              }).has_value());
  ASSERT_EQ(traces.size(), 1U);
  const json& trace = traces[0];
  EXPECT_EQ(trace["version"], "0.1.0");
  EXPECT_EQ(trace["tool"]["name"], "galley");
  EXPECT_EQ(trace["id"].get<std::string>().size(), 36U);
  EXPECT_EQ(trace["id"].get<std::string>()[14], '8');
  EXPECT_EQ(trace["metadata"]["galley"]["reason"], "Because");
  const json& file = trace["files"][0];
  EXPECT_EQ(file["path"], "a.txt");
  const json& conversation = file["conversations"][0];
  EXPECT_EQ(conversation["contributor"]["type"], "ai");
  ASSERT_EQ(conversation["ranges"].size(), 2U);
  EXPECT_EQ(conversation["ranges"][0]["start_line"], 2);
  EXPECT_EQ(conversation["ranges"][0]["end_line"], 2);
  EXPECT_EQ(conversation["ranges"][1]["start_line"], 5);
  EXPECT_EQ(conversation["ranges"][0]["content_hash"], "sha256:" + ContentId::of("new\n").hex());
}

}  // namespace
}  // namespace galley
