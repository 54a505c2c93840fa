#include "server/session/open_transactions.h"

#include <algorithm>
#include <utility>

#include "engine/commit/stage_directory.h"
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
  const auto slots = slots_;
  for (const auto& [id, slot] : slots) close(id, *slot);
}

thread_local const std::string* OpenTransactions::InSession::current = nullptr;

void OpenTransactions::work_in(const AgentSessionName& session) {
  const std::lock_guard lock(mutex_);
  if (session.is_hooked) hooked_.insert(session.id);
  if (session.id == newest_session_) return;
  // Before the hook names a session, the agent itself has begun what is open.
  if (session.is_shared && shared_.empty() && own_.contains(newest_session_)) {
    own_[session.id] = own_[newest_session_];
  }
  if (session.is_shared) shared_.insert(session.id);
  newest_session_ = session.id;
}

std::string OpenTransactions::session() const {
  if (InSession::current != nullptr) return *InSession::current;
  const std::lock_guard lock(mutex_);
  return newest_session_;
}

bool OpenTransactions::is_shared(const std::string& session) const {
  const std::lock_guard lock(mutex_);
  return shared_.contains(session);
}

bool OpenTransactions::is_hooked() const {
  const std::string session = this->session();
  const std::lock_guard lock(mutex_);
  return hooked_.contains(session);
}

TransactionOptions OpenTransactions::who() const {
  TransactionOptions who{.agent = agent_, .session = session()};
  return who;
}

std::string OpenTransactions::own() {
  const std::string session = this->session();
  {
    const std::lock_guard lock(mutex_);
    const auto known = own_.find(session);
    if (known != own_.end()) return known->second;
    if (!shared_.contains(session)) return {};
  }
  // An error comes again when a transaction is begun.
  const auto found = transaction_of_session(*workspace_, agent_, session);
  if (!found || found->empty()) return {};
  const std::lock_guard lock(mutex_);
  return own_.try_emplace(session, *found).first->second;
}

bool OpenTransactions::has_own() {
  const std::string id = own();
  if (id.empty()) return false;
  PersistentState& persistent = persistent_of(*workspace_);
  if (!persistent.refresh() || persistent.state() == nullptr) return true;
  const auto open = stage_ids(*persistent.state(), id);
  if (open && open->empty()) forget(id);
  return !open || !open->empty();
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
  std::erase_if(own_, [&](const auto& each) { return each.second == id; });
}

/// A command of the same session may begin one at this moment, so both look again under the lock.
Result<std::string> OpenTransactions::begin_own() {
  if (!is_shared(session())) return begin({});
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
  if (which_ != Own::kNone) own_[options.session] = id;
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
    if (resumed.error().kind == ErrorKind::kNotFound) {
      std::erase_if(own_, [&](const auto& each) { return each.second == id; });
    }
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
  std::string ended;
  while (true) {
    std::string own;
    bool is_new = false;
    {
      const std::lock_guard beginning(begin_mutex_);
      own = this->own();
      is_new = own.empty() && !is_shared(session());
      if (own.empty()) {
        GALLEY_ASSIGN(own, begin_own());
      }
    }
    auto lease = resume(own);
    if (lease) {
      lease->slot_->is_kept_empty &= !is_new;
      const std::lock_guard lock(mutex_);
      lease->is_ended_lost_ = lost_.erase(ended) > 0;
      lease->ended_ = std::move(ended);
      return lease;
    }
    if (!ended.empty() || lease.error().reason != "stage.not_found") return lease;
    ended = own;
  }
}

Result<OpenTransactions::Lease> OpenTransactions::look(const std::string& id) {
  GALLEY_ASSIGN(const std::string which, id.empty() ? own() : named(id));
  if (which.empty()) return Lease();
  return resume(which);
}

void OpenTransactions::close(const std::string& id, Slot& slot) {
  const auto transaction = std::exchange(slot.transaction, nullptr);
  if (!transaction || slot.is_kept_empty || !transaction->proposal().changes().empty()) return;
  if (transaction->rollback()) forget(id);
}

void OpenTransactions::close_all() {
  std::unique_lock lock(mutex_);
  const auto slots = slots_;
  lock.unlock();
  for (const auto& [id, slot] : slots) {
    const std::lock_guard using_it(slot->mutex);
    close(id, *slot);
  }
}

void OpenTransactions::note_removed_state() {
  const std::lock_guard lock(mutex_);
  for (const auto& [session, id] : own_) lost_.insert(id);
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
    auto slots = slots_;
    lock.unlock();
    const auto now = std::chrono::steady_clock::now();
    for (const auto& [id, slot] : slots) {
      const std::unique_lock using_it(slot->mutex, std::try_to_lock);
      if (using_it.owns_lock() && now - slot->used >= kIdleTime) close(id, *slot);
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
