// The errors of positions in the change feed.

public import Foundation

/// The reasons why the change feed cannot continue at a position.
///
/// In each case, changes are missing. To recover, take a `databaseSnapshot()`, read the documents again, and
/// continue after the snapshot's position.
public enum FirestoreChangesError: Error, Hashable, Sendable {
  /// The changes directly after the position are no longer kept. `oldest` is the position before the oldest
  /// change that is kept.
  case truncated(oldest: ChangePosition)
  /// The position belongs to another database. A backup is another database than its original.
  case foreignPosition
  /// The position belongs to a later state of this database that no longer exists. The files were replaced by
  /// older ones, or a power loss dropped writes with the durability `.buffered`.
  case lostPosition
}

extension FirestoreChangesError: CustomNSError {
  public static var errorDomain: String { FirestoreErrorDomain }

  public var errorCode: Int {
    switch self {
    case .truncated, .lostPosition: FirestoreErrorCode.outOfRange.rawValue
    case .foreignPosition: FirestoreErrorCode.invalidArgument.rawValue
    }
  }

  public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: message] }

  private var message: String {
    switch self {
    case .truncated(let oldest):
      "The changes after this position are not kept any more. The oldest position is \(oldest). Read the "
        + "documents of a databaseSnapshot() again, and continue after its position."
    case .foreignPosition:
      "The position belongs to another database, or to the original of this backup. Read the documents of a "
        + "databaseSnapshot(), and continue after its position."
    case .lostPosition:
      "The position belongs to a state of the database that no longer exists. Read the documents of a "
        + "databaseSnapshot() again, and continue after its position."
    }
  }
}
