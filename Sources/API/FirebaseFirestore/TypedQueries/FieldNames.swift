// Which field a property is decoded from.
//
//   1. decode a value of the type from a decoder that makes everything up, and note each field that is asked for
//   2. for each of them, decode another value in which only this field is different
//   3. the property is in the field without which it would not be different
//   4. it is the field if it is just what was handed out for it, each time; else it is computed
//
// Only what the type itself does when it is decoded counts, so that coding keys and wrappers are followed.

import DocumentStore
private import FirebaseCore

/// Where a property is kept.
struct PropertyField {
  let path: StoredFieldPath
  /// As `@ServerTimestamp` keeps moments, whatever the strategy for dates is.
  let isTimestamp: Bool
}

enum FieldNames {
  /// The answers so far: finding one takes as many decodings as the type has fields.
  private static let known = Guarded(Known())

  private struct Known: @unchecked Sendable {
    // Unchecked, because key paths are not marked; they never change.
    var fields: [Key: PropertyField] = [:]
  }

  private struct Key: Hashable {
    var property: AnyKeyPath
    var convertsKeys: Bool
  }

  static func field<Model: Decodable, Value>(
    of property: KeyPath<Model, Value>, _ decoder: Firestore.Decoder, _ firestore: Firestore
  ) -> PropertyField {
    var convertsKeys = false
    switch decoder.keyDecodingStrategy {
    case .useDefaultKeys: break
    case .convertFromSnakeCase: convertsKeys = true
    case .custom: ProgrammerError.trap("Key paths cannot be followed through a custom strategy for keys.")
    }
    let key = Key(property: property, convertsKeys: convertsKeys)
    if let field = known.withLock({ $0.fields[key] }) { return field }
    guard let (names, isTimestamp) = find(property, firestore) else {
      ProgrammerError.trap(
        "The field of \(property) cannot be found by decoding \(Model.self). Use the steps of query, which take names."
      )
    }
    let stored = names == ["__name__"] || !convertsKeys ? names : names.map(SnakeCase.encode)
    let field = PropertyField(path: StoredFieldPath(unchecked: stored), isTimestamp: isTimestamp)
    known.withLock { $0.fields[key] = field }
    return field
  }

  private static func find<Model: Decodable, Value>(
    _ property: KeyPath<Model, Value>, _ firestore: Firestore
  ) -> (names: [String], isTimestamp: Bool)? {
    let documents = ProbeDocuments(firestore)
    func finding(_ marked: [String]?, isUnusual: Bool = false) -> Finding? {
      Finding(property, ProbeNotes(documents, marked: marked, isUnusual: isUnusual))
    }
    guard let plain = finding(nil) else { return nil }
    let different = plain.notes.leaves.filter { leaf in
      finding(leaf).map { $0.text != plain.text } ?? false
    }
    guard var common = different.first else { return nil }
    for leaf in different {
      common = Array(zip(common, leaf).prefix { $0 == $1 }.map(\.0))
    }
    // What does not decode from unusual values has shown enough.
    let findings =
      [plain] + different.compactMap { finding($0) } + different.compactMap { finding($0, isUnusual: true) }
    // A property of one field, or the field in it: what was handed out tells.
    let paths = common.indices.map { Array(common[...$0]) }
    guard let names = paths.first(where: { path in findings.allSatisfy { $0.isOwn(path) } }) else {
      return nil
    }
    return (names, plain.notes.values[names, default: []].contains { $0 is any ServerTimestampProperty })
  }

  /// What a decoding made of a property.
  private struct Finding {
    let notes: ProbeNotes
    let text: String

    /// Nil if nothing decodes.
    init?<Model: Decodable, Value>(_ property: KeyPath<Model, Value>, _ notes: ProbeNotes) {
      guard let model = try? Model(from: ProbeDecoder(notes)) else { return nil }
      self.notes = notes
      text = ProbeNotes.text(model[keyPath: property])
    }

    /// Whether the property is what was handed out there. What is computed from it is no field.
    func isOwn(_ path: [String]) -> Bool { notes.wasGiven(text, at: path) }
  }
}
