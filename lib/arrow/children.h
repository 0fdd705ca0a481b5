// Children: the structures below one of Arrow's, with the pointers to them that it asks for.
#ifndef CISTERN_ARROW_CHILDREN_H_
#define CISTERN_ARROW_CHILDREN_H_

#include <cstddef>
#include <vector>

namespace cistern {

// Node: ArrowSchema or ArrowArray. Releases, at its end, those that were filled in and that nobody
// moved away. Stays where it is, as the pointers do.
template <typename Node>
class Children {
 public:
  explicit Children(size_t count) : nodes_(count), pointers_(count) {
    for (size_t i = 0; i < count; ++i) pointers_[i] = &nodes_[i];
  }
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;
  ~Children() {
    for (Node& node : nodes_) {
      if (node.release != nullptr) node.release(&node);
    }
  }

  [[nodiscard]] size_t size() const { return nodes_.size(); }
  [[nodiscard]] Node* operator[](size_t i) { return &nodes_[i]; }
  // Null where there are none.
  [[nodiscard]] Node** pointers() { return pointers_.empty() ? nullptr : pointers_.data(); }

 private:
  std::vector<Node> nodes_;  // zeroed, and so released
  std::vector<Node*> pointers_;
};

}  // namespace cistern

#endif  // CISTERN_ARROW_CHILDREN_H_
