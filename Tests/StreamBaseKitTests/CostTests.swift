// Tests of the cost of a small change to a long list, measured in counts, not in time.

import FirebaseFirestore
import Foundation
import LayerKit
import Testing

@testable import StreamBaseKit

extension StreamBaseKitTests {
  @Suite(.serialized) struct Costs {
    private final class Counted: BaseItem {
      nonisolated(unsafe) static var reads = 0
      var rank = 0

      override func update(_ dict: [String: Any]?) { rank = dict?["rank"] as? Int ?? 0 }

      override var dict: [String: Any] {
        Self.reads += 1
        return ["rank": rank]
      }
    }

    private static let count = 3000

    private func stream(_ world: StreamWorld) async throws -> StreamBase {
      let batch = world.firestore.batch()
      for index in 0..<Self.count {
        batch.setData(["rank": index], forDocument: world.notes.document("\(100_000 + index)"))
      }
      try await batch.commit()
      let stream = world.on {
        let stream = StreamBase(type: Counted.self, ref: world.notes, ordering: .child("rank"))
        stream.batchDelay = nil
        return stream
      }
      await world.wait { stream.count == Self.count }
      return stream
    }

    @Test func fault24ASmallBatchDoesNotSortTheWholeList() async throws {
      let world = StreamWorld()
      let stream = try await stream(world)
      world.on { Counted.reads = 0 }
      try await world.notes.document("new").setData(["rank": 1500])
      #expect(world.on { Counted.reads } <= 2)
      world.on { Counted.reads = 0 }
      try await world.notes.document("100000").updateData(["rank": 2500])
      #expect(world.on { Counted.reads } <= 4)
      #expect(world.on { stream.findIndexPath("100000")![1] } == 2500)
    }

    private final class Keyed: BaseItem {
      nonisolated(unsafe) static var reads = 0
      override var key: String? {
        get {
          Self.reads += 1
          return super.key
        }
        set { super.key = newValue }
      }
    }

    @Test func anUpdateReadsOnlyRowsThatCrossTheLimit() {
      func item(_ index: Int) -> (key: ExactKey, item: BaseItem?) {
        (ExactKey("\(100_000 + index)"), Keyed(key: "\(100_000 + index)"))
      }
      var visible = VisibleItems(StreamOrder())
      _ = visible.update((1...Self.count).map(item), limit: 50)
      Keyed.reads = 0
      let step = visible.update([item(0)], limit: 50)
      #expect(step.deleted == [49] && step.added == [0])
      #expect(step.touched.map(\.text) == ["100000", "100050"])
      let back = visible.update([(ExactKey("100000"), nil)], limit: 50)
      #expect(back.deleted == [0] && back.added == [49])
      #expect(Keyed.reads < 10)
    }

    @Test func itemsThatChangeTogetherAndStayInOrderDoNotMove() {
      func item(_ key: String, _ rank: Int) -> (key: ExactKey, item: BaseItem?) {
        (ExactKey(key), Note(key, rank: rank))
      }
      var visible = VisibleItems(StreamOrder(child: "rank"))
      _ = visible.update([item("a", 1), item("b", 5), item("c", 9)], limit: nil)
      let step = visible.update([item("a", 6), item("b", 7)], limit: nil)
      #expect(step.deleted == [] && step.added == [])
      #expect(step.stayed.map(\.text).sorted() == ["a", "b"])
      // Without "a", "b" fits between the start of the list and "c".
      let next = visible.update([(ExactKey("a"), nil), item("b", 3)], limit: nil)
      #expect(next.deleted == [0] && next.added == [] && next.stayed.map(\.text) == ["b"])
      visible.checkInvariants()
    }

    @Test func fault9InsertingARowDoesNotRebuildItsSection() {
      let stream = TransientStream()
      stream.reset((0..<Self.count).map { Note("\(100_000 + $0 * 2)") })
      var calls = 0
      let partitioned = PartitionedStream(stream: stream, sectionTitles: ["even", "odd"]) { item in
        calls += 1
        return Int(item.key!)! / 2 % 2
      }
      #expect(calls == Self.count)
      calls = 0
      let touched = partitioned.kitRowsTouched
      stream.add(Note("103001"), Note("103003"))
      stream.remove(Note("100000"))
      #expect(calls == 2)
      // Each of the two added rows costs a search among the 1500 rows of its section.
      #expect(partitioned.kitRowsTouched - touched < 150)
      #expect(partitioned.findIndexPath("103001") == path(0, 750))
      #expect(partitioned.findIndexPath("103003") == path(1, 751))
      partitioned.kitCheckInvariants()
      #expect(partitioned.count(inSection: 0) + partitioned.count(inSection: 1) == Self.count + 1)
    }

    @Test func fault24AUnionLooksUpOnlyChangedKeys() {
      final class Asked: TransientStream {
        var finds = 0
        override func find(_ key: String) -> BaseItem? {
          finds += 1
          return super.find(key)
        }
      }
      let (first, second) = (Asked(), Asked())
      first.reset((0..<Self.count).map { Note("\(100_000 + $0 * 2)") })
      second.reset((0..<Self.count).map { Note("\(100_001 + $0 * 2)") })
      let union = UnionStream(sources: first, second)
      union.batchDelay = nil
      (first.finds, second.finds) = (0, 0)
      first.add(Note("1"), Note("2"))
      second.remove(Note("100001"))
      #expect(first.finds == 3 && second.finds == 1)
      #expect(union.count == 2 * Self.count + 1)
    }
  }
}
