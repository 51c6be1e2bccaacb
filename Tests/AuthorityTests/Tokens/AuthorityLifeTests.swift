// The lives of an authority: tokens are authentic, and a store that was set back begins a new life.

import ByteStore
import DocumentStore
import Harness
import OfflineSync
import Testing

@testable import Authority

@Suite struct AuthorityLifeTests {
  private let feed = "clients"

  /// An open store with a feed and two commits.
  private func world(_ seed: UInt64 = 1) throws -> (world: TestStore, life: AuthorityLife) {
    let world = try TestStore(seed: seed)
    _ = try world.store.feedConsumer(feed)
    let life = try AuthorityLife(embeddedIn: world.store)
    try world.put("a")
    try world.put("b")
    return (world, life)
  }

  // MARK: Tokens

  @Test func aTokenNamesAStateOfItsStore() throws {
    let (world, life) = try world()
    let token = try world.token(life)
    let position = try world.store.feedRange().newest
    let time = try #require(world.store.lastCommitTime)
    #expect(try life.check(token) == .here(position, SnapshotVersion(time)))
    // Later commits change nothing, with or without an entry in the feed.
    try world.store.commit([.set(DocumentPath(unchecked: ["__x__", "y"]), StoredMap())])
    try world.put("c")
    #expect(try life.check(token) == .here(position, SnapshotVersion(time)))
    let later = try AuthorityLife(embeddedIn: world.store)
    #expect(try later.check(token) == .here(position, SnapshotVersion(time)))
    #expect(life.floor == nil && later.floor == nil)
  }

