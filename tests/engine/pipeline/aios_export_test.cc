// A call on record, exported, is the sample of aiOS's document field by field.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>

#include <galley/testing/fake_clock.h>
#include <galley/workspace.h>
#include "engine/audit/audit_export.h"
#include "engine/commit/state_directory.h"
#include "engine/pipeline/transaction_state.h"
#include "support/temp_directory.h"

namespace galley {
namespace {

using nlohmann::json;

/// As the document has it.
constexpr const char* kSample = R"({
  "execution_id": "exec-20240101-123456-abcdef",
  "timestamp": "2024-01-01T12:34:56.789Z",
  "tool": "fs.write",
  "agent": "aios-agent-system",
  "task_id": "task-789",
  "goal_id": "goal-456",
  "input": {"path": "/etc/nginx/nginx.conf", "content": "..."},
  "output": {"success": true, "bytes_written": 1234},
  "reason": "Configuring nginx as reverse proxy for goal-456",
  "duration_ms": 45,
  "risk_level": "medium",
  "backup_path": "/var/lib/aios/backups/...",
  "capabilities_used": ["fs:write"]
})";

/// The tool of the sample, which takes 45 ms.
ToolDefinition write_tool(FakeClock& clock) {
  ToolInfo info;
  info.name = "fs.write";
  info.title = "Write";
  info.description = "Writes a file.";
  info.input_schema = R"({"type": "object"})";
  info.output_schema = R"({"type": "object"})";
  info.capabilities = {"fs:write"};
  ToolDefinition own;
  own.info = info;
  own.priority = 1;  // before the standard one of this name
  own.run = [&clock](ToolRun& call) -> Result<std::string> {
    if (auto written = call.write(call.text("path"), call.text("content")); !written) {
      return fail(written.error());
    }
    clock.advance(std::chrono::milliseconds(45));
    return R"({"success": true, "bytes_written": 1234})";
  };
  return own;
}

class AiosExport : public ::testing::Test {
 protected:
  AiosExport() {
    tree_.write("etc/nginx/nginx.conf", "server {}\n");
    WorkspaceOptions options;
    options.clock = clock_.clock();
    options.tools.push_back(write_tool(clock_));
    workspace_ = *Workspace::open(tree_.path(), std::move(options));
  }
  std::vector<json> exported() {
    std::vector<json> entries;
    EXPECT_TRUE(export_aios(persistent_of(*workspace_).state()->root(), [&](std::string_view line) {
      json entry = json::parse(line);
      // A tool of one's own may run programs, so that it begins has a record of its own.
      const auto id = entry["execution_id"].get<std::string>();
      if (!id.ends_with("-begun")) entries.push_back(std::move(entry));
    }));
    return entries;
  }

  FakeClock clock_;
  TempDirectory tree_;
  std::unique_ptr<Workspace> workspace_;
};

TEST_F(AiosExport, AnExportedCallEqualsTheDocumentedSample) {
  json sample = json::parse(kSample);
  sample["input"]["path"] = "etc/nginx/nginx.conf";  // the one of the workspace
  clock_.advance(std::chrono::milliseconds(-45));    // the sample has the time of its end
  auto transaction = *workspace_->begin({sample["agent"], ""});
  CallOptions options;
  options.task_id = sample["task_id"];
  options.goal_id = sample["goal_id"];
  options.reason = sample["reason"];
  const auto called = transaction.call("fs.write", sample["input"].dump(), options);
  ASSERT_TRUE(called) << called.error().message;
  const auto outcome = transaction.commit();
  ASSERT_TRUE(std::holds_alternative<Receipt>(*outcome));
  const json entry = exported().front();
  ASSERT_EQ(entry.size(), sample.size());
  for (const auto& [field, value] : sample.items()) {
    SCOPED_TRACE(field);
    ASSERT_TRUE(entry.contains(field));
    EXPECT_EQ(entry[field].type(), value.type());
    if (field == "execution_id") {
      EXPECT_TRUE(std::regex_match(entry[field].get<std::string>(),
                                   std::regex("exec-20240101-123456-[0-9a-z]{6}")));
      EXPECT_EQ(entry[field], called.result().meta.execution_id);
    } else if (field == "backup_path") {
      EXPECT_EQ(entry[field], ".galley/undo/1.j");
    } else {
      EXPECT_EQ(entry[field], value);
    }
  }
}

TEST_F(AiosExport, TheBackupPathInAnAnswerIsExported) {
  ASSERT_TRUE(workspace_->remove_tool("fs.write"));
  ASSERT_TRUE(workspace_->add_tool([] {
    ToolDefinition own;
    own.info.name = "fs.write";
    own.info.description = "Writes a file.";
    own.info.input_schema = own.info.output_schema = R"({"type": "object"})";
    own.info.capabilities = {"fs:write"};
    own.run = [](ToolRun& call) -> Result<std::string> {
      if (auto written = call.write("a", "a"); !written) return fail(written.error());
      return R"({"success": true, "backup_path": "var/lib/aios/backups/a.1"})";
    };
    return own;
  }()));
  auto transaction = *workspace_->begin();
  ASSERT_TRUE(transaction.call("fs.write", "{}"));
  ASSERT_TRUE(transaction.commit());
  EXPECT_EQ(exported()[0]["backup_path"], "var/lib/aios/backups/a.1");
}

TEST_F(AiosExport, OnlyCommittedChangesHaveABackupPath) {
  auto transaction = *workspace_->begin_stored();
  ASSERT_TRUE(transaction.call("fs.write", R"({"path": "a", "content": "a"})"));
  ASSERT_TRUE(transaction.call("Read", R"({"file_path": "a"})"));
  EXPECT_EQ(exported()[0]["backup_path"], "");
  ASSERT_TRUE(transaction.commit());
  const auto entries = exported();
  ASSERT_EQ(entries.size(), 3U);
  EXPECT_EQ(entries[0]["backup_path"], ".galley/undo/1.j");
  EXPECT_EQ(entries[1]["backup_path"], "");
  EXPECT_EQ(entries[2]["backup_path"], ".galley/undo/1.j");
}

}  // namespace
}  // namespace galley
