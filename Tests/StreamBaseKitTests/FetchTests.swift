// Tests of fetching further records after the first query of a stream.

import Authority
import DocumentStore
import FirebaseFirestore
import Foundation
import OfflineSync
import StreamHarness
import Testing

@testable import StreamBaseKit

extension StreamBaseKitTests {
  @Suite struct Fetching {
    private let world = StreamWorld()

    private func fetch(
      _ stream: StreamBase, _ count: Int, _ start: String, end: String? = nil, in other: StreamWorld? = nil
    ) async {
      await withCheckedContinuation { done in
        (other ?? world).on { stream.fetchMore(count, start: start, end: end) { done.resume() } }
      }
    }

    /// Waits until the listener with the limit has been replaced.
    private func waitForListenerReplacement(_ stream: StreamBase) async {
      await world.wait {
        !stream.kitSegments.contains { $0.id == 0 } && stream.kitSegments.allSatisfy(\.hasReported)
      }
    }

    @Test func pagingFollowsTheStreamDirection() async throws {
      try await world.put("a", "b", "c", "d", "e", "f", "g")
      let (stream, recorder) = await world.stream(limit: 2, ascending: false)
      #expect(world.keys(stream) == ["g", "f", "e"])
      await fetch(stream, 2, "e")
      #expect(world.keys(stream) == ["g", "f", "e", "d", "c"])
      #expect(world.on { recorder.take() } == [.batch(deleted: [], added: paths(3, 4))])
    }

    @Test func fault2ASecondFetchWorksLikeTheFirst() async throws {
      try await world.put("a", "b", "c", "d", "e", "f", "g")
      let (stream, _) = await world.stream(limit: 1)
      await fetch(stream, 2, "b")
      await fetch(stream, 2, "d")
      #expect(world.keys(stream) == ["a", "b", "c", "d", "e", "f"])
      await fetch(stream, 2, "f", end: "g")
      #expect(world.keys(stream).last == "g")
    }

    @Test func fault3AFetchReturnsAtMostTheRequestedCount() async throws {
      try await world.put("a", "b", "c", "d", "e", "f")
      let (stream, _) = await world.stream(limit: 1)
      await fetch(stream, 1, "b")
      #expect(world.keys(stream) == ["a", "b", "c"])
      try await world.delete("c")
      await fetch(stream, 1, "c")
      #expect(world.keys(stream) == ["a", "b", "d"])
    }

    @Test func fault4FetchedItemsStayLive() async throws {
      try await world.put("a", "b", "c", "d", "e", "f")
      let (stream, recorder) = await world.stream(limit: 1)
      await fetch(stream, 2, "b")
      await waitForListenerReplacement(stream)
      world.on { _ = recorder.take() }
      try await world.firestore.document("notes/d").updateData(["text": "new"])
      #expect(world.on { recorder.take() } == [.changed(paths(3))])
      #expect((world.on { stream.find("d") } as? Note)?.text == "new")
      try await world.delete("c")
      #expect(world.keys(stream) == ["a", "b", "d"])
      try await world.put("cc")
      #expect(world.keys(stream) == ["a", "b", "cc", "d"])
      // The new record is outside the fetched range, so the stream does not show it.
      try await world.put("dd")
      #expect(world.keys(stream) == ["a", "b", "cc", "d"])
    }

    @Test func newRecordsAtTheTopLeaveNoGapBeforeFetchedItems() async throws {
      try await world.put("a", "b", "c", "d", "e")
      let (stream, _) = await world.stream(limit: 1, ascending: false)
      await fetch(stream, 2, "d")
      await waitForListenerReplacement(stream)
      for key in ["f", "g", "h"] { try await world.put(key) }
      #expect(world.keys(stream) == ["h", "g", "f", "e", "d", "c", "b"])
    }

    @Test func recordsAddedAfterTheLastFetchedRecordAreLive() async throws {
      try await world.put("a", "b", "c")
      let (stream, _) = await world.stream(limit: 1)
      await fetch(stream, 5, "b")
      #expect(world.keys(stream) == ["a", "b", "c"])
      await waitForListenerReplacement(stream)
      try await world.put("d")
      #expect(world.keys(stream) == ["a", "b", "c", "d"])
    }

