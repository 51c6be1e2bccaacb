// What one can choose about a data source, and what it tells.

public import FirebaseFirestore
public import Foundation

public final class Options {
  /// How long the objects of a snapshot may take, in seconds, before that is reported.
  public var timeout: Int = 10
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

public typealias Change = (deletions: [Int], insertions: [Int], modifications: [Int])

public enum CollectionChange {
  case initial
  case update(Change)
  case error(any Error)
}

/// What goes wrong with a data source besides the errors of the database.
public struct DataSourceError: Error, Sendable {
  public enum ErrorKind: Sendable {
    /// A link leads to a document that is not there.
    case invalidReference
    case empty
    case timeout
  }

  public let kind: ErrorKind

  public var description: String {
    switch kind {
    case .invalidReference: "A link leads to a document that does not exist."
    case .empty: "There are no documents."
    case .timeout: "The objects of a snapshot took too long."
    }
  }
}
