// The registration of record classes and counters.

public import Foundation

/// Objects by the names that paths use.
public typealias ResourceDict = [String: any BaseItemProtocol]
/// Receives the errors of resources.
public typealias ResourceErrorHandler = (_ error: NSError) -> Void
/// The closure that a hook calls when it is done. An error cancels the write.
public typealias ResourceDoneHandler = (_ error: NSError?) -> Void
/// Returns whether a record is counted.
public typealias CounterPredicate = (any BaseItemProtocol) -> Bool

/// The registry to which an app adds its record classes and counters at its start.
public protocol ResourceRegistry {
  /// Receives all errors.
  var errorHandler: ResourceErrorHandler? { get set }

  /// Registers the path of a class, which does not apply to its subclasses. A component of the path is text,
  /// or `@` for the key of the record, or `$name`. `$name` stands for the key of the context's object with
  /// that name. A class has one path.
  func resource(_ type: any BaseItemProtocol.Type, path: String)

  /// Registers the field `name` of records of `type` as a counter. It counts the records of `countingType`
  /// that were created, and not destroyed, while the record of `type` was in the context. `type` must be
  /// registered first.
  func counter(_ type: any BaseItemProtocol.Type, name: String, countingType: any BaseItemProtocol.Type)

  /// Registers a counter of the records that the predicate accepts.
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
  /// Returns whether this is an instance of exactly the class.
  func isInstance(of type: any BaseItemProtocol.Type) -> Bool {
    ObjectIdentifier(Swift.type(of: self)) == ObjectIdentifier(type)
  }
}
