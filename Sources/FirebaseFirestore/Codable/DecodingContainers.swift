// The containers that values read from: views of a map's entries and an array's elements.

import DocumentStore
private import Foundation

/// Entries in the order of their names' UTF-8, as they lie in a document or in a tree of coded values.
enum DecodableEntries {
  case stored([StoredMap.Entry])
  case coded([CodedMap.Entry])

  var count: Int {
    switch self {
    case .stored(let entries): entries.count
    case .coded(let entries): entries.count
    }
  }

  func name(at index: Int) -> String {
    switch self {
    case .stored(let entries): entries[index].name
    case .coded(let entries): entries[index].name
    }
  }

  func value(at index: Int) -> CodedValue {
    switch self {
    case .stored(let entries): .stored(entries[index].value)
    case .coded(let entries): entries[index].value
    }
  }
}

/// Fields by name. A class, because it remembers where the next field probably is.
final class MapDecodingContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
  private let decoder: ValueDecoder
  private let entries: DecodableEntries
  /// Types mostly ask for their fields in an order of their own, but some in ours, and many twice for
  /// the same: the entry that was found last, and the one behind it.
  private var last = 0

  init(_ decoder: ValueDecoder, _ entries: DecodableEntries) {
    self.decoder = decoder
    self.entries =
      decoder.options.convertsKeys && !decoder.keysAreExact ? Self.convert(entries, decoder) : entries
  }

  var codingPath: [any CodingKey] { decoder.codingPath }

  var allKeys: [Key] { (0..<entries.count).compactMap { Key(stringValue: entries.name(at: $0)) } }

  func contains(_ key: Key) -> Bool { position(of: key) != nil }

  func decodeNil(forKey key: Key) throws -> Bool { try value(for: key).isNull }

  // One generic method stands for the protocol's fifteen.
  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T {
    guard let position = position(of: key) else {
      guard type is any DocumentIDProperty.Type else { throw missing(key) }
      return try T(from: decoder.child(.null, at: key))
    }
    return try decoder.decode(type, from: entries.value(at: position), at: key)
  }

  func decodeIfPresent<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T? {
    guard let position = position(of: key) else { return nil }
    let value = entries.value(at: position)
    return value.isNull ? nil : try decoder.decode(type, from: value, at: key)
  }

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

  /// A missing superclass is null.
  private func decoder(for key: any CodingKey) -> ValueDecoder {
    decoder.child(position(of: key).map(entries.value) ?? .null, at: key)
  }

  private func value(for key: Key) throws -> CodedValue {
    guard let position = position(of: key) else { throw missing(key) }
    return entries.value(at: position)
  }

  private func missing(_ key: Key) -> DecodingError {
    .keyNotFound(
      key, decoder.context("No value associated with key \"\(key.stringValue)\".", at: nil))
  }

  // MARK: Looking up

  private func position(of key: any CodingKey) -> Int? {
    let name = key.stringValue
    let count = entries.count
    for guess in last..<min(last + 2, count) where UTF8Order.isSame(entries.name(at: guess), name) {
      last = guess
      return guess
    }
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      if UTF8Order.precedes(entries.name(at: middle), name) { low = middle + 1 } else { high = middle }
    }
    guard low < count, UTF8Order.isSame(entries.name(at: low), name) else { return nil }
    last = low
    return low
  }

  private static func convert(_ entries: DecodableEntries, _ decoder: ValueDecoder) -> DecodableEntries {
    // Backwards, because of entries of one name a map keeps the last.
    let converted = CodedMap(
      (0..<entries.count).reversed().map { index in
        (convert(entries.name(at: index), decoder), entries.value(at: index))
      })
    converted.sort()
    return .coded(converted.entries)
  }

  private static func convert(_ name: String, _ decoder: ValueDecoder) -> String {
    switch decoder.options.key {
    case .useDefaultKeys: name
    case .convertFromSnakeCase: SnakeCase.decode(name)
    case .custom(let convert): convert(decoder.path(to: NameKey(name))).stringValue
    }
  }
}

/// Elements of an array, as they lie in a document or in a tree of coded values.
enum DecodableElements {
  case stored([StoredValue])
  case coded([CodedValue])

  var count: Int {
    switch self {
    case .stored(let elements): elements.count
    case .coded(let elements): elements.count
    }
  }

  subscript(index: Int) -> CodedValue {
    switch self {
    case .stored(let elements): .stored(elements[index])
    case .coded(let elements): elements[index]
    }
  }
}

/// Elements one after another.
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

  // One generic method stands for the protocol's fifteen.
  mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
    let value = try decoder.decode(type, from: next(type), at: IndexKey(currentIndex))
    currentIndex += 1
    return value
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

  /// Moves on only if `body` succeeds.
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
    return elements[currentIndex]
  }
}
