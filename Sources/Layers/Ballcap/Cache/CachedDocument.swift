// One document as the cache has it.

import FirebaseFirestore
import Foundation
import LayerKit

/// What was read or committed, or the fact that it is gone.
struct CachedDocument: @unchecked Sendable {
  // Unchecked, because of the values in dictionaries, which nobody changes once they are in here.
  private enum Content {
    case snapshot(DocumentSnapshot)
    case dictionary([String: Any])
    case absent
  }

  private let content: Content
  /// Whose document it is; nil if only the path is known.
  private let reference: DocumentReference?
  /// Microseconds since 1970: of the change that led to this state, or of the moment when it became known.
  private let version: Int64
  /// A remote may still reject what led to this state, or it came beside one of which that is true: the
  /// database knows better.
  private(set) var isProvisional = false
  /// When somebody looked, if this is what the database had then.
  private var lookedUp: Int64?
  /// What it is, nobody said: `version` is when that became so.
  private var isUnknown = false

  /// What was read, at some time. Of what was not there nobody knows since when, or whether it still is not:
  /// that is for the database to say.
  init(read snapshot: DocumentSnapshot) {
    self.init(snapshot, version: snapshot.version ?? 0)
    isProvisional = !snapshot.exists || snapshot.metadata.hasPendingWrites
  }

  /// What the database had at `time`, or somewhat later.
  init(current snapshot: DocumentSnapshot, at time: Int64) {
    self.init(snapshot, version: snapshot.version ?? time)
    lookedUp = time
    // That something is gone may be a deletion that is taken back.
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
    // Whatever is read later replaces it, also if the clock of the commits is behind.
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

  /// Something else than before, and nobody said what: the database is to be asked.
  static func unknown(_ reference: DocumentReference) -> CachedDocument {
    CachedDocument(unknown: reference)
  }

  func belongs(to other: DocumentReference?) -> Bool {
    guard let reference, let other else { return true }
    return reference.firestore === other.firestore
  }

  /// Only states of one database can be compared, and none with writes that a remote has not answered.
  func isNewer(than other: CachedDocument) -> Bool {
    version > other.version && belongs(to: other.reference) && !isProvisional && !other.isProvisional
  }

  var isAbsent: Bool {
    if case .absent = content { true } else { false }
  }

  /// The same where the database is to be asked.
  var provisional: CachedDocument {
    var new = self
    new.isProvisional = true
    return new
  }

  /// Whether this is what was looked up for a provisional state that is still there, or for one before it.
  func settles(_ present: CachedDocument?) -> Bool {
    guard let present, present.isProvisional, belongs(to: present.reference) else { return false }
    // The document may be older than what is not known of it, but the look at it has to be later.
    if present.isUnknown { return lookedUp.map { $0 > present.version } ?? false }
    return present.version <= version
  }

  /// This state in the place of another one, which may have been the later one.
  func replacing(_ other: CachedDocument?) -> CachedDocument {
    var new = self
    if let other, other.isProvisional, other.belongs(to: reference) { new.isProvisional = true }
    return new
  }

  /// As the database has it now, if that is what counts and if it can be said at once.
  func settled(at place: DocumentReference?) -> CachedDocument? {
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

  /// Whether some value is for the commit to tell.
  static func hasUnknowns(_ value: Any) -> Bool {
    switch value {
    case is FieldValue: true
    case let map as [String: Any]: map.values.contains(where: hasUnknowns)
    case let array as [Any]: array.contains(where: hasUnknowns)
    default: false
    }
  }
}
