// Conversion of a node to the content of its page, and back.

import ByteStore
import Libc

extension OrderedIndexNode {
  /// Appends the prefix, the heads, the places, the values and the tails, in this order.
  func appendContent(to page: inout [UInt8]) {
    unsafe page.append(contentsOf: UnsafeRawBufferPointer(start: prefix, count: prefixBytes))
    unsafe page.append(contentsOf: UnsafeRawBufferPointer(start: heads, count: 6 * count))
    unsafe page.append(contentsOf: UnsafeRawBufferPointer(start: values, count: 4 * count))
    unsafe page.append(contentsOf: UnsafeRawBufferPointer(start: end - tailBytes, count: tailBytes))
  }

  /// Creates a node from the content of an untrusted page. Nil if the content cannot be that of a node. The
  /// caller must set the node's children afterwards.
  init?(
    level: Int, count: Int, prefixBytes: Int, tailBytes: Int, content: RawSpan
  ) {
    guard (0...Self.levelMax).contains(level), count >= 0, prefixBytes >= 0, tailBytes >= 0,
      prefixBytes + Self.entryBytes * count + tailBytes <= min(content.byteCount, Self.contentBytesMax)
    else { return nil }
    self.init(
      level: level,
      capacity: Self.usedBytes(level: level, prefixBytes: prefixBytes, count: count, tailBytes: tailBytes))
    self.count = count
    self.prefixBytes = prefixBytes
    self.tailBytes = tailBytes
    unsafe content.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress else { return }
      let arrays = unsafe start + prefixBytes
      let tails = unsafe arrays + Self.entryBytes * count
      unsafe prefix.copyMemory(from: start, byteCount: prefixBytes)
      unsafe UnsafeMutableRawPointer(heads).copyMemory(from: arrays, byteCount: 6 * count)
      unsafe UnsafeMutableRawPointer(values).copyMemory(from: arrays + 6 * count, byteCount: 4 * count)
      unsafe (end - tailBytes).copyMemory(from: tails, byteCount: tailBytes)
    }
    for index in 0..<(level == 0 ? 0 : count) { unsafe children[index] = 0 }
    guard hasValidLayout, hasAscendingKeys else {
      // Without children yet.
      unsafe memory.deallocate()
      return nil
    }
  }

  /// Whether all tails are contiguous and all heads are padded with zeros.
  var hasValidLayout: Bool {
    var end = 0
    for index in 0..<count {
      let next = tailsEnd(before: index + 1)
      let headBytes = headBytes(at: index)
      guard next >= end, next <= tailBytes, headBytes <= Self.headBytesMax,
        headBytes == Self.headBytesMax || next == end
      else { return false }
      if headBytes < Self.headBytesMax {
        guard unsafe heads[index] << UInt32(8 * headBytes) == 0 else { return false }
      }
      if isFirstChild(index) {
        guard headBytes == 0 else { return false }
      } else {
        let bytes = prefixBytes + headBytes + next - end
        guard (1...OrderedIndex.keyBytesMax).contains(bytes) else { return false }
      }
      end = next
    }
    return end == tailBytes
  }

  /// Whether each key sorts before the next one. Valid only if `hasValidLayout` is true.
  var hasAscendingKeys: Bool {
    for index in (isLeaf ? 1 : 2)..<max(count, isLeaf ? 1 : 2) {
      let before = unsafe heads[index - 1]
      let head = unsafe heads[index]
      guard before <= head else { return false }
      guard before == head else { continue }
      let headBytes = (headBytes(at: index - 1), headBytes(at: index))
      guard headBytes.0 <= headBytes.1 else { return false }
      guard headBytes.0 == headBytes.1 else { continue }
      let tailBytes = (tailBytes(at: index - 1), tailBytes(at: index))
      let order = unsafe memcmp(tail(at: index - 1), tail(at: index), min(tailBytes.0, tailBytes.1))
      guard order < 0 || order == 0 && tailBytes.0 < tailBytes.1 else { return false }
    }
    return true
  }

  /// Frees a node whose children are not set.
  func discard() { unsafe memory.deallocate() }
}
