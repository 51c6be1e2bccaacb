// In-place insertion and removal of the entries of a node.

import Libc

extension OrderedIndexNode {
  // MARK: Changing

  /// Returns the page space that an entry with this key needs, or nil if the key does not begin with the
  /// node's prefix.
  func growth(with key: RawSpan) -> Int? {
    let prefixBytes = prefixBytes
    guard key.byteCount >= prefixBytes else { return nil }
    let isBelow = unsafe key.withUnsafeBytes { bytes in
      guard prefixBytes > 0, let start = bytes.baseAddress else { return true }
      return unsafe memcmp(start, prefix, prefixBytes) == 0
    }
    guard isBelow else { return nil }
    return Self.entryBytes + max(0, key.byteCount - prefixBytes - Self.headBytesMax)
  }

  /// Returns the page space that is freed if the entry is removed.
  func shrinkage(at index: Int) -> Int { Self.entryBytes + tailBytes(at: index) }

  /// Returns whether the block has room for one more entry that needs `growth` bytes of page space.
  func hasRoom(for growth: Int) -> Bool {
    Self.usedBytes(
      level: level, prefixBytes: prefixBytes, count: count + 1,
      tailBytes: tailBytes + growth - Self.entryBytes)
      <= capacity
  }

  /// Inserts an entry. The key must begin with the node's prefix, and the block must have room for the entry.
  func insertEntry(_ key: RawSpan, _ value: UInt32, child: OrderedIndexChild?, at index: Int) {
    unsafe key.withUnsafeBytes { bytes in
      let suffix = unsafe UnsafeRawBufferPointer(rebasing: bytes[prefixBytes...])
      unsafe insertEntry(suffix, value, child: child, at: index)
    }
    lastInsert = index
  }

  private func insertEntry(
    _ suffix: UnsafeRawBufferPointer, _ value: UInt32, child: OrderedIndexChild?, at index: Int
  ) {
    let count = count
    let headBytes = min(suffix.count, Self.headBytesMax)
    let tailBytes = suffix.count - headBytes
    precondition(index <= count && (child == nil) == isLeaf && hasRoom(for: Self.entryBytes + tailBytes))
    let old = unsafe arrays(count: count)
    let new = unsafe arrays(count: count + 1)
    let before = index == 0 ? 0 : unsafe Int(old.places[index - 1] >> 4)
    var head: UInt32 = 0
    if let start = suffix.baseAddress {
      head = unsafe Self.head(start, suffix.count)
      if tailBytes > 0 {
        let tails = unsafe end - self.tailBytes
        unsafe memmove(tails - tailBytes, tails, self.tailBytes - before)
        unsafe (end - before - tailBytes).copyMemory(from: start + headBytes, byteCount: tailBytes)
      }
    }
    // Move the last array first, because each array moves up into the space of the array after it.
    self.count = count + 1
    unsafe Self.open(new.values, from: old.values, count: count, at: index)
    unsafe Self.open(new.places, from: old.places, count: count, at: index)
    unsafe Self.open(new.heads, from: old.heads, count: count, at: index)
    if let child {
      let children = unsafe children
      unsafe Self.open(children, from: children, count: count, at: index)
      unsafe children[index] = child.word
    }
    unsafe new.heads[index] = head
    unsafe new.values[index] = value
    unsafe new.places[index] = UInt16((before + tailBytes) << 4 | headBytes)
    if tailBytes > 0 {
      let places = unsafe new.places
      for later in index + 1..<count + 1 { unsafe places[later] &+= UInt16(tailBytes << 4) }
      self.tailBytes += tailBytes
    }
  }

  /// Removes an entry without releasing its child.
  func removeEntry(at index: Int) {
    let count = count
    precondition(index < count)
    let tailBytes = tailBytes(at: index)
    if tailBytes > 0 {
      let tails = unsafe end - self.tailBytes
      unsafe memmove(tails + tailBytes, tails, self.tailBytes - tailsEnd(before: index + 1))
      let places = unsafe self.places
      for later in index + 1..<count { unsafe places[later] &-= UInt16(tailBytes << 4) }
    }
    let old = unsafe arrays(count: count)
    let new = unsafe arrays(count: count - 1)
    self.count = count - 1
    if !isLeaf { unsafe Self.close(children, from: children, count: count, at: index) }
    unsafe Self.close(new.heads, from: old.heads, count: count, at: index)
    unsafe Self.close(new.places, from: old.places, count: count, at: index)
    unsafe Self.close(new.values, from: old.values, count: count, at: index)
    self.tailBytes -= tailBytes
    lastInsert = nil
  }

  /// Removes the first child. The second child becomes the first, and no longer needs a bound.
  func removeFirstChild() {
    precondition(!isLeaf && count > 1)
    unsafe children[0] = children[1]
    unsafe values[0] = values[1]
    removeEntry(at: 1)
  }

  private static func open<Element: BitwiseCopyable>(
    _ target: UnsafeMutablePointer<Element>, from source: UnsafeMutablePointer<Element>, count: Int,
    at index: Int
  ) {
    let stride = MemoryLayout<Element>.stride
    unsafe memmove(target + index + 1, source + index, (count - index) * stride)
    if unsafe target != source { unsafe memmove(target, source, index * stride) }
  }

  private static func close<Element: BitwiseCopyable>(
    _ target: UnsafeMutablePointer<Element>, from source: UnsafeMutablePointer<Element>, count: Int,
    at index: Int
  ) {
    let stride = MemoryLayout<Element>.stride
    if unsafe target != source { unsafe memmove(target, source, index * stride) }
    unsafe memmove(target + index, source + index + 1, (count - index - 1) * stride)
  }

  // MARK: Filling

  /// Sets the prefix of a node under construction. After that, add the entries in order.
  func setPrefix(_ bytes: UnsafeRawBufferPointer) {
    precondition(count == 0 && Self.headerBytes + bytes.count <= capacity)
    prefixBytes = bytes.count
    if let start = bytes.baseAddress { unsafe prefix.copyMemory(from: start, byteCount: bytes.count) }
  }

  /// Fills a node with `count` entries. For each entry, `entry` returns the part of the key after the prefix,
  /// the value and the child.
  func fill(
    count: Int,
    _ entry: (Int) -> (suffix: UnsafeRawPointer, suffixBytes: Int, value: UInt32, child: OrderedIndexChild?)
  ) {
    self.count = count
    let heads = unsafe heads
    let values = unsafe values
    let places = unsafe places
    let blockEnd = unsafe end
    var tailsEnd = 0
    for index in 0..<count {
      let (suffix, suffixBytes, value, child) = unsafe entry(index)
      let headBytes = min(suffixBytes, Self.headBytesMax)
      let tailBytes = suffixBytes - headBytes
      tailsEnd += tailBytes
      unsafe heads[index] = unsafe Self.head(suffix, suffixBytes)
      unsafe values[index] = value
      unsafe places[index] = UInt16(tailsEnd << 4 | headBytes)
      unsafe (blockEnd - tailsEnd).copyMemory(from: suffix + headBytes, byteCount: tailBytes)
      if let child { unsafe children[index] = child.word }
    }
    tailBytes = tailsEnd
    precondition(usedBytes <= capacity, "a node is large enough")
  }
}
