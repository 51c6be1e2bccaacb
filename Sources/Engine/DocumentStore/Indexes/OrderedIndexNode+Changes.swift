// Insertion and removal below a node to which only its parent refers.
//
//   1. On the way down, a node is copied if it is shared.
//   2. The leaf is changed in place. If that is not possible, its entries are moved to new nodes.
//   3. On the way up, a parent replaces its changed child with the new nodes. If they do not fit, the
//      parent's own entries are moved to new nodes, too. A child that has become small is merged with its
//      neighbour.
//
// A method that returns pieces has released the node on which it was called. The pieces replace that node.

import ByteStore

extension OrderedIndexNode {
  /// The content size below which a node is merged with its neighbour, unless the merged content would exceed
  /// `mergedBytesMax`.
  private static let smallBytes = contentBytesMax / 4
  private static let mergedBytesMax = contentBytesMax / 4 * 3

  static func leaf(of key: RawSpan, _ ordinal: UInt32) -> OrderedIndexNode {
    var entries = OrderedIndexEntries(level: 0, entries: 1)
    entries.append(key, ordinal)
    return entries.piece(0..<1).node
  }

  /// Returns this node if it has only one reference. Otherwise, releases this node and returns a copy with a
  /// single reference.
  func uniqued() -> OrderedIndexNode {
    guard !isUnique else { return self }
    let copy = copied(spare: spare)
    release()
    return copy
  }

  /// The extra room of a new block, so that not every later insert moves the node.
  private var spare: Int { usedBytes / 8 + Self.entryBytes }

  /// The extra room of a new block for a leaf into which a key is inserted. If keys arrive in ascending
  /// order, the leaf will be filled, so it grows in larger steps.
  private func spare(forInsertAt index: Int) -> Int {
    guard index == count, let lastInsert, lastInsert == count - 1 else { return spare }
    return min(max(usedBytes, spare), max(Self.contentBytesMax - contentBytes, spare))
  }

  /// Returns the child at `index`. A child that is shared, or that was loaded by a stub, is first replaced by
  /// a copy.
  private func uniqueChild(at index: Int) -> OrderedIndexNode {
    let child = child(at: index)
    guard let node = child.loaded else { preconditionFailure("the nodes for a write are loaded") }
    if let own = child.node, own.isUnique { return own }
    let copy = node.copied(spare: node.spare)
    child.release()
    setChild(OrderedIndexChild(copy), at: index)
    return copy
  }

  // MARK: Values

  func setValue(_ ordinal: UInt32, at place: OrderedIndexPlace) {
    var node = self
    while !node.isLeaf { node = node.uniqueChild(at: place.child(onLevel: node.level)) }
    node.setValue(ordinal, at: place.index)
  }

  private func addKeys(_ difference: Int, at index: Int) {
    setValue(UInt32(Int(value(at: index)) + difference), at: index)
  }

  // MARK: Inserting

  func insert(_ key: RawSpan, _ ordinal: UInt32, at place: OrderedIndexPlace) -> [OrderedIndexPiece]? {
    guard !isLeaf else { return insertEntry(key, ordinal, at: place.index) }
    let index = place.child(onLevel: level)
    let child = uniqueChild(at: index)
    if child.isLeaf, let leaf = child.insertInPlace(key, ordinal, at: place.index) {
      if leaf.word != child.word { setChild(OrderedIndexChild(leaf), at: index) }
    } else if let pieces = child.insert(key, ordinal, at: place) {
      return replaceChildren(index..<index + 1, with: pieces)
    }
    addKeys(1, at: index)
    return nil
  }

  /// Inserts an entry into a leaf, and moves the leaf to a larger block if necessary. Returns the leaf, or
  /// nil if it must be rewritten.
  private func insertInPlace(_ key: RawSpan, _ ordinal: UInt32, at index: Int) -> OrderedIndexNode? {
    guard let growth = growth(with: key), contentBytes + growth <= Self.contentBytesMax else { return nil }
    let leaf =
      hasRoom(for: growth) ? self : reallocated(spare: growth + spare(forInsertAt: index))
    leaf.insertEntry(key, ordinal, child: nil, at: index)
    return leaf
  }

  private func insertEntry(_ key: RawSpan, _ ordinal: UInt32, at index: Int) -> [OrderedIndexPiece]? {
    let before = word
    if let leaf = insertInPlace(key, ordinal, at: index) {
      return leaf.word == before ? nil : [OrderedIndexPiece(bound: [], node: leaf)]
    }
    var entries = OrderedIndexEntries(level: 0)
    entries.append(self, 0..<index)
    entries.append(key, ordinal)
    entries.append(self, index..<count)
    let split = split(forInsertAt: index)
    release()
    return entries.write(split: split, spare: 64)
  }

