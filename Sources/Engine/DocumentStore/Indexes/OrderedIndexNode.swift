// A node of an ordered index in memory: one block with a reference count.
//
//   - node := references:u32 mark:u8 level:u8 entries:u16 prefixBytes:u16 tailBytes:u16 capacity:u32
//     lastInsert:u16 reserved[6] prefix, padded to a multiple of 8, child:u64{children} head:u32{entries}
//     place:u16{entries}, padded to a multiple of 4, value:u32{entries} free tails
//   - tails := tail{entries}, the last one first; they end where the block ends
//   - place := end:12 headBytes:4
//
// A key consists of the node's prefix, up to four bytes of head, and a tail. A head is stored as a number
// whose most significant byte is the first byte of the head. Short heads are padded with zeros. A search can
// therefore compare adjacent numbers, and reads tails only where heads are equal. The `end` of a place is the
// distance from the start of the tail to the end of the block. The parts that a search reads first are at the
// front of the block, because a search mostly waits for memory.
//
// A leaf (level 0) has no children, and its values are ordinals. In an inner node, each entry is a child. The
// entry has a word that refers to the child, and its value is the number of keys below the child. Its key is
// a lower bound of these keys, and is greater than all keys of the previous child. The first child needs no
// bound. Its key is empty and does not even include the prefix.
//
// A thread that holds a reference to a node may read the node. A thread may write to a node only if it holds
// the only reference.

import Synchronization

#if !_endian(little)
#error("A node is copied to its page as it is, and pages are little-endian.")
#endif

/// A pointer to a node. Copies of this value do not change the reference count of the node; only `retain` and
/// `release` do.
@safe
struct OrderedIndexNode: @unchecked Sendable {
  // This type can be Sendable because the block is immutable while it is shared, and its reference count is
  // atomic.

  /// The space on a page for the prefix, the entries and the tails.
  static let contentBytesMax = OrderedIndexFormat.contentBytesMax
  static let entryBytes = 10
  static let headBytesMax = 4
  static let levelMax = 31
  /// The stored form of `lastInsert` if it is nil.
  private static let nowhere = UInt16.max

  /// The offset of the mark, both in nodes and in stubs.
  static let markAt = 4
  static let mark: UInt8 = 0xD0

  private static let levelAt = 5
  private static let countAt = 6
  private static let prefixBytesAt = 8
  private static let tailBytesAt = 10
  private static let capacityAt = 12
  private static let lastInsertAt = 16
  static let headerBytes = 24

  let memory: UnsafeMutableRawPointer

  init(memory: UnsafeMutableRawPointer) { unsafe self.memory = unsafe memory }

  // MARK: Making and counting

  /// Creates a node without entries, to be filled by the caller.
  init(level: Int, capacity: Int) {
    // The size to which malloc would round up anyway.
    let bytes = max(40, (capacity + 7) / 16 * 16 + 8)
    unsafe memory = .allocate(byteCount: bytes, alignment: 8)
    unsafe memory.initializeMemory(as: UInt8.self, repeating: 0, count: Self.headerBytes)
    unsafe references.initialize(to: Atomic(1))
    unsafe memory.storeBytes(of: Self.mark, toByteOffset: Self.markAt, as: UInt8.self)
    unsafe memory.storeBytes(of: UInt8(level), toByteOffset: Self.levelAt, as: UInt8.self)
    unsafe memory.storeBytes(of: UInt32(bytes), toByteOffset: Self.capacityAt, as: UInt32.self)
    lastInsert = nil
  }

  private var references: UnsafeMutablePointer<Atomic<UInt32>> {
    unsafe memory.assumingMemoryBound(to: Atomic<UInt32>.self)
  }

  var isUnique: Bool { unsafe references.pointee.load(ordering: .acquiring) == 1 }

  func retain() { unsafe references.pointee.wrappingAdd(1, ordering: .relaxed) }

  func release() {
    // If there is only one reference, no atomic subtraction is needed.
    if !isUnique {
      let before = unsafe references.pointee.wrappingSubtract(1, ordering: .acquiringAndReleasing).oldValue
      guard before == 1 else { return }
    }
    if !isLeaf {
      touchChildren()
      for index in 0..<count { child(at: index).release() }
    }
    unsafe memory.deallocate()
  }

  /// Returns a copy of the node in a new block, with room for `spare` more bytes.
  func copied(spare: Int) -> OrderedIndexNode {
    if !isLeaf {
      touchChildren()
      for index in 0..<count { child(at: index).retain() }
    }
    return moved(spare: spare)
  }

