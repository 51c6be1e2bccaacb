// Decodes the fields of a map that is a tree of values, or whose names are converted.

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

  // This generic method implements the protocol's fifteen `decode` methods.
  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    if let value = cursor.value(of: key.stringValue) {
      return try decoder.decode(type, from: value, at: key)
    }
    guard type is any DocumentIDProperty.Type else { throw missing(key) }
    return try type.init(from: decoder.child(.null, at: key))
  }

  func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
    guard let value = cursor.value(of: key.stringValue), !value.isNull else { return nil }
    return try decoder.decode(type, from: value, at: key)
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
