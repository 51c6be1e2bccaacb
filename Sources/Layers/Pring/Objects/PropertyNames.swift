// Finds the property that a key path reads.
//
// Some systems do not provide the name of the property in a key path. The search therefore uses a new object
// that no other code uses. It assigns sample values to one property after another, until the key path reads
// those values.

private import ByteStore
private import FirebaseCore
import FirebaseFirestore

/// The document field that a key path reads.
struct NamedField: Sendable {
  let name: String
  /// The property; nil for the id, `createdAt` and `updatedAt`.
  let property: Property?

  /// Returns the stored form of an operand. If only the model class can encode the operand, a new object of
  /// the class encodes it.
  func operand<Model: Document>(_ value: Any, of type: Model.Type) -> Any {
    if let stored = UntypedForm.stored(value) { return stored }
    guard let property, property.isUntyped, let object = type.init() as? Object else { return value }
    return property.encodedOperand(value, in: object) ?? value
  }
}

enum PropertyNames {
  /// Returns the field that a key path reads. Throws if the key path reads no stored property, or if the
  /// property's type has neither a stored form nor sample values.
  static func field<Model: Document>(
    of keyPath: PartialKeyPath<Model>
  ) throws(DocumentError) -> NamedField {
    let key = Key(keyPath: keyPath)
    if let field = known.withLock({ $0[key] }) { return field }
    guard let object = Model() as? Object, let field = search(keyPath, object) else {
      throw DocumentError(
        kind: .invalidKeyPath,
        description:
          "The key path \(keyPath) is not known to read a stored property of \(Model.self). Use the "
          + "name of the field as text instead, or make the type of the property CaseIterable.")
    }
    known.withLock { $0[key] = field }
    return field
  }

  private struct Key: Hashable, @unchecked Sendable {
    // Unchecked, because key paths to properties are immutable and capture nothing.
    var keyPath: AnyKeyPath
  }

  private static let known = Locked<[Key: NamedField]>([:])

  private static func search(_ keyPath: AnyKeyPath, _ object: Object) -> NamedField? {
    switch type(of: keyPath).valueType {
    case is Timestamp.Type:
      if isRead(keyPath, object, property: \.createdAt) {
        return NamedField(name: "createdAt", property: nil)
      }
      if isRead(keyPath, object, property: \.updatedAt) {
        return NamedField(name: "updatedAt", property: nil)
      }
    case is String.Type:
      if isRead(keyPath, object, property: \.id) { return NamedField(name: "id", property: nil) }
    default: break
    }
    return object.pringSchema.properties.first { $0.isRead(by: keyPath, in: object) }
      .map { NamedField(name: $0.name, property: $0) }
  }

  private static func isRead<Value: FieldForm>(
    _ keyPath: AnyKeyPath, _ object: Object, property: ReferenceWritableKeyPath<Object, Value>
  ) -> Bool {
    guard let (first, second) = Value.samples else { return false }
    return [first, second].allSatisfy { sample in
      object[keyPath: property] = sample
      return (object[keyPath: keyPath] as? Value).map { Value.areSame($0, sample) } ?? false
    }
  }
}
