// The containers that values fill: they write straight into the tree of coded values.

private import Foundation

/// Fields by name.
struct MapEncodingContainer<Key: CodingKey>: KeyedEncodingContainerProtocol {
  private let encoder: ValueEncoder
  private let map: CodedMap

  init(_ encoder: ValueEncoder, _ map: CodedMap) {
    self.encoder = encoder
    self.map = map
  }

  var codingPath: [any CodingKey] { encoder.codingPath }

  func encodeNil(forKey key: Key) { map.append(name(of: key), .null) }

  // One generic method stands for the protocol's fifteen.
  func encode<T: Encodable>(_ value: T, forKey key: Key) throws {
    if let coded = try encoder.coded(value, at: key) { map.append(name(of: key), coded) }
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) -> KeyedEncodingContainer<NestedKey> {
    nested(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
    nested(key).unkeyedContainer()
  }

  func superEncoder() -> any Encoder { given(NameKey.super) }

  func superEncoder(forKey key: Key) -> any Encoder { given(key) }

  /// Goes on with a container that was asked for before under the same key.
  private func nested(_ key: Key) -> ValueEncoder {
    let name = name(of: key)
    return encoder.child(at: key, in: .field(map, name), over: map[name])
  }

  private func given(_ key: any CodingKey) -> ValueEncoder {
    let name = name(of: key)
    map.append(name, .map(CodedMap()))
    return encoder.child(at: key, in: .field(map, name))
  }

  private func name(of key: any CodingKey) -> String {
    if encoder.keysAreExact { return key.stringValue }
    return switch encoder.options.key {
    case .useDefaultKeys: key.stringValue
    case .convertToSnakeCase: SnakeCase.encode(key.stringValue)
    case .custom(let convert): convert(encoder.path(to: key)).stringValue
    }
  }
}

/// Elements one after another.
struct ArrayEncodingContainer: UnkeyedEncodingContainer {
  private let encoder: ValueEncoder
  private let array: CodedArray

  init(_ encoder: ValueEncoder, _ array: CodedArray) {
    self.encoder = encoder
    self.array = array
  }

  var codingPath: [any CodingKey] { encoder.codingPath }

  var count: Int { array.elements.count }

  func encodeNil() { array.elements.append(.null) }

  // One generic method stands for the protocol's fifteen.
  func encode<T: Encodable>(_ value: T) throws {
    if let coded = try encoder.coded(value, at: IndexKey(count)) { array.elements.append(coded) }
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type
  ) -> KeyedEncodingContainer<NestedKey> {
    given().container(keyedBy: type)
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { given().unkeyedContainer() }

  func superEncoder() -> any Encoder { given() }

  private func given() -> ValueEncoder {
    let index = count
    array.elements.append(.map(CodedMap()))
    return encoder.child(at: IndexKey(index), in: .element(array, index))
  }
}
