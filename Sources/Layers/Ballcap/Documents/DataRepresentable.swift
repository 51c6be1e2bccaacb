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
  /// What the document has; nil before it is read or set.
  var data: Model? { get set }
  init()

  // Repeated here, since here a class can still say otherwise: what `Object` conforms to is decided there.
  /// Where documents of this type are.
  static var collectionReference: CollectionReference { get }
  /// Whether times of creation and update are stored with the data.
  var shouldIncludedInTimestamp: Bool { get }
}

// A class that is no `Object` says neither unless it wants to: its documents are where those of its model
// are.
extension DataRepresentable {
  public static var collectionReference: CollectionReference { Model.collectionReference }
  public var shouldIncludedInTimestamp: Bool { true }
}

// Without these, a class that is both would have two of each.
extension DataRepresentable where Self: Documentable {
  public static var collectionReference: CollectionReference { BallcapApp.collection(name) }
  public var shouldIncludedInTimestamp: Bool { true }
}

// With a model, the data counts as well. Not in the hash: an object in a set stays where it is when its data
// changes.
extension Equatable where Self: Object, Self: DataRepresentable {
  public static func == (left: Self, right: Self) -> Bool {
    left.documentReference == right.documentReference && left.data == right.data
  }
}

extension DataRepresentable {
  /// Where instances of this type are made and found, as its own class says.
  static var home: CollectionReference { collectionReference }

  var wantsTimes: Bool { shouldIncludedInTimestamp }
}

extension DataRepresentable where Self: Object {
  /// Reads and writes a property of the model; traps if there is no data.
  public subscript<T: Any>(keyPath: WritableKeyPath<Model, T>) -> T {
    get {
      guard let data else { fatalError("\(Self.self) at \(path) has no data to read \(keyPath) from") }
      return data[keyPath: keyPath]
    }
    set { data![keyPath: keyPath] = newValue }
  }

  /// Another instance of the same document with the same data, and nothing else.
  public func copy() -> Self {
    let copy = Self(documentReference)
    copy.data = data
    return copy
  }

  /// The path and the data, for people.
  public var description: String {
    guard let data else { return "\(Self.name) {\n data: nil\n}" }
    let lines = [
      "\(Self.name) {", "  path: \(path)", "  createdAt: \(createdAt) (\(createdAt.dateValue()))",
      "  updatedAt: \(updatedAt) (\(updatedAt.dateValue()))",
    ]
    return (lines + data.propertyLines + ["}"]).joined(separator: "\n")
  }
}
