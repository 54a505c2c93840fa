#include "server/session/open_transactions.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace galley {

OpenTransactions::OpenTransactions(Workspace& workspace, std::string agent)
    : workspace_(&workspace), agent_(std::move(agent)), closer_([this] { close_idle_ones(); }) {}

OpenTransactions::~OpenTransactions() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  wake_.notify_all();
  closer_.join();
}

std::string OpenTransactions::own() const {
  const std::lock_guard lock(mutex_);
  return own_;
}

std::shared_ptr<OpenTransactions::Slot> OpenTransactions::slot_of(const std::string& id) {
  const std::lock_guard lock(mutex_);
  // The thread that closes them sleeps only while there is none.
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
  // Two slots of one transaction would wait for each other's lock.
  return workspace_->stage_named(beginning);
}

void OpenTransactions::forget(const std::string& id) {
  const std::lock_guard lock(mutex_);
  slots_.erase(id);
  if (own_ == id) own_.clear();
}

Result<std::string> OpenTransactions::begin(const std::string& message) {
  TransactionOptions options;
  options.agent = agent_;
  options.message = message;
  GALLEY_ASSIGN(Transaction begun, workspace_->begin_stored(options));
  std::string id = begun.id();
  const auto slot = slot_of(id);
  const std::lock_guard lock(slot->mutex);
  slot->transaction = std::make_unique<Transaction>(std::move(begun));
  slot->used = std::chrono::steady_clock::now();
  const std::lock_guard names(mutex_);
  own_ = id;
  return id;
}

Result<void> OpenTransactions::use(const std::string& id, const Work& work) {
  const auto slot = slot_of(id);
  Result<bool> is_over = false;
  {
    const std::lock_guard lock(slot->mutex);
    if (!slot->transaction) {
      auto resumed = workspace_->resume(id, agent_);
      if (!resumed) {
        const std::lock_guard names(mutex_);
        if (!slot->transaction) slots_.erase(id);
        if (own_ == id && resumed.error().kind == ErrorKind::kNotFound) own_.clear();
        return fail(resumed.error());
      }
      slot->transaction = std::make_unique<Transaction>(*std::move(resumed));
    }
    is_over = work(*slot->transaction);
    // What a call that failed did is taken back already; saving tells what is left.
    const Result<void> saved = slot->transaction->save();
    if (is_over && !saved) is_over = fail(saved.error());
    if (is_over && *is_over) slot->transaction.reset();
    slot->used = std::chrono::steady_clock::now();
  }
  if (is_over && *is_over) forget(id);
  return is_over ? Result<void>() : fail(is_over.error());
}

Result<void> OpenTransactions::with(const std::string& id, const Work& work) {
  if (!id.empty()) {
    GALLEY_ASSIGN(const std::string whole, named(id));
    return use(whole, work);
  }
  // Somebody else may have committed or dropped it meanwhile: then another one is begun, once.
  for (bool is_again = false;; is_again = true) {
    std::string own;
    {
      const std::lock_guard beginning(begin_mutex_);
      own = this->own();
      if (own.empty()) {
        GALLEY_ASSIGN(own, begin({}));
      }
    }
    auto done = use(own, work);
    if (done || is_again || done.error().reason != "stage.not_found") return done;
  }
}

Result<void> OpenTransactions::look(const std::string& id,
                                    const std::function<Result<bool>(Transaction*)>& work) {
  GALLEY_ASSIGN(const std::string which, id.empty() ? own() : named(id));
  if (which.empty()) {
    const auto looked = work(nullptr);
    return looked ? Result<void>() : fail(looked.error());
  }
  return use(which, [&](Transaction& transaction) { return work(&transaction); });
}

/// The thread that closes what nobody uses.
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
