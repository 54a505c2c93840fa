#include "server/session/open_transactions.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/pipeline/agent_session.h"
#include "engine/pipeline/workspace_state.h"

namespace galley {

OpenTransactions::OpenTransactions(Workspace& workspace, std::string agent, Own own)
    : workspace_(&workspace),
      agent_(std::move(agent)),
      which_(own),
      closer_([this] { close_idle_ones(); }) {}

OpenTransactions::~OpenTransactions() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  wake_.notify_all();
  closer_.join();
}

void OpenTransactions::work_in(const AgentSessionName& session) {
  const std::lock_guard lock(mutex_);
  if (session.id == session_.id || which_ == Own::kNone) return;
  // What another session began is not this one's. Before the first one is known, the agent itself
  // began it.
  if (session_.is_shared) own_.clear();
  session_ = session;
  if (session.is_shared) which_ = Own::kOfSession;
}

TransactionOptions OpenTransactions::who() const {
  const std::lock_guard lock(mutex_);
  TransactionOptions who;
  who.agent = agent_;
  who.session = session_.id;
  return who;
}

std::string OpenTransactions::own() {
  std::string session;
  {
    const std::lock_guard lock(mutex_);
    if (!own_.empty() || which_ != Own::kOfSession) return own_;
    session = session_.id;
  }
  // An error comes again when a transaction is begun.
  const auto found = transaction_of_session(*workspace_, agent_, session);
  const std::lock_guard lock(mutex_);
  if (own_.empty() && found && session == session_.id) own_ = *found;
  return own_;
}

std::shared_ptr<OpenTransactions::Slot> OpenTransactions::slot_of(const std::string& id) {
  const std::lock_guard lock(mutex_);
  // The closing thread sleeps until the first slot is added.
  if (slots_.empty()) wake_.notify_all();
  auto& slot = slots_[id];
  if (!slot) slot = std::make_shared<Slot>();
  return slot;
}

Result<std::string> OpenTransactions::named(const std::string& beginning) const {
  {
    const std::lock_guard lock(mutex_);
    if (slots_.contains(beginning)) return beginning;
  }
  // Two slots for one transaction would wait for each other's lock.
  return workspace_->find_stage_id(beginning);
}

void OpenTransactions::forget(const std::string& id) {
  const std::lock_guard lock(mutex_);
  slots_.erase(id);
  if (own_ == id) own_.clear();
}

bool OpenTransactions::joins() const {
  const std::lock_guard lock(mutex_);
  return which_ == Own::kOfSession;
}

/// A command of the same session may begin one at this moment, so both look again under the lock.
Result<std::string> OpenTransactions::begin_own() {
  if (!joins()) return begin({});
  PersistentState& persistent = persistent_of(*workspace_);
  GALLEY_TRY(persistent.ensure());
  GALLEY_ASSIGN(const WriterLock lock, persistent.lock());
  const std::string found = own();
  return found.empty() ? begin({}) : found;
}

Result<std::string> OpenTransactions::begin(const std::string& message) {
  TransactionOptions options = who();
  options.message = message;
  GALLEY_ASSIGN(Transaction begun, workspace_->begin_stored(options));
  std::string id = begun.id();
  const auto slot = slot_of(id);
  const std::lock_guard lock(slot->mutex);
  slot->transaction = std::make_unique<Transaction>(std::move(begun));
  slot->used = std::chrono::steady_clock::now();
  const std::lock_guard names(mutex_);
  if (which_ != Own::kNone) own_ = id;
  return id;
}

Result<OpenTransactions::Lease> OpenTransactions::resume(const std::string& id) {
  Lease lease(*this, id, slot_of(id));
  Slot& slot = *lease.slot_;
  if (slot.transaction) return lease;
  auto resumed = workspace_->resume(id, agent_);
  if (resumed) {
    slot.transaction = std::make_unique<Transaction>(*std::move(resumed));
    return lease;
  }
  {
    const std::lock_guard names(mutex_);
    slots_.erase(id);
    if (own_ == id && resumed.error().kind == ErrorKind::kNotFound) own_.clear();
  }
  lease.lock_.unlock();
  lease.slot_.reset();  // nothing must be given back
  return fail(resumed.error());
}

Result<void> OpenTransactions::Lease::give_back(bool is_over) {
  const std::shared_ptr<Slot> slot = std::exchange(slot_, nullptr);
  // The changes of a failed call were already undone; saving keeps the rest.
  const Result<void> saved = slot->transaction->save();
  is_over = is_over && saved;
  if (is_over) slot->transaction.reset();
  slot->used = std::chrono::steady_clock::now();
  lock_.unlock();
  if (is_over) owner_->forget(id_);
  return saved;
}

Result<OpenTransactions::Lease> OpenTransactions::lend(const std::string& id) {
  if (!id.empty()) {
    GALLEY_ASSIGN(const std::string whole, named(id));
    return resume(whole);
  }
  // If it was committed or dropped in the meantime, another transaction is begun, but only once.
  for (bool is_again = false;; is_again = true) {
    std::string own;
    {
      const std::lock_guard beginning(begin_mutex_);
      own = this->own();
      if (own.empty()) {
        GALLEY_ASSIGN(own, begin_own());
      }
    }
    auto lease = resume(own);
    if (lease || is_again || lease.error().reason != "stage.not_found") return lease;
  }
}

Result<OpenTransactions::Lease> OpenTransactions::look(const std::string& id) {
  GALLEY_ASSIGN(const std::string which, id.empty() ? own() : named(id));
  if (which.empty()) return Lease();
  return resume(which);
}

/// The thread that closes unused transactions.
void OpenTransactions::close_idle_ones() {
  std::unique_lock lock(mutex_);
  while (!is_over_) {
    if (slots_.empty()) {
      wake_.wait(lock);
    } else {
      wake_.wait_for(lock, kIdleTime);
    }
    if (is_over_) return;
    std::vector<std::shared_ptr<Slot>> slots;
    for (const auto& [id, slot] : slots_) slots.push_back(slot);
    lock.unlock();
    const auto now = std::chrono::steady_clock::now();
    for (const auto& slot : slots) {
      const std::unique_lock using_it(slot->mutex, std::try_to_lock);
      if (using_it.owns_lock() && now - slot->used >= kIdleTime) slot->transaction.reset();
    }
    slots.clear();
    lock.lock();
    // A slot without a transaction is only a name.
    std::erase_if(slots_, [](const auto& each) {
      const std::unique_lock using_it(each.second->mutex, std::try_to_lock);
      return each.second.use_count() == 1 && using_it.owns_lock() && !each.second->transaction;
    });
  }
}

}  // namespace galley
