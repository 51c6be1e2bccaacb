// A decoder that returns a made-up value for every field and records which fields are read.

private import FirebaseCore
import Foundation

/// Two documents that stay the same objects during a search, because the text of a reference is its memory
/// address.
struct ProbeDocuments {
  let one: DocumentReference
  let other: DocumentReference

  init(_ firestore: Firestore) {
    one = DocumentReference(firestore, ["probes", "one"])
    other = DocumentReference(firestore, ["probes", "other"])
  }
}

/// The record of one decoding: the fields read, the values returned, and the field with a different value.
final class ProbeNotes {
  /// Limits the depth, because a type may contain itself.
  static let depthMax = 6

  let documents: ProbeDocuments
  let marked: [String]?
  /// Whether the marked field gets an unusual value, which few computations leave unchanged.
  let isUnusual: Bool
  private(set) var leaves: [[String]] = []
  private(set) var values: [[String]: [Any]] = [:]

  init(_ documents: ProbeDocuments, marked: [String]? = nil, isUnusual: Bool = false) {
    self.documents = documents
    self.marked = marked
    self.isUnusual = isUnusual
  }

  func note(_ value: Any, at path: [String]) { values[path, default: []].append(value) }

  /// Records a field. Returns whether it gets the different value.
  func recordLeaf(_ path: [String]) -> Bool {
    if !leaves.contains(path) { leaves.append(path) }
    return path == marked
  }

  /// Whether a value with this text was returned at `path`, directly or inside a wrapper.
  func didReturn(_ text: String, at path: [String]) -> Bool {
    let isLeaf = leaves.contains(path)
    return values[path, default: []].contains { value in
      Self.text(value) == text || Self.parts(of: value, isLeaf).contains { Self.text($0) == text }
    }
  }

  /// Returns the values inside `value` that are stored in the same form as `value`.
  private static func parts(of value: Any, _ isLeaf: Bool) -> [Any] {
    if let wrapper = value as? any ProbedWrapper { return [wrapper.probed as Any] }
    if let raw = value as? any RawRepresentable { return [raw.rawValue] }
    guard let wrapped = Mirror(reflecting: value).children.first(where: { $0.label == "wrappedValue" }) else {
      return []
    }
    // A wrapper that decodes its value by keys or by elements stores the value itself. A wrapper that
    // computes its value from another value stores that other value.
    let isComposite = !isLeaf || (wrapped.value is any Collection && !(wrapped.value is String))
    return isComposite && !(wrapped.value is Data) ? [wrapped.value] : []
  }

  /// Returns the text of a value without its optionality, which does not affect the field.
  static func text(_ value: Any) -> String {
    guard let optional = value as? any OptionalValue else { return String(reflecting: value) }
    return optional.wrapped.map { text($0) } ?? "nil"
  }

  func document(isMarked: Bool) -> DocumentReference { isMarked ? documents.other : documents.one }
}

/// A property wrapper of this module that creates its value from the stored one.
protocol ProbedWrapper {
  var probed: Any? { get }
}

/// A property wrapper whose values are stored as timestamps.
protocol ServerTimestampProperty {}

extension DocumentID: ProbedWrapper {
  var probed: Any? { wrappedValue.map { $0 } }
}

