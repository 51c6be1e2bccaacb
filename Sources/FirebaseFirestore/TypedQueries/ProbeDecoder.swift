// A decoder that has a value for everything, and notes what it is asked for.

private import FirebaseCore
import Foundation

/// What one decoding has asked for, and which field is to be different.
final class ProbeNotes {
  /// A type that contains itself ends here.
  static let depthMax = 6

  let firestore: Firestore
  let marked: [String]?
  private(set) var leaves: [[String]] = []
  private(set) var types: [[String]: Any.Type] = [:]

  init(_ firestore: Firestore, marked: [String]? = nil) {
    self.firestore = firestore
    self.marked = marked
  }

  func note(_ type: Any.Type, at path: [String]) { types[path] = types[path] ?? type }

  /// Whether the value at `path` is to be different.
  func leaf(_ path: [String]) -> Bool {
    if !leaves.contains(path) { leaves.append(path) }
    return path == marked
  }

  func document(isMarked: Bool) -> DocumentReference {
    DocumentReference(firestore, ["probes", isMarked ? "other" : "one"])
  }
}

struct ProbeDecoder: Decoder {
  let notes: ProbeNotes
  var path: [String] = []

  init(_ notes: ProbeNotes, _ path: [String] = []) {
    self.notes = notes
    self.path = path
  }

  var codingPath: [any CodingKey] { path.map { NameKey($0) } }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(ProbeFields(decoder: self))
  }

  func unkeyedContainer() -> any UnkeyedDecodingContainer {
    ProbeElements(decoder: self, count: notes.leaf(path) ? 1 : 0)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  func value<T: Decodable>(_ type: T.Type) throws -> T {
    notes.note(type, at: path)
    if let property = type as? any DocumentIDProperty.Type {
      let isMarked = notes.leaf(["__name__"])
      if let value = try property.init(of: notes.document(isMarked: isMarked)) as? T { return value }
    }
    if let value = known(type) { return value }
    return try T(from: self)
  }

  /// Nil for a type that has to decode itself.
  private func known<T>(_ type: T.Type) -> T? {
    func pick<Leaf>(_ plain: Leaf, _ other: Leaf) -> T? { (notes.leaf(path) ? other : plain) as? T }
    switch type {
    case is String.Type: return pick("", "other")
    case is Bool.Type: return pick(false, true)
    case is Double.Type: return pick(0.0, 1.0)
    case is Float.Type: return pick(Float(0), Float(1))
    case let integer as any FixedWidthInteger.Type: return number(integer, isMarked: notes.leaf(path)) as? T
    case is Date.Type: return pick(Date(timeIntervalSince1970: 0), Date(timeIntervalSince1970: 1))
    case is Data.Type: return pick(Data(), Data([1]))
    case is URL.Type: return pick(URL(fileURLWithPath: "/one"), URL(fileURLWithPath: "/other"))
    case is Decimal.Type: return pick(Decimal(0), Decimal(1))
    case is UUID.Type: return pick(Self.ids.0, Self.ids.1)
    case is Timestamp.Type: return pick(Self.moments.0, Self.moments.1)
    case is GeoPoint.Type: return pick(Self.places.0, Self.places.1)
    case is VectorValue.Type: return pick(Self.vectors.0, Self.vectors.1)
    case is DocumentReference.Type:
      return notes.document(isMarked: notes.leaf(path)) as? T
    case let cases as any CaseIterable.Type: return first(of: cases, isMarked: notes.leaf(path)) as? T
    default: return nil
    }
  }

  private func number<I: FixedWidthInteger>(_ type: I.Type, isMarked: Bool) -> I { isMarked ? 1 : 0 }

  private func first<C: CaseIterable>(of type: C.Type, isMarked: Bool) -> Any? {
    let cases = Array(type.allCases.prefix(2))
    return isMarked ? cases.last : cases.first
  }

  // Always the same objects, whose texts are their addresses.
  private static let ids = (UUID(), UUID())
  private static let moments = (Timestamp(seconds: 0, nanoseconds: 0), Timestamp(seconds: 1, nanoseconds: 0))
  private static let places = (GeoPoint(latitude: 0, longitude: 0), GeoPoint(latitude: 1, longitude: 1))
  private static let vectors = (VectorValue([]), VectorValue([1]))
}

// One generic method stands for the protocol's fifteen.
extension ProbeDecoder: SingleValueDecodingContainer {
  func decodeNil() -> Bool { false }

  func decode<T: Decodable>(_ type: T.Type) throws -> T { try value(type) }
}

private struct ProbeFields<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let decoder: ProbeDecoder

  var codingPath: [any CodingKey] { decoder.codingPath }

  /// Only dictionaries ask: theirs are one field.
  var allKeys: [Key] { decoder.notes.leaf(decoder.path) ? [Key(stringValue: "key")].compactMap { $0 } : [] }

  func contains(_ key: Key) -> Bool { decoder.path.count < ProbeNotes.depthMax }

  func decodeNil(forKey key: Key) -> Bool { false }

  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try below(key).value(type) }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) -> KeyedDecodingContainer<NestedKey> {
    below(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedDecodingContainer {
    below(key).unkeyedContainer()
  }

  func superDecoder() -> any Decoder { below(NameKey.super) }

  func superDecoder(forKey key: Key) -> any Decoder { below(key) }

  private func below(_ key: any CodingKey) -> ProbeDecoder {
    ProbeDecoder(decoder.notes, decoder.path + [key.stringValue])
  }
}

private struct ProbeElements: UnkeyedDecodingContainer {
  let decoder: ProbeDecoder
  let count: Int?
  var currentIndex = 0

  init(decoder: ProbeDecoder, count: Int) {
    self.decoder = decoder
    self.count = count
  }

  var codingPath: [any CodingKey] { decoder.codingPath }
  var isAtEnd: Bool { currentIndex == count }

  mutating func decodeNil() -> Bool { false }

  mutating func decode<T: Decodable>(_ type: T.Type) throws -> T {
    currentIndex += 1
    return try element.value(type)
  }

  mutating func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type
  ) -> KeyedDecodingContainer<NestedKey> {
    currentIndex += 1
    return element.container(keyedBy: type)
  }

  mutating func nestedUnkeyedContainer() -> any UnkeyedDecodingContainer {
    currentIndex += 1
    return element.unkeyedContainer()
  }

  mutating func superDecoder() -> any Decoder {
    currentIndex += 1
    return element
  }

  /// With notes of its own: what is in an array is no field.
  private var element: ProbeDecoder { ProbeDecoder(ProbeNotes(decoder.notes.firestore)) }
}