  /// Moves the node to a new block, with room for `spare` more bytes, and frees the old block. The caller
  /// must hold the only reference.
  func reallocated(spare: Int) -> OrderedIndexNode {
    precondition(isUnique, "only an owner moves a node")
    let node = moved(spare: spare)
    unsafe memory.deallocate()
    return node
  }

  /// Reads the marks of all children, so that the cache misses overlap. Updating the reference counts without
  /// these reads would wait for each child in turn.
  private func touchChildren() {
    var marks = Self.mark
    for index in 0..<count { marks &= child(at: index).mark }
    precondition(marks == Self.mark, "a child is a node or a stub")
  }

  private func moved(spare: Int) -> OrderedIndexNode {
    let node = OrderedIndexNode(level: level, capacity: usedBytes + spare)
    let capacity = node.capacity
    let front = usedBytes - tailBytes
    unsafe (node.memory + Self.countAt).copyMemory(
      from: memory + Self.countAt, byteCount: front - Self.countAt)
    unsafe node.memory.storeBytes(of: UInt32(capacity), toByteOffset: Self.capacityAt, as: UInt32.self)
    unsafe (node.end - tailBytes).copyMemory(from: end - tailBytes, byteCount: tailBytes)
    return node
  }

  // MARK: Sizes

  var level: Int { Int(unsafe memory.load(fromByteOffset: Self.levelAt, as: UInt8.self)) }
  var isLeaf: Bool { level == 0 }

  var count: Int {
    get { Int(unsafe memory.load(fromByteOffset: Self.countAt, as: UInt16.self)) }
    nonmutating set {
      unsafe memory.storeBytes(of: UInt16(newValue), toByteOffset: Self.countAt, as: UInt16.self)
    }
  }

  var prefixBytes: Int {
    get { Int(unsafe memory.load(fromByteOffset: Self.prefixBytesAt, as: UInt16.self)) }
    nonmutating set {
      unsafe memory.storeBytes(of: UInt16(newValue), toByteOffset: Self.prefixBytesAt, as: UInt16.self)
    }
  }

  var tailBytes: Int {
    get { Int(unsafe memory.load(fromByteOffset: Self.tailBytesAt, as: UInt16.self)) }
    nonmutating set {
      unsafe memory.storeBytes(of: UInt16(newValue), toByteOffset: Self.tailBytesAt, as: UInt16.self)
    }
  }

  var capacity: Int { Int(unsafe memory.load(fromByteOffset: Self.capacityAt, as: UInt32.self)) }

  /// The index at which the last entry was inserted; nil in a new node and after a removal. It shows whether
  /// keys are inserted in order.
  var lastInsert: Int? {
    get {
      let place = unsafe memory.load(fromByteOffset: Self.lastInsertAt, as: UInt16.self)
      return place == Self.nowhere ? nil : Int(place)
    }
    nonmutating set {
      let place = newValue.map { UInt16($0) } ?? Self.nowhere
      unsafe memory.storeBytes(of: place, toByteOffset: Self.lastInsertAt, as: UInt16.self)
    }
  }

  /// The size of the prefix, the entries and the tails.
  var contentBytes: Int { prefixBytes + Self.entryBytes * count + tailBytes }

  var usedBytes: Int {
    Self.usedBytes(level: level, prefixBytes: prefixBytes, count: count, tailBytes: tailBytes)
  }

  static func usedBytes(level: Int, prefixBytes: Int, count: Int, tailBytes: Int) -> Int {
    arraysStart(prefixBytes) + arraysBytes(level: level, count: count) + tailBytes
  }

  private static func arraysBytes(level: Int, count: Int) -> Int {
    (childBytes(level) + 4) * count + (2 * count + 3) & ~3 + 4 * count
  }

  private static func arraysStart(_ prefixBytes: Int) -> Int { headerBytes + (prefixBytes + 7) & ~7 }
  static func childBytes(_ level: Int) -> Int { level == 0 ? 0 : 8 }

  private var childBytes: Int { Self.childBytes(level) }

  /// The number of keys in the node or below it.
  var keys: Int {
    guard !isLeaf else { return count }
    var sum = 0
    for index in 0..<count { sum += Int(unsafe values[index]) }
    return sum
  }

  // MARK: Parts

  /// The addresses of a node's arrays. They are valid until the number of entries or the prefix changes.
  @unsafe struct Arrays {
    let heads: UnsafeMutablePointer<UInt32>
    let places: UnsafeMutablePointer<UInt16>
    let values: UnsafeMutablePointer<UInt32>
  }

