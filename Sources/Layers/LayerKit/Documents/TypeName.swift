// The default name of a model type.

private import ByteStore
private import Foundation

package enum TypeName {
  /// Returns the unqualified name of a type in lower case, even for a type that is declared inside a
  /// function. The names are cached, because a lookup is slow and references are created often.
  package static func lowercased(of type: Any.Type) -> String {
    let key = ObjectIdentifier(type)
    if let name = known.withLock({ $0[key] }) { return name }
    let name = String(describing: Mirror(reflecting: type).subjectType).components(separatedBy: ".")[0]
      .lowercased()
    known.withLock { $0[key] = name }
    return name
  }

  private static let known = Locked<[ObjectIdentifier: String]>([:])
}
