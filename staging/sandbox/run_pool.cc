#include "staging/sandbox/run_pool.h"

#include <memory>
#include <utility>

#include "base/file_mode.h"
#include "staging/sandbox/layer_objects.h"

namespace galley {

namespace {

bool looks_the_same(const FileStat& a, const FileStat& b) {
  return a.mode == b.mode && a.uid == b.uid && a.gid == b.gid;
}

}  // namespace

RunPool::RunPool(const LayerHome& home, const Directory& workspace, std::string helper,
                 std::optional<WaitingProcess> first)
    : home_(&home),
      workspace_(&workspace),
      helper_(std::move(helper)),
      waiting_helper_(std::move(first)) {}

RunPool::~RunPool() {
  worker_.finish();
  // A destructor cannot report errors; the next sandbox that uses this home erases the rest.
  if (directory_) (void)erase_layer(home_->directory(), directory_->path);
}

Result<RunPool::RunDirectory> RunPool::make_directory() {
  const WritableDirectory& home = home_->directory();
  GALLEY_ASSIGN(const FileStat root, workspace_->stat(RelPath::root()));
  std::string number;
  {
    const std::lock_guard lock(mutex_);
    number = std::to_string(next_number_++);
  }
  GALLEY_ASSIGN(const RelPath path, RelPath::parse("run/" + number));
  for (const char* name : {"", "/upper", "/work"}) {
    GALLEY_ASSIGN(const RelPath made, RelPath::parse(path.str() + name));
    GALLEY_TRY(home.make_directory(made, kPrivateDirectory));
    GALLEY_TRY(set_owner_like(home, made, root));
  }
  GALLEY_ASSIGN(const RelPath upper, RelPath::parse(path.str() + "/upper"));
  GALLEY_ASSIGN(const auto opened, home.open_writable_directory(upper));
  GALLEY_TRY(set_root_like(*opened, *workspace_, true));
  return RunDirectory{path, root};
}

Result<RelPath> RunPool::take_directory() {
  std::optional<RunDirectory> ready;
  {
    const std::lock_guard lock(mutex_);
    ready = std::exchange(directory_, std::nullopt);
  }
  if (ready) {
    GALLEY_ASSIGN(const FileStat root, workspace_->stat(RelPath::root()));
    if (looks_the_same(root, ready->root)) return ready->path;
    GALLEY_TRY(erase_layer(home_->directory(), ready->path));
  }
  GALLEY_ASSIGN(const RunDirectory made, make_directory());
  return made.path;
}

std::optional<WaitingProcess> RunPool::take_helper() {
  std::optional<WaitingProcess> ready;
  {
    const std::lock_guard lock(mutex_);
    ready = std::exchange(waiting_helper_, std::nullopt);
  }
  if (ready && !ready->is_waiting()) ready.reset();
  return ready;
}

Result<HelperRun> RunPool::run(const SandboxRequest& request, const Command& command, int proxy) {
  // A waiting helper already has its own network namespace.
  auto ready = request.host_network == 0 ? take_helper() : std::nullopt;
  if (ready) {
    auto run = std::move(*ready).run(request, command, proxy);
    // The namespaces of the waiting helper are old. New ones may succeed where they fail.
    const bool is_of_no_use = run ? run->report.outcome == HelperOutcome::kSetupFailed
                                  : WaitingProcess::has_expired(run.error());
    if (!is_of_no_use) return run;
  }
  GALLEY_ASSIGN(WaitingProcess fresh, WaitingProcess::start(helper_));
  return std::move(fresh).run(request, command, proxy);
}

void RunPool::retire(const RelPath& directory, ExitingProcess helper) {
  const auto ending = std::make_shared<ExitingProcess>(std::move(helper));
  worker_.post([this, directory, ending]() -> Result<void> {
    // No process uses the layers any more. The kernel needs a while to unmount them, but they can
    // be erased meanwhile.
    auto erased = erase_layer(home_->directory(), directory);
    ending->wait();
    if (!erased) return erased;
    return refill();
  });
}

Result<void> RunPool::refill() {
  bool lacks_directory = false;
  bool lacks_helper = false;
  {
    const std::lock_guard lock(mutex_);
    if (++retired_ < 2) return {};
    lacks_directory = !directory_;
    lacks_helper = !waiting_helper_;
  }
  if (lacks_helper) {
    auto started = WaitingProcess::start_spare(helper_);
    const std::lock_guard lock(mutex_);
    if (started) waiting_helper_ = std::move(*started);  // otherwise the next command reports why
  }
  if (!lacks_directory) return {};
  GALLEY_ASSIGN(RunDirectory made, make_directory());
  const std::lock_guard lock(mutex_);
  directory_ = std::move(made);
  return {};
}

BackgroundWorker::~BackgroundWorker() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void BackgroundWorker::post(Job job) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_.size() < kMaxWaiting; });
    waiting_.push_back(std::move(job));
    if (!thread_.joinable()) thread_ = std::thread([this] { run_jobs(); });
  }
  changed_.notify_all();
}

void BackgroundWorker::finish() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return waiting_.empty() && !is_working_; });
}

Result<void> BackgroundWorker::take_failure() {
  const std::lock_guard lock(mutex_);
  if (!failure_) return {};
  return fail(*std::exchange(failure_, std::nullopt));
}

void BackgroundWorker::run_jobs() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return is_over_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    Job job = std::move(waiting_.front());
    waiting_.pop_front();
    is_working_ = true;
    lock.unlock();
    auto done = job();
    job = nullptr;
    lock.lock();
    is_working_ = false;
    if (!done && !failure_) failure_ = std::move(done.error());
    changed_.notify_all();
  }
}

}  // namespace galley
