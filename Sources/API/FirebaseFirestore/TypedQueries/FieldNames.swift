// Finds the field that a property is decoded from.
//
//   1. Decode a value of the type from a decoder that makes up all values, and record each field that is
//      read.
//   2. For each of these fields, decode another value in which only this field is different.
//   3. The property depends on a field if it differs in that decoding.
//   4. The property is the field itself if it equals the value supplied for the field in every decoding.
//      Otherwise the property is computed.
//
// The method observes only what the type does during decoding, so it supports coding keys and property
// wrappers.

private import ByteStore
import DocumentStore
private import FirebaseCore

/// The field that stores a property.
struct PropertyField {
  let path: StoredFieldPath
  /// Whether the field is stored as a timestamp independently of the date strategy, as `@ServerTimestamp`
  /// does.
  let isTimestamp: Bool
}

enum FieldNames {
  /// A cache, because each search decodes the type once per field.
  private static let cache = Locked(Cache())

  private struct Cache: @unchecked Sendable {
    // Unchecked, because key paths are not declared `Sendable`. They never change.
    var fields: [Key: PropertyField] = [:]
  }

  private struct Key: Hashable {
    var property: AnyKeyPath
    var convertsKeys: Bool
  }

  static func field<Model: Decodable, Value>(
    of property: KeyPath<Model, Value>, _ decoder: Firestore.Decoder, firestore: Firestore
  ) -> PropertyField {
    var convertsKeys = false
    switch decoder.keyDecodingStrategy {
    case .useDefaultKeys: break
    case .convertFromSnakeCase: convertsKeys = true
    case .custom: ProgrammerError.trap("Key paths cannot be followed through a custom strategy for keys.")
    }
    let key = Key(property: property, convertsKeys: convertsKeys)
    if let field = cache.withLock({ $0.fields[key] }) { return field }
    guard let (names, isTimestamp) = find(property, firestore) else {
      ProgrammerError.trap(
        "The field of \(property) cannot be found by decoding \(Model.self). Use the methods of query with names."
      )
    }
    let stored = names == ["__name__"] || !convertsKeys ? names : names.map(SnakeCase.encode)
    let field = PropertyField(path: StoredFieldPath(unchecked: stored), isTimestamp: isTimestamp)
    cache.withLock { $0.fields[key] = field }
    return field
  }

  private static func find<Model: Decodable, Value>(
    _ property: KeyPath<Model, Value>, _ firestore: Firestore
  ) -> (names: [String], isTimestamp: Bool)? {
    let documents = ProbeDocuments(firestore)
    func probe(_ marked: [String]?, isUnusual: Bool = false) -> ProbeResult? {
      ProbeResult(property, ProbeNotes(documents, marked: marked, isUnusual: isUnusual))
    }
    guard let plain = probe(nil) else { return nil }
    let different = plain.notes.leaves.filter { leaf in
      probe(leaf).map { $0.text != plain.text } ?? false
    }
    guard var common = different.first else { return nil }
    for leaf in different {
      common = Array(zip(common, leaf).prefix { $0 == $1 }.map(\.0))
    }
    // If a type cannot decode the unusual values, only the other decodings are used.
    let probes =
      [plain] + different.compactMap { probe($0) } + different.compactMap { probe($0, isUnusual: true) }
    // The property may be decoded from a nested field. Use the first path whose value the property has.
    let paths = common.indices.map { Array(common[...$0]) }
    guard let names = paths.first(where: { path in probes.allSatisfy { $0.matchesValue(path) } }) else {
      return nil
    }
    return (names, plain.notes.values[names, default: []].contains { $0 is any ServerTimestampProperty })
  }

  /// The result of decoding with given probe values.
  private struct ProbeResult {
    let notes: ProbeNotes
    let text: String

    /// Returns nil if the type cannot be decoded.
    init?<Model: Decodable, Value>(_ property: KeyPath<Model, Value>, _ notes: ProbeNotes) {
      guard let model = try? Model(from: ProbeDecoder(notes)) else { return nil }
      self.notes = notes
      text = ProbeNotes.text(model[keyPath: property])
    }

    /// Whether the property has exactly the value supplied at `path`. A property computed from that value
    /// has no field.
    func matchesValue(_ path: [String]) -> Bool { notes.didReturn(text, at: path) }
  }
}
