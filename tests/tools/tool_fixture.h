#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "base/clock.h"
#include "doubles/memory_directory.h"
#include "staging/overlay/overlay.h"
#include "support/json_equality.h"
#include "tools/json_input.h"
#include "tools/registry.h"
#include "tools/standard_tools.h"

namespace galley {

/// Every standard tool on a small tree in memory. The workspace is at /ws.
class ToolFixture : public ::testing::Test {
 protected:
  ToolFixture() {
    const auto added = add_standard_tools(registry_);
    EXPECT_TRUE(added) << (added ? "" : added.error().message);
  }

  static RelPath rel(const std::string& text) { return *RelPath::parse(text); }

  /// Writes a file to the disk below the overlay.
  void put(const std::string& path, const std::string& bytes) {
    if (!rel(path).parent().is_root()) {
      ASSERT_TRUE(make_directories(*workspace_, rel(path).parent(), 0755));
    }
    auto file = workspace_->open_writable_file(rel(path), OpenMode::kOpenOrCreate, 0644);
    ASSERT_TRUE(file) << file.error().message;
    ASSERT_TRUE((*file)->truncate(0));
    ASSERT_TRUE((*file)->write_at(0, bytes));
  }

  ToolResult call(const std::string& tool, const nlohmann::json& args) {
    const auto entry = registry_.get(tool);
    EXPECT_TRUE(entry) << tool;
    const auto violations = (*entry)->input.check(args);
    EXPECT_TRUE(violations.empty()) << describe(violations);
    ToolContext context{.overlay = overlay_,
                        .clock = clock_,
                        .root = "/ws",
                        .agent = "tester",
                        .capabilities = capabilities_,
                        .dry_run = false,
                        .deterministic = false,
                        .deadline = {},
                        .commands = commands_,
                        .logger = {},
                        .secrets = secrets_,
                        .may_read = {}};
    ToolResult result = (*entry)->tool->run(args, context);
    if (result.ok) {
      const auto wrong = (*entry)->output.check(*result.data);
      EXPECT_TRUE(wrong.empty()) << tool << ": " << describe(wrong) << "\n" << *result.data;
    }
    return result;
  }

  /// Returns the data of a call that must succeed.
  nlohmann::ordered_json done(const std::string& tool, const nlohmann::json& args) {
    const ToolResult result = call(tool, args);
    EXPECT_TRUE(result.ok) << tool << ": " << (result.error ? result.error->message : "");
    return result.ok ? *result.data : nlohmann::ordered_json();
  }

  /// Returns "CODE reason" of a call that must fail.
  std::string refused(const std::string& tool, const nlohmann::json& args) {
    const Overlay::Entries before = overlay_.entries();
    const ChangeSet changes = overlay_.changes();
    const ToolResult result = call(tool, args);
    EXPECT_EQ(overlay_.changes(), changes) << "a failed call changed the overlay";
    if (result.ok) return "ok: " + json_text(*result.data);
    return std::string(to_string(result.error->code)) + " " + result.error->reason;
  }

  std::string staged(const std::string& path) {
    const auto content = overlay_.read(rel(path));
    return content ? **content : "<" + content.error().reason + ">";
  }

  SystemClock clock_;
  std::unique_ptr<WritableDirectory> workspace_ = make_memory_directory();
  Overlay overlay_{*workspace_, make_memory_store(), clock_};
  ToolRegistry registry_;
  CommandRunner* commands_ = nullptr;
  SecretProvider secrets_;
  std::vector<std::string> capabilities_;
};

}  // namespace galley
