// Which records there are, and what is counted.

public import Foundation

/// Records by the names that paths use.
public typealias ResourceDict = [String: any BaseItemProtocol]
/// What is told of errors that nobody else hears.
public typealias ResourceErrorHandler = (_ error: NSError) -> Void
/// What a hook calls when it is done, with an error if it refuses.
public typealias ResourceDoneHandler = (_ error: NSError?) -> Void
/// Whether a record is counted.
public typealias CounterPredicate = (any BaseItemProtocol) -> Bool

/// Where an app says at its start which of its classes are stored where.
public protocol ResourceRegistry {
  /// Gets whatever goes wrong.
  var errorHandler: ResourceErrorHandler? { get set }

  /// Records of this class, and not of its subclasses, are at `path`: its components are text, `@` for the
  /// key of the record, or `$name` for the key of the object that a context has under the name. Each class
  /// has one path.
  func resource(_ type: any BaseItemProtocol.Type, path: String)

  /// The field `name` of a record of `type` is the number of records of `countingType` that were created and
  /// not destroyed while the record was in the context. `type` is registered already.
  func counter(_ type: any BaseItemProtocol.Type, name: String, countingType: any BaseItemProtocol.Type)

  /// The same for those that the predicate accepts.
  func counter(
    _ type: any BaseItemProtocol.Type, name: String, countingType: any BaseItemProtocol.Type,
    predicate: CounterPredicate?)
}

extension ResourceRegistry {
  /// Records of the class are at this path.
  public func resource(_ type: any BaseItemProtocol.Type, _ path: String) { resource(type, path: path) }

  /// A field of one class counts records of another.
  public func counter(
    _ type: any BaseItemProtocol.Type, _ name: String, _ countingType: any BaseItemProtocol.Type
  ) {
    counter(type, name: name, countingType: countingType)
  }
}

/// A number of records, kept in a field of another record.
struct ResourceCounter {
  let id: Int
  let owner: any BaseItemProtocol.Type
  let name: String
  let counted: any BaseItemProtocol.Type
  let predicate: CounterPredicate?

  func counts(_ instance: any BaseItemProtocol) -> Bool { predicate?(instance) ?? true }
}

extension BaseItemProtocol {
  /// By the exact class.
  func isInstance(of type: any BaseItemProtocol.Type) -> Bool {
    ObjectIdentifier(Swift.type(of: self)) == ObjectIdentifier(type)
  }
}
