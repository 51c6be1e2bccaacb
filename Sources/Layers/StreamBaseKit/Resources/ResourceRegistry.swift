// The registration of record classes and counters.

public import Foundation

/// Objects by name. Paths refer to the objects by these names.
public typealias ResourceDict = [String: any BaseItemProtocol]
/// A handler that receives the errors of resources.
public typealias ResourceErrorHandler = (_ error: NSError) -> Void
/// The closure that a hook calls when it is done. An error cancels the write.
public typealias ResourceDoneHandler = (_ error: NSError?) -> Void
/// A function that returns whether a counter counts a record.
public typealias CounterPredicate = (any BaseItemProtocol) -> Bool

/// The registry to which an app adds its record classes and counters at launch.
public protocol ResourceRegistry {
  /// Receives all errors.
  var errorHandler: ResourceErrorHandler? { get set }

  /// Registers the path of a class. The path does not apply to subclasses. Each component of the path is
  /// text, `@` or `$name`. `@` is replaced by the key of the record. `$name` is replaced by the key of the
  /// context's object with that name. A class has only one path.
  func resource(_ type: any BaseItemProtocol.Type, path: String)

  /// Registers a counter: the field `name` of the records of `type`. The counter of a record contains the
  /// number of records of `countingType` that were created, and not destroyed, while the record of `type` was
  /// in the context. `type` must be registered first.
  func counter(_ type: any BaseItemProtocol.Type, name: String, countingType: any BaseItemProtocol.Type)

  /// Registers a counter that counts only the records that the predicate accepts.
  func counter(
    _ type: any BaseItemProtocol.Type, name: String, countingType: any BaseItemProtocol.Type,
    predicate: CounterPredicate?)
}

extension ResourceRegistry {
  /// Registers the path of a class.
  public func resource(_ type: any BaseItemProtocol.Type, _ path: String) { resource(type, path: path) }

  /// Registers a counter.
  public func counter(
    _ type: any BaseItemProtocol.Type, _ name: String, _ countingType: any BaseItemProtocol.Type
  ) {
    counter(type, name: name, countingType: countingType)
  }
}

/// A field of one record that counts other records.
struct ResourceCounter {
  let id: Int
  let owner: any BaseItemProtocol.Type
  let name: String
  let counted: any BaseItemProtocol.Type
  let predicate: CounterPredicate?

  func counts(_ instance: any BaseItemProtocol) -> Bool { predicate?(instance) ?? true }
}

extension BaseItemProtocol {
  /// Returns whether the class of this instance is exactly `type`, and not a subclass of it.
  func isInstance(of type: any BaseItemProtocol.Type) -> Bool {
    ObjectIdentifier(Swift.type(of: self)) == ObjectIdentifier(type)
  }
}
