#include "engine/commit/writer_lock.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <thread>

#include "base/encoding.h"
#include "base/file_mode.h"

namespace galley {
namespace {

constexpr size_t kLockTextBytes = 512;
constexpr size_t kTicketDigits = 8;
constexpr std::chrono::milliseconds kFirstPause{1};
constexpr std::chrono::milliseconds kLongestPause{8};
constexpr int kPausesBeforeLonger = 32;
constexpr std::string_view kHolderPrefix = "holder ";
constexpr std::string_view kLastPrefix = "last ";

std::string this_process(const Clock& clock) {
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  return std::to_string(getpid()) + " on " + host.data() + " since " + rfc3339_utc(clock.wall_ns());
}

std::string padded_hex(uint64_t value) {
  constexpr size_t kDigits = 16;
  std::string hex = TxId{value}.file_name();
  return std::string(kDigits - hex.size(), '0') + hex;
}

std::string line_after(const std::string& text, std::string_view prefix) {
  const size_t start = text.starts_with(prefix) ? 0 : text.find("\n" + std::string(prefix));
  if (start == std::string::npos) return {};
  const size_t from = start + prefix.size() + (start == 0 ? 0 : 1);
  return text.substr(from, text.find('\n', from) - from);
}

/// A place in the queue; the destructor gives it up.
class Ticket {
 public:
  static Result<Ticket> draw(const StateDirectory& state, const Clock& clock) {
    auto queue = state.root().open_writable_directory(chosen_path("wait"));
    if (!queue && queue.error().kind == ErrorKind::kNotFound) {
      GALLEY_TRY(make_directories(state.root(), chosen_path("wait"), 0700));
      queue = state.root().open_writable_directory(chosen_path("wait"));
    }
    if (!queue) return queue.error();
    const auto now = static_cast<uint64_t>(clock.wall_ns());
    Ticket ticket(std::move(*queue),
                  chosen_path(padded_hex(now) + "-" + random_hex(kTicketDigits)));
    GALLEY_ASSIGN(ticket.file_, ticket.queue_->open_writable_file(
                                    ticket.name_, OpenMode::kCreateNew, kPrivateFile));
    // Until it is locked, another process may take it for a dead waiter's and remove it. Then we
    // lose only our place in the queue.
    GALLEY_TRY(ticket.file_->try_lock(LockMode::kExclusive));
    return ticket;
  }
  Ticket(Ticket&&) noexcept = default;
  Ticket& operator=(Ticket&&) = delete;
  ~Ticket() {
    // A ticket that is left behind is removed by the next waiter that finds it unlocked.
    if (file_ != nullptr) static_cast<void>(queue_->remove_file(name_));
  }

  Result<bool> is_first() const {
    GALLEY_ASSIGN(const auto entries, queue_->list());
    for (const auto& entry : entries) {
      if (entry.name >= name_.str()) return true;
      const auto name = RelPath::parse(entry.name);
      if (!name || entry.kind != FileKind::kRegular) continue;
      const auto other = queue_->open_writable_file(*name, OpenMode::kReadWrite);
      if (!other) continue;
      GALLEY_ASSIGN(const bool is_dead, (*other)->try_lock(LockMode::kExclusive));
      if (!is_dead) return false;
      static_cast<void>(queue_->remove_file(*name));
    }
    return true;
  }