  /// The arrays of this node if it has `count` entries.
  @inline(__always)
  func arrays(count: Int) -> Arrays {
    let start = unsafe memory + Self.arraysStart(prefixBytes) + childBytes * count
    let places = unsafe start + 4 &* count
    return unsafe Arrays(
      heads: start.assumingMemoryBound(to: UInt32.self),
      places: places.assumingMemoryBound(to: UInt16.self),
      values: (places + (2 &* count &+ 3) & ~3).assumingMemoryBound(to: UInt32.self))
  }

  var children: UnsafeMutablePointer<UInt> {
    unsafe (memory + Self.arraysStart(prefixBytes)).assumingMemoryBound(to: UInt.self)
  }

  var heads: UnsafeMutablePointer<UInt32> {
    unsafe (memory + Self.arraysStart(prefixBytes) + childBytes * count).assumingMemoryBound(to: UInt32.self)
  }

  var places: UnsafeMutablePointer<UInt16> {
    unsafe UnsafeMutableRawPointer(heads + count).assumingMemoryBound(to: UInt16.self)
  }

  var values: UnsafeMutablePointer<UInt32> {
    unsafe (UnsafeMutableRawPointer(heads + count) + (2 * count + 3) & ~3)
      .assumingMemoryBound(to: UInt32.self)
  }

  var end: UnsafeMutableRawPointer { unsafe memory + capacity }
  var prefix: UnsafeMutableRawPointer { unsafe memory + Self.headerBytes }

  func headBytes(at index: Int) -> Int { Int(unsafe places[index] & 15) }

  /// Returns the total size of the tails of the first `index` entries. These tails are at the end of the
  /// block.
  func tailsEnd(before index: Int) -> Int { index == 0 ? 0 : Int(unsafe places[index - 1] >> 4) }

  func tailBytes(at index: Int) -> Int { tailsEnd(before: index + 1) - tailsEnd(before: index) }

  func tail(at index: Int) -> UnsafeMutableRawPointer {
    unsafe end - tailsEnd(before: index + 1)
  }

  func value(at index: Int) -> UInt32 {
    assert(index < count)
    return unsafe values[index]
  }

  func setValue(_ value: UInt32, at index: Int) {
    assert(index < count)
    unsafe values[index] = value
  }

  func child(at index: Int) -> OrderedIndexChild {
    assert(!isLeaf && index < count)
    return OrderedIndexChild(word: unsafe children[index])
  }

  func setChild(_ child: OrderedIndexChild, at index: Int) {
    assert(!isLeaf && index < count)
    unsafe children[index] = child.word
  }

  /// Appends the ordinals of a leaf's entries to an array, in key order or in reverse.
  func appendValues(_ range: Range<Int>, reversed: Bool, to array: inout [UInt32]) {
    precondition(range.lowerBound >= 0 && range.upperBound <= count)
    let part = unsafe UnsafeBufferPointer(start: values + range.lowerBound, count: range.count)
    if reversed {
      unsafe array.append(contentsOf: part.reversed())
    } else {
      unsafe array.append(contentsOf: part)
    }
  }

  // MARK: Keys

  func keyBytes(at index: Int) -> Int {
    isFirstChild(index) ? 0 : prefixBytes + headBytes(at: index) + tailBytes(at: index)
  }

  func isFirstChild(_ index: Int) -> Bool { !isLeaf && index == 0 }

  /// Writes a key. Also overwrites up to `headBytesMax` bytes after the key.
  func writeKey(at index: Int, to target: UnsafeMutableRawPointer) {
    guard !isFirstChild(index) else { return }
    unsafe target.copyMemory(from: prefix, byteCount: prefixBytes)
    let head = unsafe target + prefixBytes
    unsafe head.storeBytes(of: heads[index].bigEndian, as: UInt32.self)
    unsafe (head + headBytes(at: index)).copyMemory(from: tail(at: index), byteCount: tailBytes(at: index))
  }

  func key(at index: Int) -> [UInt8] {
    let bytes = keyBytes(at: index)
    return unsafe [UInt8](unsafeUninitializedCapacity: bytes + Self.headBytesMax) { buffer, count in
      guard let start = buffer.baseAddress else { return }
      unsafe writeKey(at: index, to: start)
      count = bytes
    }
  }

  /// Writes a key to the start of an array that is long enough for any key. Returns the length of the key.
  func copyKey(at index: Int, to array: inout [UInt8]) -> Int {
    precondition(array.count == Self.keyBufferBytes)
    unsafe array.withUnsafeMutableBytes { buffer in
      guard let start = buffer.baseAddress else { return }
      unsafe writeKey(at: index, to: start)
    }
    return keyBytes(at: index)
  }

  static var keyBufferBytes: Int { OrderedIndex.keyBytesMax + headBytesMax }
}
