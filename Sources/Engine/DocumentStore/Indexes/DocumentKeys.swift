// The keys of one document in one index.

import ByteStore

/// Sorted keys in the stored form of trees. No key occurs twice. The next document reuses the buffers.
struct DocumentKeys: ~Copyable {
  var numbers = NumberBits()
  /// The keys one after another.
  var buffer = KeyBuffer()
  /// The ranges of the keys. Those from `count` on are unused.
  private var keys: [Range<Int>] = []
  private(set) var count = 0
  private var start = 0

  init() {}

  subscript(index: Int) -> RawSpan {
    @_lifetime(borrow self)
    borrowing get {
      precondition(index < count, "a key that the document has")
      return buffer.bytes.extracting(keys[index])
    }
  }

  /// Sorts the keys if they may be out of order, because some were truncated.
  mutating func sort() {
    guard count > 1 else { return }
    keys.removeLast(keys.count - count)
    guard keys.contains(where: { $0.count > StoredKey.keptBytes }) else { return }
    keys = Self.sorted(keys, of: buffer.bytes)
  }

  private static func sorted(_ keys: [Range<Int>], of bytes: RawSpan) -> [Range<Int>] {
    keys.sorted { bytes.extracting($0).precedes(bytes.extracting($1)) }
  }

  mutating func removeAll() {
    numbers = NumberBits()
    buffer.removeAll()
    count = 0
  }

  /// Removes the keys, and frees the memory that an unusually large document needed.
  mutating func shrink() {
    removeAll()
    buffer.shrink()
    if keys.capacity > KeyBuffer.capacityKept { keys = [] }
  }

  /// Begins a key. The caller appends the key's bytes to the buffer, and then calls `end` or `abandon`.
  mutating func begin() { start = buffer.count }

  mutating func end() {
    if buffer.count - start > StoredKey.keptBytes { shorten() }
    let key = start..<buffer.count
    if count < keys.count { keys[count] = key } else { keys.append(key) }
    count += 1
  }

  mutating func abandon() { buffer.truncate(to: start) }

  @inline(never)
  private mutating func shorten() {
    let digest = ContentDigest.sha256(of: buffer.bytes.extracting(start..<buffer.count))
    buffer.truncate(to: start + StoredKey.keptBytes)
    buffer.append(copying: Array(digest.prefix(StoredKey.digestBytes)).rawSpan)
  }

  // MARK: Changes

  /// Calls `body` with the keys that only one of two states of a document has, those of the old state first.
  static func forEachChange(
    from old: borrowing DocumentKeys, to new: borrowing DocumentKeys,
    _ body: (_ key: RawSpan, _ isAdded: Bool) -> Void
  ) {
    forEach(in: old, without: new) { body($0, false) }
    forEach(in: new, without: old) { body($0, true) }
  }

  /// Both lists of keys are sorted.
  private static func forEach(
    in keys: borrowing DocumentKeys, without others: borrowing DocumentKeys, _ body: (RawSpan) -> Void
  ) {
    var other = 0
    for index in 0..<keys.count {
      while other < others.count, others[other].precedes(keys[index]) { other += 1 }
      guard other == others.count || !others[other].isSame(as: keys[index]) else { continue }
      body(keys[index])
    }
  }
}
