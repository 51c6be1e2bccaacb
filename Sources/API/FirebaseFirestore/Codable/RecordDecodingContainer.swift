// Decodes the fields of a map directly from the bytes of a record.
//
// The container is used if the names of the fields are not converted. It decodes values of the most frequent
// types without an intermediate value. All other types, and all errors, are left to `ValueDecoder`.

import DocumentStore
import FirebaseCore

struct RecordDecodingContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  // A single reference, because the standard library copies the container for every field.
  private let fields: RecordFields

  /// The reader of the fields must be their decoder.
  init(_ fields: RecordFields) { self.fields = fields }

  private var decoder: ValueDecoder {
    guard let decoder = fields.reader as? ValueDecoder else {
      preconditionFailure("fields are read by the decoder of their map")
    }
    return decoder
  }

  var codingPath: [any CodingKey] { decoder.codingPath }

  var allKeys: [Key] { (0..<fields.count).compactMap { Key(stringValue: fields.name(at: $0)) } }

  func contains(_ key: Key) -> Bool { fields.position(of: key.stringValue) != nil }

  func decodeNil(forKey key: Key) throws -> Bool { isNull(try location(of: key)) }

  // MARK: Fields

  // This generic method implements the protocol's fifteen `decode` methods, except those for the four most
  // frequent types.
  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    if let location = fields.find(key.stringValue) { return try decode(type, at: location, key: key) }
    guard type is any DocumentIDProperty.Type else { throw missing(key) }
    return try type.init(from: decoder.child(.null, at: key))
  }

  func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
    guard let location = present(key) else { return nil }
    return try decode(type, at: location, key: key)
  }

  func decode(_ type: String.Type, forKey key: Key) throws -> String { try string(location(of: key), key) }

  func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try integer(location(of: key), key) }

  func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try double(location(of: key), key) }

  func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try boolean(location(of: key), key) }

  func decodeIfPresent(_ type: String.Type, forKey key: Key) throws -> String? {
    try present(key).map { try string($0, key) }
  }

  func decodeIfPresent(_ type: Int.Type, forKey key: Key) throws -> Int? {
    try present(key).map { try integer($0, key) }
  }

  func decodeIfPresent(_ type: Double.Type, forKey key: Key) throws -> Double? {
    try present(key).map { try double($0, key) }
  }

  func decodeIfPresent(_ type: Bool.Type, forKey key: Key) throws -> Bool? {
    try present(key).map { try boolean($0, key) }
  }

  // MARK: Containers

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try decoder.child(value(at: location(of: key)), at: key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
    try decoder.child(value(at: location(of: key)), at: key).unkeyedContainer()
  }

  func superDecoder() -> any Decoder { decoder(for: NameKey.super) }

  func superDecoder(forKey key: Key) -> any Decoder { decoder(for: key) }

  /// Returns the decoder of a nested value. If the key is missing, for example for a superclass, the decoder
  /// reads null.
  private func decoder(for key: any CodingKey) -> ValueDecoder {
    decoder.child(fields.find(key.stringValue).map { value(at: $0) } ?? .null, at: key)
  }

  // MARK: Locations

  @inline(__always)
  private func location(of key: Key) throws -> ValueLocation {
    guard let location = fields.find(key.stringValue) else { throw missing(key) }
    return location
  }

  /// The location of a value that is not null.
  @inline(__always)
  private func present(_ key: Key) -> ValueLocation? {
    guard let location = fields.find(key.stringValue), !isNull(location) else { return nil }
    return location
  }

  private func isNull(_ location: ValueLocation) -> Bool {
    // A pending timestamp is null or a time, depending on the options.
    location.isNull && value(at: location).isNull
  }

  private func missing(_ key: Key) -> DecodingError {
    .keyNotFound(
      key, decoder.context("No value associated with key \"\(key.stringValue)\".", at: nil))
  }

  // MARK: Values

  private func value(at location: ValueLocation) -> CodedValue {
    CodedValue(fields.value(at: location)).withTimes(decoder.options.times)
  }

  private func decode<T: Decodable>(_ type: T.Type, at location: ValueLocation, key: Key) throws -> T {
    if T.self == Timestamp.self, let time = fields.timestamp(at: location) { return same(Timestamp(time)) }
    if location.isMap, !ValueDecoder.isScalar(type) {
      return try decoder.decodeNested(type, fromMap: fields.map(at: location), at: key)
    }
    if T.self == [String].self, let strings = fields.strings(at: location) { return same(strings) }
    return try decoder.decode(type, from: value(at: location), at: key)
  }

  @inline(__always)
  private func string(_ location: ValueLocation, _ key: Key) throws -> String {
    if let string = fields.string(at: location) { return string }
    return try decoder.decode(String.self, from: value(at: location), at: key)
  }

  @inline(__always)
  private func integer(_ location: ValueLocation, _ key: Key) throws -> Int {
    if let integer = fields.integer(at: location), let exact = Int(exactly: integer) { return exact }
    return try decoder.decode(Int.self, from: value(at: location), at: key)
  }

  @inline(__always)
  private func double(_ location: ValueLocation, _ key: Key) throws -> Double {
    if let double = fields.double(at: location) { return double }
    return try decoder.decode(Double.self, from: value(at: location), at: key)
  }

  @inline(__always)
  private func boolean(_ location: ValueLocation, _ key: Key) throws -> Bool {
    if let boolean = location.boolean { return boolean }
    return try decoder.decode(Bool.self, from: value(at: location), at: key)
  }
}
