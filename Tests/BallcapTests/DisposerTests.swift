// Tests of disposers, which remove listeners.

import Ballcap
import FirebaseFirestore
import Foundation
import Testing

@Suite struct DisposerTests {
  /// A registration that counts its removals and can run a closure during each removal.
  private final class Registration: NSObject, ListenerRegistration, @unchecked Sendable {
    var removals = 0
    var onRemoval: () -> Void = {}

    func remove() {
      removals += 1
      onRemoval()
    }
  }

  @Test func aListenerIsRemovedOnce() {
    let registration = Registration()
    let disposer = Disposer(.value(registration))
    disposer.dispose()
    disposer.dispose()
    #expect(registration.removals == 1)
  }

  @Test func aDisposerThatIsFreedDisposes() {
    let registration = Registration()
    _ = Disposer(.array(registration))
    #expect(registration.removals == 1)
    do { _ = Disposer(.value(registration)).toAny() }
    #expect(registration.removals == 2)
  }

  @Test func listenerRemovalMayDisposeOfItsOwnDisposer() {
    // The original Ballcap held a lock during the removal, so a removal that disposed of its own disposer
    // deadlocked.
    let registration = Registration()
    let disposer = Disposer(.value(registration))
    registration.onRemoval = { disposer.dispose() }
    disposer.dispose()
    #expect(registration.removals == 1)
    registration.onRemoval = {}
  }

  @Test func aBagDisposesOfAllWhenItIsFreed() {
    let registrations = [Registration(), Registration()]
    do {
      let bag = DisposeBag()
      for registration in registrations { Disposer(.value(registration)).disposed(by: bag) }
      #expect(registrations.map(\.removals) == [0, 0])
      withExtendedLifetime(bag) {}
    }
    #expect(registrations.map(\.removals) == [1, 1])
  }

  @Test func freedAnyDisposerDisposesOfItsBaseEvenIfShared() {
    let registration = Registration()
    let disposer = Disposer(.value(registration))
    do { _ = AnyDisposer(disposer) }
    #expect(registration.removals == 1)
    NoDisposer().dispose()
    withExtendedLifetime(disposer) {}
  }
}
