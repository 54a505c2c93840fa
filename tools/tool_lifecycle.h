#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace galley {

/// Where a tool is between its registration and its end; the drawing is in tool_lifecycle.cc.
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

}  // namespace galley
