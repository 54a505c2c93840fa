#include "tools/tool_lifecycle.h"

#include <array>
#include <utility>

namespace galley {

//                        enter()                   make succeeds            enter(), leave()
//      kRegistered ----------------> kInitialising ---------------> kReady <---------------.
//           ^  |                          |  |                        |  '-----------------'
//           |  |        make fails        |  |                        |
//           |  |<-------------------------'  | drain()                | drain()
//           |  |                             v                        v
//           |  |                        kDraining <-------------------'
//           |  | drain()                     |
//           |  v                             | the last call leaves: close
//           | kClosed <----------------------'
//
// A tool that was never made goes to kClosed without close().

namespace {

/// The maker belongs to whoever registered the tool: what it throws is a failure of it.
Result<void> made_by(const ToolLifecycle::Make& make, const std::string& tool) {
  try {
    return make ? make() : Result<void>();
  } catch (...) {
    return fail(ErrorKind::kInternal, "tool.threw",
                "the tool '" + tool + "' could not be made: an exception came out of its maker");
  }
}

tl::unexpected<Error> was_taken_away(const std::string& tool) {
  return fail(ErrorKind::kRefused, "tool.draining",
              "the tool '" + tool + "' was taken away; ask for the list of tools again");
}

}  // namespace

std::string_view to_string(ToolPhase phase) {
  static constexpr std::array<std::string_view, 5> kNames = {"registered", "initialising", "ready",
                                                             "draining", "closed"};
  return kNames.at(static_cast<size_t>(phase));
}

Result<ToolLifecycle::Stay> ToolLifecycle::enter() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return phase_ != ToolPhase::kInitialising; });
  if (phase_ == ToolPhase::kRegistered) {
    phase_ = ToolPhase::kInitialising;
    lock.unlock();
    const auto made = made_by(make_, tool_);
    lock.lock();
    is_made_ = made.has_value();
    const bool goes_on = phase_ == ToolPhase::kInitialising;
    if (goes_on) phase_ = is_made_ ? ToolPhase::kReady : ToolPhase::kRegistered;
    changed_.notify_all();
    if (!goes_on) close_if_left(lock);
    if (!made) return fail(made.error());
    if (!goes_on) return was_taken_away(tool_);
  }
  if (phase_ != ToolPhase::kReady) return was_taken_away(tool_);
  ++calls_;
  return Stay(*this);
}

void ToolLifecycle::leave() {
  std::unique_lock lock(mutex_);
  --calls_;
  close_if_left(lock);
}

void ToolLifecycle::drain() {
  std::unique_lock lock(mutex_);
  if (phase_ == ToolPhase::kClosed) return;
  const bool is_being_made = phase_ == ToolPhase::kInitialising;
  phase_ = ToolPhase::kDraining;
  changed_.notify_all();
  if (!is_being_made) close_if_left(lock);
}

void ToolLifecycle::close_if_left(std::unique_lock<std::mutex>& lock) {
  if (phase_ != ToolPhase::kDraining || calls_ > 0) return;
  phase_ = ToolPhase::kClosed;
  const bool has_to_close = std::exchange(is_made_, false) && close_;
  lock.unlock();
  if (!has_to_close) return;
  try {
    close_();
  } catch (...) {
    // Nobody is left who could be told.
  }
}

ToolPhase ToolLifecycle::phase() const {
  const std::lock_guard lock(mutex_);
  return phase_;
}

}  // namespace galley
