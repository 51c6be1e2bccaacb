// Decodes the fields of a map.

struct MapDecodingContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  private let cursor: FieldCursor

  init(_ cursor: FieldCursor) { self.cursor = cursor }

  private var decoder: ValueDecoder { cursor.decoder }

  var codingPath: [any CodingKey] { decoder.codingPath }

  var allKeys: [Key] {
    (0..<cursor.count).compactMap { Key(stringValue: cursor.name(at: $0)) }
  }

  func contains(_ key: Key) -> Bool { cursor.position(of: key.stringValue) != nil }

  func decodeNil(forKey key: Key) throws -> Bool { try value(for: key).isNull }

  // MARK: Fields

  // This generic method implements the protocol's fifteen `decode` methods, except those for the four most
  // frequent types.
  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    if let list = list(type, key) { return list }
    if let value = cursor.value(of: key.stringValue) {
      return try decoder.decode(type, from: value, at: key)
    }
    guard type is any DocumentIDProperty.Type else { throw missing(key) }
    return try type.init(from: decoder.child(.null, at: key))
  }

  func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
    if let list = list(type, key) { return list }
    return try present(type, key)
  }

  func decode(_ type: String.Type, forKey key: Key) throws -> String {
    if let string = cursor.string(key.stringValue) { return string }
    return try decoder.decode(type, from: value(for: key), at: key)
  }

  func decode(_ type: Int.Type, forKey key: Key) throws -> Int {
    if let integer = cursor.integer(key.stringValue), let exact = Int(exactly: integer) { return exact }
    return try decoder.decode(type, from: value(for: key), at: key)
  }

  func decode(_ type: Double.Type, forKey key: Key) throws -> Double {
    if let double = cursor.double(key.stringValue) { return double }
    return try decoder.decode(type, from: value(for: key), at: key)
  }

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool {
    if let boolean = cursor.boolean(key.stringValue) { return boolean }
    return try decoder.decode(type, from: value(for: key), at: key)
  }

  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
    if let string = cursor.string(key.stringValue) { return string }
    return try present(type, key)
  }

  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
    if let integer = cursor.integer(key.stringValue), let exact = Int(exactly: integer) { return exact }
    return try present(type, key)
  }

  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
    if let double = cursor.double(key.stringValue) { return double }
    return try present(type, key)
  }

  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
    if let boolean = cursor.boolean(key.stringValue) { return boolean }
    return try present(type, key)
  }

  private func present<T: Decodable>(_ type: T.Type, _ key: Key) throws -> T? {
    guard let value = cursor.value(of: key.stringValue), !value.isNull else { return nil }
    return try decoder.decode(type, from: value, at: key)
  }

  /// Returns an array of a frequent element type if all its elements have this type.
  private func list<T>(_ type: T.Type, _ key: Key) -> T? {
    if T.self == [String].self { return cursor.strings(key.stringValue).map { same($0) } }
    if T.self == [Int].self {
      return cursor.integers(key.stringValue).flatMap { Self.exact($0) }.map { same($0) }
    }
    if T.self == [Double].self { return cursor.doubles(key.stringValue).map { same($0) } }
    return nil
  }

  private static func exact(_ integers: [Int64]) -> [Int]? {
    var exact: [Int] = []
    exact.reserveCapacity(integers.count)
    for integer in integers {
      guard let next = Int(exactly: integer) else { return nil }
      exact.append(next)
    }
    return exact
  }

  // MARK: Containers

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try decoder.child(value(for: key), at: key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try decoder.child(value(for: key), at: key).unkeyedContainer()
  }

  func superDecoder() -> any Decoder { decoder(for: NameKey.super) }

  func superDecoder(forKey key: Key) -> any Decoder { decoder(for: key) }

  /// Returns the decoder of a nested value. If the key is missing, for example for a superclass, the decoder
  /// reads null.
  private func decoder(for key: any CodingKey) -> ValueDecoder {
    decoder.child(cursor.value(of: key.stringValue) ?? .null, at: key)
  }

  private func value(for key: Key) throws -> CodedValue {
    guard let value = cursor.value(of: key.stringValue) else { throw missing(key) }
    return value
  }

  private func missing(_ key: Key) -> DecodingError {
    .keyNotFound(
      key, decoder.context("No value associated with key \"\(key.stringValue)\".", at: nil))
  }
}
