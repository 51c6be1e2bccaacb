// An ordered map from byte strings to ordinals: an in-memory, copy-on-write B+tree.
//
// Every copy is an immutable snapshot.
//
// Invariants (`invariantBroken()` checks the nodes in memory):
//   - All leaves are on level 0, and a child is one level below its parent.
//   - No node is empty, and an inner node has at least two children.
//   - A child's keys lie between its bound and the bound of the next child.
//   - Every node fits on a page.
//   - Shared parts are never written. An index writes to a tree only while the index holds the only reference
//     to the tree. It writes to a node only while the node's parent holds the only reference to the node.
//
// A copy shares all nodes with the original. The first write after a copy clones the nodes on the path from
// the root to a leaf. Later writes to these nodes work in place.
//
// Nodes can be on disk (see OrderedIndexPages). A node is loaded on first access and then stays in memory. A
// write first loads all nodes that it needs, so a failed load leaves the index unchanged.

import ByteStore
internal import CSanitizer

struct OrderedIndex: Sendable {
  /// Maximum key length. Five keys of this length fit into an inner node, so a node with one more key can be
  /// split.
  static let keyBytesMax = 768

  /// The number of keys.
  private(set) var count: Int
  /// Nil if the index is empty.
  private(set) var tree: OrderedIndexTree?
  /// The stubs for nodes on disk; nil if the index was created in memory.
  private let stubs: OrderedIndexStubCount?

  init() {
    count = 0
    stubs = nil
  }

  /// Creates an index with this root and takes ownership of the node.
  init(root: OrderedIndexNode?, stubs: OrderedIndexStubCount? = nil) {
    count = root?.keys ?? 0
    tree = root.map { OrderedIndexTree($0) }
    self.stubs = stubs
  }

  var isEmpty: Bool { count == 0 }

  /// Whether no change needs to read a node from disk.
  var isLoaded: Bool { stubs?.isZero ?? true }

  /// The number of levels, which is the number of nodes that a lookup visits.
  var depth: Int {
    guard let tree else { return 0 }
    defer { tree.endRead() }
    return tree.root.level + 1
  }

  // MARK: Finding

  func ordinal(of key: RawSpan) throws(DocumentStoreError) -> UInt32? {
    guard let tree else { return nil }
    defer { tree.endRead() }
    var path = OrderedIndexPath(tree.root)
    while !path.node.isLeaf { try path.descend(to: path.node.childIndex(of: key)) }
    let (index, isFound) = path.node.search(key, from: 0)
    return isFound ? path.node.value(at: index) : nil
  }

  /// Loads the leaf of a key, so that a later change finds it in memory.
  func load(leafOf key: RawSpan) throws(DocumentStoreError) {
    guard let tree, !isLoaded else { return }
    defer { tree.endRead() }
    var path = OrderedIndexPath(tree.root)
    while !path.node.isLeaf {
      let index = path.node.childIndex(of: key)
      // Do not touch a leaf that is already in memory.
      if path.node.level == 1, path.node.child(at: index).loaded != nil { return }
      try path.descend(to: index)
    }
  }

  // MARK: Changing

  /// Inserts a key, or changes the ordinal of an existing key. Returns the previous ordinal, or nil for a new
  /// key.
  @discardableResult
  mutating func insert(_ key: RawSpan, _ ordinal: UInt32) throws(DocumentStoreError) -> UInt32? {
    precondition((1...Self.keyBytesMax).contains(key.byteCount), "a key has 1 to 768 bytes")
    guard !isEmpty else {
      self = OrderedIndex(root: .leaf(of: key, ordinal))
      return nil
    }
    let place = try place(of: key)
    if let old = place.ordinal {
      if old != ordinal { uniqueTree().root.setValue(ordinal, at: place) }
      return old
    }
    precondition(count < UInt32.max, "an index holds fewer than 2^32 keys")
    uniqueTree().replaceRoot { $0.insert(key, ordinal, at: place) }
    count += 1
    return nil
  }

  /// Removes a key. Returns the key's ordinal, or nil if the key did not exist.
  @discardableResult
  mutating func remove(_ key: RawSpan) throws(DocumentStoreError) -> UInt32? {
    guard !isEmpty, case let place = try place(of: key), let ordinal = place.ordinal else { return nil }
    try loadNeighbours(of: place)
    count -= 1
    if count == 0 {
      tree = nil
    } else {
      uniqueTree().replaceRoot { $0.removeEntry(at: place) }
    }
    return ordinal
  }