 private:
  Ticket(std::unique_ptr<WritableDirectory> queue, RelPath name)
      : queue_(std::move(queue)), name_(std::move(name)) {}
  std::unique_ptr<WritableDirectory> queue_;
  RelPath name_;
  std::unique_ptr<WritableFile> file_;
};

Result<bool> has_waiters(const StateDirectory& state) {
  const auto queue = state.root().open_directory(chosen_path("wait"));
  if (!queue && queue.error().kind == ErrorKind::kNotFound) return false;
  if (!queue) return queue.error();
  GALLEY_ASSIGN(const auto entries, (*queue)->list());
  return !entries.empty();
}

Error locked_error(const StateDirectory& state, std::chrono::milliseconds timeout) {
  const auto text = read_file(state.root(), chosen_path("lock"), kLockTextBytes);
  const std::string holder = text ? line_after(*text, kHolderPrefix) : std::string();
  return Error{ErrorKind::kTimeout, "commit.locked",
               "process " + (holder.empty() ? "unknown" : holder) +
                   " holds the writer lock; gave up after " + std::to_string(timeout.count()) +
                   " ms, try again when it is done",
               ".galley/lock", EWOULDBLOCK};
}

}  // namespace

Result<std::optional<WriterLock>> WriterLock::try_take(const StateDirectory& state,
                                                       const Clock& clock) {
  while (true) {
    GALLEY_ASSIGN(auto file, state.root().open_writable_file(
                                 chosen_path("lock"), OpenMode::kOpenOrCreate, kPrivateFile));
    GALLEY_ASSIGN(const bool is_ours, file->try_lock(LockMode::kExclusive));
    if (!is_ours) return std::optional<WriterLock>();
    // The file may have been removed or replaced: a lock on a nameless file excludes nothing.
    GALLEY_ASSIGN(const FileStat ours, file->stat());
    GALLEY_ASSIGN(const FileStat named, state.root().stat(chosen_path("lock")));
    if (named.kind == FileKind::kAbsent || named.inode != ours.inode) continue;
    GALLEY_ASSIGN(const std::string text, file->read_at(0, kLockTextBytes));
    WriterLock lock(std::move(file));
    lock.last_ = line_after(text, kLastPrefix);
    lock.holder_ = this_process(clock);
    static_cast<void>(lock.write_text());  // for messages only
    return std::optional<WriterLock>(std::move(lock));
  }
}

Result<WriterLock> WriterLock::take(const StateDirectory& state, const Clock& clock,
                                    std::chrono::milliseconds timeout) {
  GALLEY_ASSIGN(const bool is_contended, has_waiters(state));
  if (!is_contended || timeout.count() == 0) {
    GALLEY_ASSIGN(auto lock, try_take(state, clock));
    if (lock) return std::move(*lock);
  }
  if (timeout.count() == 0) return locked_error(state, timeout);
  const Deadline deadline = Deadline::after(clock, timeout);
  GALLEY_ASSIGN(const Ticket ticket, Ticket::draw(state, clock));
  for (int pause = 0;; ++pause) {
    GALLEY_ASSIGN(const bool is_first, ticket.is_first());
    if (is_first) {
      GALLEY_ASSIGN(auto lock, try_take(state, clock));
      if (lock) return std::move(*lock);
    }
    if (deadline.has_passed(clock)) return locked_error(state, timeout);
    std::this_thread::sleep_for(pause < kPausesBeforeLonger ? kFirstPause : kLongestPause);
  }
}

Result<void> WriterLock::write_text() {
  std::string text = std::string(kHolderPrefix) + holder_ + "\n";
  text.append(kLastPrefix).append(last_).append("\n");
  text.resize(std::max(text.size(), kLockTextBytes), ' ');
  return file_->write_at(0, std::string_view(text).substr(0, kLockTextBytes));
}

std::optional<TxId> WriterLock::last_transaction(const std::string& session) const {
  const size_t space = last_.find(' ');
  if (space == std::string::npos) return {};
  if (!is_same_session(std::string_view(last_).substr(space + 1), session)) return {};
  return TxId::from_file_name(std::string_view(last_).substr(0, space));
}

TxId noted_transaction(const StateDirectory& state) {
  const auto text = read_file(state.root(), chosen_path("lock"), kLockTextBytes);
  const std::string last = text ? line_after(*text, kLastPrefix) : std::string();
  return TxId::from_file_name(std::string_view(last).substr(0, last.find(' '))).value_or(TxId());
}

void WriterLock::remember(TxId last, const std::string& session) {
  last_ = last.file_name() + " " + session;
  is_written_ = write_text().has_value();
}

Result<void> WriterLock::forget_last() {
  last_.clear();
  return write_text();
}

Result<void> WriterLock::forget_if_before(TxId id) {
  const auto noted = TxId::from_file_name(std::string_view(last_).substr(0, last_.find(' ')));
  if (is_written_ && noted && *noted >= id) return {};
  return forget_last();
}

}  // namespace galley
