// The identity of an authority, which ends when an older copy takes the place of its store.
//
// A store can go back in time: a backup is restored, or the files of a copy are put in place. Clients then
// know states that the store does not have. A new life begins:
//
//   1. when the store has another id than the one in which the life began. A backup, and a store that was
//      restored from one, get ids of their own
//   2. when an authentic token names a commit that this store never had. A copy of the files has the id of
//      the original, so nothing else can tell
//
// The floor is the time at which the present life began. It is later than everything that a client can have
// seen before, and all commits of this life are later than the floor. Versions and snapshot times are raised
// to the floor before they are sent to clients. A client that has seen a later state therefore takes the
// state of this store.
//
// The original may live on beside a copy, for example if a backup is opened for a look at its contents. Each
// client that comes from the original then seems to prove another loss. A store that was set back finds out
// once, because the floor is later than all tokens from before. So tokens begin a few lives after each
// opening of the store. Later ones count as those of another database.
//
// Usable from any thread.

internal import ByteStore
package import DocumentStore
package import OfflineSync
internal import Synchronization

package final class AuthorityLife: Sendable {
  /// The meaning of a resume token for this store.
  package enum TokenCheck: Sendable, Equatable {
    /// The token names a state of this store.
    case here(FeedPosition, SnapshotVersion)
    /// The token is from another database, or claims to be. A copy that lives on beside this store is another
    /// database.
    case otherDatabase
    /// The token is from an earlier life, whose later states are lost.
    case otherLife
    /// The token is damaged or forged.
    case invalid
  }

  /// The error that ends the sessions of the previous life. Clients open new ones.
  package static let ended = RemoteError(.unavailable, "The database was restored. Open the stream again.")

  let backend: any DocumentBackend
  private let record: Locked<LifeRecord>
  /// The floor of the record in microseconds, or 0. It is read for each document that is sent.
  private let floorTime = Atomic<Int64>(0)
  private let observers = Locked<[@Sendable () -> Void]>([])
  /// Held while a new life begins.
  private let beginning = Locked(Turn())

  private struct Turn { var livesBegunByTokens = 0 }

  /// The number of lives that tokens begin after an opening of the store. More than one are needed if the
  /// clock is behind that of the lost store.
  static let livesBegunByTokensMax = 4

  /// Reads the life of a backend, and begins one if there is none, or if the backend is a restored copy.
  package init(of backend: any DocumentBackend) throws(RemoteError) {
    self.backend = backend
    let identity = backend.identity.id
    guard let document = try backend.document(at: LifeRecord.path) else {
      let random = backend.random
      let first = LifeRecord(
        number: random.randomID().low, key: TokenKey(random: random), store: identity)
      _ = try backend.commit(BackendCommit([.set(LifeRecord.path, first.fields)]))
      record = Locked(first)
      return
    }
    guard let known = LifeRecord(document) else {
      throw RemoteError(.dataLoss, "\(LifeRecord.path) is not what an authority writes there.")
    }
    record = Locked(known)
    floorTime.store(known.floor?.microseconds ?? 0, ordering: .releasing)
    if known.store != identity { try begin(after: .none) }
  }

  /// A random number. A simulation may give the same number again, which would be no new life.
  private static func number(unlike old: UInt64, _ random: any RandomSource) -> UInt64 {
    let number = random.randomID().low
    return number == old ? ~number : number
  }

  /// The id of the store, which is in its tokens.
  private var storeID: RandomID { backend.identity.id }

  // MARK: Floor

  /// The time at which this life began; nil in the first life of a database.
  package var floor: SnapshotVersion? {
    let time = floorTime.load(ordering: .acquiring)
    return time == 0 ? nil : SnapshotVersion(microseconds: time)
  }

  /// The version that clients receive for a version of the store: not before the floor. `none` stays as it
  /// is, because it means that there is no version.
  package func raised(_ version: SnapshotVersion) -> SnapshotVersion {
    guard version != .none, let floor else { return version }
    return max(version, floor)
  }

  /// Calls `handler` each time that a new life begins, on the thread that found out, with no lock held. All
  /// sessions of the previous life have to end with `ended`.
  package func observe(_ handler: @escaping @Sendable () -> Void) {
    observers.withLock { $0.append(handler) }
  }

  // MARK: Resume tokens

  /// The number of the present life, which is in its tokens.
  package var number: UInt64 { record.withLock { $0.number } }

  /// Returns a token for a client that has all commits up to `time` in the life with this number. `position`
  /// is the last commit of the change feed among them, and `time` is a time of this store, not raised to the
  /// floor.
  package func resumeToken(position: FeedPosition, time: SnapshotVersion, life number: UInt64) -> [UInt8] {
    let key = record.withLock { $0.key }
    return ResumeToken(store: storeID, life: number, position: position, time: time).bytes(key)
  }

  /// Checks a token that a client sent. May begin a new life, and then returns `otherLife`. Returns
  /// `otherDatabase` if the token is from a copy that lives on beside this store.
  package func check(_ token: [UInt8]) throws(RemoteError) -> TokenCheck {
    guard let (token, mac) = ResumeToken.parse(token) else { return .invalid }
    let record = record.withLock { $0 }
    guard token.isAuthentic(mac, record.key) else {
      return token.store == storeID ? .invalid : .otherDatabase
    }
    if token.store == storeID, token.life == record.number {
      if try backend.mayHaveReached(BackendMark(token.position, token.time)) {
        return .here(token.position, token.time)
      }
    } else if let floor = record.floor, token.time <= floor {
      return .otherLife
    }
    try begin(after: token.time, unless: record.number)
    return floor.map { token.time <= $0 } ?? false ? .otherLife : .otherDatabase
  }

  // MARK: Registration tokens

  /// The meaning of a run's registration token for this store.
  enum RegistrationCheck: Equatable {
    /// The run was registered with this store at this time.
    case registered(SnapshotVersion)
    /// The run was registered after the state to which the store was set back. All of its batches are lost
    /// with the later states.
    case lost
    /// The token is from another database, damaged or forged.
    case unknown
  }

  func registrationToken(of run: RunName, at time: SnapshotVersion) -> [UInt8] {
    let key = record.withLock { $0.key }
    return RegistrationToken(store: storeID, time: time).bytes(run, key)
  }

  /// Checks the token of a run. May begin a new life.
  func check(_ token: [UInt8], of run: RunName) throws(RemoteError) -> RegistrationCheck {
    let record = record.withLock { $0 }
    guard let (token, mac) = RegistrationToken.parse(token), token.isAuthentic(mac, run, key: record.key)
    else {
      return .unknown
    }
    let isLater = token.time > (try backend.lastMark()).time
    if isLater { try begin(after: token.time, unless: record.number) }
    let lost = isLater ? self.record.withLock { $0.lost } : record.lost
    if lost.contains(where: { $0.contains(token.time) }) { return .lost }
    // The run was registered with a copy that lives on beside this store.
    return isLater ? .unknown : .registered(token.time)
  }

  // MARK: Set back

  /// Begins a new life whose floor is later than `time`, which is a time that the store had reached before it
  /// was set back. For a token, `number` is the life in which it was checked. The call then does nothing if
  /// another thread has begun a life since, or if tokens have begun too many.
  private func begin(
    after time: SnapshotVersion, unless number: UInt64? = nil
  ) throws(RemoteError) {
    let isNew = try beginning.withLock { turn throws(RemoteError) in
      let old = record.withLock { $0 }
      if let number {
        guard number == old.number, turn.livesBegunByTokens < Self.livesBegunByTokensMax else {
          return false
        }
        turn.livesBegunByTokens += 1
      }
      let now = SnapshotVersion(microseconds: backend.clock.wallMicroseconds())
      let through = max(now, time)
      // From here on, commits are later than `through`. Those that the store has are not later than `after`.
      let after = try backend.raiseTime(to: through)
      var next = old.next(
        number: Self.number(unlike: old.number, backend.random), store: storeID,
        lost: LifeRecord.Lost(after: after, through: max(through, after)))
      let floor = FieldTransform(LifeRecord.floorField, .serverTimestamp)
      let outcome = try backend.commit(
        BackendCommit([.set(LifeRecord.path, next.fields, transforms: [floor])]))
      next.floor = SnapshotVersion(outcome.time)
      record.withLock { [next] in $0 = next }
      floorTime.store(next.floor?.microseconds ?? 0, ordering: .releasing)
      return true
    }
    guard isNew else { return }
    for observer in observers.withLock({ $0 }) { observer() }
  }
}
