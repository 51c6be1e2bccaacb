// A buffer of entries for new nodes, with whole keys. Nodes are written from it when a node splits, when two
// nodes merge, and when a level is built.
//
// The buffer owns references to the children among its entries until it writes them to nodes.

import ByteStore

/// A written node, with a lower bound of its keys. The bound is greater than all keys of the preceding nodes.
struct OrderedIndexPiece {
  var bound: [UInt8]
  var node: OrderedIndexNode
}

@safe
struct OrderedIndexEntries: ~Copyable {
  private struct Item: BitwiseCopyable {
    var start: Int
    var keyBytes: Int
    var value: UInt32
    var child: OrderedIndexChild?
  }

  let level: Int
  private(set) var count = 0
  private var items: UnsafeMutablePointer<Item>
  private var itemsMax: Int
  /// The keys one after another. The space after the last key is uninitialized and may be written.
  private var bytes: UnsafeMutableRawPointer
  private var bytesMax: Int
  private var bytesUsed = 0

  init(level: Int, entries: Int = 256) {
    self.level = level
    itemsMax = max(entries, 8)
    unsafe items = .allocate(capacity: itemsMax)
    bytesMax = 40 * itemsMax
    unsafe bytes = .allocate(byteCount: bytesMax, alignment: 8)
  }

  deinit {
    unsafe items.deallocate()
    unsafe bytes.deallocate()
  }

  private var isLeaf: Bool { level == 0 }

  // MARK: Collecting

  mutating func append(_ key: RawSpan, _ value: UInt32, child: OrderedIndexChild? = nil) {
    let target = unsafe room(for: key.byteCount)
    unsafe key.withUnsafeBytes { source in
      guard let start = source.baseAddress else { return }
      unsafe target.copyMemory(from: start, byteCount: source.count)
    }
    add(key.byteCount, value, child: child)
  }

  mutating func append(_ piece: OrderedIndexPiece) {
    append(piece.bound.rawSpan, UInt32(piece.node.keys), child: OrderedIndexChild(piece.node))
  }

  /// Appends entries of a node and retains their children. `bound` is the key of the node's first child.
  mutating func append(_ node: OrderedIndexNode, _ range: Range<Int>, bound: [UInt8] = []) {
    guard isLeaf else {
      for index in range { appendChild(index, of: node, bound: bound) }
      return
    }
    guard !range.isEmpty else { return }
    precondition(range.lowerBound >= 0 && range.upperBound <= node.count, "entries of the node")
    let arrays = unsafe node.arrays(count: node.count)
    let (prefix, prefixBytes) = unsafe (node.prefix, node.prefixBytes)
    let end = unsafe node.end
    var tailsEnd = node.tailsEnd(before: range.lowerBound)
    let tailBytes = node.tailsEnd(before: range.upperBound) - tailsEnd
    var target = unsafe room(
      for: (prefixBytes + OrderedIndexNode.headBytesMax) * range.count + tailBytes)
    while count + range.count > itemsMax { growItems() }
    for index in range {
      let place = unsafe Int(arrays.places[index])
      let (headBytes, tailBytes) = (place & 15, place >> 4 - tailsEnd)
      tailsEnd = place >> 4
      unsafe target.copyMemory(from: prefix, byteCount: prefixBytes)
      let head = unsafe target + prefixBytes
      // Also writes the bytes after a short head, which the next key or its tail overwrites.
      unsafe head.storeBytes(of: arrays.heads[index].bigEndian, as: UInt32.self)
      if tailBytes > 0 { unsafe (head + headBytes).copyMemory(from: end - tailsEnd, byteCount: tailBytes) }
      let keyBytes = prefixBytes + headBytes + tailBytes
      unsafe target += keyBytes
      unsafe items[count] = Item(
        start: bytesUsed, keyBytes: keyBytes, value: arrays.values[index], child: nil)
      count += 1
      bytesUsed += keyBytes
    }
  }

  private mutating func appendChild(_ index: Int, of node: OrderedIndexNode, bound: [UInt8]) {
    let child = node.child(at: index)
    child.retain()
    guard index > 0 else { return append(bound.rawSpan, node.value(at: index), child: child) }
    let keyBytes = node.keyBytes(at: index)
    let target = unsafe room(for: keyBytes)
    unsafe node.writeKey(at: index, to: target)
    add(keyBytes, node.value(at: index), child: child)
  }

  mutating func setLastValue(_ value: UInt32) {
    precondition(count > 0)
    unsafe items[count - 1].value = value
  }