    @Test func onlyOneFetchRunsAndAnEmptyStreamFetchesNothing() async throws {
      let (empty, _) = await world.stream(limit: 1)
      await fetch(empty, 2, "a")
      try await world.put("a", "b", "c", "d")
      let (stream, _) = await world.stream(limit: 1)
      var order: [String] = []
      await withCheckedContinuation { done in
        world.on {
          stream.fetchMore(1, start: "b") {
            order.append("first")
            done.resume()
          }
          stream.fetchMore(1, start: "b") { order.append("second") }
        }
      }
      #expect(order == ["second", "first"])
    }

    @Test func fetchCompletesBeforeTheBatchDelay() async throws {
      try await world.put("a", "b", "c", "d")
      let (stream, _) = await world.stream(limit: 1)
      let timer = ManualTimer()
      world.on {
        stream.batchDelay = 0.1
        stream.kitTimer = timer
      }
      await fetch(stream, 1, "b")
      #expect(world.keys(stream) == ["a", "b"])
      world.on { timer.fire() }
      #expect(world.keys(stream) == ["a", "b", "c"])
    }

    @Test func whenOrderedByAChildTheFetchStartIsAStreamKey() async throws {
      try await world.put([("a", 2), ("b", 1), ("c", 2), ("d", 2), ("e", 3)])
      let (stream, _) = await world.stream(limit: 1, .child("rank"))
      #expect(world.keys(stream) == ["b", "a"])
      await fetch(stream, 2, "a")
      #expect(world.keys(stream) == ["b", "a", "c", "d"])
    }

    @Test func fault25WithAutoFetchAPageHasTheRequestedLength() async throws {
      try await world.put((0..<40).map { ("\(100 + $0)", $0) })
      let isWanted: (BaseItem) -> Bool = { (($0 as? Note)?.rank ?? 0) % 5 == 0 }
      let (without, _) = await world.stream(limit: 3) { $0.predicate = isWanted }
      #expect(world.keys(without) == ["100"])
      let (stream, _) = await world.stream(limit: 3) {
        $0.predicate = isWanted
        $0.autoFetch = true
      }
      // The stream has one item more than the limit. The additional item shows that there are more records.
      #expect(world.keys(stream) == ["100", "105", "110", "115"])
      await fetch(stream, 2, world.on { stream[stream.count - 1].key! })
      #expect(world.keys(stream) == ["100", "105", "110", "115", "120", "125"])
      await fetch(stream, 50, "125")
      #expect(world.keys(stream).count == 8)
    }

    @Test func autoFetchRefillsAfterAStricterPredicateAndRemovals() async throws {
      try await world.put((0..<40).map { ("\(100 + $0)", $0) })
      let (stream, _) = await world.stream(limit: 3) {
        $0.predicate = { _ in true }
        $0.autoFetch = true
      }
      await fetch(stream, 2, "103")
      #expect(world.keys(stream) == ["100", "101", "102", "103", "104", "105"])
      world.on { stream.predicate = { (($0 as? Note)?.rank ?? 0) % 5 == 0 } }
      await world.wait { stream.count >= 4 }
      #expect(world.keys(stream) == ["100", "105", "110", "115"])
      try await world.delete("105", "110")
      await world.wait { stream.count >= 4 }
      #expect(world.keys(stream) == ["100", "115", "120", "125"])
      world.on { stream.predicate = { (($0 as? Note)?.rank ?? 0) >= 38 } }
      await world.wait { stream.count == 2 && !stream.kitIsFetching }
      #expect(world.on { !stream.hasMore })
    }

    @Test func hasMoreTellsWhetherRecordsFollow() async throws {
      try await world.put("a", "b", "c", "d", "e")
      let (all, _) = await world.stream()
      let (stream, _) = await world.stream(limit: 2)
      #expect(world.on { stream.hasMore && !all.hasMore })
      await fetch(stream, 1, "c")
      #expect(world.keys(stream) == ["a", "b", "c", "d"] && world.on { stream.hasMore })
      // Only the next fetch shows whether a record follows the last one.
      await fetch(stream, 1, "d")
      #expect(world.keys(stream).last == "e" && world.on { stream.hasMore })
      await fetch(stream, 1, "e")
      #expect(world.keys(stream).last == "e" && world.on { !stream.hasMore })
      await waitForListenerReplacement(stream)
      try await world.put("f")
      #expect(world.keys(stream).last == "f" && world.on { !stream.hasMore })
      let (short, _) = await world.stream(limit: 6)
      #expect(world.on { !short.hasMore })
    }

