// The fields of documents as Swift values.

public import FirebaseFirestore
import LayerKit

/// The fields of a document as a Swift value. Declare a struct that is `Codable` and `Modelable`, and give
/// each property a default.
public protocol Modelable: Referencable, Equatable, CustomDebugStringConvertible {
  /// Creates the model with its defaults.
  init()
}

extension Modelable {
  /// The type's name in lower case.
  public static var name: String { TypeName.lowercased(of: Self.self) }
  public static var path: String { collectionReference.path }
  public static var collectionReference: CollectionReference { BallcapApp.collection(name) }

  public var debugDescription: String {
    (["\(Self.name) {"] + propertyLines + ["}"]).joined(separator: "\n")
  }

  /// A line for each property, in the order of their declaration. In a class, inherited properties come
  /// first.
  var propertyLines: [String] {
    let mirrors = sequence(first: Mirror(reflecting: self), next: \.superclassMirror)
    return Array(mirrors).reversed().flatMap(\.children).map { "  \($0.label ?? "_"): \($0.value)" }
  }
}