  /// Returns the length of the common prefix of a key and the last key, and how the key compares to the last
  /// key.
  func comparedWithLast(_ key: RawSpan) -> (commonBytes: Int, order: OrderedIndexKey.Order) {
    precondition(count > 0)
    let last = unsafe items[count - 1]
    return unsafe key.withUnsafeBytes { key in
      guard let start = key.baseAddress else { return (0, .before) }
      let shorter = min(key.count, last.keyBytes)
      let common = unsafe OrderedIndexKey.commonBytes(bytes + last.start, start, bytes: shorter)
      guard common == shorter else {
        return unsafe (
          common,
          start.load(fromByteOffset: common, as: UInt8.self)
            > bytes.load(fromByteOffset: last.start + common, as: UInt8.self) ? .after : .before
        )
      }
      return (common, key.count == last.keyBytes ? .same : key.count > last.keyBytes ? .after : .before)
    }
  }

  private mutating func add(_ keyBytes: Int, _ value: UInt32, child: OrderedIndexChild?) {
    if count == itemsMax { growItems() }
    unsafe items[count] = Item(start: bytesUsed, keyBytes: keyBytes, value: value, child: child)
    count += 1
    bytesUsed += keyBytes
  }

  private mutating func growItems() {
    let larger = UnsafeMutablePointer<Item>.allocate(capacity: 2 * itemsMax)
    unsafe larger.initialize(from: items, count: count)
    unsafe items.deallocate()
    unsafe items = larger
    itemsMax *= 2
  }

  private mutating func room(for keyBytes: Int) -> UnsafeMutableRawPointer {
    let needed = bytesUsed + keyBytes + OrderedIndexNode.headBytesMax
    if needed > bytesMax {
      let more = max(needed, 2 * bytesMax)
      let larger = UnsafeMutableRawPointer.allocate(byteCount: more, alignment: 8)
      unsafe larger.copyMemory(from: bytes, byteCount: bytesUsed)
      unsafe bytes.deallocate()
      unsafe bytes = larger
      bytesMax = more
    }
    return unsafe bytes + bytesUsed
  }

  /// Removes all entries after they were written.
  mutating func removeAll() {
    count = 0
    bytesUsed = 0
  }

  // MARK: Writing

  /// Writes all entries to as few nodes as possible, and removes the entries from the buffer. Entries that do
  /// not fit into one node are split into two halves. `split` is the preferred index of the first split,
  /// which is used if both parts fit into one node each.
  mutating func write(split: Int? = nil, spare: Int = 0) -> [OrderedIndexPiece] {
    var pieces: [OrderedIndexPiece] = []
    write(0..<count, split: split, spare: spare, to: &pieces)
    removeAll()
    return pieces
  }

  private func write(
    _ range: Range<Int>, split: Int?, spare: Int, to pieces: inout [OrderedIndexPiece]
  ) {
    guard contentBytes(of: range) > OrderedIndexNode.contentBytesMax else {
      pieces.append(piece(range, spare: spare))
      return
    }
    let cut = wanted(split, in: range) ?? middle(of: range)
    write(range.lowerBound..<cut, split: nil, spare: spare, to: &pieces)
    write(cut..<range.upperBound, split: nil, spare: spare, to: &pieces)
  }

  private func wanted(_ split: Int?, in range: Range<Int>) -> Int? {
    guard let split, split >= range.lowerBound + least, split <= range.upperBound - least,
      contentBytes(of: range.lowerBound..<split) <= OrderedIndexNode.contentBytesMax,
      contentBytes(of: split..<range.upperBound) <= OrderedIndexNode.contentBytesMax
    else { return nil }
    return split
  }

  /// Minimum number of entries of a node. An inner node has at least two children.
  private var least: Int { isLeaf ? 1 : 2 }

  /// Returns the index that splits a range into two parts of about equal size in bytes.
  private func middle(of range: Range<Int>) -> Int {
    precondition(range.count >= 2 * least, "a split has entries for two nodes")
    let half = range.reduce(0) { $0 + size(of: $1) } / 2
    var cut = range.lowerBound
    var bytes = 0
    while bytes < half {
      bytes += size(of: cut)
      cut += 1
    }
    return min(max(cut, range.lowerBound + least), range.upperBound - least)
  }

  private func keyBytes(at index: Int) -> Int {
    assert(index < count)
    return unsafe items[index].keyBytes
  }

  private func size(of index: Int) -> Int { OrderedIndexNode.entryBytes + keyBytes(at: index) }

  /// Returns the part of a range whose entries have keys. The first child of an inner node has no key.
  private func keyedRange(_ range: Range<Int>) -> Range<Int> {
    isLeaf ? range : min(range.lowerBound + 1, range.upperBound)..<range.upperBound
  }