    @Test(arguments: [true, false]) func aFetchFromAnEarlierItemDoesNotMoveTheStreamsEnd(isAscending: Bool)
      async throws
    {
      let keys = ["a", "b", "c", "d", "e", "f", "g"]
      let inOrder = isAscending ? keys : keys.reversed()
      func reached(_ stream: StreamBase) -> String? {
        guard case .document(let document)? = world.on({ stream.kitFrontier }) else { return nil }
        return document.documentID
      }
      // Some records have equal ranks, so the key decides their order.
      try await world.put(keys.enumerated().map { ($1, $0 / 3) })
      var wrong: [String] = []
      for ordering in [StreamBase.Ordering.key, .child("rank")] {
        let (stream, _) = await world.stream(limit: 1, ascending: isAscending, ordering)
        await fetch(stream, 3, inOrder[1])
        var (pages, ends) = ([world.keys(stream)], [reached(stream)])
        await fetch(stream, 1, inOrder[0])
        await fetch(stream, 1, inOrder[2])
        ends.append(reached(stream))
        if ordering == .key { await fetch(stream, 5, inOrder[0], end: inOrder[2]) }
        ends.append(reached(stream))
        await fetch(stream, 1, inOrder[4])
        pages.append(world.keys(stream))
        ends.append(reached(stream))
        let expectedPages = [Array(inOrder.prefix(5)), Array(inOrder.prefix(6))]
        let expectedEnds: [String?] = [inOrder[4], inOrder[4], inOrder[4], inOrder[5]]
        if pages != expectedPages || ends != expectedEnds {
          wrong.append("\(ordering): \(pages), \(ends)")
        }
      }
      #expect(wrong == [])
      // Without a limit, the stream listens to everything.
      let (whole, _) = await world.stream(ascending: isAscending)
      await fetch(whole, 1, inOrder[0])
      #expect(world.on { !whole.hasMore })
    }

    @Test func loadedHiddenRecordsDoNotBlockAFetch() async throws {
      try await world.put((0..<20).map { ("\(100 + $0)", $0) })
      let (stream, _) = await world.stream(limit: 3) {
        $0.predicate = { (($0 as? Note)?.rank ?? 0) % 10 == 0 }
      }
      // Each fetch starts at the last visible item.
      for _ in 0..<3 { await fetch(stream, 3, "100") }
      #expect(world.keys(stream) == ["100", "110"])
    }

    @Test(arguments: [true, false]) func aFetchThatStartsBeyondTheStreamsEndLeavesNoGap(isByKey: Bool)
      async throws
    {
      try await world.put([("a", 1), ("b", 2), ("c", 3), ("d", 4), ("e", 5), ("f", 6)])
      let (stream, _) = await world.stream(limit: 1, isByKey ? .key : .child("rank"))
      // If a stream is ordered by a child, a start key that the stream does not contain is interpreted as a
      // value of that child. This value is text, and text sorts after all numbers.
      await fetch(stream, 1, "e")
      #expect(world.keys(stream) == ["a", "b", "c"])
      await fetch(stream, 5, "c")
      #expect(world.keys(stream) == ["a", "b", "c", "d", "e", "f"])
    }

    // MARK: Pending server timestamps

    /// Returns an offline client that has cached notes with these dates.
    private func offline(_ dates: [(String, Int64)]) async throws -> StreamWorld {
      let remote = try LoopbackRemote(authority: try DocumentStore.openInMemory())
      let world = StreamWorld { $0.remote = remote }
      for (key, seconds) in dates {
        try await world.notes.document(key).setData(["date": Timestamp(seconds: seconds, nanoseconds: 0)])
      }
      var count = 0
      // A listener keeps the notes in the cache.
      world.notes.addSnapshotListener(includeMetadataChanges: true) { snapshot, _ in
        count = snapshot.map { $0.metadata.isFromCache ? 0 : $0.count } ?? 0
      }
      await world.wait { count == dates.count }
      try await world.firestore.disableNetwork()
      return world
    }