  /// Returns the tree for writing. If other indexes share the tree, this index first gets its own tree.
  private mutating func uniqueTree() -> OrderedIndexTree {
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
/// Synchronization: a reader of the tree holds a reference until it calls `endRead`. A writer must hold the
/// only reference (`isKnownUniquelyReferenced`), under a lock. Dropping a reference is a release, and
/// checking the count is an acquire, so all earlier reads happen before the write. A new reference is a copy
/// of the writer's own reference, taken under the writer's lock, or of one that a reader holds. Queries hold
/// the reference of a view that they share.
///
/// The thread sanitizer does not see the runtime's reference counts and would report each such write.
/// `endRead` and `beginWrite` announce exactly this ordering to the sanitizer. It can therefore still report
/// writes to a tree that is being read.
final class OrderedIndexTree: @unchecked Sendable {
  // Sendable, because an index only writes to a tree that it alone references.

  private(set) var root: OrderedIndexNode

  init(_ root: OrderedIndexNode) { self.root = root }

  deinit {
    // All other references were dropped before the last one. This call announces that ordering to the thread
    // sanitizer, too.
    unsafe dugout_order_acquire(address)
    root.release()
  }

  /// Ends a read of the tree or its nodes. The reference to the tree is kept at least until this call.
  func endRead() { withExtendedLifetime(self) { unsafe dugout_order_release(address) } }

  /// Announces a write to the thread sanitizer. The caller must hold the only reference to the tree.
  func beginWrite() { unsafe dugout_order_acquire(address) }

  private var address: UnsafeMutableRawPointer { unsafe Unmanaged.passUnretained(self).toOpaque() }

  func makeRootUnique() { root = root.uniqued() }

  /// Replaces the root. `change` returns the nodes that replace the root, or nil if the root stays.
  func replaceRoot(_ change: (OrderedIndexNode) -> [OrderedIndexPiece]?) {
    if let pieces = change(root) { root = .root(over: pieces) }
    while !root.isLeaf, root.count == 1 { root = root.takeOnlyChild() }
  }
}

/// The position of a key: the child on each level, and the entry in the leaf.
struct OrderedIndexPlace {
  var children = SIMD32<UInt16>()
  var index = 0
  /// The ordinal of the key; nil if the key does not exist.
  var ordinal: UInt32?

  func child(onLevel level: Int) -> Int { Int(children[level]) }
}

/// The path from the root to a node, with the bounds that a loaded child must satisfy.
struct OrderedIndexPath {
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

  /// Starts to prefetch a child from disk.
  func startReading(childAt index: Int) {
    guard (0..<node.count).contains(index), let stub = node.child(at: index).stub, stub.child == nil else {
      return
    }
    stub.source.startReading(stub)
  }

  /// Loads a child without extending this path to the child.
  func load(childAt index: Int) throws(DocumentStoreError) {
    var path = self
    try path.descend(to: index)
  }

  @inline(never)
  private func load(_ child: OrderedIndexChild) throws(DocumentStoreError) -> OrderedIndexNode {
    guard let stub = child.stub else { preconditionFailure("a child that is no stub is in memory") }
    return stub.publish(try stub.source.node(of: stub, within: bounds))
  }
}

/// Bounds for the keys of a node, as references to keys of its ancestors.
struct OrderedIndexBounds {
  /// A lower bound: a key that is less than or equal to all keys of the node.
  private var lower: (node: OrderedIndexNode, index: Int)?
  /// An upper bound: a key that is greater than all keys of the node.
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
      // In an inner node, the first key is the bound of the second child. This bound is greater than all keys
      // of the first child, so it cannot equal the lower bound.
      if key.rawSpan.precedes(bound.rawSpan) || !node.isLeaf && key == bound { return false }
    }
    if let upper {
      let bound = upper.node.key(at: upper.index)
      if !node.key(at: node.count - 1).rawSpan.precedes(bound.rawSpan) { return false }
    }
    return true
  }
}

// In these functions, no reference to the tree may outlive the call. Otherwise, the next write would have to
// copy nodes.
extension OrderedIndex {
  private func place(of key: RawSpan) throws(DocumentStoreError) -> OrderedIndexPlace {
    guard let tree else { return OrderedIndexPlace() }
    defer { tree.endRead() }
    var path = OrderedIndexPath(tree.root)
    var place = OrderedIndexPlace()
    while !path.node.isLeaf {
      let index = path.node.childIndex(of: key)
      place.children[path.node.level] = UInt16(index)
      try path.descend(to: index)
    }
    let (index, isFound) = path.node.search(key, from: 0)
    place.index = index
    if isFound { place.ordinal = path.node.value(at: index) }
    return place
  }

  /// Loads the siblings with which nodes may be merged when the entry is removed.
  private func loadNeighbours(of place: OrderedIndexPlace) throws(DocumentStoreError) {
    guard let tree else { return }
    defer { tree.endRead() }
    var path = OrderedIndexPath(tree.root)
    while !path.node.isLeaf {
      let parent = path
      let index = place.child(onLevel: path.node.level)
      try path.descend(to: index)
      guard path.node.mayMerge(afterRemovalAt: place) else { continue }
      try parent.load(childAt: OrderedIndexNode.neighbour(of: index))
    }
  }
}
