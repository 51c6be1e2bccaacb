// Tests of the live items of a query, their order, and the reported changes.

import Authority
import DocumentStore
import FirebaseFirestore
import Foundation
import OfflineSync
import StreamHarness
import Testing

@testable import StreamBaseKit

extension StreamBaseKitTests {
  @Suite struct Streams {
    private let world = StreamWorld()

    // MARK: Items and order

    /// The bug: a pending server timestamp was null, which sorts before all times. So a new message appeared
    /// as the oldest message.
    @Test func pendingServerTimestampSortsLast() async throws {
      let authority = try DocumentStore.openInMemory()
      let remote = try LoopbackRemote(authority: authority)
      let world = StreamWorld { $0.remote = remote }
      for (key, seconds) in [("a", 1_000_000_000), ("c", 1_500_000_000)] as [(String, Int64)] {
        try await world.notes.document(key).setData(["date": Timestamp(seconds: seconds, nanoseconds: 0)])
      }
      let (stream, recorder) = world.on {
        let stream = StreamBase(
          type: Dated.self, ref: world.notes, ascending: false, ordering: .child("date"))
        let recorder = StreamChangeRecorder()
        stream.batchDelay = nil
        stream.delegate = recorder
        return (stream, recorder)
      }
      await world.wait { stream.count == 2 }
      try await world.firestore.disableNetwork()
      world.notes.document("b").setData(["date": FieldValue.serverTimestamp()], completion: nil)
      await world.wait { stream.count == 3 }
      #expect(world.keys(stream) == ["b", "c", "a"])
      #expect(world.on { (stream[0] as? Dated)?.date != nil })
      try await world.firestore.enableNetwork()
      try await world.firestore.waitForPendingWrites()
      #expect(world.keys(stream) == ["b", "c", "a"])
      world.on { _ = recorder.take() }
      try await world.firestore.terminate()
    }

    /// The bug: an item with a pending server timestamp was sorted by its estimate, which is the local time.
    /// It must be sorted after all other times.
    @Test(arguments: [true, false]) func pendingServerTimestampSortsLastEvenIfTheLocalClockIsBehind(
      isAscending: Bool
    ) async throws {
      let remote = try LoopbackRemote(authority: try DocumentStore.openInMemory())
      let world = StreamWorld { $0.remote = remote }
      // The item z has a date in the year 2100, because the clock of another client is ahead.
      for (key, seconds) in [("a", 1_000_000_000), ("z", 4_102_444_800)] as [(String, Int64)] {
        try await world.notes.document(key).setData(["date": Timestamp(seconds: seconds, nanoseconds: 0)])
      }
      let stream = world.on {
        let stream = StreamBase(
          type: Dated.self, ref: world.notes, ascending: isAscending, ordering: .child("date"))
        stream.batchDelay = nil
        return stream
      }
      await world.wait { stream.count == 2 }
      try await world.firestore.disableNetwork()
      world.notes.document("b").setData(["date": FieldValue.serverTimestamp()], completion: nil)
      await world.wait { stream.count == 3 }
      #expect(world.keys(stream) == (isAscending ? ["a", "z", "b"] : ["b", "z", "a"]))
      world.on {
        let (sent, later) = (stream.find("b"), stream.find("z"))
        #expect(stream.comparator(later!, sent!) == isAscending)
        // A time that the app assigns determines the item's position.
        let dated = sent as? Dated
        dated?.date = Timestamp(seconds: 5, nanoseconds: 0)
        stream.handleItemChanged(sent!)
        stream.kitCheckInvariants()
      }
      #expect(world.keys(stream) == (isAscending ? ["b", "a", "z"] : ["z", "a", "b"]))
      try await world.firestore.enableNetwork()
      try await world.firestore.waitForPendingWrites()
      let confirmed = isAscending ? ["a", "b", "z"] : ["z", "b", "a"]
      await world.wait { stream.map { $0.key! } == confirmed }
      try await world.firestore.terminate()
    }

