// Encodes the fields of a map into the tree of coded values.

private import DocumentStore

/// A container that encodes fields by name.
struct MapEncodingContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  private let encoder: ValueEncoder
  private let map: CodedMap

  init(_ encoder: ValueEncoder, _ map: CodedMap) {
    self.encoder = encoder
    self.map = map
  }

  var codingPath: [any CodingKey] { encoder.codingPath }

  func encodeNil(forKey key: Key) { map.append(name(of: key), .null) }

  // This generic method implements the protocol's fifteen `encode` methods, except those for the three most
  // frequent types. Values of these three types are always written as fields.
  func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
    if let coded = try encoder.coded(value, at: key) { map.append(name(of: key), coded) }
  }

  func encode(_ value: String, forKey key: Key) { map.append(name(of: key), .stored(.string(value))) }

  func encode(_ value: Int, forKey key: Key) {
    map.append(name(of: key), .stored(.integer(Int64(value))))
  }

  func encode(_ value: Bool, forKey key: Key) { map.append(name(of: key), .stored(.boolean(value))) }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) -> KeyedEncodingContainer<NestedKey> {
    nested(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    nested(key).unkeyedContainer()
  }

  func superEncoder() -> any Encoder { childEncoder(NameKey.super) }

  func superEncoder(forKey key: Key) -> any Encoder { childEncoder(key) }

  /// Returns the encoder of a nested value. If a container was opened earlier with this key, the encoder
  /// continues that container.
  private func nested(_ key: Key) -> ValueEncoder {
    let name = name(of: key)
    return encoder.child(at: key, in: .field(map, name), over: map[name])
  }

  private func childEncoder(_ key: any CodingKey) -> ValueEncoder {
    let name = name(of: key)
    map.append(name, .map(CodedMap()))
    return encoder.child(at: key, in: .field(map, name))
  }

  private func name(of key: some CodingKey) -> String {
    if encoder.keysAreExact { return key.stringValue }
    return switch encoder.options.key {
    case .useDefaultKeys: key.stringValue
    case .convertToSnakeCase: SnakeCase.encode(key.stringValue)
    case .custom(let convert): convert(encoder.path(to: key)).stringValue
    }
  }
}
