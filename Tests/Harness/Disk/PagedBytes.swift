// A file's bytes in copy-on-write pages, so that an image of a disk takes memory only for changed pages.

import Libc

/// Invariants: the number of pages is the minimum for `size`, and bytes beyond `size` in the last page
/// are zero. All files share one page for zeros that were never overwritten.
package struct PagedBytes: Sendable, Equatable {
  static let pageBytes = 4096
  private static let zeroPage = [UInt8](repeating: 0, count: pageBytes)

  package private(set) var size = 0
  private var pages: [[UInt8]] = []

  package init() {}

  package init(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { write($0, at: 0) }
  }

  package var bytes: [UInt8] { bytes(in: 0..<size) }

  /// Returns the bytes in the part of `range` that exists.
  package func bytes(in range: Range<Int>) -> [UInt8] {
    // Empty arrays share storage across the process, and initializing it would count as a data race.
    guard !range.isEmpty else { return [] }
    return [UInt8](unsafeUninitializedCapacity: range.count) { buffer, filled in
      filled = read(into: UnsafeMutableRawBufferPointer(buffer), at: range.lowerBound)
    }
  }

  package subscript(offset: Int) -> UInt8 { pages[offset / Self.pageBytes][offset % Self.pageBytes] }

  /// Copies the bytes from `offset` on into `buffer` and returns their number.
  func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) -> Int {
    let end = min(size, offset + buffer.count)
    guard offset < end else { return 0 }
    for piece in Self.pieces(of: offset..<end) {
      pages[piece.page].withUnsafeBytes { page in
        buffer.baseAddress!.advanced(by: piece.start - offset)
          .copyMemory(
            from: page.baseAddress!.advanced(by: piece.inPage.lowerBound), byteCount: piece.inPage.count)
      }
    }
    return end - offset
  }

  mutating func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) {
    guard !bytes.isEmpty else { return }
    grow(to: offset + bytes.count)
    for piece in Self.pieces(of: offset..<offset + bytes.count) {
      let source = UnsafeRawBufferPointer(
        rebasing: bytes[piece.start - offset..<piece.start - offset + piece.inPage.count])
      if piece.isWhole, Self.areZero(source) {
        pages[piece.page] = Self.zeroPage
      } else {
        pages[piece.page].withUnsafeMutableBytes { page in
          UnsafeMutableRawBufferPointer(rebasing: page[piece.inPage]).copyMemory(from: source)
        }
      }
    }
  }

  /// Copies `range` from `other`; whole pages are shared.
  mutating func take(_ range: Range<Int>, from other: PagedBytes) {
    guard !range.isEmpty else { return }
    grow(to: range.upperBound)
    for piece in Self.pieces(of: range) {
      if piece.isWhole {
        pages[piece.page] = other.pages[piece.page]
      } else {
        other.pages[piece.page].withUnsafeBytes { source in
          pages[piece.page].withUnsafeMutableBytes { page in
            UnsafeMutableRawBufferPointer(rebasing: page[piece.inPage])
              .copyMemory(from: UnsafeRawBufferPointer(rebasing: source[piece.inPage]))
          }
        }
      }
    }
  }

  /// Extends the file with zeros to `newSize`, if that is larger.
  mutating func grow(to newSize: Int) {
    guard newSize > size else { return }
    size = newSize
    let needed = (newSize + Self.pageBytes - 1) / Self.pageBytes
    while pages.count < needed { pages.append(Self.zeroPage) }
  }

  func hasNonZero(in range: Range<Int>) -> Bool {
    Self.pieces(of: range.clamped(to: 0..<size)).contains { piece in
      pages[piece.page].withUnsafeBytes { !Self.areZero(UnsafeRawBufferPointer(rebasing: $0[piece.inPage])) }
    }
  }

  // MARK: Pieces

  /// The part of a range that is in one page.
  private struct Piece {
    var page: Int
    var start: Int
    var inPage: Range<Int>
    var isWhole: Bool { inPage.count == PagedBytes.pageBytes }
  }

  private static func pieces(of range: Range<Int>) -> some Sequence<Piece> {
    sequence(state: range.lowerBound) { start -> Piece? in
      guard start < range.upperBound else { return nil }
      let page = start / pageBytes
      let end = min(range.upperBound, (page + 1) * pageBytes)
      defer { start = end }
      return Piece(page: page, start: start, inPage: start - page * pageBytes..<end - page * pageBytes)
    }
  }

  /// Compares a part of one page with zeros.
  private static func areZero(_ bytes: UnsafeRawBufferPointer) -> Bool {
    zeroPage.withUnsafeBytes { memcmp(bytes.baseAddress!, $0.baseAddress!, bytes.count) == 0 }
  }
}