  @Test func noChangedTokenIsAccepted() throws {
    let (world, life) = try world()
    let token = try world.token(life)
    for place in token.indices {
      for bit in 0..<8 {
        var forged = token
        forged[place] ^= 1 << UInt8(bit)
        let result = try life.check(forged)
        // The store's id is in the bytes 1 to 16, and a token can claim to be of any store.
        #expect(result == ((1...16).contains(place) ? .otherDatabase : .invalid))
      }
    }
    for count in 0..<token.count { #expect(try life.check(Array(token.prefix(count))) == .invalid) }
    #expect(try life.check(token + [0]) == .invalid)
    #expect(life.floor == nil, "a forged token cannot begin a life")
  }

  @Test func aTokenOfAnotherDatabaseIsRecognised() throws {
    let (world, life) = try world()
    let (other, otherLife) = try self.world(2)
    #expect(try life.check(other.token(otherLife)) == .otherDatabase)
    #expect(try otherLife.check(world.token(life)) == .otherDatabase)
  }

  /// RFC 4231, cases 1 and 2. A key that is shorter than a block is filled with zeros.
  @Test func macsAreThoseOfHMACWithSHA256() throws {
    func mac(_ key: [UInt8], _ text: String) throws -> [UInt8] {
      let filled = key + [UInt8](repeating: 0, count: TokenKey.byteCount - key.count)
      return try #require(TokenKey(filled)).mac(of: Array(text.utf8))
    }
    #expect(
      try mac([UInt8](repeating: 0x0B, count: 20), "Hi There") == [
        0xB0, 0x34, 0x4C, 0x61, 0xD8, 0xDB, 0x38, 0x53, 0x5C, 0xA8, 0xAF, 0xCE, 0xAF, 0x0B, 0xF1, 0x2B,
      ])
    #expect(
      try mac(Array("Jefe".utf8), "what do ya want for nothing?") == [
        0x5B, 0xDC, 0xC1, 0x46, 0xBF, 0x60, 0x75, 0x4E, 0x6A, 0x04, 0x24, 0x26, 0x08, 0x95, 0x75, 0xC7,
      ])
  }

  // MARK: A copy of the files

  @Test func aTokenFromTheFutureProvesThatTheStoreWasSetBack() throws {
    let (world, first) = try world()
    let early = try world.token(first)
    let copy = world.copy
    let lastSeen = try world.put("lost")
    let future = try world.token(first)

    let restored = try TestStore(on: copy, clock: world.clock, seed: 2)
    #expect(restored.store.storeID == world.store.storeID)
    let life = try AuthorityLife(embeddedIn: restored.store)
    let calls = Locked(0)
    life.observe { calls.withLock { $0 += 1 } }
    #expect(try life.check(early) != .otherLife, "nothing is known yet")
    #expect(life.floor == nil)
    #expect(try life.check(future) == .otherLife)
    let floor = try #require(life.floor)
    #expect(floor > lastSeen)
    #expect(calls.withLock { $0 } == 1)
    for token in [early, future] { #expect(try life.check(token) == .otherLife) }
    #expect(calls.withLock { $0 } == 1 && life.floor == floor, "a life begins once")
    // The commits of the new life are later than everything that was seen before.
    #expect(try restored.put("after") > floor)
    let reopened = try AuthorityLife(embeddedIn: restored.store)
    #expect(reopened.floor == floor)
    #expect(try reopened.check(future) == .otherLife)
    #expect(try reopened.check(restored.token(life)) == life.check(restored.token(life)))
    guard case .here = try reopened.check(restored.token(life)) else {
      Issue.record("a token of the new life is valid after it was opened again")
      return
    }
  }

  /// The copy went on before the first client of the original came.
  @Test func anotherCommitAtThePositionOfATokenProvesIt() throws {
    let (world, first) = try world()
    let copy = world.copy
    let lost = try world.put("lost")
    let token = try world.token(first)
    let restored = try TestStore(on: copy, clock: world.clock, seed: 2)
    let life = try AuthorityLife(embeddedIn: restored.store)
    for number in 0..<3 { try restored.put("other", Int64(number)) }
    #expect(try life.check(token) == .otherLife)
    #expect(try #require(life.floor) > lost)
  }

  /// The token says that there is no entry of the feed between its position and its time. The copy has one.
  @Test func anotherCommitBeforeTheTimeOfATokenProvesIt() throws {
    let (world, first) = try world()
    let copy = world.copy
    let restored = try TestStore(on: copy, clock: SimulatedClock(), seed: 2)
    let life = try AuthorityLife(embeddedIn: restored.store)
    world.pass(microseconds: 1_000_000)
    try world.store.commit([.set(DocumentPath(unchecked: ["__x__", "y"]), StoredMap())])
    let token = try world.token(first)
    restored.pass(microseconds: 500_000)
    try restored.put("other")
    restored.pass(microseconds: 2_000_000)
    try restored.store.commit([.set(DocumentPath(unchecked: ["__x__", "y"]), StoredMap())])
    #expect(try life.check(token) == .otherLife)
    #expect(life.floor != nil)
  }

  @Test func theFloorIsLaterThanAClockThatIsBehind() throws {
    let (world, first) = try world()
    let copy = world.copy
    world.pass(microseconds: 5 * TestStore.day)
    let lost = try world.put("lost")
    let token = try world.token(first)
    // The machine that continues has a clock that is five days behind.
    let restored = try TestStore(on: copy, seed: 2)
    let life = try AuthorityLife(embeddedIn: restored.store)
    #expect(try life.check(token) == .otherLife)
    let floor = try #require(life.floor)
    #expect(floor > lost)
    let after = try restored.put("after")
    #expect(after > floor)
    #expect(try restored.put("again") > after)
    // The times stay ahead after another open.
    let reopened = try TestStore(on: restored.copy, seed: 3)
    #expect(try reopened.put("later") > floor)
  }

  /// A copy is put in place twice. The second time, it does not know the life in between.
  @Test func aTokenOfALifeThatTheCopyDoesNotKnowProvesIt() throws {
    let (world, first) = try world()
    let copy = world.copy
    try world.put("lost")
    let token = try world.token(first)
    let once = try TestStore(on: SimulatedDisk(copy.image(after: .kill)), clock: world.clock, seed: 2)
    let second = try AuthorityLife(embeddedIn: once.store)
    _ = try second.check(token)
    let seen = try once.put("seen")
    let tokenOfSecond = try once.token(second)
    let twice = try TestStore(on: copy, clock: world.clock, seed: 3)
    let third = try AuthorityLife(embeddedIn: twice.store)
    #expect(third.floor == nil)
    #expect(try third.check(tokenOfSecond) == .otherLife)
    #expect(try #require(third.floor) > seen)
  }

  // MARK: A backup

  @Test func aRestoredBackupBeginsALife() throws {
    let (world, first) = try world()
    try world.store.backup(to: "/backup")
    let lost = try world.put("lost")
    let token = try world.token(first)
    let restored = try TestStore(on: world.disk, clock: world.clock, seed: 2, path: "/backup")
    #expect(restored.store.storeID != world.store.storeID)
    let life = try AuthorityLife(embeddedIn: restored.store)
    let floor = try #require(life.floor)
    #expect(floor > lost)
    #expect(try life.check(token) == .otherLife)
    #expect(life.floor == floor)
    #expect(try restored.put("after") > floor)
    #expect(try AuthorityLife(embeddedIn: restored.store).floor == floor, "opening it again begins no life")
  }

  /// Regression: each client that came from the original began a life, which ended all sessions.
  @Test(arguments: [true, false]) func aCopyBesideItsLivingOriginalBeginsFewLives(isBackup: Bool) throws {
    let (world, first) = try world()
    let copy: TestStore
    if isBackup {
      try world.store.backup(to: "/backup")
      copy = try TestStore(on: world.disk, clock: world.clock, seed: 2, path: "/backup")
    } else {
      copy = try TestStore(on: world.copy, clock: world.clock, seed: 2)
    }
    let second = try AuthorityLife(embeddedIn: copy.store)
    let begun = [Locked(0), Locked(0)]
    for (life, count) in zip([first, second], begun) { life.observe { count.withLock { $0 += 1 } } }
    var last: [AuthorityLife.TokenCheck] = []
    for _ in 0..<20 {
      // Clients of each come to the other.
      try world.put("x")
      let fromOriginal = try second.check(world.token(first))
      try copy.put("y")
      last = [fromOriginal, try first.check(copy.token(second))]
    }
    #expect(last == [.otherDatabase, .otherDatabase])
    let most = AuthorityLife.livesBegunByTokensMax
    #expect(begun.allSatisfy { (1...most).contains($0.withLock { $0 }) })
    // The tokens of the present life are those of this store.
    guard case .here = try second.check(copy.token(second)) else {
      Issue.record("a store does not know its own token")
      return
    }
    // The original is gone, and the copy takes its place: it is opened again.
    let token = try world.token(first)
    let reopened = try AuthorityLife(embeddedIn: copy.store)
    #expect(try reopened.check(token) == .otherLife)
    #expect(try #require(reopened.floor) > SnapshotVersion(try #require(world.store.lastCommitTime)))
  }

  // MARK: Versions

  @Test func versionsAreRaisedToTheFloor() throws {
    let (world, _) = try world()
    try world.store.backup(to: "/backup")
    let restored = try TestStore(on: world.disk, clock: world.clock, seed: 2, path: "/backup")
    let life = try AuthorityLife(embeddedIn: restored.store)
    let floor = try #require(life.floor)
    #expect(life.raised(SnapshotVersion(microseconds: 5)) == floor)
    #expect(life.raised(.none) == .none)
    let after = try restored.put("after")
    #expect(life.raised(after) == after)
  }

  @Test func aPreconditionWithTheVersionOfTheFloorHoldsForTheDocumentOfThatTime() throws {
    let (world, _) = try world()
    try world.store.backup(to: "/backup")
    let restored = try TestStore(on: world.disk, clock: world.clock, seed: 2, path: "/backup")
    let life = try AuthorityLife(embeddedIn: restored.store)
    let floor = try #require(life.floor)
    let path = DocumentPath(unchecked: ["rooms", "a"])
    let old = try #require(try restored.store.document(at: path))
    #expect(life.holds(.updateTime(floor.stored), of: old))
    #expect(life.holds(.updateTime(old.updateTime), of: old))
    #expect(!life.holds(.updateTime(floor.stored), of: nil))
    let mutation = Mutation.delete(path, precondition: .updateTime(floor.stored))
    #expect(life.isNamed(in: [mutation]))
    let stored = try life.asStored([mutation]) { _ in old }
    #expect(stored.map(\.precondition) == [.updateTime(old.updateTime)])
    try restored.put("a", 2)
    let new = try #require(try restored.store.document(at: path))
    #expect(!life.holds(.updateTime(floor.stored), of: new))
    #expect(try life.asStored([mutation]) { _ in new } == [mutation])
  }

  // MARK: Damage

  @Test func aDamagedRecordIsReportedAndReplacesNothing() throws {
    let (world, _) = try world()
    try world.store.commit([.set(LifeRecord.path, StoredMap([("k", .bytes([1]))]))])
    #expect { try AuthorityLife(embeddedIn: world.store) } throws: { error in
      (error as? RemoteError)?.code == .dataLoss
    }
    #expect {
      try Authority.of(world.store)
    } throws: { error in
      if case .corrupted? = error as? DocumentStoreError { true } else { false }
    }
  }
}