  /// Returns the preferred index for splitting a leaf at an insert, or nil for a split into halves. The
  /// preferred index leaves full nodes if keys are inserted in ascending or descending order.
  private func split(forInsertAt index: Int) -> Int? {
    if index == count { return index }
    if index == 0 { return 1 }
    guard let lastInsert else { return nil }
    if index == lastInsert + 1 { return index + 1 }
    return index == lastInsert ? index : nil
  }

  // MARK: Removing

  func removeEntry(at place: OrderedIndexPlace) -> [OrderedIndexPiece]? {
    guard !isLeaf else {
      removeEntry(at: place.index)
      guard capacity > 256, capacity > 2 * usedBytes else { return nil }
      return [OrderedIndexPiece(bound: [], node: reallocated(spare: spare))]
    }
    let index = place.child(onLevel: level)
    if let pieces = uniqueChild(at: index).removeEntry(at: place) {
      if let pieces = replaceChildren(index..<index + 1, with: pieces) { return pieces }
    } else {
      addKeys(-1, at: index)
    }
    return mergeChild(at: index)
  }

  static func neighbour(of index: Int) -> Int { index > 0 ? index - 1 : 1 }

  /// Returns whether the removal may need the neighbour of this node. The result can be true although the
  /// neighbour is not needed in the end, but never the reverse.
  func mayMerge(afterRemovalAt place: OrderedIndexPlace) -> Bool {
    guard isLeaf else {
      return contentBytes < Self.smallBytes + Self.entryBytes + OrderedIndex.keyBytesMax || count == 2
    }
    return contentBytes - shrinkage(at: place.index) < Self.smallBytes
  }

  private func mergeChild(at index: Int) -> [OrderedIndexPiece]? {
    guard let child = child(at: index).node else { preconditionFailure("a child that changed is a node") }
    if child.count == 0 {
      child.release()
      if index == 0 { removeFirstChild() } else { removeEntry(at: index) }
      return nil
    }
    let hasSingleChild = !child.isLeaf && child.count == 1
    guard child.contentBytes < Self.smallBytes || hasSingleChild else { return nil }
    let neighbourIndex = Self.neighbour(of: index)
    guard let neighbour = self.child(at: neighbourIndex).loaded else {
      preconditionFailure("the nodes for a removal are loaded")
    }
    guard child.contentBytes + neighbour.contentBytes <= Self.mergedBytesMax || hasSingleChild else {
      return nil
    }
    let left = min(index, neighbourIndex)
    let pair = (child: left == index ? child : neighbour, next: left == index ? neighbour : child)
    var entries = OrderedIndexEntries(level: child.level)
    entries.append(pair.child, 0..<pair.child.count)
    entries.append(pair.next, 0..<pair.next.count, bound: key(at: left + 1))
    self.child(at: left).release()
    self.child(at: left + 1).release()
    return replaceChildren(left..<left + 2, with: entries.write(spare: 64))
  }

  /// Frees a node and returns its only child.
  func takeOnlyChild() -> OrderedIndexNode {
    precondition(isUnique && count == 1)
    let child = child(at: 0)
    guard let node = child.loaded else { preconditionFailure("the nodes for a removal are loaded") }
    node.retain()
    release()
    return node
  }

  // MARK: Children

  /// Replaces children with pieces. The references to the children must already be released. Returns the
  /// pieces that replace this node, or nil if the node stays.
  private func replaceChildren(
    _ range: Range<Int>, with pieces: [OrderedIndexPiece]
  ) -> [OrderedIndexPiece]? {
    let first = range.lowerBound
    setChild(OrderedIndexChild(pieces[0].node), at: first)
    setValue(UInt32(pieces[0].node.keys), at: first)
    for _ in range.dropFirst() { removeEntry(at: first + 1) }
    for (offset, piece) in pieces.enumerated().dropFirst() {
      guard insertChild(piece, at: first + offset) else {
        return rebuilt(inserting: pieces[offset...], at: first + offset)
      }
    }
    return nil
  }

  /// Inserts a child in place. Returns false if that is not possible.
  private func insertChild(_ piece: OrderedIndexPiece, at index: Int) -> Bool {
    guard let growth = growth(with: piece.bound.rawSpan), contentBytes + growth <= Self.contentBytesMax,
      hasRoom(for: growth)
    else { return false }
    insertEntry(
      piece.bound.rawSpan, UInt32(piece.node.keys), child: OrderedIndexChild(piece.node), at: index)
    return true
  }

  private func rebuilt(
    inserting pieces: ArraySlice<OrderedIndexPiece>, at index: Int
  ) -> [OrderedIndexPiece] {
    var entries = OrderedIndexEntries(level: level)
    entries.append(self, 0..<index)
    for piece in pieces { entries.append(piece) }
    entries.append(self, index..<count)
    // Children that are inserted in ascending or descending order leave full nodes, too. The split keeps each
    // new child in one node with the child from which it was split.
    let split = index == count ? entries.count - 2 : index == 1 ? 2 : nil
    let spare = spare
    release()
    return entries.write(split: split, spare: spare)
  }
}