    @Test func initialLoadIsReportedOnceAfterTheFirstBatch() async throws {
      try await world.put("b", "a", "c")
      let recorder = StreamChangeRecorder()
      let stream = world.on {
        let stream = StreamBase(type: Note.self, ref: world.notes)
        stream.batchDelay = nil
        stream.delegate = recorder
        return stream
      }
      await world.wait { recorder.changes.count == 2 }
      #expect(recorder.take() == [.batch(deleted: [], added: paths(0, 1, 2)), .initialLoad(nil)])
      #expect(world.keys(stream) == ["a", "b", "c"])
      world.on {
        #expect((stream.find("b") as? Note)?.text == "B")
        #expect(stream.findIndexPath("c") == path(0, 2))
        #expect(stream.find("x") == nil && stream.findIndexPath("x") == nil)
      }
    }

    @Test func anEmptyCollectionIsLoadedWithoutABatch() async throws {
      let recorder = StreamChangeRecorder()
      let stream = world.on {
        let stream = StreamBase(type: Note.self, ref: world.notes)
        stream.delegate = recorder
        return stream
      }
      await world.wait { !recorder.changes.isEmpty }
      #expect(recorder.changes == [.initialLoad(nil)])
      #expect(world.on { stream.isEmpty })
    }

    @Test func aStreamFollowsAddedChangedAndDeletedRecords() async throws {
      try await world.put("a", "c")
      let (stream, recorder) = await world.stream()
      try await world.put("b")
      #expect(world.on { recorder.take() } == [.batch(deleted: [], added: paths(1))])
      let item = world.on { stream[1] as? Note }
      try await world.firestore.document("notes/b").updateData(["text": "changed"])
      #expect(world.on { recorder.take() } == [.changed(paths(1))])
      #expect(item?.text == "changed" && world.on { stream[1] } === item)
      try await world.delete("a")
      #expect(world.on { recorder.take() } == [.batch(deleted: paths(0), added: [])])
      #expect(world.keys(stream) == ["b", "c"])
    }

    @Test func oneCommitIsOneBatchWithOldAndNewRows() async throws {
      try await world.put("a", "c", "e")
      let (stream, recorder) = await world.stream()
      let batch = world.firestore.batch()
      for key in ["a", "c"] { batch.deleteDocument(world.notes.document(key)) }
      for key in ["b", "f"] { batch.setData([:], forDocument: world.notes.document(key)) }
      try await batch.commit()
      #expect(world.on { recorder.take() } == [.batch(deleted: paths(0, 1), added: paths(0, 2))])
      #expect(world.keys(stream) == ["b", "e", "f"])
    }

    @Test func aRemovedItemIsUpdatedToNilAfterItsBatch() async throws {
      try await world.put("a")
      let (stream, _) = await world.stream()
      let item = world.on { stream[0] as? Note }
      try await world.delete("a")
      #expect(world.on { item?.text } == nil)
    }

    @Test func didConstructItemIsCalledOncePerItem() async throws {
      final class Counting: StreamBase {
        var constructed: [String] = []
        override func didConstructItem(_ item: BaseItem) { constructed.append(item.key ?? "") }
      }
      try await world.put("a")
      let stream = world.on { Counting(type: Note.self, ref: world.notes) }
      await world.wait { stream.constructed == ["a"] }
      try await world.put("a", "b")
      #expect(world.on { stream.constructed } == ["a", "b"])
    }

    // MARK: Order and limits

    @Test func aLimitedStreamShowsOneExtraItemFromItsStart() async throws {
      try await world.put("a", "b", "c", "d", "e")
      let (ascending, _) = await world.stream(limit: 2)
      #expect(world.keys(ascending) == ["a", "b", "c"])
      let (descending, recorder) = await world.stream(limit: 2, ascending: false)
      #expect(world.keys(descending) == ["e", "d", "c"])
      try await world.put("f")
      #expect(world.on { recorder.take() } == [.batch(deleted: paths(2), added: paths(0))])
    }

    @Test func limitZeroLoadsImmediately() {
      world.on {
        let stream = StreamBase(type: Note.self, ref: world.notes, limit: 0)
        let recorder = StreamChangeRecorder()
        stream.delegate = recorder
        #expect(recorder.changes == [.initialLoad(nil)])
        var isDone = false
        stream.fetchMore(5, start: "a") { isDone = true }
        #expect(isDone)
      }
    }

