// The decoder of a coded value. Each nested value has its own decoder.

import DocumentStore

/// A decoder of one value. The chain of its parents is the coding path.
final class ValueDecoder: Decoder {
  /// The map of a record that is being decoded. It is not in `other`, because copies of coded values are
  /// slow.
  private let map: RecordMap?
  /// The value, if it is not the map of a record.
  private let other: CodedValue
  let options: DecodingOptions
  /// True for dictionaries, whose keys are data and therefore not converted between camel case and snake
  /// case.
  let keysAreExact: Bool
  /// Whether the type has requested a single-value container.
  private(set) var usesSingleValue = false

  private let parent: ValueDecoder?
  private let key: (any CodingKey)?

  init(_ value: CodedValue, _ options: DecodingOptions) {
    (map, other) = Self.parts(of: value)
    self.options = options
    keysAreExact = false
    parent = nil
    key = nil
  }

  /// Creates a decoder for a value of `type`, which is not a scalar type.
  init(_ map: RecordMap, _ options: DecodingOptions, as type: Any.Type) {
    self.map = map
    other = .null
    self.options = options
    keysAreExact = options.convertsKeys && type is any StringKeyed.Type
    parent = nil
    key = nil
  }

  private init(
    _ parts: Parts, below parent: ValueDecoder?, key: (any CodingKey)?, options: DecodingOptions,
    keysAreExact: Bool
  ) {
    (map, other) = parts
    self.parent = parent
    self.key = key
    self.options = options
    self.keysAreExact = keysAreExact
  }

  private typealias Parts = (map: RecordMap?, other: CodedValue)

  private static func parts(of value: CodedValue) -> Parts {
    if case .recordMap(let map) = value { (map, .null) } else { (nil, value) }
  }

  var value: CodedValue { map.map { .recordMap($0) } ?? other }

  /// Returns `decoder` if it is a decoder of this class. Costs less than a cast.
  static func of(_ decoder: any Decoder) -> ValueDecoder? {
    func opened<Opened: Decoder>(_ decoder: Opened) -> ValueDecoder? {
      Opened.self == ValueDecoder.self ? same(decoder, as: ValueDecoder.self) : nil
    }
    return opened(decoder)
  }

  var userInfo: [CodingUserInfoKey: Any] { options.userInfo }

  var codingPath: [any CodingKey] { path(to: nil) }

  func path(to last: (any CodingKey)?) -> [any CodingKey] {
    var reversed: [any CodingKey] = last.map { [$0] } ?? []
    var current: ValueDecoder? = self
    while let decoder = current {
      if let key = decoder.key { reversed.append(key) }
      current = decoder.parent
    }
    return reversed.reversed()
  }

  // MARK: Nested values

  /// Returns a decoder for `value`. Without a key, `value` is this decoder's own value and not a nested one.
  func child(_ value: CodedValue, at key: (any CodingKey)?, keysAreExact: Bool = false) -> ValueDecoder {
    ValueDecoder(
      Self.parts(of: value), below: key == nil ? parent : self, key: key ?? self.key, options: options,
      keysAreExact: keysAreExact)
  }

  func child(_ map: RecordMap, at key: any CodingKey, keysAreExact: Bool) -> ValueDecoder {
    ValueDecoder((map, .null), below: self, key: key, options: options, keysAreExact: keysAreExact)
  }

  // MARK: Decoder

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    switch try fields(for: ObjectIdentifier(type)) {
    case .record(let fields): KeyedDecodingContainer(RecordDecodingContainer<Key>(fields))
    case .others(let cursor): KeyedDecodingContainer(MapDecodingContainer<Key>(cursor))
    }
  }

  /// The fields of a map.
  enum Fields {
    /// The fields of a record whose names are not converted.
    case record(RecordFields)
    case others(FieldCursor)
  }

  /// Returns the fields of the map that is being decoded. `type` identifies the type that looks them up.
  func fields(for type: ObjectIdentifier) throws -> Fields {
    if let map {
      return options.convertsKeys && !keysAreExact
        ? .others(FieldCursor(self, .record(RecordFields(map))))
        : .record(RecordFields(map, for: type, reader: self))
    }
    return switch other {
    case .stored(.map(let map)): .others(FieldCursor(self, .stored(map.entries)))
    case .map(let map): .others(FieldCursor(self, .coded(map.entries)))
    default: throw mismatch([String: Any].self, other, at: nil)
    }
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    switch value {
    case .stored(.array(let elements)): ArrayDecodingContainer(self, .stored(elements))
    case .recordArray(let array): ArrayDecodingContainer(self, .record(array.elements ?? []))
    case .array(let array): ArrayDecodingContainer(self, .coded(array.elements))
    default: throw mismatch([Any].self, value, at: nil)
    }
  }

  func singleValueContainer() -> any SingleValueDecodingContainer {
    usesSingleValue = true
    return self
  }

  // MARK: Errors

  /// Returns `found`; throws a type mismatch if it is nil.
  func require<Found>(
    _ type: Any.Type, _ found: Found?, in value: CodedValue, at key: (any CodingKey)?
  ) throws -> Found {
    guard let found else { throw mismatch(type, value, at: key) }
    return found
  }

  func mismatch(_ type: Any.Type, _ value: CodedValue, at key: (any CodingKey)?) -> DecodingError {
    value.isNull
      ? .valueNotFound(type, context("Expected \(type) but found null instead.", at: key))
      : .typeMismatch(
        type, context("Expected to decode \(type) but found \(value.kind) instead.", at: key))
  }

  func corrupted(_ message: String, at key: (any CodingKey)?) -> DecodingError {
    .dataCorrupted(context(message, at: key))
  }

  func context(_ message: String, at key: (any CodingKey)?) -> DecodingError.Context {
    DecodingError.Context(codingPath: path(to: key), debugDescription: message)
  }
}

// This generic method implements the protocol's fifteen methods.
extension ValueDecoder: SingleValueDecodingContainer {
  func decodeNil() -> Bool { value.isNull }

  func decode<T: Decodable>(_ type: T.Type) throws -> T { try decode(type, from: value, at: nil) }
}
