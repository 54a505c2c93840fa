#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <utility>

#include "base/result.h"

namespace galley {

/// How many nodes of any SharedMap this thread has made or copied; tests count them.
inline thread_local uint64_t shared_map_nodes_made = 0;

/// An ordered map whose copies share all nodes that they have in common.
///
/// A copy takes constant time. A change makes at most O(log n) new nodes: only shared nodes are
/// copied. differences() of a map and a changed copy skips the nodes that both share.
/// Invariant: a balanced tree (AVL); a node that two maps reach is never changed.
/// Ownership: a map owns its nodes together with its copies. A reference to a mutable value is
///            valid until the map is copied or the key is erased.
/// Threads:   as std::map; different threads may use copies of one map at the same time.
template <class Key, class Value>
class SharedMap {
  struct Node;

 public:
  using key_type = Key;
  using mapped_type = Value;
  using value_type = std::pair<const Key, Value>;
  using size_type = size_t;

  /// Iterates in the order of the keys. Valid until its map is changed or destroyed.
  class const_iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = SharedMap::value_type;
    using difference_type = std::ptrdiff_t;
    using pointer = const value_type*;
    using reference = const value_type&;

    const_iterator() {}  // NOLINT(modernize-use-equals-default): the way is not cleared
    const_iterator(const const_iterator& other) : depth_(other.depth_) {
      std::copy_n(other.way_.begin(), depth_, way_.begin());
    }
    const_iterator& operator=(const const_iterator& other) {
      depth_ = other.depth_;
      std::copy_n(other.way_.begin(), depth_, way_.begin());
      return *this;
    }
    ~const_iterator() = default;

    reference operator*() const { return here()->item; }
    pointer operator->() const { return &here()->item; }
    const_iterator& operator++() {
      const Node* const right = here()->right.get();
      --depth_;
      descend(right);
      return *this;
    }
    bool operator==(const const_iterator& other) const { return here() == other.here(); }

   private:
    friend class SharedMap;
    [[nodiscard]] const Node* here() const { return depth_ == 0 ? nullptr : way_[depth_ - 1]; }
    void push(const Node* node) {
      GALLEY_CHECK(depth_ < way_.size());
      way_[depth_++] = node;
    }
    /// Goes to the least node of a subtree.
    void descend(const Node* node) {
      for (; node != nullptr; node = node->left.get()) push(node);
    }