    private func send(_ keys: [String], in world: StreamWorld) {
      for key in keys {
        world.notes.document(key).setData(["date": FieldValue.serverTimestamp()], completion: nil)
      }
    }

    private func byDate(
      _ world: StreamWorld, limit: Int, ascending: Bool, _ change: (StreamBase) -> Void = { _ in }
    ) async -> StreamBase {
      let stream = world.on {
        let stream = StreamBase(
          type: Dated.self, ref: world.notes, limit: limit, ascending: ascending, ordering: .child("date"))
        stream.batchDelay = nil
        change(stream)
        return stream
      }
      await world.wait { stream.kitLoad.isFinished && !stream.kitLoadIsDue }
      return stream
    }

    /// The bug: a page that ended at an item with a pending server timestamp crashed the program. Such an
    /// item cannot be a cursor.
    @Test func aPageContinuesAfterSeveralPagesOfPendingItems() async throws {
      let world = try await offline([("a", 1_000_000_000), ("b", 1_500_000_000), ("c", 4_102_444_800)])
      let sent = ["p1", "p2", "p3", "p4", "p5", "p6"]
      send(sent, in: world)
      let stream = await byDate(world, limit: 5, ascending: false)
      await world.wait { stream.count == 6 }
      await fetch(stream, 2, "p1", in: world)
      #expect(world.keys(stream) == sent.reversed() + ["c", "b"])
      #expect(world.on { stream.hasMore })
      try await world.firestore.enableNetwork()
      try await world.firestore.waitForPendingWrites()
      let confirmed = ["c"] + sent.reversed() + ["b"]
      await world.wait { stream.map { $0.key! } == confirmed }
      await fetch(stream, 5, "b", in: world)
      #expect(world.keys(stream) == confirmed + ["a"])
      #expect(world.on { !stream.hasMore })
      try await world.firestore.terminate()
    }

    @Test func aPageEndingAtAPendingServerTimestampWaits() async throws {
      let world = try await offline([("a", 1_000_000_000), ("b", 1_500_000_000)])
      let sent = ["p1", "p2", "p3", "p4", "p5", "p6"]
      send(sent, in: world)
      let short = await byDate(world, limit: 1, ascending: true)
      await fetch(short, 3, "b", in: world)
      #expect(world.keys(short) == ["a", "b"])
      // A stream whose first query already returned some of the notes with pending timestamps.
      let long = await byDate(world, limit: 2, ascending: true)
      await fetch(long, 2, "p1", in: world)
      #expect(world.keys(long) == ["a", "b", "p1"])
      #expect(world.on { short.hasMore && long.hasMore })
      let hiding = await byDate(world, limit: 1, ascending: true) {
        $0.predicate = { _ in false }
        $0.autoFetch = true
      }
      await world.wait { !hiding.kitIsFetching }
      try await world.firestore.enableNetwork()
      try await world.firestore.waitForPendingWrites()
      await world.wait { long.kitSegments.first?.last?.metadata.hasPendingWrites == false }
      await fetch(short, 10, "b", in: world)
      #expect(world.keys(short) == ["a", "b"] + sent)
      await fetch(long, 2, "p1", in: world)
      #expect(world.keys(long) == ["a", "b", "p1", "p2", "p3"])
      try await world.firestore.terminate()
    }

    // MARK: Termination

    /// Terminates the database directly after a fetch was issued. The fetch itself completes, but further
    /// reads that it causes fail.
    @Test(arguments: [true, false]) func readsOfAFetchAfterTerminationFail(resume: Bool) async throws {
      try await world.put("a", "b", "c", "d", "e", "f")
      let (stream, recorder) = await world.stream(limit: 1) {
        guard resume else { return }
        $0.predicate = { ["a", "b"].contains($0.key) }
        $0.autoFetch = true
      }
      await withCheckedContinuation { done in
        world.on {
          stream.fetchMore(2, start: "b") { done.resume() }
          world.firestore.terminate()
        }
      }
      await world.wait {
        recorder.changes.contains { change in if case .failed = change { true } else { false } }
      }
      #expect(world.on { !stream.kitIsFetching })
    }