    @Test func rangesFollowTheStreamDirection() async throws {
      try await world.put("a", "b", "c", "d", "e")
      var wrong: [String] = []
      for (ascending, start, end) in [(true, "b", "d"), (false, "d", "b")] {
        let builder = QueryBuilder(world.notes)
        builder.ascending = ascending
        builder.start = start
        builder.end = end
        let stream = world.on { StreamBase(type: Note.self, queryBuilder: builder) }
        stream.batchDelay = nil
        await world.wait { stream.count == 3 }
        let keys = world.keys(stream)
        if keys != (ascending ? ["b", "c", "d"] : ["d", "c", "b"]) { wrong.append("\(ascending): \(keys)") }
      }
      #expect(wrong == [])
    }

    @Test func recordsWithoutTheOrderingChildSortFirstEvenWithALimit() async throws {
      try await world.put([("a", 3), ("b", nil), ("c", 1), ("d", 2), ("e", nil)])
      let (all, _) = await world.stream(.child("rank"))
      #expect(world.keys(all) == ["b", "e", "c", "d", "a"])
      let (some, _) = await world.stream(limit: 2, .child("rank"))
      #expect(world.keys(some) == ["b", "e", "c"])
      let (descending, _) = await world.stream(limit: 3, ascending: false, .child("rank"))
      #expect(world.keys(descending) == ["a", "d", "c", "e"])
    }

    @Test func fault6AnItemWhoseRankChangesIsDeletedAndAdded() async throws {
      try await world.put([("a", 1), ("b", 2), ("c", 3)])
      let (stream, recorder) = await world.stream(.child("rank"))
      let item = world.on { stream[0] }
      try await world.firestore.document("notes/a").updateData(["rank": 9])
      #expect(world.on { recorder.take() } == [.batch(deleted: paths(0), added: paths(2))])
      #expect(world.keys(stream) == ["b", "c", "a"] && world.on { stream[2] } === item)
      world.on {
        #expect(stream.findFirstIndexPathAfter(Note("x", rank: 3)) == path(0, 2))
        #expect(stream.findLastIndexPathBefore(Note("x", rank: 3)) == path(0, 1))
        stream.kitCheckInvariants()
      }
    }

    @Test func fault22ValuesOfEveryTypeSortInDatabaseOrder() async throws {
      final class Loose: BaseItem {
        var fields: [String: Any] = [:]
        override func update(_ dict: [String: Any]?) { fields = dict ?? [:] }
        override var dict: [String: Any] { fields }
      }
      let values: [Any?] = [
        nil, NSNull(), false, true, -1.5, 2, 2.5, Int64(9_007_199_254_740_992),
        Int64(9_007_199_254_740_993), Timestamp(seconds: 1, nanoseconds: 0), "", "a", "b", Data([1]), [1],
        ["a": 1],
      ]
      let batch = world.firestore.batch()
      for (index, value) in values.enumerated().shuffled() {
        var data: [String: Any] = [:]
        data["v"] = value
        batch.setData(data, forDocument: world.notes.document("\(100 + index)"))
      }
      try await batch.commit()
      let builder = QueryBuilder(world.notes)
      builder.ordering = .child("v")
      let stream = world.on { StreamBase(type: Loose.self, queryBuilder: builder) }
      stream.batchDelay = nil
      await world.wait { stream.count == values.count }
      let asked = try await world.notes.ordered(byChild: "v", descending: false).getDocuments()
      #expect(world.keys(stream) == asked.documents.map(\.documentID))
      #expect(world.keys(stream) == values.indices.map { "\(100 + $0)" })
    }

    @Test func keysAreComparedByBytes() async throws {
      let keys = ["Z", "a", "é", "e\u{301}", "\u{FFFD}", "😀"]
      let batch = world.firestore.batch()
      for key in keys { batch.setData([:], forDocument: world.notes.document(key)) }
      try await batch.commit()
      let (stream, _) = await world.stream()
      let found = world.keys(stream).map { Array($0.utf8) }
      #expect(found == keys.map { Array($0.utf8) }.sorted { $0.lexicographicallyPrecedes($1) })
      #expect(world.on { stream.find("é") } !== world.on { stream.find("e\u{301}") })
    }

