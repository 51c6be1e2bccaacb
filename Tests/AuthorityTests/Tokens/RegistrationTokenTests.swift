// Registration tokens belong to one run of one queue of one user, and to one database.

import DocumentStore
import Harness
import OfflineSync
import Testing

@testable import Authority

@Suite struct RegistrationTokenTests {
  private let name = RunName(user: "ann", queue: "c/=ann", run: RunID(7))

  @Test func aTokenIsOfUseForItsRunAlone() throws {
    let world = try TestStore()
    let life = try AuthorityLife(embeddedIn: world.store)
    let time = try world.put("a")
    let token = life.registrationToken(of: name, at: time)
    #expect(token.count == RegistrationToken.bytesMax)
    #expect(try life.check(token, of: name) == .registered(time))
    let others = [
      RunName(user: nil, queue: "c/=ann", run: RunID(7)), RunName(user: "", queue: "c/=ann", run: RunID(7)),
      RunName(user: "ann", queue: "c/=anna", run: RunID(7)),
      RunName(user: "annc", queue: "/=ann", run: RunID(7)),
      RunName(user: "ann", queue: "c/=ann", run: RunID(8)),
    ]
    for other in others { #expect(try life.check(token, of: other) == .unknown) }
    let stranger = try AuthorityLife(embeddedIn: try TestStore(seed: 5).store)
    #expect(try stranger.check(token, of: name) == .unknown)
  }

  @Test func noChangedTokenIsAccepted() throws {
    let world = try TestStore()
    let life = try AuthorityLife(embeddedIn: world.store)
    let token = life.registrationToken(of: name, at: try world.put("a"))
    for place in token.indices {
      var forged = token
      forged[place] ^= 0x10
      #expect(try life.check(forged, of: name) == .unknown)
    }
    for count in 0..<token.count { #expect(try life.check(Array(token.prefix(count)), of: name) == .unknown) }
    #expect(life.floor == nil)
  }

  /// A token of one kind is never a valid token of the other kind.
  @Test func theTwoKindsOfTokensAreDifferent() throws {
    let world = try TestStore()
    let life = try AuthorityLife(embeddedIn: world.store)
    let time = try world.put("a")
    #expect(try life.check(life.registrationToken(of: name, at: time)) == .invalid)
    #expect(
      try life.check(life.resumeToken(position: .start, time: time, life: life.number), of: name) == .unknown)
  }

  @Test func aRegistrationAfterTheStateOfACopyIsLost() throws {
    let world = try TestStore()
    let first = try AuthorityLife(embeddedIn: world.store)
    let kept = try world.put("kept")
    let copy = world.copy
    let lost = try world.put("lost")
    let restored = try TestStore(on: copy, clock: world.clock, seed: 2)
    let life = try AuthorityLife(embeddedIn: restored.store)
    let tokenOfKept = first.registrationToken(of: name, at: kept)
    let tokenOfLost = first.registrationToken(of: name, at: lost)
    #expect(try life.check(tokenOfKept, of: name) == .registered(kept))
    #expect(life.floor == nil)
    #expect(try life.check(tokenOfLost, of: name) == .lost, "the token proves that the store was set back")
    #expect(try #require(life.floor) > lost)
    #expect(try life.check(tokenOfKept, of: name) == .registered(kept))
    let new = try restored.put("new")
    #expect(try life.check(life.registrationToken(of: name, at: new), of: name) == .registered(new))
    let reopened = try AuthorityLife(embeddedIn: restored.store)
    #expect(try reopened.check(tokenOfLost, of: name) == .lost)
  }
}
