// What one can choose about a data source, and what it tells.

public import FirebaseFirestore
public import Foundation

/// What one can choose about a data source.
public final class Options {
  /// How long the objects of a snapshot may take, in seconds, before that is reported.
  public var timeout: Int = 10
  /// Whether changes of metadata alone are told.
  public var includeMetadataChanges: Bool = true
  /// Changes of other types are ignored.
  public var listeningChangeTypes: [DocumentChangeType] = [.added, .modified, .removed]
  /// Only objects that satisfy it are in the list.
  public var predicate: NSPredicate?
  /// The order of the list, if not that of the query.
  public var sortDescriptors: [NSSortDescriptor] = []

  // MARK: What the original has not, for systems where predicates and descriptors know no names

  /// Only objects for which it is true are in the list, besides what the predicate says.
  public var filter: ((Any) -> Bool)?
  /// The order of the list, before that of the descriptors.
  public var areInIncreasingOrder: ((Any, Any) -> Bool)?

  /// A timeout of ten seconds, all changes, and the query's order.
  public init() {}

  func accepts(_ object: Any) -> Bool {
    (predicate?.evaluate(with: object) ?? true) && (filter?(object) ?? true)
  }

  var order: ElementOrder {
    if let areInIncreasingOrder { return .user(areInIncreasingOrder) }
    return sortDescriptors.isEmpty ? .none : .descriptors(sortDescriptors)
  }
}

/// An order of objects that somebody asked for.
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

/// Places of what is gone, new and changed.
public typealias Change = (deletions: [Int], insertions: [Int], modifications: [Int])

/// What happened to a list.
public enum CollectionChange {
  /// It is there for the first time.
  case initial
  /// These places changed.
  case update(Change)
  /// Listening failed.
  case error(any Error)
}

/// What goes wrong with a data source besides the errors of the database.
public struct DataSourceError: Error, Sendable {
  /// Why a list could not be made.
  public enum ErrorKind: Sendable {
    /// A link leads to a document that is not there.
    case invalidReference
    /// There is nothing.
    case empty
    /// It took too long.
    case timeout
  }

  /// What went wrong.
  public let kind: ErrorKind

  /// What happened, for people.
  public var description: String {
    switch kind {
    case .invalidReference: "A link leads to a document that does not exist."
    case .empty: "There are no documents."
    case .timeout: "The objects of a snapshot took too long."
    }
  }
}