extension ServerTimestamp: ProbedWrapper, ServerTimestampProperty {
  var probed: Any? { wrappedValue.map { $0 } }
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
    ProbeElements(decoder: self, count: notes.recordLeaf(path) ? notes.isUnusual ? 4 : 1 : 0)
  }

  func singleValueContainer() -> any SingleValueDecodingContainer { self }

  func value<T: Decodable>(_ type: T.Type) throws -> T {
    if let property = type as? any DocumentIDProperty.Type {
      let isMarked = notes.recordLeaf(["__name__"])
      if let value = try property.init(of: notes.document(isMarked: isMarked)) as? T {
        notes.note(value, at: ["__name__"])
        return value
      }
    }
    let value = try known(type) ?? type.init(from: self)
    notes.note(value, at: path)
    return value
  }

  /// Returns a probe value; nil for a type that must decode itself.
  private func known<T>(_ type: T.Type) -> T? {
    func pick<Leaf>(_ plain: Leaf, _ other: Leaf, unusual: Leaf? = nil) -> T? {
      guard notes.recordLeaf(path) else { return plain as? T }
      return (notes.isUnusual ? unusual ?? other : other) as? T
    }
    switch type {
    case is String.Type: return pick("", "other", unusual: " Some oTher t\u{e9}xt ")
    case is Bool.Type: return pick(false, true)
    case is Double.Type: return pick(0.0, 1.0, unusual: 0.625)
    case is Float.Type: return pick(Float(0), Float(1), unusual: Float(0.625))
    case let integer as any FixedWidthInteger.Type:
      return number(integer, isMarked: notes.recordLeaf(path)) as? T
    case is Date.Type: return pick(Self.date(0), Self.date(1), unusual: Self.date(1_000_000_000.625))
    case is Data.Type: return pick(Data(), Data([1]), unusual: Data([1, 255, 0]))
    case is URL.Type: return pick(URL(fileURLWithPath: "/one"), URL(fileURLWithPath: "/other"))
    case is Decimal.Type: return pick(Decimal(0), Decimal(1))
    case is UUID.Type: return pick(Self.ids.0, Self.ids.1)
    case is Timestamp.Type: return pick(Self.timestamps.0, Self.timestamps.1)
    case is GeoPoint.Type: return pick(Self.places.0, Self.places.1)
    case is VectorValue.Type: return pick(Self.vectors.0, Self.vectors.1)
    case is DocumentReference.Type:
      return notes.document(isMarked: notes.recordLeaf(path)) as? T
    case let cases as any CaseIterable.Type: return first(of: cases, isMarked: notes.recordLeaf(path)) as? T
    default: return nil
    }
  }

  private func number<I: FixedWidthInteger>(_ type: I.Type, isMarked: Bool) -> I {
    isMarked ? notes.isUnusual ? 37 : 1 : 0
  }

  private static func date(_ seconds: Double) -> Date { Date(timeIntervalSince1970: seconds) }

  private func first<C: CaseIterable>(of type: C.Type, isMarked: Bool) -> Any? {
    let cases = Array(type.allCases.prefix(2))
    return isMarked ? cases.last : cases.first
  }

  // Each value is created once, so that its text is the same in all decodings. The text of an object is its
  // memory address.
  private static let ids = (UUID(), UUID())
  private static let timestamps = (
    Timestamp(seconds: 0, nanoseconds: 0), Timestamp(seconds: 1, nanoseconds: 0)
  )
  private static let places = (GeoPoint(latitude: 0, longitude: 0), GeoPoint(latitude: 1, longitude: 1))
  private static let vectors = (VectorValue([]), VectorValue([1]))
}

// This generic method implements the protocol's fifteen methods.
extension ProbeDecoder: SingleValueDecodingContainer {
  func decodeNil() -> Bool { false }

  func decode<T: Decodable>(_ type: T.Type) throws -> T { try value(type) }
}

private struct ProbeFields<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let decoder: ProbeDecoder

  var codingPath: [any CodingKey] { decoder.codingPath }

  /// The keys, which only a dictionary reads. A dictionary is a single field.
  var allKeys: [Key] {
    decoder.notes.recordLeaf(decoder.path) ? [Key(stringValue: "key")].compactMap { $0 } : []
  }

  func contains(_ key: Key) -> Bool { decoder.path.count < ProbeNotes.depthMax }

  func decodeNil(forKey key: Key) -> Bool { false }

  func decode<T: Decodable>(_ type: T.Type, forKey key: Key) throws -> T { try childDecoder(key).value(type) }

  func nestedContainer<NestedKey: CodingKey>(
    keyedBy type: NestedKey.Type, forKey key: Key
  ) -> KeyedDecodingContainer<NestedKey> {
    childDecoder(key).container(keyedBy: type)
  }

  func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedDecodingContainer {
    childDecoder(key).unkeyedContainer()
  }

  func superDecoder() -> any Decoder { childDecoder(NameKey.super) }

  func superDecoder(forKey key: Key) -> any Decoder { childDecoder(key) }

  private func childDecoder(_ key: any CodingKey) -> ProbeDecoder {
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

  /// A decoder for an element of an array. It has a separate record, because elements of an array are not
  /// fields. If the array has several elements, the second one gets the different value.
  private var element: ProbeDecoder {
    let isMarked = (count ?? 0) > 1 && currentIndex == 2
    return ProbeDecoder(ProbeNotes(decoder.notes.documents, marked: isMarked ? [] : nil))
  }
}