    @Test func aBatchAfterTerminationReadsNothing() async throws {
      try await world.put("a", "b", "c", "d", "e", "f")
      let (stream, _) = await world.stream(limit: 1) {
        $0.predicate = { ["a", "b"].contains($0.key) }
        $0.autoFetch = true
      }
      let timer = ManualTimer()
      world.on {
        stream.kitTimer = timer
        stream.batchDelay = 0.1
      }
      try await world.delete("a")
      await world.wait { timer.isStarted }
      world.on {
        world.firestore.terminate()
        timer.fire()
      }
      #expect(world.keys(stream) == ["b"])
      #expect(world.on { !stream.kitIsFetching })
    }

    /// The bug: a stream that a view creates a moment after the termination ended the process.
    @Test func aStreamCreatedAfterTerminationReportsTheError() async throws {
      try await world.firestore.terminate()
      let recorder = StreamChangeRecorder()
      let stream = world.on {
        let stream = StreamBase(type: Note.self, ref: world.notes)
        stream.delegate = recorder
        return stream
      }
      await world.wait { stream.kitLoad.isFinished }
      await world.wait { !recorder.changes.isEmpty }
      let changes = world.on { recorder.take() }
      guard changes.count == 1, case .initialLoad(let error?) = changes[0] else {
        Issue.record("\(changes)")
        return
      }
      #expect(error.code == FirestoreErrorCode.Code.failedPrecondition.rawValue)
    }

    // MARK: Failures

    private func refusing(
      _ refuses: @escaping @Sendable (StructuredQuery) -> Bool
    ) throws -> (StreamWorld, LoopbackRemote, DocumentStore) {
      let authority = try DocumentStore.openInMemory()
      let remote = try LoopbackRemote(authority: authority)
      var rules = LoopbackRules()
      rules.mayRead = { _, query in refuses(query) ? RemoteError(.permissionDenied, "no") : nil }
      remote.setRules(rules)
      return (StreamWorld { $0.remote = remote }, remote, authority)
    }

    @Test func fault5AFailedFetchIsReportedAndCompletes() async throws {
      let (world, remote, authority) = try refusing { $0.limit == .first(4) }
      try await world.put("a", "b", "c", "d", "e", "f")
      let (stream, recorder) = await world.stream(limit: 1)
      await world.wait { stream.count == 2 }
      world.on { _ = recorder.take() }
      await withCheckedContinuation { done in
        world.on { stream.fetchMore(3, start: "b") { done.resume() } }
      }
      guard case .failed(let error)? = world.on({ recorder.take() }).first else {
        Issue.record("no failure was reported")
        return
      }
      #expect(error.code == FirestoreErrorCode.Code.permissionDenied.rawValue)
      await withCheckedContinuation { done in
        world.on { stream.fetchMore(2, start: "b") { done.resume() } }
      }
      #expect(world.keys(stream) == ["a", "b", "c", "d"])
      try await world.firestore.terminate()
      withExtendedLifetime((remote, authority)) {}
    }

    @Test func fault20AFailedQueryIsReportedOnceEvenToALaterDelegate() async throws {
      let (world, remote, authority) = try refusing { _ in true }
      let stream = world.on { StreamBase(type: Note.self, ref: world.notes) }
      await world.wait { stream.kitLoad.isFinished }
      let recorder = StreamChangeRecorder()
      world.on { stream.delegate = recorder }
      guard case .initialLoad(let error?)? = world.on({ recorder.changes }).first else {
        Issue.record("no failure was reported")
        return
      }
      #expect(error.code == FirestoreErrorCode.Code.permissionDenied.rawValue)
      world.on {
        stream.kitFinishLoad(nil)
        stream.delegate = recorder
      }
      #expect(world.on { recorder.changes }.count == 1)
      try await world.firestore.terminate()
      withExtendedLifetime((remote, authority)) {}
    }
  }
}
