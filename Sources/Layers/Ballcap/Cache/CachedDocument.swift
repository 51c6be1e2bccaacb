// One entry of the document cache.

import FirebaseFirestore
import Foundation
import LayerKit

/// The state of a document that was read or committed, or its absence.
struct CachedDocument: @unchecked Sendable {
  // Unchecked, because dictionaries contain values that are not `Sendable`. These values do not change once
  // they are in an entry.
  private enum Content {
    case snapshot(DocumentSnapshot)
    case dictionary([String: Any])
    case absent
  }

  private let content: Content
  /// The reference of the document; nil if only the path is known.
  private let reference: DocumentReference?
  /// Microseconds since 1970: the time of the change that led to this state, or else the time when the state
  /// was observed.
  private let version: Int64
  /// Whether to look the document up in the database before this state is used. Either a remote may still
  /// reject the write that led to the state, or the state replaced another provisional state.
  private(set) var isProvisional = false
  /// The time of the lookup, if the state was looked up in the database.
  private var lookedUp: Int64?
  /// Whether the state is unknown. Then `version` is the time when the document became unknown.
  private var isUnknown = false

  /// Creates an entry for a snapshot that was read earlier, at an unknown time. The snapshot of an absent
  /// document has no version, so its entry is provisional.
  init(read snapshot: DocumentSnapshot) {
    self.init(snapshot, version: snapshot.version ?? 0)
    isProvisional = !snapshot.exists || snapshot.metadata.hasPendingWrites
  }

  /// Creates an entry for the state that the database had at `time` or somewhat later.
  init(current snapshot: DocumentSnapshot, at time: Int64) {
    self.init(snapshot, version: snapshot.version ?? time)
    lookedUp = time
    // With a remote, a document may be absent because of a deletion that the remote will reject.
    isProvisional =
      snapshot.exists ? snapshot.metadata.hasPendingWrites : snapshot.reference.firestore.hasRemote
  }

  private init(_ snapshot: DocumentSnapshot, version: Int64) {
    content = snapshot.exists ? .snapshot(snapshot) : .absent
    reference = snapshot.reference
    self.version = version
  }

  init(_ dictionary: [String: Any], _ reference: DocumentReference?) {
    content = .dictionary(dictionary)
    self.reference = reference
    // With version 0, any later read replaces the entry, even if the clock that dates the commits is slow.
    version = 0
  }

  private init(unknown reference: DocumentReference) {
    content = .absent
    self.reference = reference
    version = Self.now
    isProvisional = true
    isUnknown = true
  }

  static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1_000_000) }

  /// Returns an entry for a document that has changed to an unknown state. The document must be read from the
  /// database before the entry is used.
  static func unknown(_ reference: DocumentReference) -> CachedDocument {
    CachedDocument(unknown: reference)
  }

  func belongs(to other: DocumentReference?) -> Bool {
    guard let reference, let other else { return true }
    return reference.firestore === other.firestore
  }

  /// Whether this state is newer than `other`. False for states of two databases and for provisional states,
  /// which cannot be compared.
  func isNewer(than other: CachedDocument) -> Bool {
    version > other.version && belongs(to: other.reference) && !isProvisional && !other.isProvisional
  }

  var isAbsent: Bool {
    if case .absent = content { true } else { false }
  }

  /// A copy of this entry that must be looked up in the database before it is used.
  var provisional: CachedDocument {
    var new = self
    new.isProvisional = true
    return new
  }

  /// Whether this state, which was looked up in the database, may replace the entry that is `present` now.
  func canReplace(_ present: CachedDocument?) -> Bool {
    guard let present, present.isProvisional, belongs(to: present.reference) else { return false }
    // The document's version may be older than the unknown entry, but the lookup must be newer than that
    // entry.
    if present.isUnknown { return lookedUp.map { $0 > present.version } ?? false }
    return present.version <= version
  }

  /// Returns this state as the replacement of another entry. If that entry was provisional, the result is
  /// provisional too, because either of the two may be newer.
  func replacing(_ other: CachedDocument?) -> CachedDocument {
    var new = self
    if let other, other.isProvisional, other.belongs(to: reference) { new.isProvisional = true }
    return new
  }

  /// Looks up a provisional state in the database and returns the result. Returns nil if the state is not
  /// provisional, or if the lookup would have to wait.
  func refreshed(at place: DocumentReference?) -> CachedDocument? {
    let time = Self.now
    guard isProvisional, let place = reference ?? place, let snapshot = place.publishedSnapshot() else {
      return nil
    }
    return CachedDocument(current: snapshot, at: time)
  }

  var dictionary: [String: Any]? {
    switch content {
    case .snapshot(let snapshot): snapshot.data(with: .estimate)
    case .dictionary(let dictionary): dictionary
    case .absent: nil
    }
  }

  func decode<Model: Decodable>(_ type: Model.Type, _ place: DocumentReference?) throws -> Model? {
    switch content {
    case .snapshot(let snapshot): try snapshot.data(as: type, with: .estimate)
    case .dictionary(let dictionary):
      try Firestore.Decoder().decode(type, from: dictionary, in: place ?? reference)
    case .absent: nil
    }
  }

  func setTimes(of object: Object) {
    switch content {
    case .snapshot(let snapshot): object.ballcapTimes.update(from: snapshot)
    case .dictionary(let dictionary): object.ballcapTimes.update(from: dictionary)
    case .absent: break
    }
  }

  /// Whether the value contains a `FieldValue`, which only the commit computes.
  static func hasUnknowns(_ value: Any) -> Bool {
    switch value {
    case is FieldValue: true
    case let map as [String: Any]: map.values.contains(where: hasUnknowns)
    case let array as [Any]: array.contains(where: hasUnknowns)
    default: false
    }
  }
}
