#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

namespace galley {

/// An object that is made after its owner, by the first thread that needs it.
///
/// Invariant: what get() returned stays valid as long as this, even if another one is set later.
/// Threads:   reading from any thread; set() by one thread at a time, under a lock of the owner.
template <class T>
class LateObject {
 public:
  [[nodiscard]] T* get() const { return object_.load(std::memory_order_acquire); }
  explicit operator bool() const { return get() != nullptr; }
  T& operator*() const { return *get(); }
  T* operator->() const { return get(); }
  friend bool operator==(const LateObject& one, std::nullptr_t) { return one.get() == nullptr; }

  void set(std::unique_ptr<T> made) {
    made_.push_back(std::move(made));
    object_.store(made_.back().get(), std::memory_order_release);
  }

 private:
  std::vector<std::unique_ptr<T>> made_;
  std::atomic<T*> object_{nullptr};
};

}  // namespace galley
