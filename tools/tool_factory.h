#pragma once

#include <galley/tool.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "tools/tool.h"

namespace galley {

/// The phase of a tool between registration and end; the drawing is in tool_factory.cc.
enum class ToolPhase : uint8_t { kRegistered, kInitialising, kReady, kDraining, kClosed };

/// "registered", "ready" and so on.
[[nodiscard]] std::string_view to_string(ToolPhase phase);

/// Counts the calls of one tool, so that it is made once, and closed when its last call has ended.
///
/// Invariant: `make` succeeds at most once; `close` runs at most once, after the last call has left
///            and only if `make` succeeded. No call begins after drain().
/// Threads:   safe to share. `make` and `close` run without the lock, on the thread of a call or of
///            drain(); a second caller waits while another makes the tool.
/// Errors:    kRefused `tool.draining` for a call after drain(); those of `make`, after which the
///            next call tries again.
class ToolLifecycle {
 public:
  using Make = std::function<Result<void>()>;
  using Close = std::function<void()>;

  ToolLifecycle(std::string tool, Make make, Close close)
      : tool_(std::move(tool)), make_(std::move(make)), close_(std::move(close)) {}
  ~ToolLifecycle() { drain(); }
  ToolLifecycle(const ToolLifecycle&) = delete;
  ToolLifecycle& operator=(const ToolLifecycle&) = delete;

  /// The use of the tool by one call. The tool is not closed before all of them have ended.
  class Stay {
   public:
    explicit Stay(ToolLifecycle& lifecycle) : lifecycle_(&lifecycle) {}
    Stay(Stay&& other) noexcept : lifecycle_(other.lifecycle_) { other.lifecycle_ = nullptr; }
    Stay& operator=(Stay&&) = delete;
    Stay(const Stay&) = delete;
    Stay& operator=(const Stay&) = delete;
    ~Stay() {
      if (lifecycle_ != nullptr) lifecycle_->leave();
    }

   private:
    ToolLifecycle* lifecycle_;
  };

  /// Begins a call: makes the tool if this is the first.
  Result<Stay> enter();
  /// Refuses further calls. Closes the tool now, or when the last call ends.
  void drain();

  [[nodiscard]] ToolPhase phase() const;

 private:
  void leave();
  void close_if_left(std::unique_lock<std::mutex>& lock);

  std::string tool_;
  Make make_;
  Close close_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  ToolPhase phase_ = ToolPhase::kRegistered;  ///< guarded by mutex_, like all below
  bool is_made_ = false;
  size_t calls_ = 0;
};

/// Dependencies of tools by name: a graph, a sanitizer, a sender.
using ToolDependencies = ToolDefinition::Dependencies;

/// A tool that has been made, with its functions for health and end.
struct ToolInstance {
  std::unique_ptr<const Tool> tool;
  std::function<Result<void>()> check_health = {};  ///< called before a retry
  std::function<void()> close = {};                 ///< called after its last call
};

/// Makes a tool once for each workspace, at its first call.
struct ToolFactory {
  ToolInfo info;
  std::vector<std::string> needs;  ///< required dependencies
  std::vector<std::string> takes;  ///< optional dependencies
  /// Threads: called on the thread of the first call.
  std::function<Result<ToolInstance>(const ToolDependencies& given)> make;
  TextSanitizer sanitize = {};  ///< as Tool::sanitizer
};

/// A tool whose factory makes it at its first call. It is closed after its last call.
///
/// Ownership: shares the dependencies until the tool was made; owns the tool.
/// Errors:    of a call: EPERMISSION `tool.draining`; ERUNTIME `tool.dependency`, which names the
///            missing one, `tool.threw`, `tool.factory`, and the factory's own.
class FactoryTool final : public Tool {
 public:
  FactoryTool(ToolFactory factory, std::shared_ptr<const ToolDependencies> dependencies);
  ~FactoryTool() override;

  [[nodiscard]] const ToolInfo& info() const override { return factory_.info; }
  [[nodiscard]] TextSanitizer sanitizer() const override { return factory_.sanitize; }
  Result<Intent> intent(const nlohmann::json& args, const PathOrigin& origin) const override;
  ToolResult run(const nlohmann::json& args, ToolContext& context) const override;

  [[nodiscard]] ToolPhase phase() const { return lifecycle_->phase(); }
  void drain() const { lifecycle_->drain(); }
  /// The tool's own report. A tool that was not made yet, or does not report, is healthy.
  [[nodiscard]] Result<void> check_health() const;
  /// Adds the last exception's text to an error of intent() or check_health(), for the record.
  [[nodiscard]] ToolError with_cause(const Error& error) const;

 private:
  Result<void> make();
  Result<ToolInstance> made_from(const ToolDependencies& given) const;
  [[nodiscard]] Error threw(const std::string& what, const std::string& cause) const;

  ToolFactory factory_;
  std::shared_ptr<const ToolDependencies> dependencies_;
  ToolInstance instance_;  ///< set by make(), which the lifecycle runs once
  std::unique_ptr<ToolLifecycle> lifecycle_;
  mutable std::mutex mutex_;
  mutable std::string last_thrown_;  ///< guarded by mutex_
};

/// A tool that the embedding program defined, for the registry.
///
/// Its intent is open-ended: its effects are known only while it runs, so each access is judged
/// when it is made (ToolContext::judge).
/// Errors: kInvalid, reason `tool.no_function`, when its function is missing.
[[nodiscard]] Result<std::unique_ptr<const Tool>> make_defined_tool(ToolDefinition definition);

}  // namespace galley
