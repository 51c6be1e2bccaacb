// The names of properties that key paths read.
//
// A key path does not know its name on every system. So an object that nobody else has is changed, one property after
// the other, until what the key path reads changes with it.

private import FirebaseCore
import FirebaseFirestore

enum PropertyNames {
  /// The name of the field behind a key path. Traps for a key path that reads no stored property of one of the types
  /// that fields hold.
  static func name<Model: Document>(of keyPath: PartialKeyPath<Model>) -> String {
    let key = Key(keyPath: keyPath)
    if let name = known.withLock({ $0[key] }) { return name }
    guard let object = Model() as? Object, let name = search(keyPath, object) else {
      ProgrammerError.trap(
        "The key path \(keyPath) reads no property of \(Model.self) that is stored. Use the name of the field as "
          + "text instead.")
    }
    known.withLock { $0[key] = name }
    return name
  }

  private struct Key: Hashable, @unchecked Sendable {
    // Unchecked, because key paths to properties capture nothing and do not change.
    var keyPath: AnyKeyPath
  }

  private static let known = Guarded<[Key: String]>([:])

  private static func search(_ keyPath: AnyKeyPath, _ object: Object) -> String? {
    switch type(of: keyPath).valueType {
    case is Timestamp.Type:
      if isRead(keyPath, object, \.createdAt) { return "createdAt" }
      if isRead(keyPath, object, \.updatedAt) { return "updatedAt" }
    case is String.Type:
      if isRead(keyPath, object, \.id) { return "id" }
    default: break
    }
    return object.pringSchema.properties.first { $0.isRead(by: keyPath, in: object) }?.name
  }

  private static func isRead<Value: FieldForm>(
    _ keyPath: AnyKeyPath, _ object: Object, _ property: ReferenceWritableKeyPath<Object, Value>
  ) -> Bool {
    guard let (first, second) = Value.samples else { return false }
    return [first, second].allSatisfy { sample in
      object[keyPath: property] = sample
      return (object[keyPath: keyPath] as? Value).map { Value.areSame($0, sample) } ?? false
    }
  }
}
