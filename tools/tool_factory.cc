#include "tools/tool_factory.h"

#include <array>
#include <nlohmann/json.hpp>
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

/// Turns an exception of `make` into an error of the tool, since other code supplies `make`.
Result<void> made_by(const ToolLifecycle::Make& make, const std::string& tool) {
  try {
    return make ? make() : Result<void>();
  } catch (...) {
    return fail(ErrorKind::kInternal, "tool.threw",
                "the tool '" + tool + "' could not be made: its factory threw an exception");
  }
}

tl::unexpected<Error> was_removed(const std::string& tool) {
  return fail(ErrorKind::kRefused, "tool.draining",
              "the tool '" + tool + "' was removed; request the list of tools again");
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
    if (!goes_on) return was_removed(tool_);
  }
  if (phase_ != ToolPhase::kReady) return was_removed(tool_);
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
    // No call is left to report the exception.
  }
}

ToolPhase ToolLifecycle::phase() const {
  const std::lock_guard lock(mutex_);
  return phase_;
}

FactoryTool::FactoryTool(ToolFactory factory, std::shared_ptr<const ToolDependencies> dependencies)
    : factory_(std::move(factory)), dependencies_(std::move(dependencies)) {
  lifecycle_ = std::make_unique<ToolLifecycle>(
      factory_.info.name, [this] { return make(); },
      [this] {
        if (instance_.close) instance_.close();
      });
}

FactoryTool::~FactoryTool() { lifecycle_.reset(); }

Result<void> FactoryTool::make() {
  const std::string& name = factory_.info.name;
  for (const std::string& need : factory_.needs) {
    if (dependencies_ != nullptr && dependencies_->contains(need)) continue;
    return fail(ErrorKind::kNotFound, "tool.dependency",
                "the tool '" + name + "' needs '" + need +
                    "', which this workspace was not given; open it with that dependency");
  }
  // Pass only the dependencies that the factory names, so that it cannot use others by accident.
  ToolDependencies given;
  for (const auto* names : {&factory_.needs, &factory_.takes}) {
    for (const std::string& one : *names) {
      if (dependencies_ == nullptr) break;
      if (const auto found = dependencies_->find(one); found != dependencies_->end()) {
        given.insert(*found);
      }
    }
  }
  GALLEY_ASSIGN(ToolInstance made, made_from(given));
  const bool is_same = made.tool != nullptr && made.tool->info().name == name &&
                       made.tool->info().input_schema == factory_.info.input_schema &&
                       made.tool->info().output_schema == factory_.info.output_schema;
  if (!is_same) {
    return fail(ErrorKind::kInternal, "tool.factory",
                "the factory of the tool '" + name +
                    "' made none, or one of another name or with other schemas");
  }
  instance_ = std::move(made);
  return {};
}

/// Turns an exception of the factory into an error of the tool.
Result<ToolInstance> FactoryTool::made_from(const ToolDependencies& given) const {
  const std::string what = "the tool '" + factory_.info.name + "' could not be made";
  try {
    return factory_.make(given);
  } catch (const std::exception& error) {
    return threw(what, error.what());
  } catch (...) {
    return threw(what, "an exception of an unknown type");
  }
}

/// The exception's text goes only to the record, because it may contain internals.
Error FactoryTool::threw(const std::string& what, const std::string& cause) const {
  const std::lock_guard lock(mutex_);
  last_thrown_ = cause;
  return {ErrorKind::kInternal, "tool.threw", what + "; the record has the cause"};
}

ToolError FactoryTool::with_cause(const Error& error) const {
  ToolError told = tool_error_from(error);
  const std::lock_guard lock(mutex_);
  if (error.reason == "tool.threw" || error.reason == "tool.unhealthy") told.cause = last_thrown_;
  return told;
}

Result<Intent> FactoryTool::intent(const nlohmann::json& args, const PathOrigin& origin) const {
  GALLEY_ASSIGN(const ToolLifecycle::Stay stay, lifecycle_->enter());
  return instance_.tool->intent(args, origin);
}

ToolResult FactoryTool::run(const nlohmann::json& args, ToolContext& context) const {
  const auto stay = lifecycle_->enter();
  if (!stay) return ToolResult::failure(with_cause(stay.error()));
  return instance_.tool->run(args, context);
}

Result<void> FactoryTool::check_health() const {
  if (lifecycle_->phase() != ToolPhase::kReady) return {};
  const auto stay = lifecycle_->enter();
  if (!stay || !instance_.check_health) return {};
  const std::string what = "the health check of '" + factory_.info.name + "' failed";
  try {
    return instance_.check_health();
  } catch (const std::exception& error) {
    return threw(what, error.what());
  } catch (...) {
    return threw(what, "an exception of an unknown type");
  }
}

}  // namespace galley
