// Search for a key in a node.
//
//   1. If the key does not begin with the node's prefix, comparing the key with the prefix gives the result.
//   2. Otherwise, the heads that are less than the key's head are counted.
//   3. Among entries whose heads equal the key's head, the tails decide.

import Libc

extension OrderedIndexNode {
  /// Returns the index of the first entry, from `first` on, whose key does not sort before `key`. Also
  /// returns whether that entry's key equals `key`.
  func search(_ key: RawSpan, from first: Int) -> (index: Int, isFound: Bool) {
    unsafe key.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress else { return (first, false) }
      return unsafe search(start, bytes.count, from: first)
    }
  }

  /// Returns the index of the child below which `key` is found or would be inserted.
  func childIndex(of key: RawSpan) -> Int {
    let (index, isFound) = search(key, from: 1)
    return isFound ? index : index - 1
  }

  private func search(
    _ key: UnsafeRawPointer, _ keyBytes: Int, from first: Int
  ) -> (index: Int, isFound: Bool) {
    let prefixBytes = prefixBytes
    let order = unsafe memcmp(key, prefix, min(prefixBytes, keyBytes))
    guard order == 0 else { return (order < 0 ? first : count, false) }
    guard keyBytes >= prefixBytes else { return (first, false) }
    let suffix = unsafe key + prefixBytes
    let suffixBytes = keyBytes - prefixBytes
    let head = unsafe Self.head(suffix, suffixBytes)
    let count = count
    let arrays = unsafe arrays(count: count)
    let heads = unsafe arrays.heads
    var low = unsafe lowerBoundIndex(head, heads, in: first..<count)
    guard low < count, unsafe heads[low] == head else { return (low, false) }
    // Among equal heads, the rest of the key decides.
    var high = low + 1
    if high < count, unsafe heads[high] == head {
      high = head == UInt32.max ? count : unsafe lowerBoundIndex(head + 1, heads, in: high..<count)
    }
    while low < high {
      let middle = (low + high) / 2
      let order = unsafe compareRest(arrays.places, middle, with: suffix, suffixBytes: suffixBytes)
      if order == 0 { return (middle, true) }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return (low, false)
  }

  /// Returns the first four bytes of a suffix as a number. A shorter suffix is padded with zeros.
  static func head(_ suffix: UnsafeRawPointer, _ bytes: Int) -> UInt32 {
    guard bytes < headBytesMax else {
      return UInt32(bigEndian: unsafe suffix.loadUnaligned(as: UInt32.self))
    }
    var head: UInt32 = 0
    for index in 0..<bytes {
      head |= UInt32(unsafe suffix.load(fromByteOffset: index, as: UInt8.self)) << UInt32(24 - 8 * index)
    }
    return head
  }

  /// The number of heads that are counted. Counting reads their cache lines in parallel, whereas a binary
  /// search waits for each line in turn.
  private static let countedMax = 32

  /// Returns the index of the first entry of a range whose head is not less than `head`.
  private func lowerBoundIndex(
    _ head: UInt32, _ heads: UnsafeMutablePointer<UInt32>, in range: Range<Int>
  ) -> Int {
    var start = range.lowerBound
    var rest = range.count
    while rest > Self.countedMax {
      let half = rest / 2
      start &+= unsafe heads[start &+ half &- 1] < head ? half : 0
      rest &-= half
    }
    // With wrapping arithmetic, one instruction can compare several heads.
    var below: UInt32 = 0
    var index = start
    let end = start &+ rest
    while index < end {
      below &+= unsafe heads[index] < head ? 1 : 0
      index &+= 1
    }
    return start &+ Int(below)
  }

  /// Returns how an entry compares with a suffix that has an equal head.
  @inline(__always)
  private func compareRest(
    _ places: UnsafeMutablePointer<UInt16>, _ index: Int, with suffix: UnsafeRawPointer, suffixBytes: Int
  ) -> Int {
    let place = unsafe Int(places[index])
    let headBytes = place & 15
    let expected = min(suffixBytes, Self.headBytesMax)
    guard headBytes == expected else { return headBytes - expected }
    let tailsEnd = place >> 4
    let tailBytes = tailsEnd - (index == 0 ? 0 : unsafe Int(places[index - 1] >> 4))
    let rest = suffixBytes - headBytes
    let order = Int(unsafe memcmp(end - tailsEnd, suffix + headBytes, min(tailBytes, rest)))
    return order == 0 ? tailBytes - rest : order
  }

  /// Returns the index of the child that contains the key with this rank, and the key's rank within that
  /// child.
  func childIndex(ofRank rank: Int) -> (index: Int, rank: Int) {
    var rest = rank
    var index = 0
    while index + 1 < count, rest >= Int(unsafe values[index]) {
      rest -= Int(unsafe values[index])
      index += 1
    }
    return (index, rest)
  }

  /// Returns the number of keys below the first `index` children.
  func keys(before index: Int) -> Int {
    let values = unsafe values
    var sum = 0
    var child = 0
    // With wrapping arithmetic, one instruction can add several numbers. Sums of 32-bit numbers cannot
    // overflow.
    while child < index {
      sum &+= unsafe Int(values[child])
      child &+= 1
    }
    return sum
  }
}