    /// The nodes that are still to be visited but whose left subtrees are done. The next node is
    /// last.
    std::array<const Node*, 64> way_;  // higher than any tree that fits into memory
    size_t depth_ = 0;
  };
  using iterator = const_iterator;

  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] const_iterator begin() const {
    const_iterator it;
    it.descend(root_.get());
    return it;
  }
  [[nodiscard]] const_iterator end() const { return {}; }

  [[nodiscard]] const Value* value(const Key& key) const {
    const Node* node = root_.get();
    while (node != nullptr) {
      const auto order = key <=> node->item.first;
      if (order == 0) return &node->item.second;
      node = order < 0 ? node->left.get() : node->right.get();
    }
    return nullptr;
  }
  [[nodiscard]] bool contains(const Key& key) const { return value(key) != nullptr; }
  [[nodiscard]] const Value& at(const Key& key) const {
    const Value* const found = value(key);
    GALLEY_CHECK(found != nullptr);
    return *found;
  }
  [[nodiscard]] const_iterator find(const Key& key) const {
    const_iterator it = lower_bound(key);
    return it.depth_ > 0 && it->first == key ? it : end();
  }
  /// The first entry whose key is not less.
  [[nodiscard]] const_iterator lower_bound(const Key& key) const {
    return first_of([&key](const Key& one) { return !(one < key); });
  }
  /// The first entry whose key is greater.
  [[nodiscard]] const_iterator upper_bound(const Key& key) const {
    return first_of([&key](const Key& one) { return key < one; });
  }

  /// Returns the value of a key, for changing it. The key must be in the map.
  [[nodiscard]] Value& change(const Key& key) {
    Ref* link = &root_;
    while (*link) {
      make_unshared(*link);
      Node& node = **link;
      const auto order = key <=> node.item.first;
      if (order == 0) return node.item.second;
      link = order < 0 ? &node.left : &node.right;
    }
    GALLEY_CHECK(contains(key));
    std::abort();
  }
  Value& operator[](const Key& key) { return *try_emplace(key, Value()).first; }
  /// Returns the value of the key, which may be changed, and whether it was inserted. An existing
  /// value is not replaced.
  std::pair<Value*, bool> try_emplace(const Key& key, Value value) {
    return take_if_new(key, value);
  }
  std::pair<Value*, bool> emplace(const Key& key, Value value) {
    return try_emplace(key, std::move(value));
  }
  void insert_or_assign(const Key& key, Value value) {
    const auto [known, is_new] = take_if_new(key, value);
    if (!is_new) *known = std::move(value);
  }
  size_t erase(const Key& key) {
    if (!contains(key)) return 0;
    take(root_, key);
    --size_;
    return 1;
  }

  /// Calls `told(key, value in a, value in b)`, in order, for each key that only one map has or
  /// whose values differ. A missing value is null.
  template <class Told, class Equal = std::equal_to<>>
  static void differences(const SharedMap& a, const SharedMap& b, Told&& told, Equal equal = {}) {
    Rest one(a.root_.get());
    Rest two(b.root_.get());
    while (!one.is_over() && !two.is_over()) {
      if (one.top() == two.top()) {
        one.pop();
        two.pop();
      } else if (one.top_height() > 0 && one.top_height() >= two.top_height()) {
        one.open();
      } else if (two.top_height() > 0) {
        two.open();
      } else {
        const value_type& x = one.item();
        const value_type& y = two.item();
        const auto order = x.first <=> y.first;
        if (order == 0 && !equal(x.second, y.second)) told(x.first, &x.second, &y.second);
        if (order < 0) told(x.first, &x.second, static_cast<const Value*>(nullptr));
        if (order > 0) told(y.first, static_cast<const Value*>(nullptr), &y.second);
        if (order <= 0) one.pop();
        if (order >= 0) two.pop();
      }
    }
    one.drain(
        [&](const value_type& x) { told(x.first, &x.second, static_cast<const Value*>(nullptr)); });
    two.drain(
        [&](const value_type& y) { told(y.first, static_cast<const Value*>(nullptr), &y.second); });
  }

  bool operator==(const SharedMap& other) const {
    if (size_ != other.size_) return false;
    bool is_same = true;
    differences(*this, other,
                [&is_same](const Key&, const Value*, const Value*) { is_same = false; });
    return is_same;
  }

 private:
  /// A counted reference to a node.
  class Ref {
   public:
    Ref() = default;
    explicit Ref(Node* node) : node_(node) {}
    Ref(const Ref& other) : node_(other.node_) {
      if (node_ != nullptr) node_->users.fetch_add(1, std::memory_order_relaxed);
    }
    Ref(Ref&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
    Ref& operator=(Ref other) noexcept {
      std::swap(node_, other.node_);
      return *this;
    }
    ~Ref() {
      const bool is_last =
          node_ != nullptr && node_->users.fetch_sub(1, std::memory_order_acq_rel) == 1;
      if (is_last) delete node_;
    }
    explicit operator bool() const { return node_ != nullptr; }
    [[nodiscard]] Node* get() const { return node_; }
    Node& operator*() const { return *node_; }
    Node* operator->() const { return node_; }

   private:
    Node* node_ = nullptr;
  };

  struct Node {
    explicit Node(const Key& key, Value&& value) : item(key, std::move(value)) {
      ++shared_map_nodes_made;
    }
    Node(const Node& other)
        : left(other.left), right(other.right), height(other.height), item(other.item) {
      ++shared_map_nodes_made;
    }
    Node& operator=(const Node&) = delete;

    std::atomic<uint32_t> users{1};
    Ref left;
    Ref right;
    int height = 1;
    value_type item;
  };

  /// The part of a map that a walk has not reached: whole subtrees and single items. The next one
  /// is on top.
  class Rest {
   public:
    explicit Rest(const Node* root) {
      if (root != nullptr) push(root, root->height);
    }
    [[nodiscard]] bool is_over() const { return depth_ == 0; }
    /// The pair for a subtree never equals the pair for its root's item alone: see top_height().
    [[nodiscard]] std::pair<const Node*, bool> top() const {
      return {way_[depth_ - 1].node, way_[depth_ - 1].height > 0};
    }
    /// The height of a subtree; 0 for a single item.
    [[nodiscard]] int top_height() const { return way_[depth_ - 1].height; }
    [[nodiscard]] const value_type& item() const { return way_[depth_ - 1].node->item; }
    void pop() { --depth_; }
    /// Replaces a subtree by its left subtree, its item and its right subtree.
    void open() {
      const Node* const node = way_[--depth_].node;
      if (node->right) push(node->right.get(), node->right->height);
      push(node, 0);
      if (node->left) push(node->left.get(), node->left->height);
    }
    template <class Told>
    void drain(Told&& told) {
      while (!is_over()) {
        if (top_height() > 0) {
          open();
          continue;
        }
        told(item());
        pop();
      }
    }

   private:
    struct Part {
      const Node* node;
      int height;
    };
    void push(const Node* node, int height) {
      GALLEY_CHECK(depth_ < way_.size());
      way_[depth_++] = {node, height};
    }
    std::array<Part, 192> way_;
    size_t depth_ = 0;
  };

  template <class Is>
  [[nodiscard]] const_iterator first_of(Is&& is) const {
    const_iterator it;
    for (const Node* node = root_.get(); node != nullptr;) {
      if (is(node->item.first)) {
        it.push(node);
        node = node->left.get();
      } else {
        node = node->right.get();
      }
    }
    return it;
  }

  /// Moves from `value` when the key is new.
  std::pair<Value*, bool> take_if_new(const Key& key, Value& value) {
    std::pair<Value*, bool> done{nullptr, false};
    put(root_, key, value, done);
    if (done.second) ++size_;
    return done;
  }

  static int height_of(const Ref& link) { return link ? link->height : 0; }

  /// Makes the node safe to change. A node with one user cannot get another meanwhile: only copying
  /// a map that uses it adds a user, and this map is not being copied.
  static void make_unshared(Ref& link) {
    if (link->users.load(std::memory_order_acquire) > 1) link = Ref(new Node(*link));
  }

  static void measure(Node& node) {
    node.height = 1 + std::max(height_of(node.left), height_of(node.right));
  }

  /// Rotates the child on `side` up into the place of its parent.
  static void rotate(Ref& link, Ref Node::*side, Ref Node::*other) {
    make_unshared((*link).*side);
    Ref up = std::move((*link).*side);
    (*link).*side = std::move((*up).*other);
    measure(*link);
    (*up).*other = std::move(link);
    link = std::move(up);
    measure(*link);
  }

  static void rebalance_child(Ref& link, Ref Node::*heavy, Ref Node::*light) {
    Ref& child = (*link).*heavy;
    if (height_of((*child).*light) > height_of((*child).*heavy)) {
      make_unshared(child);
      rotate(child, light, heavy);
    }
    rotate(link, heavy, light);
  }

  static void balance(Ref& link) {
    const int difference = height_of(link->left) - height_of(link->right);
    if (difference > 1) {
      rebalance_child(link, &Node::left, &Node::right);
    } else if (difference < -1) {
      rebalance_child(link, &Node::right, &Node::left);
    } else {
      measure(*link);
    }
  }

  static void put(Ref& link, const Key& key, Value& value, std::pair<Value*, bool>& done) {
    if (!link) {
      link = Ref(new Node(key, std::move(value)));
      done = {&link->item.second, true};
      return;
    }
    make_unshared(link);
    const auto order = key <=> link->item.first;
    if (order == 0) {
      done.first = &link->item.second;
      return;
    }
    put(order < 0 ? link->left : link->right, key, value, done);
    if (done.second) balance(link);
  }

  /// Removes and returns the least node of a subtree.
  static Ref take_smallest(Ref& link) {
    make_unshared(link);
    if (!link->left) {
      Ref least = std::move(link);
      link = std::move(least->right);
      return least;
    }
    Ref least = take_smallest(link->left);
    balance(link);
    return least;
  }

  static void take(Ref& link, const Key& key) {
    make_unshared(link);
    const auto order = key <=> link->item.first;
    if (order != 0) {
      take(order < 0 ? link->left : link->right, key);
    } else if (!link->left || !link->right) {
      Ref rest = link->left ? std::move(link->left) : std::move(link->right);
      link = std::move(rest);
      return;  // the remaining subtree is balanced
    } else {
      Ref next = take_smallest(link->right);
      next->left = std::move(link->left);
      next->right = std::move(link->right);
      link = std::move(next);
    }
    balance(link);
  }

  Ref root_;
  size_t size_ = 0;
};

}  // namespace galley