    @Test func neighboursOfAnAbsentItemAreFound() async throws {
      try await world.put("b", "d")
      var wrong: [String] = []
      for ascending in [true, false] {
        let (stream, _) = await world.stream(ascending: ascending)
        let found = world.on {
          let (first, last) = ascending ? ("a", "e") : ("e", "a")
          return [
            stream.findFirstIndexPathAfter(Note("c")), stream.findLastIndexPathBefore(Note("c")),
            stream.findLastIndexPathBefore(Note(first)), stream.findFirstIndexPathAfter(Note(last)),
            stream.findFirstIndexPathAfter(stream[0]),
          ]
        }
        if found != [path(0, 1), path(0, 0), nil, nil, path(0, 1)] { wrong.append("\(ascending): \(found)") }
      }
      #expect(wrong == [])
    }

    // MARK: Predicates

    @Test func aPredicateHidesItemsAndReplacingThePredicateIsOneBatch() async throws {
      try await world.put([("a", 1), ("b", 2), ("c", 3), ("d", 4)])
      let (stream, recorder) = await world.stream { $0.predicate = { ($0 as? Note)?.rank != 2 } }
      #expect(world.keys(stream) == ["a", "c", "d"])
      world.on { stream.predicate = { (($0 as? Note)?.rank ?? 0) % 2 == 0 } }
      #expect(world.on { recorder.take() } == [.batch(deleted: paths(0, 1), added: paths(0))])
      #expect(world.keys(stream) == ["b", "d"])
      world.on { stream.predicate = nil }
      #expect(world.keys(stream) == ["a", "b", "c", "d"])
    }

    @Test func aChangeCanShowOrHideAnItem() async throws {
      try await world.put([("a", 1), ("b", 2)])
      let (stream, recorder) = await world.stream { $0.predicate = { ($0 as? Note)?.rank != 2 } }
      try await world.put([("b", 3)])
      #expect(world.on { recorder.take() } == [.batch(deleted: [], added: paths(1))])
      try await world.put([("a", 2)])
      #expect(world.on { recorder.take() } == [.batch(deleted: paths(0), added: [])])
      #expect(world.keys(stream) == ["b"])
    }

    @Test func aLocalChangeIsReportedLikeAStoredChange() async throws {
      try await world.put("a", "b")
      let (stream, recorder) = await world.stream { $0.predicate = { ($0 as? Note)?.isHidden == false } }
      world.on {
        let note = stream[0] as? Note
        note?.text = "local"
        stream.handleItemChanged(note!)
        #expect(recorder.take() == [.changed(paths(0))])
        note?.isHidden = true
        stream.handleItemChanged(note!)
        #expect(recorder.take() == [.batch(deleted: paths(0), added: [])])
        stream.handleItemChanged(note!)
        stream.handleItemChanged(Note("elsewhere"))
        #expect(recorder.take() == [])
        note?.isHidden = false
        stream.handleItemChanged(note!)
        #expect(recorder.take() == [.batch(deleted: [], added: paths(0))])
      }
    }

    @Test func afterPredicateLimitTruncatesAndRefills() async throws {
      try await world.put("a", "b", "c", "d")
      let (stream, recorder) = await world.stream { $0.afterPredicateLimit = 2 }
      #expect(world.keys(stream) == ["a", "b"])
      try await world.put("aa")
      #expect(world.on { recorder.take() } == [.batch(deleted: paths(1), added: paths(1))])
      try await world.delete("a")
      #expect(world.on { recorder.take() } == [.batch(deleted: paths(0), added: paths(1))])
      #expect(world.keys(stream) == ["aa", "b"])
      #expect(world.on { stream.find("c") } == nil)
      world.on { stream.afterPredicateLimit = 3 }
      #expect(world.on { recorder.take() } == [.batch(deleted: [], added: paths(2))])
      world.on { stream.afterPredicateLimit = 1 }
      #expect(world.on { recorder.take() } == [.batch(deleted: paths(1, 2), added: [])])
    }

    // MARK: Delays

