// Objects with a model.

public import FirebaseFirestore
import Foundation

/// An object whose fields are a `Model`.
///
/// ```swift
/// final class Shop: Object, DataRepresentable {
///   struct Model: Codable, Modelable { var title = "" }
///   var data: Shop.Model?
/// }
/// ```
public protocol DataRepresentable: AnyObject, Hashable {
  /// The type of the data.
  associatedtype Model: Modelable & Codable
  /// The fields of the document; nil before they are read or set.
  var data: Model? { get set }
  init()

  // `Object` already has these requirements from `Documentable`. They are repeated here so that a class can
  // override their defaults.
  /// The collection of documents of this type.
  static var collectionReference: CollectionReference { get }
  /// Whether writes also store the creation and update times.
  var shouldIncludedInTimestamp: Bool { get }
}

// Defaults for a class that is not an `Object`: its documents are in the collection of its model.
extension DataRepresentable {
  public static var collectionReference: CollectionReference { Model.collectionReference }
  public var shouldIncludedInTimestamp: Bool { true }
}

// Without these defaults, a class that conforms to both protocols would have two candidates for each member.
extension DataRepresentable where Self: Documentable {
  public static var collectionReference: CollectionReference { BallcapApp.collection(name) }
  public var shouldIncludedInTimestamp: Bool { true }
}

// Equality of objects with a model includes the data. The hash does not include the data, so that an object
// in a set stays in its bucket when its data changes.
extension Equatable where Self: Object, Self: DataRepresentable {
  public static func == (left: Self, right: Self) -> Bool {
    left.documentReference == right.documentReference && left.data == right.data
  }
}

extension DataRepresentable {
  /// The type's collection, for new objects and for reads. If the class overrides the collection, this is the
  /// override.
  static var home: CollectionReference { collectionReference }

  var wantsTimes: Bool { shouldIncludedInTimestamp }
}

extension DataRepresentable where Self: Object {
  /// Accesses a property of the model. Traps if there is no data.
  public subscript<T: Any>(keyPath: WritableKeyPath<Model, T>) -> T {
    get {
      guard let data else { fatalError("\(Self.self) at \(path) has no data to read \(keyPath) from") }
      return data[keyPath: keyPath]
    }
    set { data![keyPath: keyPath] = newValue }
  }

  /// Returns another object for the same document, with the same data. Does not copy the times and the
  /// snapshot.
  public func copy() -> Self {
    let copy = Self(documentReference)
    copy.data = data
    return copy
  }

  /// A description of the path, the times and the data, for debugging.
  public var description: String {
    guard let data else { return "\(Self.name) {\n data: nil\n}" }
    let lines = [
      "\(Self.name) {", "  path: \(path)", "  createdAt: \(createdAt) (\(createdAt.dateValue()))",
      "  updatedAt: \(updatedAt) (\(updatedAt.dateValue()))",
    ]
    return (lines + data.propertyLines + ["}"]).joined(separator: "\n")
  }
}
