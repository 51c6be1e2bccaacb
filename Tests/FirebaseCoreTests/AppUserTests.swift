// The user of an app, and the observers that follow it.

import ByteStore
import FirebaseCore
import Testing

@Suite struct AppUserTests {
  private let received = Locked<[String?]>([])

  private func observe(_ user: AppUser) -> AppUser.Observation {
    user.observe { [received] id in received.withLock { $0.append(id) } }
  }

  @Test func observersAreNotCalledBeforeTheUserIsSet() {
    let user = AppUser()
    let observation = observe(user)
    #expect(received.withLock { $0 } == [])
    user.set(nil)
    #expect(received.withLock { $0 } == [nil])
    withExtendedLifetime(observation) {}
  }

  @Test func observersReceiveTheUserAndThenEachChange() {
    let user = AppUser()
    user.set("ann")
    let observation = observe(user)
    for id in ["ann", "bob", nil, nil, "ann"] { user.set(id) }
    #expect(received.withLock { $0 } == ["ann", "bob", nil, "ann"])
    withExtendedLifetime(observation) {}
  }

  @Test func aReleasedObservationEnds() {
    let user = AppUser()
    do {
      let observation = observe(user)
      user.set("ann")
      withExtendedLifetime(observation) {}
    }
    user.set("bob")
    #expect(received.withLock { $0 } == ["ann"])
  }
}
