// The options of a data source, and the changes and errors that it reports.

public import FirebaseFirestore
public import Foundation

/// The options of a data source.
public final class Options {
  /// The time limit in seconds for the objects of a snapshot. When the time limit has passed, a timeout is
  /// reported.
  public var timeout: Int = 10
  /// Whether a change of only the metadata is reported.
  public var includeMetadataChanges: Bool = true
  /// The types of changes to apply. Changes of other types are ignored.
  public var listeningChangeTypes: [DocumentChangeType] = [.added, .modified, .removed]
  /// Only objects that satisfy the predicate enter the list.
  public var predicate: NSPredicate?
  /// The order of the list. If empty, the list has the order of the query.
  public var sortDescriptors: [NSSortDescriptor] = []

  // MARK: Additions for systems whose predicates and descriptors cannot use property names

  /// Only objects for which the closure returns true enter the list. They must also satisfy `predicate`.
  public var filter: ((Any) -> Bool)?
  /// The order of the list. It takes precedence over `sortDescriptors`.
  public var areInIncreasingOrder: ((Any, Any) -> Bool)?

  /// Creates options with a timeout of ten seconds, all change types, and the order of the query.
  public init() {}

  func accepts(_ object: Any) -> Bool {
    (predicate?.evaluate(with: object) ?? true) && (filter?(object) ?? true)
  }

  var order: ElementOrder {
    if let areInIncreasingOrder { return .user(areInIncreasingOrder) }
    return sortDescriptors.isEmpty ? .none : .descriptors(sortDescriptors)
  }
}

/// The order that the app has set.
enum ElementOrder {
  case none
  case descriptors([NSSortDescriptor])
  case user((Any, Any) -> Bool)

  func areInIncreasingOrder(_ left: Any, _ right: Any) -> Bool {
    switch self {
    case .none: return false
    case .user(let areInIncreasingOrder): return areInIncreasingOrder(left, right)
    case .descriptors(let descriptors):
      for descriptor in descriptors {
        switch descriptor.compare(left, to: right) {
        case .orderedAscending: return true
        case .orderedDescending: return false
        case .orderedSame: continue
        }
      }
      return false
    }
  }

  var isNone: Bool { if case .none = self { true } else { false } }
}

/// Indexes of deleted, inserted and modified objects.
public typealias Change = (deletions: [Int], insertions: [Int], modifications: [Int])

/// A change of a list.
public enum CollectionChange {
  /// The first objects are in the list.
  case initial
  /// Objects at these indexes have changed.
  case update(Change)
  /// Listening failed.
  case error(any Error)
}

/// Errors of a data source, besides those of the database.
public struct DataSourceError: Error, Sendable {
  /// The kinds of errors.
  public enum ErrorKind: Sendable {
    /// The target of a link does not exist.
    case invalidReference
    /// There are no documents.
    case empty
    /// The objects of a snapshot did not arrive in time.
    case timeout
  }

  /// The kind of the error.
  public let kind: ErrorKind

  /// A human-readable description.
  public var description: String {
    switch kind {
    case .invalidReference: "A link leads to a document that does not exist."
    case .empty: "There are no documents."
    case .timeout: "The objects of a snapshot took too long."
    }
  }
}
