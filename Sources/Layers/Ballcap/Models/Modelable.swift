// Models: the fields of documents as Swift values.

public import FirebaseFirestore
import LayerKit

/// The fields of a document as a Swift value: declare a struct `Codable, Modelable`, every property with a
/// default.
public protocol Modelable: Referencable, Equatable, CustomDebugStringConvertible {
  /// The model with its defaults.
  init()
}

extension Modelable {
  /// The type's own name in lower case.
  public static var name: String { TypeName.lowercased(of: Self.self) }
  public static var path: String { collectionReference.path }
  public static var collectionReference: CollectionReference { BallcapApp.collection(name) }

  public var debugDescription: String {
    (["\(Self.name) {"] + propertyLines + ["}"]).joined(separator: "\n")
  }

  /// A line for each property, in the order of their declaration; of a class, those that it inherits come
  /// first.
  var propertyLines: [String] {
    let mirrors = sequence(first: Mirror(reflecting: self), next: \.superclassMirror)
    return Array(mirrors).reversed().flatMap(\.children).map { "  \($0.label ?? "_"): \($0.value)" }
  }
}
