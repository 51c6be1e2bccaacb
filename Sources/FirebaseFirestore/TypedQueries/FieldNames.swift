// Which field a property is decoded from.
//
//   1. decode a value of the type from a decoder that makes everything up, and note each field that is asked for
//   2. for each of them, decode another value in which only this field is different
//   3. the property is in the field without which it would not be different
//
// Only what the type itself does when it is decoded counts, so that coding keys and wrappers are followed.

import DocumentStore
private import FirebaseCore
private import Foundation

enum FieldNames {
  /// The answers so far: finding one takes as many decodings as the type has fields.
  private static let known = Guarded(Known())

  private struct Known: @unchecked Sendable {
    // Unchecked, because key paths are not marked; they never change.
    var fields: [Key: StoredFieldPath] = [:]
  }

  private struct Key: Hashable {
    var property: AnyKeyPath
    var convertsKeys: Bool
  }

  static func field<Model: Decodable, Value>(
    of property: KeyPath<Model, Value>, _ decoder: Firestore.Decoder, _ firestore: Firestore
  ) -> StoredFieldPath {
    var convertsKeys = false
    switch decoder.keyDecodingStrategy {
    case .useDefaultKeys: break
    case .convertFromSnakeCase: convertsKeys = true
    case .custom: ProgrammerError.trap("Key paths cannot be followed through a custom strategy for keys.")
    }
    let key = Key(property: property, convertsKeys: convertsKeys)
    if let field = known.withLock({ $0.fields[key] }) { return field }
    guard let names = names(of: property, firestore), !names.isEmpty else {
      ProgrammerError.trap(
        "The field of \(property) cannot be found by decoding \(Model.self). Use the steps of query, which take names."
      )
    }
    let field = StoredFieldPath(
      unchecked: names == ["__name__"] || !convertsKeys ? names : names.map(SnakeCase.encode))
    known.withLock { $0.fields[key] = field }
    return field
  }

  private static func names<Model: Decodable, Value>(
    of property: KeyPath<Model, Value>, _ firestore: Firestore
  ) -> [String]? {
    let notes = ProbeNotes(firestore)
    guard let plain = try? Model(from: ProbeDecoder(notes)) else { return nil }
    let text = String(reflecting: plain[keyPath: property])
    let different = notes.leaves.filter { leaf in
      let probe = ProbeNotes(firestore, marked: leaf)
      guard let value = try? Model(from: ProbeDecoder(probe)) else { return false }
      return String(reflecting: value[keyPath: property]) != text
    }
    guard var common = different.first else { return nil }
    for leaf in different {
      common = Array(zip(common, leaf).prefix { $0 == $1 }.map(\.0))
    }
    // A property of one field, or the field in it: the type tells.
    let ends = (1..<max(common.count, 1)).map { Array(common.prefix($0)) }
    if let end = ends.first(where: { notes.types[$0] == Value.self }) { return end }
    // What is computed from a field, such as the count of a text, is no field.
    if let type = notes.types[common], isComputed(Value.self, from: type) { return nil }
    return common
  }

  private static func isComputed(_ value: Any.Type, from field: Any.Type) -> Bool {
    value != field && plain.contains(ObjectIdentifier(value))
      && (plain.contains(ObjectIdentifier(field)) || field is any Collection.Type)
  }

  private static let plain: Set<ObjectIdentifier> = {
    let types: [Any.Type] = [
      String.self, Bool.self, Int.self, Int32.self, Int64.self, Double.self, Float.self, Date.self,
      Data.self, URL.self,
    ]
    return Set(types.map { ObjectIdentifier($0) })
  }()
}
