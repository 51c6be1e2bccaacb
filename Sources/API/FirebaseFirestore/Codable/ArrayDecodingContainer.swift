// Decodes the elements of an array.

import DocumentStore

/// The elements of an array, from a document or from a tree of coded values.
enum DecodableElements {
  case stored([StoredValue])
  case coded([CodedValue])
  case record([RecordValue])

  var count: Int {
    switch self {
    case .stored(let elements): elements.count
    case .coded(let elements): elements.count
    case .record(let elements): elements.count
    }
  }

  subscript(index: Int) -> CodedValue {
    switch self {
    case .stored(let elements): .stored(elements[index])
    case .coded(let elements): elements[index]
    case .record(let elements): CodedValue(elements[index])
    }
  }
}

/// A container that decodes elements one after another.
struct ArrayDecodingContainer: UnkeyedDecodingContainer {
  private let decoder: ValueDecoder
  private let elements: DecodableElements
  private(set) var currentIndex = 0

  init(_ decoder: ValueDecoder, _ elements: DecodableElements) {
    self.decoder = decoder
    self.elements = elements
  }

  var codingPath: [any CodingKey] { decoder.codingPath }

  var count: Int? { elements.count }

  var isAtEnd: Bool { currentIndex == elements.count }

  mutating func decodeNil() throws -> Bool {
    guard try next(Never?.self).isNull else { return false }
    currentIndex += 1
    return true
  }

  // This generic method implements the protocol's fifteen `decode` methods.
  mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
    let value = try decoder.decode(type, from: next(type), at: IndexKey(currentIndex))
    currentIndex += 1
    return value
  }

  // The protocol's default implementation would decode the static type `T`, but `type` may be a subclass of
  // it.
  mutating func decodeIfPresent<T: Decodable>(_ type: T.Type) throws -> T? {
    guard try !isAtEnd && !decodeNil() else { return nil }
    return try decode(type)
  }

  mutating func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type
  ) throws -> KeyedDecodingContainer<NestedKey> {
    try step { try $0.container(keyedBy: type) }
  }

  mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
    try step { try $0.unkeyedContainer() }
  }

  mutating func superDecoder() throws -> any Decoder { try step { $0 } }

  /// Advances to the next element only if `body` succeeds.
  private mutating func step<Result>(_ body: (ValueDecoder) throws -> Result) throws -> Result {
    let result = try body(decoder.child(next([Any].self), at: IndexKey(currentIndex)))
    currentIndex += 1
    return result
  }

  private func next(_ type: Any.Type) throws -> CodedValue {
    guard !isAtEnd else {
      throw DecodingError.valueNotFound(
        type, decoder.context("Unkeyed container is at end.", at: IndexKey(currentIndex)))
    }
    return elements[currentIndex].withTimes(decoder.options.times)
  }
}
