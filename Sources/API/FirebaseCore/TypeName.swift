// What a type is called when nobody says otherwise.

private import Foundation

package enum TypeName {
  /// The unqualified name of a type in lower case; types inside functions included. To find it out takes a while, and
  /// references are made all the time, so that it is remembered.
  package static func lowercased(of type: Any.Type) -> String {
    let key = ObjectIdentifier(type)
    if let name = known.withLock({ $0[key] }) { return name }
    let name = String(describing: Mirror(reflecting: type).subjectType).components(separatedBy: ".")[0]
      .lowercased()
    known.withLock { $0[key] = name }
    return name
  }

  private static let known = Guarded<[ObjectIdentifier: String]>([:])
}
