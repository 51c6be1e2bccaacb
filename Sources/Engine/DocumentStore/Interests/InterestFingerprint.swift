// Hashes and key prefixes of values for the interest filter.
//
// Values with equal index keys have equal hashes.
//
// Conditions are stored as index keys, and encoding a key takes several function calls. Therefore numbers
// with a magnitude below 2^53, and texts of up to 16 bytes, are hashed without encoding a key and without a
// function call.

import ByteStore

enum InterestFingerprint {
  enum Kind: UInt64 { case name = 1, field, value, element, collection, group }

  // MARK: Values

  /// Returns the hash of a value. Values with equal index keys have equal hashes. `key` is scratch space for
  /// values whose key must be encoded.
  static func hash(of value: UnsafePointer<StoredValue>, _ key: inout [UInt8]) -> UInt64 {
    if let hash = unsafe quickHash(of: value) { return hash }
    if case .string(let text) = unsafe value.pointee { return hash(of: text, start(IndexKey.text)) }
    unsafe key.replace(withKeyOf: value.pointee)
    return hash(ofKey: key)
  }

  /// Returns the first eight bytes of the value's index key, as a number. If these numbers differ for two
  /// values, they sort in the same order as the keys.
  static func head(of value: UnsafePointer<StoredValue>, _ key: inout [UInt8]) -> UInt64 {
    if let head = unsafe quickHead(of: value) { return head }
    if case .string(let text) = unsafe value.pointee, let head = head(of: text) { return head }
    unsafe key.replace(withKeyOf: value.pointee)
    return key.head
  }

  /// Nil if the value needs the slow path.
  @inline(__always)
  static func quickHash(of value: UnsafePointer<StoredValue>) -> UInt64? {
    switch unsafe value.pointee {
    case .string(let text): quickHash(of: text, start(IndexKey.text))
    case .double(let number) where number.magnitude < 0x1p53: hash(of: number)
    case .integer(let number) where number.magnitude < 1 << 53: hash(of: Double(number))
    default: nil
    }
  }

  @inline(__always)
  static func quickHead(of value: UnsafePointer<StoredValue>) -> UInt64? {
    switch unsafe value.pointee {
    case .double(let number) where number.magnitude < 0x1p53: head(of: number)
    case .integer(let number) where number.magnitude < 1 << 53: head(of: Double(number))
    default: nil
    }
  }

  /// Returns the hash of the value whose index key is `key`.
  static func hash(ofKey key: [UInt8]) -> UInt64 {
    let content = key.dropFirst()
    switch key.first {
    case IndexKey.text:
      return hash(of: String(decoding: unescaped(content.dropLast(2)), as: UTF8.self), start(IndexKey.text))
    // The key of a number has eight bytes after the tag only if a double represents the number exactly.
    // Larger integers have longer keys.
    case IndexKey.number where content.count == 8:
      return hash(bits: content.reduce(0) { $0 << 8 | UInt64($1) })
    default: return hash(key, 0)
    }
  }

  /// The Bloom filter's fingerprint of a field's value, or of an array element in the field.
  @inline(__always)
  static func fingerprint(_ value: UInt64, in field: UInt64, kind: Kind) -> UInt64 {
    var hash = field ^ kind.rawValue
    mix(&hash, value)
    return hash
  }

  /// The fingerprint of an anchor that matches a single value.
  static func fingerprint(of anchor: LiveAnchor) -> UInt64 {
    switch anchor {
    case .name(let name): hash(ofName: name)
    case .equal(let path, let value): fingerprint(hash(ofKey: value), in: hash(of: path), kind: .value)
    case .element(let path, let value): fingerprint(hash(ofKey: value), in: hash(of: path), kind: .element)
    case .range, .either: preconditionFailure("it holds for more than one value")
    }
  }

  /// Nil if the first bytes contain a zero byte, because keys escape a zero byte as two bytes.
  private static func head(of text: String) -> UInt64? {
    var text = text
    return text.withUTF8 { bytes in
      var head = UInt64(IndexKey.text)
      for place in 0..<7 {
        let byte = unsafe place < bytes.count ? bytes[place] : place == bytes.count + 1 ? IndexKey.textEnd : 0
        if byte == 0, place < bytes.count { return nil }
        head = head << 8 | UInt64(byte)
      }
      return head
    }
  }

  /// Requires a magnitude below 2^53, where a double represents every integer exactly.
  @inline(__always)
  private static func head(of number: Double) -> UInt64 {
    UInt64(IndexKey.number) << 56 | IndexKey.bits(of: number) >> 8
  }

  @inline(__always)
  private static func hash(of number: Double) -> UInt64 { hash(bits: IndexKey.bits(of: number)) }

  @inline(__always)
  private static func hash(bits: UInt64) -> UInt64 {
    var hash = start(IndexKey.number)
    mix(&hash, bits)
    return hash
  }

