// An ordered map from byte strings to ordinals, in memory: a B+tree of which every copy is a frozen state.
//
// Invariants (`invariantBroken()` looks at those that memory can tell):
//   - All leaves are on level 0, and a child is one level below its parent.
//   - No node is empty, and an inner node has two children at least.
//   - A child's keys lie between its bound and that of the next child.
//   - Every node fits on a page.
//   - What is shared is not written to: the tree belongs to one index if nobody else refers to it, and a node
//     to its parent.
//
// A copy shares everything with the original. The first write after it copies the nodes on its way from the
// root to a leaf; the next writes to the same nodes write in place.
//
// Nodes may still be on disk, see OrderedIndexPages. They are loaded when they are touched, and kept. A write
// loads all it needs first: it changes nothing if that fails.

import ByteStore
internal import CSanitizer

struct OrderedIndex: Sendable {
  /// The longest key: an inner node has room for five of them, and can be split if there is one more.
  static let keyBytesMax = 768

  /// The number of keys.
  private(set) var count: Int
  /// Nil if there are no keys.
  private(set) var tree: OrderedIndexTree?

  init() { count = 0 }

  /// Takes over the node.
  init(root: OrderedIndexNode?) {
    count = root?.keys ?? 0
    tree = root.map { OrderedIndexTree($0) }
  }

  var isEmpty: Bool { count == 0 }

  /// The floors of nodes; a lookup touches as many.
  var depth: Int {
    guard let tree else { return 0 }
    defer { tree.endRead() }
    return tree.root.level + 1
  }

  // MARK: Finding

  func ordinal(of key: RawSpan) throws(DocumentStoreError) -> UInt32? {
    guard let tree else { return nil }
    defer { tree.endRead() }
    var way = OrderedIndexWay(tree.root)
    while !way.node.isLeaf { try way.descend(to: way.node.childIndex(of: key)) }
    let (index, isFound) = way.node.search(key, from: 0)
    return isFound ? way.node.value(at: index) : nil
  }

  /// Has the leaf of a key in memory, so that a change will find it there.
  func load(leafOf key: RawSpan) throws(DocumentStoreError) {
    guard let tree else { return }
    defer { tree.endRead() }
    var way = OrderedIndexWay(tree.root)
    while !way.node.isLeaf {
      let index = way.node.childIndex(of: key)
      // One that is in memory need not be looked at.
      if way.node.level == 1, way.node.child(at: index).loaded != nil { return }
      try way.descend(to: index)
    }
  }

  // MARK: Changing

  /// Adds a key, or gives another ordinal to one that is there. The ordinal that it had before.
  @discardableResult
  mutating func insert(_ key: RawSpan, _ ordinal: UInt32) throws(DocumentStoreError) -> UInt32? {
    precondition((1...Self.keyBytesMax).contains(key.byteCount), "a key has 1 to 768 bytes")
    guard !isEmpty else {
      self = OrderedIndex(root: .leaf(of: key, ordinal))
      return nil
    }
    let place = try place(of: key)
    if let old = place.ordinal {
      if old != ordinal { ownTree().root.setValue(ordinal, at: place) }
      return old
    }
    precondition(count < UInt32.max, "an index holds fewer than 2^32 keys")
    ownTree().replaceRoot { $0.insert(key, ordinal, at: place) }
    count += 1
    return nil
  }

  /// Removes a key. The ordinal that it had, or nil if it was not there.
  @discardableResult
  mutating func remove(_ key: RawSpan) throws(DocumentStoreError) -> UInt32? {
    guard !isEmpty, case let place = try place(of: key), let ordinal = place.ordinal else { return nil }
    try loadNeighbours(of: place)
    count -= 1
    if count == 0 {
      tree = nil
    } else {
      ownTree().replaceRoot { $0.removeEntry(at: place) }
    }
    return ordinal
  }

  /// The tree, which only this index refers to now.
  private mutating func ownTree() -> OrderedIndexTree {
    if !isKnownUniquelyReferenced(&tree) {
      guard let shared = tree else { preconditionFailure("an index with keys has a tree") }
      shared.root.retain()
      tree = OrderedIndexTree(shared.root)
      shared.endRead()
    }
    guard let tree else { preconditionFailure("an index with keys has a tree") }
    tree.beginWrite()
    tree.makeRootUnique()
    return tree
  }
}

/// Holds the root for all copies of an index.
///
/// Reads and writes of a tree, and of the nodes that only it refers to, never meet. A thread that reads holds a reference
/// from before until after (`endRead`). A thread that writes holds the only reference (`isKnownUniquelyReferenced`), and has
/// it from a lock. A reader gives its reference up with a release, and the look at the count is an acquire: so all that it
/// read comes before the write. New references are copies of the writer's own, which it makes under its lock.
///
/// The thread sanitizer does not see the counts, which are the runtime's, and would report each write after a read of
/// another thread. `endRead` and `beginWrite` tell it of this order and of no other: a write to a tree that others still
/// read is reported on.
final class OrderedIndexTree: @unchecked Sendable {
  // An index writes to a tree only if no other refers to it; that is what makes it Sendable.

