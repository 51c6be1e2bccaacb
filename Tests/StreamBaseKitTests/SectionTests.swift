// Tests of streams in sections, and of unions of streams.

import FirebaseFirestore
import Foundation
import StreamHarness
import Testing

@testable import StreamBaseKit

private func rank(_ item: BaseItem) -> Int { (item as? Note)?.rank ?? 0 }

extension StreamBaseKitTests {
  @Suite struct Partitions {
    private func stream(_ notes: (String, Int)...) -> TransientStream {
      let stream = TransientStream()
      stream.reset(notes.map { Note($0.0, rank: $0.1) })
      return stream
    }

    private func sections(_ partitioned: PartitionedStream) -> [[String]] {
      (0..<partitioned.numSections).map { partitioned[$0].map { $0.key! } }
    }

    private func partitioned(
      _ stream: StreamBase, _ count: Int = 3
    ) -> (stream: PartitionedStream, recorder: StreamChangeRecorder) {
      let titles = (0..<count).map { "section \($0)" }
      let partitioned = PartitionedStream(stream: stream, sectionTitles: titles) { rank($0) }
      let recorder = StreamChangeRecorder()
      partitioned.delegate = recorder
      return (partitioned, recorder)
    }

    @Test func fault8APartitionedStreamStartsWithExistingItemsAndIsLoaded() {
      let stream = stream(("a", 1), ("b", 0), ("c", 1), ("d", 2))
      let (partitioned, recorder) = partitioned(stream)
      #expect(sections(partitioned) == [["b"], ["a", "c"], ["d"]])
      #expect(partitioned.map == [path(1, 0), path(0, 0), path(1, 1), path(2, 0)])
      #expect(recorder.changes == [.initialLoad(nil)])
      #expect(partitioned[1, 1].key == "c" && partitioned[path(2, 0)].key == "d")
      #expect(partitioned.findIndexPath("c") == path(1, 1) && partitioned.find("x") == nil)
      #expect(partitioned.items.map { $0.key! } == ["a", "b", "c", "d"])
    }

    @Test func addedRowsAreReportedInTheirSections() {
      let stream = stream(("a", 1), ("d", 1))
      let (partitioned, recorder) = partitioned(stream)
      _ = recorder.take()
      stream.add(Note("b", rank: 1), Note("c", rank: 0), Note("e", rank: 1))
      #expect(
        recorder.take() == [.batch(deleted: [], added: [path(1, 1), path(0, 0), path(1, 3)])])
      #expect(sections(partitioned) == [["c"], ["a", "b", "d", "e"], []])
    }