  /// Undoes the escaping of zero bytes in keys.
  private static func unescaped(_ text: ArraySlice<UInt8>) -> [UInt8] {
    var bytes: [UInt8] = []
    var wasZero = false
    for byte in text {
      if !wasZero { bytes.append(byte) }
      wasZero = byte == 0
    }
    return bytes
  }

  // MARK: Names

  /// Hash of a document name, given its key.
  static func hash(ofName key: [UInt8]) -> UInt64 { hash(key, Kind.name.rawValue) }

  static func hash(of path: StoredFieldPath) -> UInt64 {
    path.names.reduce(Kind.field.rawValue) { hash(of: $1, $0) }
  }

  static func hash(ofGroup id: String) -> UInt64 { hash(of: id, Kind.group.rawValue) }

  /// Hash of a collection, given the segments of its path.
  static func hash(ofCollection segments: some Sequence<String>) -> UInt64 {
    segments.reduce(Kind.collection.rawValue) { hash(of: $1, $0) }
  }

  /// Hash of the collection that contains the document.
  @inline(never)
  static func hash(ofCollectionOf path: DocumentPath) -> UInt64 {
    hash(ofCollection: path.segments.dropLast())
  }

  /// Nil if the path needs the slow path.
  @inline(__always)
  static func quickHash(ofCollectionOf path: DocumentPath) -> UInt64? {
    unsafe path.segments.withUnsafeBufferPointer { segments in
      var hash = Kind.collection.rawValue
      for place in 0..<segments.count - 1 {
        guard let next = unsafe quickHash(of: segments[place], hash) else { return nil }
        hash = next
      }
      return hash
    }
  }

  // MARK: Bytes

  /// The longest text with a quick hash.
  static let quickBytesMax = 16

  /// Nil if the text is long, or is not stored as contiguous UTF-8.
  @inline(__always)
  private static func quickHash(of text: String, _ start: UInt64) -> UInt64? {
    let hash = unsafe text.utf8.withContiguousStorageIfAvailable { bytes -> UInt64? in
      guard bytes.count <= quickBytesMax else { return nil }
      // This is the loop of the general hash function, unrolled for at most two words.
      let bytes = UnsafeRawBufferPointer(bytes)
      var hash = start &+ UInt64(bytes.count)
      if bytes.count > 8 { unsafe mix(&hash, load(bytes, at: 0)) }
      unsafe mix(&hash, lastWord(bytes))
      return hash
    }
    return hash ?? nil
  }

  private static func hash(of text: String, _ start: UInt64) -> UInt64 {
    if let hash = quickHash(of: text, start) { return hash }
    var text = text
    return text.withUTF8 { bytes in unsafe hash(UnsafeRawBufferPointer(bytes), start) }
  }

  private static func hash(_ bytes: [UInt8], _ start: UInt64) -> UInt64 {
    unsafe bytes.withUnsafeBytes { unsafe hash($0, start) }
  }

  private static func hash(_ bytes: UnsafeRawBufferPointer, _ start: UInt64) -> UInt64 {
    // The length is part of the start value, because two texts of different lengths can have equal last
    // words.
    var hash = start &+ UInt64(bytes.count)
    var place = 0
    while bytes.count - place > 8 {
      unsafe mix(&hash, load(bytes, at: place))
      place += 8
    }
    unsafe mix(&hash, lastWord(bytes))
    return hash
  }

  @inline(__always)
  private static func start(_ tag: UInt8) -> UInt64 { UInt64(tag) &* 0xD6E8_FEB8_6659_FD93 }

  @inline(__always)
  private static func mix(_ hash: inout UInt64, _ word: UInt64) {
    hash = (hash ^ word) &* 0x9E37_79B9_7F4A_7C15
    hash ^= hash >> 32
  }

  /// Returns the last eight bytes, or all bytes if there are fewer than eight. The bytes are read as one word
  /// or as overlapping parts instead of one by one.
  @inline(__always)
  private static func lastWord(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    let count = bytes.count
    if count >= 8 { return unsafe load(bytes, at: count - 8) }
    if count >= 4 {
      let (low, high): (UInt32, UInt32) = unsafe (load(bytes, at: 0), load(bytes, at: count - 4))
      return UInt64(low) | UInt64(high) << 32
    }
    guard count > 0 else { return 0 }
    let (low, middle, high): (UInt8, UInt8, UInt8) = unsafe (
      load(bytes, at: 0), load(bytes, at: count / 2), load(bytes, at: count - 1)
    )
    return UInt64(low) | UInt64(middle) << 8 | UInt64(high) << 16
  }

  @inline(__always)
  private static func load<Number: FixedWidthInteger & BitwiseCopyable>(
    _ bytes: UnsafeRawBufferPointer, at place: Int
  ) -> Number {
    Number(littleEndian: unsafe bytes.loadUnaligned(fromByteOffset: place, as: Number.self))
  }
}