    @Test func changesAreBatchedUntilTheDelayEnds() async throws {
      let timer = ManualTimer()
      try await world.put("a")
      let (stream, recorder) = await world.stream()
      world.on {
        stream.batchDelay = 0.1
        stream.kitTimer = timer
      }
      // Waits for each change separately, because changes that arrive during one report are reported
      // together.
      try await world.put("b")
      await world.wait { timer.delays.count == 1 }
      try await world.put("c")
      await world.wait { timer.delays.count == 2 }
      try await world.delete("a")
      await world.wait { timer.delays.count == 3 }
      world.on {
        #expect(recorder.take() == [] && stream.count == 1)
        #expect(timer.delays == [0.1, 0.1, 0.1])
        timer.fire()
        #expect(recorder.take() == [.batch(deleted: paths(0), added: paths(0, 1))])
      }
      try await world.put("d")
      try await world.delete("d")
      world.on {
        timer.fire()
        #expect(recorder.take() == [], "a row added and removed before a batch is not announced")
      }
    }

    @Test func aChangeReportDeliversThePendingBatchFirst() async throws {
      let timer = ManualTimer()
      try await world.put("b")
      let (stream, recorder) = await world.stream()
      world.on {
        stream.batchDelay = 0.1
        stream.kitTimer = timer
      }
      try await world.put("a")
      try await world.put("b")
      try await world.firestore.document("notes/b").updateData(["text": "new"])
      #expect(
        world.on { recorder.take() } == [.batch(deleted: [], added: paths(0)), .changed(paths(1))])
      #expect(!world.on { timer.isStarted })
    }

    @Test func fault19BatchesArriveOnTheCallbackQueueWithoutARunLoop() async throws {
      final class Placed: StreamChangeRecorder {
        var places: [Bool?] = []
        private func note() { places.append(DispatchQueue.getSpecific(key: StreamWorld.queueKey)) }
        override func streamWillChange() { note() }
        override func streamDidChange() { note() }
      }
      let (first, second) = (Placed(), Placed())
      let (stream, union) = world.on {
        let streams = (0..<2).map { _ in StreamBase(type: Note.self, ref: world.notes) }
        let union = UnionStream(sources: streams[1])
        for stream in streams { stream.batchDelay = 0.01 }
        union.batchDelay = 0.01
        (streams[0].delegate, union.delegate) = (first, second)
        return (streams[0], union)
      }
      // The write is issued by a thread without a run loop, and that thread ends before the delay has passed.
      let notes = world.notes
      Thread { notes.document("a").setData([:]) }.start()
      await world.wait { first.places.count == 2 && second.places.count == 2 }
      #expect(world.on { first.places + second.places } == [true, true, true, true])
      #expect(world.keys(stream) == ["a"] && world.on { union.count } == 1)
    }

    @Test func aTimerFiresEvenIfRestartedRepeatedly() {
      let queue = DispatchQueue(label: "dugout.test.timer")
      let timer = QueueTimer(queue)
      let isOver = Transferred(NSLock())
      nonisolated(unsafe) var fired = 0
      while isOver.value.withLock({ fired }) == 0 {
        queue.sync { timer.start(0.02) { isOver.value.withLock { fired += 1 } } }
      }
      #expect(isOver.value.withLock { fired } > 0)
    }

