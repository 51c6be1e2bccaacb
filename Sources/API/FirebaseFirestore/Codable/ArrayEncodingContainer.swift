// The elements of an array as a value writes them: straight into the tree of coded values.

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
