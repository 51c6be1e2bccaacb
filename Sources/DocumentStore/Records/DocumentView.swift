// A document as it is stored, looked at without being decoded: nothing is copied, and nothing allocated.
//
// Views are only valid while the call lasts that handed them out, which the compiler sees to. They trust
// nothing: bytes that are no record end a walk with a `RecordError`.

import ByteStore

/// A stored document, borrowed.
public struct DocumentView: ~Escapable {
  private let key: RawSpan
  private let record: RawSpan

  @_lifetime(copy key, copy record)
  init(key: RawSpan, record: RawSpan) {
    self.key = key
    self.record = record
  }

  /// Makes a copy of the path; nil for a key that is none.
  public var path: DocumentPath? { DocumentKey.decode([UInt8](copying: key)) }

  /// Hands over each field, in the order of their names. False if the bytes are no record.
  public func forEachField(_ body: (_ name: borrowing TextView, _ value: borrowing ValueView) -> Void) -> Bool
  {
    guard record.byteCount >= RecordCodec.headBytes, record.firstByte == RecordCodec.selfDescribing else {
      return false
    }
    return MapView(record.extracting(droppingFirst: RecordCodec.headBytes)).forEachField(body)
  }

  /// A copy of the document.
  func copied() throws(RecordError) -> StoredDocument? {
    guard let path else { return nil }
    return try StoredDocument(path: path, record: Array(copying: record))
  }

  /// The value of a field, decoded by itself.
  func value(at path: StoredFieldPath) throws(RecordError) -> StoredValue? {
    try RecordCodec.value(at: path, in: record)
  }
}

/// UTF-8, borrowed; not checked for being that.
public struct TextView: ~Escapable {
  public let bytes: RawSpan

  @_lifetime(copy bytes)
  init(_ bytes: RawSpan) { self.bytes = bytes }

  /// A copy; nil if the bytes are no UTF-8.
  public var string: String? { String(validating: [UInt8](copying: bytes), as: UTF8.self) }
}

/// The fields of a map, borrowed.
public struct MapView: ~Escapable {
  private let bytes: RawSpan

  @_lifetime(copy bytes)
  init(_ bytes: RawSpan) { self.bytes = bytes }

  /// False if the bytes are no map.
  public func forEachField(_ body: (_ name: borrowing TextView, _ value: borrowing ValueView) -> Void) -> Bool
  {
    var reader = ByteReader(bytes)
    guard let count = reader.uint32(), reader.skip(4 * Int(count)) else { return false }
    for _ in 0..<count {
      guard let size = reader.uint16(), let name = reader.range(Int(size)),
        let value = ValueView(bytes.extracting(droppingFirst: name.upperBound)),
        reader.skip(value.byteCount)
      else { return false }
      body(TextView(bytes.extracting(name)), value)
    }
    return true
  }
}

/// A value, borrowed: one of its properties is not nil, or it is null.
public struct ValueView: ~Escapable {
  private let tag: RecordCodec.Tag
  /// Behind the tag.
  private let payload: RawSpan

  /// The value at the start of the bytes; nil if there is none.
  @_lifetime(copy bytes)
  init?(_ bytes: RawSpan) {
    var reader = ByteReader(bytes)
    guard let tag = reader.uint8().flatMap(RecordCodec.Tag.init(rawValue:)) else { return nil }
    let size: Int
    switch tag {
    case .null, .false, .true: size = 0
    case .integer, .double, .timestamp: size = 8
    case .geoPoint: size = 16
    case .string, .bytes, .array, .map:
      guard let count = reader.uint32() else { return nil }
      size = 4 + Int(count)
    case .vector:
      guard let count = reader.uint32() else { return nil }
      size = 4 + 8 * Int(count)
    case .reference:
      for _ in 0..<3 {
        guard let count = reader.uint32(), reader.skip(Int(count)) else { return nil }
      }
      size = reader.offset - 1
    }
    guard size <= bytes.byteCount - 1 else { return nil }
    self.tag = tag
    payload = bytes.extracting(1..<1 + size)
  }

  var byteCount: Int { 1 + payload.byteCount }

  public var isNull: Bool { tag == .null }

  public var boolean: Bool? {
    switch tag {
    case .true: true
    case .false: false
    default: nil
    }
  }

  public var integer: Int64? { tag == .integer ? Int64(bitPattern: word) : nil }

  public var double: Double? { tag == .double ? Double(bitPattern: word) : nil }

  public var timestamp: StoredTimestamp? {
    tag == .timestamp ? StoredTimestamp(microseconds: Int64(bitPattern: word)) : nil
  }

  private var word: UInt64 {
    var reader = ByteReader(payload)
    return reader.uint64() ?? 0
  }

  /// Calls `body` with the text, if it is one.
  public func withText<Result>(_ body: (borrowing TextView) -> Result) -> Result? {
    tag == .string ? body(TextView(payload.extracting(droppingFirst: 4))) : nil
  }

  /// Calls `body` with the bytes, if it is bytes.
  public func withBytes<Result>(_ body: (RawSpan) -> Result) -> Result? {
    tag == .bytes ? body(payload.extracting(droppingFirst: 4)) : nil
  }

  /// Calls `body` with the map, if it is one.
  public func withMap<Result>(_ body: (borrowing MapView) -> Result) -> Result? {
    tag == .map ? body(MapView(payload.extracting(droppingFirst: 4))) : nil
  }

  /// Hands over each element, if it is an array; false if it is none, or is damaged.
  public func forEachElement(_ body: (borrowing ValueView) -> Void) -> Bool {
    guard tag == .array else { return false }
    var reader = ByteReader(payload)
    guard reader.skip(4), let count = reader.uint32() else { return false }
    for _ in 0..<count {
      guard let value = ValueView(payload.extracting(droppingFirst: reader.offset)),
        reader.skip(value.byteCount)
      else { return false }
      body(value)
    }
    return true
  }
}

extension RawSpan {
  fileprivate var firstByte: UInt8? {
    var reader = ByteReader(self)
    return reader.uint8()
  }
}