    @Test func changesByADelegateDuringABatchFormALaterBatch() async throws {
      final class ReentrantDelegate: StreamChangeRecorder {
        weak var stream: TransientStream?
        override func streamItemsDeleted(_ paths: [IndexPath]) {
          super.streamItemsDeleted(paths)
          stream?.add(Note("z"))
        }
      }
      let stream = TransientStream()
      stream.reset([Note("a"), Note("b")])
      let delegate = ReentrantDelegate()
      stream.delegate = delegate
      delegate.stream = stream
      _ = delegate.take()
      stream.reset([Note("c")])
      #expect(
        delegate.take() == [
          .batch(deleted: paths(0, 1), added: paths(0)), .batch(deleted: [], added: paths(1)),
        ])
    }

    /// A delegate that calls `meddle` within its first notifications, so that items change during a
    /// notification.
    private final class ReentrantDelegate: StreamChangeRecorder {
      var meddle: () -> Void = {}
      /// Whether a batch is being delivered; `nested` counts the batches and reports that begin during
      /// another batch.
      private(set) var isInside = false
      private(set) var nested = 0
      private var left = 4

      private func call() {
        guard left > 0 else { return }
        left -= 1
        meddle()
      }

      override func streamWillChange() {
        if isInside { nested += 1 }
        isInside = true
        super.streamWillChange()
        call()
      }

      override func streamItemsAdded(_ paths: [IndexPath]) {
        super.streamItemsAdded(paths)
        call()
      }

      override func streamDidChange() {
        call()
        super.streamDidChange()
        isInside = false
      }

      override func streamItemsChanged(_ paths: [IndexPath]) {
        if isInside { nested += 1 }
        isInside = true
        super.streamItemsChanged(paths)
        call()
        isInside = false
      }
    }

    @Test func delegateCallsDuringABatchRunAfterIt() {
      let stream = TransientStream()
      stream.add(Note("b"))
      let delegate = ReentrantDelegate()
      stream.delegate = delegate
      delegate.meddle = { [unowned stream] in stream.handleItemChanged(stream[0]) }
      _ = delegate.take()
      stream.add(Note("c"))
      #expect(delegate.nested == 0)
      #expect(
        delegate.take() == [.batch(deleted: [], added: paths(1)), .changed(paths(0)), .changed(paths(0))])
      stream.handleItemChanged(stream[1])
      #expect(delegate.take() == [.changed(paths(1))])
    }

    @Test func unionDelegateCallsDuringABatchAreReportedAfterIt() {
      let (first, second) = (TransientStream(), TransientStream())
      second.add(Note("b"))
      let union = UnionStream(sources: first, second)
      union.batchDelay = nil
      let delegate = ReentrantDelegate()
      union.delegate = delegate
      delegate.meddle = { [unowned second] in second.handleItemChanged(second[0]) }
      _ = delegate.take()
      first.add(Note("a"))
      #expect(delegate.nested == 0)
      #expect(
        delegate.take() == [.batch(deleted: [], added: paths(0)), .changed(paths(1)), .changed(paths(1))])
    }

    @Test func aUnionWithALimitZeroStreamNotifiesOnTheCallbackQueue() async {
      final class Placed: StreamChangeRecorder {
        var places: [Bool] = []
        override func streamDidChange() {
          places.append(DispatchQueue.getSpecific(key: StreamWorld.queueKey) == true)
        }
      }
      let placed = Placed()
      let (union, local) = world.on {
        let local = StreamBase(type: Note.self, ref: world.notes, limit: 0)
        local.batchDelay = nil
        let union = UnionStream(sources: TransientStream(), local)
        union.batchDelay = 0.01
        union.delegate = placed
        local.batching { $0.append(Note("a")) }
        return (union, local)
      }
      await world.wait { placed.places.count == 1 }
      #expect(world.on { placed.places } == [true])
      withExtendedLifetime((union, local)) {}
    }

    // MARK: Local items

    @Test func aTransientStreamContainsTheGivenItems() {
      let stream = TransientStream()
      let recorder = StreamChangeRecorder()
      stream.delegate = recorder
      #expect(recorder.take() == [.initialLoad(nil)])
      stream.add(Note("b"), Note("a"))
      #expect(recorder.take() == [.batch(deleted: [], added: paths(0, 1))])
      stream.remove(Note("a"), Note("x"))
      #expect(recorder.take() == [.batch(deleted: paths(0), added: [])])
      let other = Note("b", text: "another object")
      stream.reset([other, Note("c")])
      #expect(recorder.take() == [.batch(deleted: [], added: paths(1)), .changed(paths(0))])
      #expect(stream[0] === other)
      stream.reset(nil)
      #expect(recorder.take() == [.batch(deleted: paths(0, 1), added: [])])
    }

    @Test func subclassesEditAllItemsInAnyOrder() async throws {
      try await world.put("a", "c")
      let (stream, recorder) = await world.stream()
      world.on {
        stream.batching { items in
          items.removeAtIndex(items.find("a")!)
          items.append(Note("b"), Note("d"))
        }
        #expect(recorder.take() == [.batch(deleted: paths(0), added: paths(0, 2))])
      }
      try await world.delete("c")
      #expect(world.keys(stream) == ["b", "d"])
    }
  }
}
