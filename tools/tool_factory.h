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

/// Where a tool is between its registration and its end; the drawing is in tool_factory.cc.
enum class ToolPhase : uint8_t { kRegistered, kInitialising, kReady, kDraining, kClosed };

/// "registered", "ready" and so on.
[[nodiscard]] std::string_view to_string(ToolPhase phase);

/// Counts the calls of one tool from its first to its last, so that it is made once and closed
/// when nobody is in it any more.
///
/// Invariant: `make` succeeds at most once; `close` runs at most once, after the last call has left
///            and only if `make` succeeded. No call begins after drain().
/// Threads:   safe to share. `make` and `close` run without the lock, on the thread of a call or of
///            drain(); a second caller waits while another makes the tool.
/// Errors:    kRefused `tool.draining` for a call that comes too late; those of `make`, after which
///            the next call tries again.
class ToolLifecycle {
 public:
  using Make = std::function<Result<void>()>;
  using Close = std::function<void()>;

  ToolLifecycle(std::string tool, Make make, Close close)
      : tool_(std::move(tool)), make_(std::move(make)), close_(std::move(close)) {}
  ~ToolLifecycle() { drain(); }
  ToolLifecycle(const ToolLifecycle&) = delete;
  ToolLifecycle& operator=(const ToolLifecycle&) = delete;

  /// One call's stay; the tool is not closed while it lasts.
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
  /// Lets no further call in. The tool is closed now, or by the last call that leaves.
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
  ToolPhase phase_ = ToolPhase::kRegistered;  ///< guarded by mutex_, as what follows
  bool is_made_ = false;
  size_t calls_ = 0;
};

/// What tools can be given when they are made, by name: a graph, a sanitizer, a sender.
using ToolDependencies = ToolDefinition::Dependencies;

/// A tool that has been made, with what belongs to its life.
struct ToolInstance {
  std::unique_ptr<const Tool> tool;
  std::function<Result<void>()> check_health = {};  ///< asked before it is tried again
  std::function<void()> close = {};                 ///< after its last call
};

/// How a tool is made: once a workspace, at its first call.
struct ToolFactory {
  ToolInfo info;
  std::vector<std::string> needs;  ///< dependencies without which it cannot be made
  std::vector<std::string> takes;  ///< those it uses where they are there
  /// Threads: called on the thread of the first call.
  std::function<Result<ToolInstance>(const ToolDependencies& given)> make;
  TextSanitizer sanitize = {};  ///< as Tool::sanitizer
};

/// A registered factory as a tool: made by its first call, closed after its last.
///
/// Ownership: shares the dependencies until the tool was made; owns the tool.
/// Errors:    of a call: EPERMISSION `tool.draining`; ERUNTIME `tool.dependency`, which names what
///            is missing, `tool.threw`, `tool.factory`, and the factory's own.
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
  /// What the tool says of itself; a tool that was not made yet, or says nothing, is healthy.
  [[nodiscard]] Result<void> check_health() const;
  /// An error of intent() or check_health() as the record has it: with what was thrown last.
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

/// A tool that the embedding program defined, as the registry takes it.
///
/// Its intent is open-ended: what it touches shows only while it runs, so each access is judged
/// when it is made (ToolContext::judge).
/// Errors: kInvalid, reason `tool.no_function`, when there is nothing to run.
[[nodiscard]] Result<std::unique_ptr<const Tool>> make_defined_tool(ToolDefinition definition);

}  // namespace galley