  private(set) var root: OrderedIndexNode

  init(_ root: OrderedIndexNode) { self.root = root }

  deinit {
    // The last reference is given up after all others, in the same order.
    unsafe dugout_order_acquire(address)
    root.release()
  }

  /// The end of a look at the tree or at its nodes: the reference is held until here.
  func endRead() { withExtendedLifetime(self) { unsafe dugout_order_release(address) } }

  /// To be called with the only reference there is.
  func beginWrite() { unsafe dugout_order_acquire(address) }

  private var address: UnsafeMutableRawPointer { unsafe Unmanaged.passUnretained(self).toOpaque() }

  func makeRootUnique() { root = root.madeUnique() }

  /// `change` puts nodes in the root's place, or answers nil if the root is still the root.
  func replaceRoot(_ change: (OrderedIndexNode) -> [OrderedIndexPiece]?) {
    if let pieces = change(root) { root = .root(over: pieces) }
    while !root.isLeaf, root.count == 1 { root = root.takeOnlyChild() }
  }
}

/// Where a key is, or would be: the child on each level, and the entry of the leaf.
struct OrderedIndexPlace {
  var children = SIMD32<UInt16>()
  var index = 0
  /// Nil if the key is not there.
  var ordinal: UInt32?

  func child(onLevel level: Int) -> Int { Int(children[level]) }
}

/// The way down from the root, with what a node that has to be loaded must lie between.
struct OrderedIndexWay {
  private(set) var node: OrderedIndexNode
  private(set) var bounds = OrderedIndexBounds()

  init(_ root: OrderedIndexNode) { node = root }

  mutating func descend(to index: Int) throws(DocumentStoreError) {
    let child = node.child(at: index)
    bounds.narrow(node, index)
    guard let inMemory = child.inMemory, let next = inMemory.node else {
      node = try load(child)
      return
    }
    if node.level == 1 { inMemory.touchFront() }
    node = next
  }

  /// A child that is on disk is wanted soon.
  func startReading(childAt index: Int) {
    guard (0..<node.count).contains(index), let stub = node.child(at: index).stub, stub.child == nil else {
      return
    }
    stub.source.startReading(stub)
  }

  /// The neighbour of the child at `index`, without going there.
  func load(childAt index: Int) throws(DocumentStoreError) {
    var way = self
    try way.descend(to: index)
  }

  @inline(never)
  private func load(_ child: OrderedIndexChild) throws(DocumentStoreError) -> OrderedIndexNode {
    guard let stub = child.stub else { preconditionFailure("a child that is no stub is in memory") }
    return stub.publish(try stub.source.node(of: stub, within: bounds))
  }
}

/// Keys of inner nodes that the keys of a node below them lie between.
struct OrderedIndexBounds {
  /// Not above any key.
  private var lower: (node: OrderedIndexNode, index: Int)?
  /// Above all keys.
  private var upper: (node: OrderedIndexNode, index: Int)?

  mutating func narrow(_ node: OrderedIndexNode, _ index: Int) {
    if index > 0 { lower = (node, index) }
    if index + 1 < node.count { upper = (node, index + 1) }
  }

  func hold(_ node: OrderedIndexNode) -> Bool {
    let first = node.isLeaf ? 0 : 1
    guard first < node.count else { return true }
    if let lower {
      let bound = lower.node.key(at: lower.index)
      let key = node.key(at: first)
      // The bound of a second child is above the keys of the first.
      if key.rawSpan.precedes(bound.rawSpan) || !node.isLeaf && key == bound { return false }
    }
    if let upper {
      let bound = upper.node.key(at: upper.index)
      if !node.key(at: node.count - 1).rawSpan.precedes(bound.rawSpan) { return false }
    }
    return true
  }
}

// A reference to the tree that outlives one of these would make the next write copy.
extension OrderedIndex {
  private func place(of key: RawSpan) throws(DocumentStoreError) -> OrderedIndexPlace {
    guard let tree else { return OrderedIndexPlace() }
    defer { tree.endRead() }
    var way = OrderedIndexWay(tree.root)
    var place = OrderedIndexPlace()
    while !way.node.isLeaf {
      let index = way.node.childIndex(of: key)
      place.children[way.node.level] = UInt16(index)
      try way.descend(to: index)
    }
    let (index, isFound) = way.node.search(key, from: 0)
    place.index = index
    if isFound { place.ordinal = way.node.value(at: index) }
    return place
  }

  /// Loads what the removal of an entry might merge the nodes on its way with.
  private func loadNeighbours(of place: OrderedIndexPlace) throws(DocumentStoreError) {
    guard let tree else { return }
    defer { tree.endRead() }
    var way = OrderedIndexWay(tree.root)
    while !way.node.isLeaf {
      let parent = way
      let index = place.child(onLevel: way.node.level)
      try way.descend(to: index)
      guard way.node.mayMerge(afterRemovalAt: place) else { continue }
      try parent.load(childAt: OrderedIndexNode.neighbour(of: index))
    }
  }
}
