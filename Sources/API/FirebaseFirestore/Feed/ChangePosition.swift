// Positions in the change feed, as an app stores them.

import ByteStore
import DocumentStore

/// A position in the change feed of one database: directly after one change.
///
/// A position is `Codable`, as its text. An app that stores the position of the last change that it has
/// processed can continue there after a restart. A position of another database, or of a state of this
/// database that was lost, is rejected with a `FirestoreChangesError`.
///
/// ```swift
/// var last: ChangePosition?
/// for try await change in Firestore.firestore().changes(after: last) {
///   print(change.document.path, change.position.description)
///   last = change.position
/// }
/// ```
///
/// Positions of one database are ordered by their commits, and within a commit by the changes. The order of
/// positions of different databases has no meaning.
public struct ChangePosition: Hashable, Comparable, Sendable, LosslessStringConvertible {
  /// The number of the commit in the feed. Later commits have greater numbers, with gaps. Use the number as
  /// the version of a document in another system. If the database is replaced by a backup, the numbers start
  /// again at the backup's.
  public let commit: UInt64
  /// The number of the commit's changes before this position; nil for all of them.
  let changeCount: UInt32?
  /// The commit's time in microseconds; 0 if it is not known.
  let time: Int64
  private let high: UInt64
  private let low: UInt64

  init(_ database: RandomID, commit: UInt64, changeCount: UInt32?, time: Int64) {
    (high, low) = (database.high, database.low)
    self.commit = commit
    self.changeCount = changeCount
    self.time = time
  }

  /// The ID of the database.
  var database: RandomID { RandomID(high: high, low: low) }

  /// The last commit whose changes are all before this position.
  var lastWholeCommit: FeedPosition { FeedPosition(changeCount == nil ? commit : commit - 1) }

  // MARK: Text

  /// The position as text, which `init(_:)` reads.
  public var description: String {
    "\(database)-\(commit)" + (changeCount.map { ".\($0)" } ?? "") + "-\(time)"
  }

  /// Reads a position from its text; nil if the text is not a position.
  public init?(_ description: String) {
    let parts = description.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0].utf8.count == 32, let high = UInt64(parts[0].prefix(16), radix: 16),
      let low = UInt64(parts[0].suffix(16), radix: 16), let time = Int64(parts[2])
    else { return nil }
    let numbers = parts[1].split(separator: ".", omittingEmptySubsequences: false)
    guard (1...2).contains(numbers.count), let commit = UInt64(numbers[0]) else { return nil }
    let changeCount = numbers.count == 2 ? UInt32(numbers[1]) : nil
    let isComplete = numbers.count == 1
    guard isComplete || changeCount != nil && commit > 0 else { return nil }
    self.init(RandomID(high: high, low: low), commit: commit, changeCount: changeCount, time: time)
    // A position has exactly one text: no signs and no additional zeros.
    guard self.description == description else { return nil }
  }

  // MARK: Order

  /// Two positions are equal if they are directly after the same change of the same database.
  public static func == (left: Self, right: Self) -> Bool {
    (left.high, left.low, left.commit, left.changeCount)
      == (right.high, right.low, right.commit, right.changeCount)
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(high)
    hasher.combine(low)
    hasher.combine(commit)
    hasher.combine(changeCount)
  }

  public static func < (left: Self, right: Self) -> Bool {
    (left.high, left.low, left.commit, left.changeCount ?? .max)
      < (right.high, right.low, right.commit, right.changeCount ?? .max)
  }
}

extension ChangePosition: Codable {
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let position = Self(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "The text is not a position in a change feed.")
    }
    self = position
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}

// MARK: - Positions of a store

extension DocumentStore {
  /// Returns the position after all changes of a commit.
  func changePosition(after commit: FeedPosition) throws(DocumentStoreError) -> ChangePosition {
    let time = commit == .start ? nil : try feedTime(at: commit)
    return ChangePosition(storeID, commit: commit.value, changeCount: nil, time: time?.microseconds ?? 0)
  }

  /// Throws `FirestoreChangesError` if a position is not in the history of this store. Does not check whether
  /// the changes after it are kept.
  func check(_ position: ChangePosition) throws {
    guard position.database == storeID else { throw FirestoreChangesError.foreignPosition }
    let commit = FeedPosition(position.commit)
    guard try commit <= feedRange().newest else { throw FirestoreChangesError.lostPosition }
    // The commit may be lost, and another commit may have its number. That one has another time.
    guard commit > .start, position.time != 0, let time = try feedTime(at: commit) else { return }
    guard time.microseconds == position.time else { throw FirestoreChangesError.lostPosition }
  }
}
