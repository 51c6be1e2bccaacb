// Finds the collection id and the document id in a document's key, without decoding the path.
//
//   key := 0x02 parent collection document 0x00
//
// Most names are plain: they are valid in every path and have no escaped bytes. A key whose names are all
// plain is checked eight bytes at a time. Any other key is decoded.

import ByteStore

/// The segments of a valid document key.
struct DocumentKeyParts: ~Escapable {
  let key: RawSpan
  private let last: LastSegments

  /// Nil if `DocumentKey.decode` would return nil.
  @_lifetime(copy key)
  init?(_ key: RawSpan) {
    guard let last = LastSegments(key) else { return nil }
    self.init(key, last)
  }

  /// Nil if `DocumentKey.decode` would return nil, or if the document is not in a collection with this
  /// encoded id.
  @_lifetime(copy key)
  init?(_ key: RawSpan, inGroup group: RawSpan) {
    guard let last = LastSegments(key, inGroup: group) else { return nil }
    self.init(key, last)
  }

  /// `last` must be the last segments of this key.
  @_lifetime(copy key)
  init(_ key: RawSpan, _ last: LastSegments) {
    self.key = key
    self.last = last
  }

  /// The segments of the document that contains the collection; empty for a root collection.
  var parent: RawSpan {
    @_lifetime(copy self)
    get { key.extracting(1..<last.collection.lowerBound) }
  }

  /// The segment with the id of the collection.
  var collection: RawSpan {
    @_lifetime(copy self)
    get { key.extracting(last.collection) }
  }

  /// The segment with the id of the document.
  var document: RawSpan {
    @_lifetime(copy self)
    get { key.extracting(last.document) }
  }

  /// Whether the document is below a document of a collection with an equal id.
  var isNested: Bool {
    var isCollection = true
    var start = 1
    while start < last.collection.lowerBound, let end = DocumentKey.segmentEnd(in: key, from: start) {
      if isCollection, key.extracting(start..<end).isSame(as: collection) { return true }
      isCollection.toggle()
      start = end
    }
    return false
  }

  /// All segments and the end marker.
  var path: RawSpan {
    @_lifetime(copy self)
    get { key.extracting(droppingFirst: 1) }
  }
}

/// The places of the last two segments of a key.
struct LastSegments {
  private(set) var collection = 0..<0
  private(set) var document = 0..<1

  /// Nil if `DocumentKey.decode` would return nil.
  init?(_ key: RawSpan) {
    if let plain = LastSegments(plain: key) {
      self = plain
    } else {
      guard DocumentKey.decode(key) != nil else { return nil }
      self.init(any: key)
    }
  }

  /// Nil also if the document is not in a collection with this encoded id. Decodes no key of another
  /// collection.
  init?(_ key: RawSpan, inGroup group: RawSpan) {
    if let plain = LastSegments(plain: key) {
      guard key.extracting(plain.collection).isSame(as: group) else { return nil }
      self = plain
    } else {
      self.init(any: key)
      guard key.extracting(collection).isSame(as: group), DocumentKey.decode(key) != nil else { return nil }
    }
  }

  /// Finds the segments of a key that `DocumentKey.encode` has made. Does not check the names.
  init(trusted key: RawSpan) { self.init(any: key) }

  /// Finds the segments without checking names.
  private init(any key: RawSpan) {
    while let end = DocumentKey.segmentEnd(in: key, from: document.upperBound) {
      append(document.upperBound..<end)
    }
  }

  private mutating func append(_ segment: Range<Int>) {
    collection = document
    document = segment
  }

  // MARK: Plain names

  /// A limit for keys and their segments. Paths within the limit cannot be too long or too deep.
  private static let (plainBytesMax, plainSegmentsMax) = (1024, 100)

  /// Nil if the key is invalid, or if a name may not be plain.
  private init?(plain key: RawSpan) {
    guard DocumentKey.isOfDocument(key), key.byteCount <= Self.plainBytesMax else { return nil }
    var segments = 0
    while document.upperBound < key.byteCount {
      let start = document.upperBound
      var end = start + 9
      switch key.byte(at: start) {
      case DocumentKey.numeric: break
      case DocumentKey.name:
        guard let nameEnd = Self.plainEnd(key, from: start + 1) else { return nil }
        end = nameEnd + 2
      case DocumentKey.end:
        guard start + 1 == key.byteCount, segments > 0, segments % 2 == 0, segments <= Self.plainSegmentsMax
        else { return nil }
        return
      default: return nil
      }
      guard end < key.byteCount else { return nil }
      append(start..<end)
      segments += 1
    }
    return nil
  }

  /// Returns the offset of the end marker of a name. Returns nil if there is none, or if the name is empty or
  /// has a byte that is not allowed at its place in every name.
  private static func plainEnd(_ key: RawSpan, from start: Int) -> Int? {
    guard start < key.byteCount, case let first = key.byte(at: start),
      first != 0, first != UInt8(ascii: "_"), first != UInt8(ascii: ".")
    else { return nil }
    var next = start
    while next < key.byteCount {
      let word = key.byteCount - next >= 8 ? key.word(at: next) : key.extracting(droppingFirst: next).unsigned
      let zeros = zeroBytes(word)
      // The bits below the marker of the first zero byte; all bits if there is no zero byte.
      let name = zeros == 0 ? UInt64.max : (zeros & (0 &- zeros)) &- 1
      let slashes = zeroBytes(word ^ slashes)
      guard (word | slashes) & name & highBits == 0 else { return nil }
      guard zeros == 0 else {
        let end = next + zeros.trailingZeroBitCount / 8
        return end + 1 < key.byteCount && key.byte(at: end + 1) == DocumentKey.nameEnd ? end : nil
      }
      next += 8
    }
    return nil
  }

  private static let highBits: UInt64 = 0x8080_8080_8080_8080
  private static let slashes: UInt64 = 0x2F2F_2F2F_2F2F_2F2F

  /// Sets the high bit of each zero byte. Bytes above the first zero byte may be marked wrongly.
  @inline(__always)
  private static func zeroBytes(_ word: UInt64) -> UInt64 {
    (word &- 0x0101_0101_0101_0101) & ~word & highBits
  }
}
