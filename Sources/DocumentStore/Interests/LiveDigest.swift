// What the sieve knows of a value: two numbers, which values with the same key have in common.
//
// Keys are what conditions are told in, and to make one of a value takes several functions; texts and numbers have theirs
// computed without it. Most of this is to be inlined: where nothing is in the processor's caches, each function that is
// called costs as much as a hundred instructions.

import ByteStore

struct LiveDigest {
  enum Kind: UInt64 { case name = 1, field, value, element }

  /// The first bytes of the key: of two keys with different ones, the one with the lower precedes the other.
  let head: UInt64
  private let hash: UInt64

  /// `key` is room for the bytes of values that need them.
  @inline(__always)
  init(_ value: UnsafePointer<StoredValue>, _ key: inout [UInt8]) {
    switch unsafe value.pointee {
    case .string(let text):
      if let digest = Self.digest(text) {
        self = digest
        return
      }
    case .double(let number) where number.magnitude < 0x1p53:
      self.init(number)
      return
    case .integer(let number) where number.magnitude < 1 << 53:
      self.init(Double(number))
      return
    default: break
    }
    unsafe key.replace(withKeyOf: value.pointee)
    self.init(key: key)
  }

  /// Of what a value is compared with.
  init(key: [UInt8]) {
    head = key.head
    let tag = key.first ?? 0
    // Behind a text stands its end.
    let content = tag == IndexKey.text ? key.dropFirst().dropLast(2) : key.dropFirst()
    hash = Self.hash(content, Self.start(tag))
  }

  private init(head: UInt64, hash: UInt64) {
    self.head = head
    self.hash = hash
  }

  /// Nil if its key is not what the text is.
  @inline(__always)
  private static func digest(_ text: String) -> LiveDigest? {
    var text = text
    return text.withUTF8 { utf8 in
      let bytes = UnsafeRawBufferPointer(utf8)
      var hash = start(IndexKey.text)
      var first: UInt64 = 0
      var place = 0
      while place < bytes.count {
        let word = unsafe word(bytes, at: place)
        let left = min(8, bytes.count - place)
        // A zero byte is written as two.
        let unused: UInt64 = left == 8 ? 0 : ~0 << UInt64(8 * left)
        guard hasNoZero(word | unused) else { return nil }
        if place == 0 { first = word.byteSwapped }
        mix(&hash, word)
        place += 8
      }
      if bytes.count < 7 { first |= 1 << UInt64(8 * (6 - bytes.count)) }
      return LiveDigest(head: UInt64(IndexKey.text) << 56 | first >> 8, hash: end(hash, bytes.count))
    }
  }

  /// Of a size at which an integer is the same as a double.
  @inline(__always)
  private init(_ number: Double) {
    let bits = IndexKey.bits(of: number)
    var hash = Self.start(IndexKey.number)
    Self.mix(&hash, bits.byteSwapped)
    self.init(head: UInt64(IndexKey.number) << 56 | bits >> 8, hash: Self.end(hash, 8))
  }

  // MARK: Hashes

  /// Of the value in a field, or of one in the array that it is.
  @inline(__always)
  func hash(in field: UInt64, _ kind: Kind) -> UInt64 {
    var hash = field ^ kind.rawValue
    Self.mix(&hash, self.hash)
    return hash
  }

  static func hash(ofName key: [UInt8]) -> UInt64 { hash(key[...], Kind.name.rawValue) }

  static func hash(of path: StoredFieldPath) -> UInt64 {
    path.names.reduce(Kind.field.rawValue) { hash(ArraySlice($1.utf8), $0) }
  }

  /// Of one that holds for one value alone.
  static func hash(of anchor: LiveAnchor) -> UInt64 {
    switch anchor {
    case .name(let name): hash(ofName: name)
    case .equal(let path, let value): LiveDigest(key: value).hash(in: hash(of: path), .value)
    case .element(let path, let value): LiveDigest(key: value).hash(in: hash(of: path), .element)
    case .range, .either: preconditionFailure("it holds for more than one value")
    }
  }

  private static func hash(_ bytes: ArraySlice<UInt8>, _ start: UInt64) -> UInt64 {
    var hash = start
    for place in stride(from: 0, to: bytes.count, by: 8) {
      mix(&hash, unsafe bytes.withUnsafeBytes { unsafe word($0, at: place) })
    }
    return end(hash, bytes.count)
  }

  @inline(__always)
  private static func start(_ tag: UInt8) -> UInt64 { UInt64(tag) &* 0xD6E8_FEB8_6659_FD93 }

  @inline(__always)
  private static func mix(_ hash: inout UInt64, _ word: UInt64) {
    hash = (hash ^ word) &* 0x9E37_79B9_7F4A_7C15
    hash ^= hash >> 32
  }

  @inline(__always)
  private static func end(_ hash: UInt64, _ count: Int) -> UInt64 {
    var hash = hash
    mix(&hash, UInt64(count))
    return hash
  }

  /// Eight bytes, the first of them the lowest; zeros stand for those behind the end.
  @inline(__always)
  private static func word(_ bytes: UnsafeRawBufferPointer, at place: Int) -> UInt64 {
    let left = bytes.count - place
    if left >= 8 { return unsafe load(bytes, at: place) }
    // In one piece, or two that overlap: not byte by byte.
    if bytes.count >= 8 { return unsafe load(bytes, at: bytes.count - 8) >> UInt64(8 * (8 - left)) }
    if left >= 4 {
      let (low, high): (UInt32, UInt32) = unsafe (load(bytes, at: place), load(bytes, at: bytes.count - 4))
      return UInt64(low) | UInt64(high) << UInt64(8 * (left - 4))
    }
    guard left > 0 else { return 0 }
    let (low, middle, high): (UInt8, UInt8, UInt8) = unsafe (
      load(bytes, at: place), load(bytes, at: place + left / 2), load(bytes, at: bytes.count - 1)
    )
    return UInt64(low) | UInt64(middle) << UInt64(8 * (left / 2)) | UInt64(high) << UInt64(8 * (left - 1))
  }

  @inline(__always)
  private static func load<Number: FixedWidthInteger & BitwiseCopyable>(
    _ bytes: UnsafeRawBufferPointer, at place: Int
  ) -> Number {
    Number(littleEndian: unsafe bytes.loadUnaligned(fromByteOffset: place, as: Number.self))
  }

  @inline(__always)
  private static func hasNoZero(_ word: UInt64) -> Bool {
    (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080 == 0
  }
}