    @Test func fault7RemovedRowsDisappear() {
      let stream = stream(("a", 0), ("b", 1), ("c", 0), ("d", 1), ("e", 0), ("f", 1))
      let (partitioned, recorder) = partitioned(stream)
      _ = recorder.take()
      stream.remove(Note("a"), Note("b"), Note("c"), Note("f"))
      #expect(
        recorder.take() == [
          .batch(deleted: [path(0, 0), path(1, 0), path(0, 1), path(1, 2)], added: [])
        ])
      #expect(sections(partitioned) == [["e"], ["d"], []])
      #expect(partitioned.map == [path(1, 0), path(0, 0)])
    }

    @Test func fault11MovingToAnotherSectionDeletesTheOldRowAndAddsANewRow() {
      let stream = stream(("a", 0), ("b", 0), ("c", 1), ("d", 1))
      let (partitioned, recorder) = partitioned(stream)
      _ = recorder.take()
      let b = stream[1] as! Note
      b.rank = 1
      stream.handleItemChanged(b)
      #expect(recorder.take() == [.batch(deleted: [path(0, 1)], added: [path(1, 0)])])
      #expect(sections(partitioned) == [["a"], ["b", "c", "d"], []])
      b.text = "stays"
      stream.handleItemChanged(b)
      #expect(recorder.take() == [.changed([path(1, 0)])])
    }

    @Test func itemsThatMoveTogetherAreOneBatchAfterInPlaceChanges() {
      let stream = stream(("a", 0), ("b", 0), ("c", 0), ("d", 1))
      let (partitioned, recorder) = partitioned(stream)
      _ = recorder.take()
      for (index, rank) in [(0, 1), (2, 2)] { (stream[index] as? Note)?.rank = rank }
      partitioned.streamItemsChanged(paths(0, 1, 2))
      #expect(
        recorder.take() == [
          .changed([path(0, 1)]),
          .batch(deleted: [path(0, 0), path(0, 2)], added: [path(1, 0), path(2, 0)]),
        ])
      #expect(sections(partitioned) == [["b"], ["a", "d"], ["c"]])
    }

    @Test func fault10ItemsWithEqualRankKeepTheStreamOrder() async throws {
      let world = StreamWorld()
      try await world.put([("a", 1), ("c", 1), ("e", 1)])
      let (stream, _) = await world.stream(ascending: false, .child("rank"))
      let partitioned = world.on { PartitionedStream(stream: stream, sectionTitles: ["all"]) { _ in 0 } }
      try await world.put([("b", 1), ("d", 1)])
      #expect(world.on { sections(partitioned) } == [["e", "d", "c", "b", "a"]])
    }

    @Test func delegatesSeeTheFinalStateThroughoutABatch() {
      final class Watcher: StreamBaseDelegate {
        weak var stream: PartitionedStream?
        var counts: [Int] = []
        func note() { counts.append((0..<3).reduce(0) { $0 + (stream?.count(inSection: $1) ?? 0) }) }
        func streamWillChange() { note() }
        func streamItemsDeleted(_ paths: [IndexPath]) { note() }
        func streamItemsAdded(_ paths: [IndexPath]) { note() }
        func streamDidChange() { note() }
      }
      let stream = stream(("a", 0), ("b", 1))
      let (partitioned, _) = partitioned(stream)
      let watcher = Watcher()
      watcher.stream = partitioned
      partitioned.delegate = watcher
      stream.reset([Note("b", rank: 1), Note("c", rank: 2), Note("d", rank: 2)])
      #expect(watcher.counts == [3, 3, 3, 3])
    }

    @Test func aPartitionerWithAnInvalidSectionTraps() async {
      await #expect(processExitsWith: .failure) {
        let stream = TransientStream()
        stream.add(Note("a"))
        _ = PartitionedStream(stream: stream, sectionTitles: ["one"]) { _ in 1 }
      }
    }

    @Test(arguments: [1 as UInt64, 2, 3]) func sectionedRowsMatchAnEditedArray(seed: UInt64) {
      var rng = seed
      func roll(_ sides: Int) -> Int {
        rng = rng &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int((rng >> 33) % UInt64(sides))
      }
      var rows = SectionedRows<Int>(sections: 4)
      var array: [(item: Int, section: Int)] = []
      var wrong: [String] = []
      for step in 0..<1500 {
        switch array.isEmpty ? 0 : roll(4) {
        case 0, 1:
          let (row, section) = (roll(array.count + 1), roll(4))
          rows.insert(step, atRow: row, inSection: section)
          array.insert((step, section), at: row)
        case 2:
          let row = roll(array.count)
          rows.remove(row: row)
          array.remove(at: row)
        default:
          let (row, section) = (roll(array.count), roll(4))
          rows.move(row: row, toSection: section)
          array[row].section = section
        }
        guard step % 50 == 0 else { continue }
        rows.checkInvariants()
        for section in 0..<4 {
          let items = rows.items(inSection: section)
          let expected = array.filter { $0.section == section }.map(\.item)
          if items != expected { wrong.append("step \(step): \(items), not \(expected)") }
        }
        let positions = array.indices.map(rows.position)
        if rows.positions != positions { wrong.append("step \(step): \(rows.positions), not \(positions)") }
      }
      #expect(wrong == [])
    }
  }

  @Suite struct Unions {
    private func union(
      _ streams: (TransientStream, TransientStream)
    ) -> (UnionStream, StreamChangeRecorder, ManualTimer) {
      let union = UnionStream(sources: streams.0, streams.1)
      let (recorder, timer) = (StreamChangeRecorder(), ManualTimer())
      union.kitTimer = timer
      union.delegate = recorder
      return (union, recorder, timer)
    }

    private func streams(_ first: [String], _ second: [String]) -> (TransientStream, TransientStream) {
      let streams = (TransientStream(), TransientStream())
      streams.0.reset(first.map { Note($0, text: "first") })
      streams.1.reset(second.map { Note($0, text: "second") })
      return streams
    }

    private func keys(_ union: UnionStream) -> [String] { union.map { $0.key! } }

    @Test func fault1AUnionHasTheRowsOfAllItsSources() {
      let streams = streams(["a", "c"], ["b", "d"])
      let (union, _, _) = union(streams)
      #expect(union.endIndex == 4 && union.count == 4)
      #expect(keys(union) == ["a", "b", "c", "d"])
      #expect(union.findIndexPath("c") == path(0, 2) && union.find("d")?.key == "d")
    }

    @Test func fault8AUnionStartsWithExistingItemsAndReportsTheLoad() {
      let (union, recorder, _) = union(streams(["a"], ["b"]))
      #expect(recorder.changes == [.initialLoad(nil)])
      #expect(union.count == 2)
    }

    @Test func theFirstSourceWithAKeyProvidesTheItem() {
      let streams = streams(["a"], ["a", "b"])
      let (union, recorder, timer) = union(streams)
      _ = recorder.take()
      #expect((union[0] as? Note)?.text == "first" && union.count == 2)
      streams.0.remove(Note("a"))
      timer.fire()
      #expect((union[0] as? Note)?.text == "second")
      #expect(recorder.take() == [.changed(paths(0))])
      streams.0.add(Note("b", text: "first"))
      timer.fire()
      #expect((union[1] as? Note)?.text == "first")
      streams.1.remove(Note("a"), Note("b"))
      timer.fire()
      #expect(keys(union) == ["b"])
    }

    @Test func unionChangesAreReportedAsOneBatch() {
      let streams = streams(["b"], ["d"])
      let (union, recorder, timer) = union(streams)
      _ = recorder.take()
      streams.0.add(Note("a"))
      streams.1.add(Note("c"))
      streams.0.remove(Note("b"))
      #expect(recorder.take() == [] && keys(union) == ["b", "d"])
      #expect(timer.delays == [0.1, 0.1, 0.1])
      timer.fire()
      #expect(recorder.take() == [.batch(deleted: paths(0), added: paths(0, 1))])
      #expect(keys(union) == ["a", "c", "d"])
    }

    @Test func aChangeIsReportedWithItsUnionIndex() {
      let streams = streams(["a"], ["b"])
      let (union, recorder, _) = union(streams)
      _ = recorder.take()
      streams.1.handleItemChanged(streams.1[0])
      #expect(recorder.take() == [.changed(paths(1))])
      #expect(union.count == 2)
    }

    @Test func aUnionIsLoadedWhenAllSourcesAreLoaded() async throws {
      let world = StreamWorld()
      try await world.put("b")
      let placeholders = TransientStream()
      let recorder = StreamChangeRecorder()
      let (union, stream) = world.on {
        placeholders.add(Note("a"))
        let stream = StreamBase(type: Note.self, ref: world.notes)
        stream.batchDelay = nil
        let union = UnionStream(sources: placeholders, stream)
        union.delegate = recorder
        #expect(recorder.changes == [] && union.count == 1)
        return (union, stream)
      }
      await world.wait { recorder.changes.count == 2 }
      #expect(recorder.changes == [.batch(deleted: [], added: paths(1)), .initialLoad(nil)])
      withExtendedLifetime(stream) { #expect(world.on { union.count } == 2) }
    }

    @Test func aUnionHasTheOrderOfItsFirstSource() async throws {
      let world = StreamWorld()
      try await world.put([("a", 1), ("b", 3)])
      try await world.put([("c", 2), ("d", 4)], in: "others")
      let (first, _) = await world.stream(ascending: false, .child("rank"))
      let (second, _) = await world.stream(in: "others")
      let recorder = StreamChangeRecorder()
      let union = world.on {
        let union = UnionStream(sources: first, second)
        union.batchDelay = nil
        union.delegate = recorder
        return union
      }
      #expect(world.on { keys(union) } == ["d", "b", "c", "a"])
      // The second source is ordered by key, so the row does not move there. It moves in the union, which has
      // the order of the first source.
      try await world.put([("c", 5)], in: "others")
      #expect(world.on { keys(union) } == ["c", "d", "b", "a"])
      #expect(
        world.on { recorder.take() } == [.initialLoad(nil), .batch(deleted: paths(2), added: paths(0))])
    }

    @Test func aUnionCanBePartitionedIntoSections() {
      let streams = streams(["a", "c"], ["b", "d"])
      let union = UnionStream(sources: streams.0, streams.1)
      let timer = ManualTimer()
      union.kitTimer = timer
      let partitioned = PartitionedStream(stream: union, sectionTitles: ["first", "second"]) {
        ($0 as? Note)?.text == "first" ? 0 : 1
      }
      #expect(partitioned[0].map { $0.key! } == ["a", "c"] && partitioned[1].map { $0.key! } == ["b", "d"])
      streams.0.remove(Note("a"))
      streams.1.add(Note("a", text: "second"))
      timer.fire()
      #expect(partitioned[0].map { $0.key! } == ["c"])
      #expect(partitioned[1].map { $0.key! } == ["a", "b", "d"])
      #expect(partitioned.items.map { $0.key! } == ["a", "b", "c", "d"])
    }
  }
}
