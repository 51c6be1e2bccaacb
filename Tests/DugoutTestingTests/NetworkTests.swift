// Cuts, faults and the authority.

import DugoutTesting
import DugoutTestingTrait
import FirebaseFirestore
import Testing

@Suite struct NetworkTests {
  @Test func aClientThatIsCutOffReadsItsCacheAndSendsItsWritesLater() async throws {
    try await TestWorld.run { world in
      let phone = try world.client("phone") { $0.acknowledgement = .local }
      let tablet = try world.client("tablet")
      world.network.cut(phone)
      try await phone.firestore.document("notes/1").setData(["text": "milk"])
      let own = try await phone.firestore.document("notes/1").getDocument()
      #expect(own.metadata.isFromCache)
      #expect(own.metadata.hasPendingWrites)
      #expect(try await !tablet.firestore.document("notes/1").getDocument().exists)
      world.network.restore(phone)
      try await world.waitUntilIdle()
      let others = try await tablet.firestore.document("notes/1").getDocument()
      #expect(others.data()?["text"] as? String == "milk")
      try await world.checkConvergence(of: "notes")
    }
  }

  @Test(.seeds(20)) func clientsConvergeInSpiteOfFaults() async throws {
    try await TestWorld.run { world in
      world.network.setFaults(.flaky)
      try await RandomDay(world: world, steps: 15).run()
    }
  }

  @Test func everyFaultHappens() async throws {
    let texts = try await TestWorld.run(seed: 3) { world in
      world.network.setFaults(.flaky)
      try await RandomDay(world: world, steps: 200).run()
      return world.history.map(\.text)
    }
    for word in ["loses", "does not get", "copy of write", "try again", "cut off", "places forward"] {
      #expect(texts.contains { $0.contains(word) }, "\(word)")
    }
    #expect(texts.contains { $0.contains("places forward") && !$0.contains(" 0 places") })
  }

  /// Transactions of two clients on one document: none of their increments is lost or counted twice.
  @Test(.seeds(10)) func transactionsOfSeveralClientsDoNotLoseUpdates() async throws {
    try await TestWorld.run { world in
      let clients = try ["a", "b", "c"].map { try world.client($0) }
      var faults = NetworkFaults.none
      faults.latency = .milliseconds(1) ... .milliseconds(50)
      world.network.setFaults(faults)
      let counted = await withTaskGroup(of: Int.self) { group in
        for client in clients {
          for _ in 0..<3 {
            group.addTask { await increment(client.firestore.document("counters/all")) ? 1 : 0 }
          }
        }
        return await group.reduce(0, +)
      }
      let count = try await world.authority.firestore.document("counters/all").getDocument().data()?["n"]
      #expect(count as? Int == counted)
      #expect(counted > 3)
    }
  }

  @Test func theAuthorityRefusesTheWritesThatTheTestNames() async throws {
    try await TestWorld.run { world in
      let phone = try world.client("phone", user: "ann")
      world.authority.refuseWrites { $0.path.hasPrefix("locked/") && $0.user == "ann" && !$0.isDelete }
      await #expect {
        try await phone.firestore.document("locked/1").setData(["n": 1])
      } throws: { ($0 as NSError).code == FirestoreErrorCode.permissionDenied.rawValue }
      try await phone.firestore.document("open/1").setData(["n": 1])
      try await world.authority.firestore.document("locked/1").setData(["n": 2])
      let seen = try await phone.firestore.document("locked/1").getDocument(source: .server)
      #expect(seen.data()?["n"] as? Int == 2)
    }
  }

  @Test func aRelaunchedClientHasItsCacheAndItsOutbox() async throws {
    try await TestWorld.run { world in
      let phone = try world.client("phone") { $0.acknowledgement = .local }
      world.network.cut(phone)
      try await phone.firestore.document("notes/1").setData(["text": "milk"])
      let before = phone.firestore
      try await phone.relaunch()
      #expect(phone.firestore !== before)
      let cached = try await phone.firestore.document("notes/1").getDocument(source: .cache)
      #expect(cached.data()?["text"] as? String == "milk")
      #expect(try await phone.firestore.pendingWrites().count == 1)
      world.network.restore(phone)
      try await world.checkConvergence(of: "notes")
    }
  }

  @Test func aNameIsUsedOnce() async throws {
    try await TestWorld.run { world in
      _ = try world.client("phone")
      #expect(throws: TestWorldError.nameInUse("phone")) { try world.client("phone") }
      #expect(throws: TestWorldError.nameInUse("authority")) { try world.client("authority") }
    }
  }
}

/// Adds one to a counter. Returns false if the transaction failed after all its attempts.
private func increment(_ counter: DocumentReference) async -> Bool {
  do {
    _ = try await counter.firestore.runTransaction { transaction, error in
      do {
        let count = try transaction.getDocument(counter).data()?["n"] as? Int ?? 0
        transaction.setData(["n": count + 1], forDocument: counter)
      } catch let failure as NSError {
        unsafe error?.pointee = failure
      }
      return nil
    }
    return true
  } catch {
    return false
  }
}
