// Checks the invariants of an index, for the nodes in memory.

import ByteStore

extension OrderedIndex {
  func checkInvariants() {
    if let broken = invariantBroken() { preconditionFailure(broken) }
  }

  /// Returns a description of the first violated invariant, or nil if there is none.
  func invariantBroken() -> String? {
    guard let tree else { return count == 0 ? nil : "an index without a tree has keys" }
    defer { tree.endRead() }
    guard count == tree.root.keys, count > 0 else { return "an index counts its keys wrongly" }
    return tree.root.invariantBroken(below: OrderedIndexBounds())
  }

  /// The number of all nodes, the number of nodes in memory, and the size of the blocks of the nodes in
  /// memory.
  var memory: (nodes: Int, loadedNodes: Int, bytes: Int) {
    var nodes = (all: 0, loaded: 0, bytes: 0)
    func visit(_ node: OrderedIndexNode) {
      nodes.all += 1
      nodes.loaded += 1
      nodes.bytes += node.capacity
      guard !node.isLeaf else { return }
      for index in 0..<node.count {
        if let child = node.child(at: index).loaded { visit(child) } else { nodes.all += 1 }
      }
    }
    guard let tree else { return (0, 0, 0) }
    defer { tree.endRead() }
    visit(tree.root)
    return (nodes.all, nodes.loaded, nodes.bytes)
  }
}

extension OrderedIndexNode {
  fileprivate func invariantBroken(below bounds: OrderedIndexBounds) -> String? {
    guard count >= (isLeaf ? 1 : 2) else { return "a node has too few entries" }
    guard contentBytes <= Self.contentBytesMax, usedBytes <= capacity else { return "a node is too large" }
    guard hasValidLayout, hasAscendingKeys else { return "a node's keys are out of order" }
    guard bounds.hold(self) else { return "a node has keys outside its bounds" }
    guard !isLeaf else { return nil }
    for index in 0..<count {
      let child = child(at: index)
      guard let node = child.loaded else {
        guard let stub = child.stub, stub.level == level - 1, stub.keys == value(at: index) else {
          return "a stub refers to another node"
        }
        continue
      }
      guard node.level == level - 1 else { return "a child is on the wrong level" }
      guard node.keys == Int(value(at: index)) else { return "a node counts a child's keys wrongly" }
      var below = bounds
      below.narrow(self, index)
      if let broken = node.invariantBroken(below: below) { return broken }
    }
    return nil
  }
}
