// Encodes an immutable index as consecutive pages, for a checkpoint.
//
// All inner nodes are loaded in order to number the pages; there are few of them. A leaf that is on disk is
// copied from the old checkpoint to the new one, and is not kept in memory.

import ByteStore

struct OrderedIndexPages: Sendable {
  private struct Parent {
    var way: OrderedIndexPath
    /// The page number of the node's first child.
    var firstChild: Int
  }

  private let index: OrderedIndex
  /// All inner nodes, by page number.
  private var parents: [Parent] = []
  private var firstParentOfLeaves = 0
  private(set) var count = 1

  init(_ index: OrderedIndex) throws(DocumentStoreError) {
    self.index = index
    defer { index.tree?.endRead() }
    guard let root = index.tree?.root, !root.isLeaf else { return }
    parents = [Parent(way: OrderedIndexPath(root), firstChild: 1)]
    var floor = 0..<1
    while true {
      for parent in floor {
        parents[parent].firstChild = count
        count += parents[parent].way.node.count
      }
      guard parents[floor.lowerBound].way.node.level > 1 else { break }
      for parent in floor {
        for child in 0..<parents[parent].way.node.count {
          var way = parents[parent].way
          try way.descend(to: child)
          parents.append(Parent(way: way, firstChild: 0))
        }
      }
      floor = floor.upperBound..<parents.count
    }
    firstParentOfLeaves = floor.lowerBound
  }

  /// Returns the content of a page, which has at most 4088 bytes.
  func payload(ofPage page: Int) throws(DocumentStoreError) -> [UInt8] {
    precondition((0..<count).contains(page), "a page of the index")
    // The index keeps the nodes alive until the read ends.
    defer { index.tree?.endRead() }
    if page == 0 { return root }
    if page < parents.count { return Self.encoded(parents[page].way.node, parents[page].firstChild) }
    let parent = parents[parentIndex(ofLeaf: page)]
    let child = parent.way.node.child(at: page - parent.firstChild)
    if let node = child.loaded { return Self.encoded(node, 0) }
    guard let stub = child.stub else { preconditionFailure("a child that is not loaded is a stub") }
    var bounds = parent.way.bounds
    bounds.narrow(parent.way.node, page - parent.firstChild)
    let node = try stub.source.node(of: stub, within: bounds)
    defer { node.release() }
    return Self.encoded(node, 0)
  }

  private var root: [UInt8] {
    var payload: [UInt8] = []
    payload.reserveCapacity(OrderedIndexFormat.payloadBytesMax)
    payload.append(littleEndian: OrderedIndexFormat.version)
    payload.append(littleEndian: UInt16(0))
    payload.append(littleEndian: UInt32(count))
    payload.append(littleEndian: UInt64(index.count))
    if let root = index.tree?.root { Self.append(root, parents.first?.firstChild ?? 0, to: &payload) }
    return payload
  }

  /// Returns the index of the last parent whose first child is on this page or on an earlier one.
  private func parentIndex(ofLeaf page: Int) -> Int {
    var low = firstParentOfLeaves
    var high = parents.count
    while high - low > 1 {
      let middle = (low + high) / 2
      if parents[middle].firstChild <= page { low = middle } else { high = middle }
    }
    return low
  }

  private static func encoded(_ node: OrderedIndexNode, _ firstChild: Int) -> [UInt8] {
    var payload: [UInt8] = []
    payload.reserveCapacity(OrderedIndexFormat.payloadBytesMax)
    append(node, firstChild, to: &payload)
    return payload
  }

  private static func append(_ node: OrderedIndexNode, _ firstChild: Int, to payload: inout [UInt8]) {
    payload.append(UInt8(node.level))
    payload.append(0)
    payload.append(littleEndian: UInt16(node.count))
    payload.append(littleEndian: UInt16(node.prefixBytes))
    payload.append(littleEndian: UInt16(node.tailBytes))
    payload.append(littleEndian: UInt32(firstChild))
    node.appendContent(to: &payload)
    assert(payload.count <= OrderedIndexFormat.payloadBytesMax)
  }
}
