// Conflict resolvers of clients of a server: each of their results is a batch that servers accept.

import ByteStore
import DocumentStore
import FirestoreRemote
import Harness
import OfflineSync
import ServerHarness
import Testing

#if Server
@Suite(.timeLimit(.minutes(2))) struct ServedConflictTests {
  private static let changed = DocumentPath("rooms/changed")
  private static let other = DocumentPath("rooms/other")

  private static func fields(_ text: String) -> StoredMap {
    StoredMap([(name: "text", value: .string(text))])
  }

  /// Two batches write a document that another client has changed. The first one writes another one, too.
  @Test(arguments: [true, false]) func aResolverLosesNoOtherWrite(isReplaced: Bool) async throws {
    try await ServedStore.with { served in
      try served.store.commit([.set(Self.changed, Self.fields("base"))])
      let resolved = Self.fields("resolved")
      var options = SyncEngine.Options()
      options.resolver = { isReplaced ? .replaceWrites(.set($0.path, resolved)) : .dropWrites }
      let remote = FirestoreRemote(Phone.options("127.0.0.1:\(served.port)"))
      let driver = try DocumentStore.openInMemory().attach(remote, options: options)
      Self.waitForBase(driver)
      driver.send(.disableNetwork)
      let ends = [PhoneWait(), PhoneWait()]
      let set = Mutation.set(Self.changed, Self.fields("ours"))
      driver.write([set, .set(Self.other, Self.fields("beside")), set], .server) { ends[0].end($0) }
      driver.write([set], .server) { ends[1].end($0) }
      try served.store.commit([.set(Self.changed, Self.fields("theirs"))])
      driver.send(.enableNetwork)
      #expect(ends.map { $0.error() } == [nil, nil])
      #expect(try served.store.document(at: Self.other)?.fields == Self.fields("beside"))
      let expected = isReplaced ? resolved : Self.fields("theirs")
      #expect(try served.store.document(at: Self.changed)?.fields == expected)
      driver.stop()
    }
  }

  /// Waits until the client has the document of the server.
  private static func waitForBase(_ driver: SyncDriver) {
    let isThere = Locked(false)
    _ = driver.listen(to: StructuredQuery(.document(changed)), ListenRules()) { result in
      guard case .success(let snapshot) = result, !snapshot.isFromCache else { return }
      isThere.withLock { $0 = true }
      isThere.wakeAll()
    }
    isThere.withLock(when: { $0 }) { _ in }
  }

  /// Its code is the one of a condition that does not hold, so that a reader tries again.
  @Test(arguments: [true, false]) func aWriteThatCannotSucceedIsRefusedForItsCondition(
    isThere: Bool
  ) async throws {
    try await ServedStore.with { served in
      if isThere { try served.store.commit([.set(Self.other, Self.fields("theirs"))]) }
      let remote = FirestoreRemote(Phone.options("127.0.0.1:\(served.port)"))
      let driver = try DocumentStore.openInMemory().attach(remote)
      let end = PhoneWait()
      let write = PendingMutation(.set(Self.other, StoredMap()), requiring: .impossible)
      driver.write([write], .server) { end.end($0) }
      guard case .remote(let error)? = end.error() else {
        Issue.record("the write was accepted")
        return
      }
      #expect(error.code == .failedPrecondition, "\(error)")
      driver.stop()
    }
  }
}
#endif
