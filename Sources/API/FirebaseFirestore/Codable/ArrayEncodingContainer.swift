// Encodes the elements of an array into the tree of coded values.

/// A container that encodes elements one after another.
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

  // This generic method implements the protocol's fifteen `encode` methods.
  func encode<T: Encodable>(_ value: T) throws {
    if let coded = try encoder.coded(value, at: IndexKey(count)) { array.elements.append(coded) }
  }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type
  ) -> KeyedEncodingContainer<NestedKey> {
    childEncoder().container(keyedBy: type)
  }

  func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { childEncoder().unkeyedContainer() }

  func superEncoder() -> any Encoder { childEncoder() }

  private func childEncoder() -> ValueEncoder {
    let index = count
    array.elements.append(.map(CodedMap()))
    return encoder.child(at: IndexKey(index), in: .element(array, index))
  }
}