  /// Returns the length of the prefix that all keys of a range share.
  private func prefixBytes(of range: Range<Int>) -> Int {
    let keyedRange = keyedRange(range)
    guard let first = keyedRange.first, let last = keyedRange.last else { return 0 }
    return commonBytes(first, last)
  }

  private func commonBytes(_ left: Int, _ right: Int) -> Int {
    unsafe OrderedIndexKey.commonBytes(
      bytes + items[left].start, bytes + items[right].start,
      bytes: min(keyBytes(at: left), keyBytes(at: right)))
  }

  func contentBytes(of range: Range<Int>) -> Int {
    let prefixBytes = prefixBytes(of: range)
    let short = prefixBytes + OrderedIndexNode.headBytesMax
    var sum = OrderedIndexNode.entryBytes * range.count + prefixBytes
    for index in keyedRange(range) { sum += max(0, keyBytes(at: index) - short) }
    return sum
  }

  /// Returns the content size of a leaf with all entries and one more key, given the length of the prefix
  /// that these keys share.
  func contentBytes(prefix prefixBytes: Int, with keyBytes: Int) -> Int {
    let short = prefixBytes + OrderedIndexNode.headBytesMax
    var sum = OrderedIndexNode.entryBytes * (count + 1) + prefixBytes + max(0, keyBytes - short)
    for index in 0..<count { sum += max(0, self.keyBytes(at: index) - short) }
    return sum
  }

  /// Writes a range of entries to one node.
  func piece(_ range: Range<Int>, spare: Int = 0) -> OrderedIndexPiece {
    let prefixBytes = prefixBytes(of: range)
    let tailBytes =
      contentBytes(of: range) - prefixBytes - OrderedIndexNode.entryBytes * range.count
    let node = OrderedIndexNode(
      level: level,
      capacity: spare
        + OrderedIndexNode.usedBytes(
          level: level, prefixBytes: prefixBytes, count: range.count, tailBytes: tailBytes))
    let keyedRange = keyedRange(range)
    if let first = keyedRange.first {
      unsafe node.setPrefix(UnsafeRawBufferPointer(start: bytes + items[first].start, count: prefixBytes))
    }
    unsafe node.fill(count: range.count) { offset in
      let item = unsafe items[range.lowerBound + offset]
      guard range.lowerBound + offset >= keyedRange.lowerBound else {
        return unsafe (UnsafeRawPointer(bytes), 0, item.value, item.child)
      }
      return unsafe (
        UnsafeRawPointer(bytes + item.start + prefixBytes), item.keyBytes - prefixBytes, item.value,
        item.child
      )
    }
    return OrderedIndexPiece(bound: bound(of: range.lowerBound), node: node)
  }

  /// Returns the lower bound of a node that starts at this entry. For an inner node, the bound is the key of
  /// its first child. For a leaf, it is the shortest prefix of the leaf's first key that is greater than the
  /// previous key.
  private func bound(of index: Int) -> [UInt8] {
    var bytes = keyBytes(at: index)
    if isLeaf {
      guard index > 0 else { return [] }
      bytes = commonBytes(index - 1, index) + 1
    }
    return unsafe [UInt8](UnsafeRawBufferPointer(start: self.bytes + items[index].start, count: bytes))
  }
}

enum OrderedIndexKey {
  enum Order { case before, same, after }

  /// Returns the length of the common prefix of two keys, considering only their first `bytes` bytes. Both
  /// keys must have at least that many bytes.
  static func commonBytes(_ left: UnsafeRawPointer, _ right: UnsafeRawPointer, bytes: Int) -> Int {
    var common = 0
    while common + 8 <= bytes {
      let difference =
        unsafe left.loadUnaligned(fromByteOffset: common, as: UInt64.self)
        ^ right.loadUnaligned(fromByteOffset: common, as: UInt64.self)
      if difference != 0 { return common + difference.trailingZeroBitCount / 8 }
      common += 8
    }
    while common < bytes,
      unsafe left.load(fromByteOffset: common, as: UInt8.self)
        == right.load(fromByteOffset: common, as: UInt8.self)
    { common += 1 }
    return common
  }
}

extension OrderedIndexNode {
  /// Builds the levels above all pieces and returns the root.
  static func root(over pieces: [OrderedIndexPiece]) -> OrderedIndexNode {
    var level = pieces
    while level.count > 1 {
      var entries = OrderedIndexEntries(level: level[0].node.level + 1, entries: level.count)
      for piece in level { entries.append(piece) }
      level = entries.write()
    }
    return level[0].node
  }
}
