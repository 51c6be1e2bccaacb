// The children of an inner node: nodes in memory, and stubs for nodes that are still on disk.

import Synchronization

/// A reference from an inner node to a child node, or to a stub for a node on disk.
@safe
struct OrderedIndexChild {
  private static let stubBit: UInt = 1
  /// The bit that is set for a node whose block has at least `frontLines` cache lines.
  private static let longBit: UInt = 2
  private static let lineBytes = 64
  /// The number of cache lines for the header, prefix, heads and places of a typical leaf.
  private static let frontLines = 13

  let word: UInt

  init(word: UInt) { self.word = word }

  init(_ node: OrderedIndexNode) {
    word = node.word | (node.capacity >= Self.frontLines * Self.lineBytes ? Self.longBit : 0)
  }

  init(_ stub: OrderedIndexStub) { word = stub.word | Self.stubBit }

  private var address: UInt { word & ~(Self.stubBit | Self.longBit) }

  var node: OrderedIndexNode? {
    word & Self.stubBit == 0 ? OrderedIndexNode(word: address) : nil
  }

  var stub: OrderedIndexStub? {
    word & Self.stubBit == 0 ? nil : OrderedIndexStub(word: address)
  }

  /// Reads one byte of each cache line that a search will read. These reads are independent and overlap. In a
  /// search, each read depends on the previous one, so the cache misses would add up.
  func touchFront() {
    guard word & Self.longBit != 0, let front = unsafe UnsafeRawPointer(bitPattern: address) else { return }
    var combined = UInt8.max
    for line in 0..<Self.frontLines {
      combined &= unsafe front.load(fromByteOffset: line * Self.lineBytes, as: UInt8.self)
    }
    // The compiler would remove reads without an effect.
    if combined == UInt8.max { atomicMemoryFence(ordering: .acquiring) }
  }

  /// This child, or the loaded node of a stub. Nil if the node is not in memory.
  var inMemory: OrderedIndexChild? {
    guard let stub else { return self }
    return stub.child
  }

  var loaded: OrderedIndexNode? { inMemory?.node }

  func retain() { if let stub { stub.retain() } else { node?.retain() } }

  func release() { if let stub { stub.release() } else { node?.release() } }

  var mark: UInt8 {
    guard let pointer = unsafe UnsafeRawPointer(bitPattern: address) else { return 0 }
    return unsafe pointer.load(fromByteOffset: OrderedIndexNode.markAt, as: UInt8.self)
  }
}

extension OrderedIndexNode {
  /// The identity of a node while it exists.
  struct Identity: Hashable {
    let word: UInt
  }

  var identity: Identity { Identity(word: word) }

  var word: UInt { UInt(bitPattern: unsafe memory) }

  init(word: UInt) {
    guard let memory = unsafe UnsafeMutableRawPointer(bitPattern: word) else {
      preconditionFailure("a child that was never set")
    }
    unsafe self.init(memory: memory)
  }
}

/// A placeholder for a node that was on disk when the index was opened. All copies of the index share the
/// stub, so they also share the node once a copy has loaded it.
///
///     stub := references:u32 mark:u8 reserved[2] level:u8 page:u32 keys:u32 node:u64 source:u64
@safe
struct OrderedIndexStub {
  private static let levelAt = 7
  private static let pageAt = 8
  private static let keysAt = 12
  private static let nodeAt = 16
  private static let sourceAt = 24
  private static let bytes = 32

  private let memory: UnsafeMutableRawPointer

  init(source: OrderedIndexSource, page: Int, level: Int, keys: UInt32) {
    unsafe memory = .allocate(byteCount: Self.bytes, alignment: 8)
    unsafe memory.initializeMemory(as: UInt8.self, repeating: 0, count: Self.bytes)
    unsafe references.initialize(to: Atomic(1))
    unsafe memory.storeBytes(of: OrderedIndexNode.mark, toByteOffset: OrderedIndexNode.markAt, as: UInt8.self)
    unsafe memory.storeBytes(of: UInt8(level), toByteOffset: Self.levelAt, as: UInt8.self)
    unsafe memory.storeBytes(of: UInt32(page), toByteOffset: Self.pageAt, as: UInt32.self)
    unsafe memory.storeBytes(of: keys, toByteOffset: Self.keysAt, as: UInt32.self)
    unsafe slot.initialize(to: Atomic(0))
    unsafe (memory + Self.sourceAt).initializeMemory(as: OrderedIndexSource.self, to: source)
  }

  init(word: UInt) {
    guard let memory = unsafe UnsafeMutableRawPointer(bitPattern: word) else {
      preconditionFailure("a child that was never set")
    }
    unsafe self.memory = unsafe memory
  }

  var word: UInt { UInt(bitPattern: unsafe memory) }

  private var references: UnsafeMutablePointer<Atomic<UInt32>> {
    unsafe memory.assumingMemoryBound(to: Atomic<UInt32>.self)
  }

  private var slot: UnsafeMutablePointer<Atomic<UInt>> {
    unsafe (memory + Self.nodeAt).assumingMemoryBound(to: Atomic<UInt>.self)
  }

  private var sourcePointer: UnsafeMutablePointer<OrderedIndexSource> {
    unsafe (memory + Self.sourceAt).assumingMemoryBound(to: OrderedIndexSource.self)
  }

  func retain() { unsafe references.pointee.wrappingAdd(1, ordering: .relaxed) }

  func release() {
    guard unsafe references.pointee.wrappingSubtract(1, ordering: .acquiringAndReleasing).oldValue == 1 else {
      return
    }
    if let child { child.release() } else { source.noteLoaded() }
    unsafe sourcePointer.deinitialize(count: 1)
    unsafe memory.deallocate()
  }

  var source: OrderedIndexSource { unsafe sourcePointer.pointee }
  var page: Int { Int(unsafe memory.load(fromByteOffset: Self.pageAt, as: UInt32.self)) }
  var level: Int { Int(unsafe memory.load(fromByteOffset: Self.levelAt, as: UInt8.self)) }
  var keys: UInt32 { unsafe memory.load(fromByteOffset: Self.keysAt, as: UInt32.self) }

  /// The node, or nil if it is not loaded.
  var child: OrderedIndexChild? {
    let word = unsafe slot.pointee.load(ordering: .acquiring)
    return word == 0 ? nil : OrderedIndexChild(word: word)
  }

  /// Stores a loaded node and returns it. If another thread has already stored a node, releases `node` and
  /// returns the stored one.
  func publish(_ node: OrderedIndexNode) -> OrderedIndexNode {
    let result = unsafe slot.pointee.compareExchange(
      expected: 0, desired: OrderedIndexChild(node).word, ordering: .acquiringAndReleasing)
    guard !result.exchanged, let first = OrderedIndexChild(word: result.original).node else {
      source.noteLoaded()
      return node
    }
    node.release()
    return first
  }
}
