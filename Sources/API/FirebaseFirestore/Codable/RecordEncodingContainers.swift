// The containers of RecordValueEncoder. A container knows its frame by its serial number.

/// A container that writes fields by name.
struct RecordMapContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  private let encoder: RecordValueEncoder
  private let serial: Int

  init(_ encoder: RecordValueEncoder, _ serial: Int) {
    self.encoder = encoder
    self.serial = serial
  }

  var codingPath: [any CodingKey] { encoder.codingPath }

  func encodeNil(forKey key: Key) { encoder.encodeNil(key.stringValue, serial) }

  // This generic method implements the protocol's fifteen `encode` methods, except those for the most
  // frequent types.
  func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
    try encoder.encode(value, key.stringValue, key: key, in: serial)
  }

  func encode(_ value: String, forKey key: Key) { encoder.encode(value, key.stringValue, in: serial) }

  func encode(_ value: Int, forKey key: Key) { encoder.encode(Int64(value), key.stringValue, in: serial) }

  func encode(_ value: Bool, forKey key: Key) { encoder.encode(value, key.stringValue, in: serial) }

  func encode(_ value: Double, forKey key: Key) throws {
    try encoder.encode(value, key.stringValue, in: serial)
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) -> KeyedEncodingContainer<NestedKey> {
    encoder.abandonedEncoder().container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    encoder.abandonedEncoder().unkeyedContainer()
  }

  func superEncoder() -> any Encoder { encoder.abandonedEncoder() }

  func superEncoder(forKey key: Key) -> any Encoder { encoder.abandonedEncoder() }
}

/// A container that writes elements one after another.
struct RecordArrayContainer: UnkeyedEncodingContainer {
  private let encoder: RecordValueEncoder
  private let serial: Int

  init(_ encoder: RecordValueEncoder, _ serial: Int) {
    self.encoder = encoder
    self.serial = serial
  }

  var codingPath: [any CodingKey] { encoder.codingPath }

  var count: Int { encoder.elementCount(serial) }

  func encodeNil() { encoder.encodeNilElement(serial) }

  // This generic method implements the protocol's fifteen `encode` methods.
  func encode<T: Encodable>(_ value: T) throws { try encoder.encodeElement(value, serial) }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type
  ) -> KeyedEncodingContainer<NestedKey> {
    encoder.abandonedEncoder().container(keyedBy: type)
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
    encoder.abandonedEncoder().unkeyedContainer()
  }

  func superEncoder() -> any Encoder { encoder.abandonedEncoder() }
}

/// A container that writes one value.
struct RecordSingleContainer: SingleValueEncodingContainer {
  private let encoder: RecordValueEncoder
  private let serial: Int

  init(_ encoder: RecordValueEncoder, _ serial: Int) {
    self.encoder = encoder
    self.serial = serial
  }

  var codingPath: [any CodingKey] { encoder.codingPath }

  func encodeNil() { encoder.encodeNilSingle(serial) }

  // This generic method implements the protocol's fifteen methods.
  func encode<T: Encodable>(_ value: T) throws { try encoder.encodeSingle(value, serial) }
}
