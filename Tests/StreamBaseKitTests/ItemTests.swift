// Tests of items, arrays of items, keys and tables.

import FirebaseFirestore
import Foundation
import StreamHarness
import Testing

@testable import StreamBaseKit

extension StreamBaseKitTests {
  @Suite struct Items {
    @Test func fault26ItemsAreComparedByKeyOrWithoutAKeyByIdentity() {
      let nameless = Note()
      #expect(Note("a") as BaseItem == Note("a", text: "other") as BaseItem)
      #expect(Note("a") as BaseItem != Note("b") as BaseItem)
      #expect(nameless as BaseItem == nameless as BaseItem)
      #expect(nameless as BaseItem != Note() as BaseItem)
      #expect(Note("é") as BaseItem != Note("e\u{301}") as BaseItem)
    }

    @Test func fault27ACloneCopiesTheFieldsInTheDictionary() {
      let note = Note("a", text: "text", rank: 3)
      note.isHidden = true
      let copy = note.clone() as? Note
      #expect(copy !== note && copy?.key == "a" && copy?.text == "text" && copy?.rank == 3)
      #expect(copy?.isHidden == false)
    }

    @Test func fault27ACloneSharesObjectsReferencedByTheDictionary() {
      final class Bag: BaseItem {
        var things = NSMutableArray()
        override func update(_ dict: [String: Any]?) { things = dict?["things"] as? NSMutableArray ?? things }
        override var dict: [String: Any] { ["things": things] }
      }
      let bag = Bag(key: "a")
      #expect((bag.clone() as? Bag)?.things === bag.things)
    }

    @Test func keyedArraysFindObjectsByKey() {
      let array = KeyedArray(objects: Note("a"), Note("b"))
      array.append(Note("c"))
      array.insert(Note("z"), atIndex: 0)
      #expect(array.map { $0.key! } == ["z", "a", "b", "c"])
      #expect(array.find("b") == 2 && array.has("z") && array.find("x") == nil)
      array.removeAtIndex(1)
      #expect(array.find("b") == 1 && !array.has("a") && array.count == 3)
      array.extend([Note("a")])
      #expect(array.find("a") == 3)
      array.reset(KeyedArray<Note>())
      #expect(array.isEmpty && array.find("a") == nil)
      array.reset([Note("q")])
      #expect(array[0].key == "q" && array.rawArray.count == 1)
      array.clear()
      #expect(array.isEmpty)
    }

    @Test func fault18AddingAnObjectWithAMissingOrDuplicateKeyTraps() async {
      await #expect(processExitsWith: .failure) { KeyedArray<Note>().append(Note()) }
      await #expect(processExitsWith: .failure) { KeyedArray(objects: Note("a")).append(Note("a")) }
      await #expect(processExitsWith: .failure) { TransientStream().add(Note()) }
    }

    @Test func negativeLimitsThrowWithinAValidation() throws {
      let world = StreamWorld()
      let builder = QueryBuilder(world.notes)
      builder.limit = -1
      #expect(throws: (any Error).self) {
        _ = try world.firestore.validated { _ in builder.buildQuery() }
      }
      let stream = TransientStream()
      stream.afterPredicateLimit = 3
      #expect(throws: (any Error).self) {
        try world.firestore.validated { _ in stream.afterPredicateLimit = -1 }
      }
      #expect(stream.afterPredicateLimit == 3)
    }

    @Test func negativeLimitsTrapElsewhere() async {
      await #expect(processExitsWith: .failure) { TransientStream().afterPredicateLimit = -1 }
      await #expect(processExitsWith: .failure) {
        let builder = QueryBuilder(Firestore.memory().collection("notes"))
        builder.limit = -1
        _ = builder.buildQuery()
      }
    }

    @Test func fault18LookupsAndRemovalsIgnoreItemsWithoutAKey() {
      let stream = TransientStream()
      stream.add(Note("a"))
      stream.remove(Note())
      stream.handleItemChanged(Note())
      #expect(stream.findFirstIndexPathAfter(Note()) == path(0, 0))
      #expect(stream.count == 1)
    }

    @Test func fault23TheDocumentedSpellingsCompile() {
      let world = StreamWorld()
      let item: StreamBaseItem = Note("a")
      let builder = QueryBuilder(world.notes)
      builder.ordering = .Child("rank")
      builder.ordering = StreamBase.Ordering.Key
      let base = ResourceBase(firebase: world.firestore)
      var registry: any ResourceRegistry = base
      registry.errorHandler = { _ in }
      registry.resource(Note.self, "/notes/@")
      registry.counter(Note.self, "count", Note.self)
      #expect(base.debugDescription.contains("/notes/@") && item.key == "a")
    }

    // MARK: Keys

    @Test func keysSortByCreationTime() {
      var maker = ChronologicalID()
      var rng = 0
      func next(_ time: Int64) -> String {
        maker.next(at: time) {
          rng = (rng * 31 + 17) % 64
          return rng
        }
      }
      let keys = [1000, 1000, 1000, 999, 1001, 1001, 5_000_000_000_000].map(next)
      #expect(keys == keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
      #expect(Set(keys).count == keys.count && keys.allSatisfy { $0.utf8.count == 20 })
      var full = ChronologicalID()
      let last = full.next(at: 1) { 63 }
      let behind = full.next(at: 1) { 63 }
      #expect(last.utf8.lexicographicallyPrecedes(behind.utf8))
      let generated = (0..<1000).map { _ in ChronologicalID.next() }
      #expect(generated == generated.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
    }

    @Test func indexPathsHaveRowsItemsAndSections() {
      let path = IndexPath(row: 3, section: 2)
      #expect(path.row == 3 && path.item == 3 && path.section == 2 && path.count == 2)
      let same = IndexPath(item: 3, section: 2)
      #expect(same == path && Set([path, same]).count == 1)
    }

    // MARK: Tables

    @Test func aTableSectionFollowsItsStream() {
      let stream = TransientStream()
      stream.reset([Note("b")])
      let table = ModelTable(sections: 3) {
        $0 == 1 ? stream.count : 0
      } key: {
        stream[$0[1]].key
      }
      let adapter = StreamTableAdapter(table: table, section: 1)
      stream.delegate = adapter
      stream.reset([Note("a"), Note("c")])
      #expect(table.sections == [[], ["a", "c"], []] && table.problem == nil)
      stream.handleItemChanged(stream[0])
      #expect(table.rowsReloaded == 1 && table.batches == 1)
    }

    @Test func tableUpdatesAreNotAnimatedBeforeTheInitialLoad() {
      final class Animations: StreamTable {
        var flags: [Bool] = []
        func reloadTable() {}
        func beginTableUpdates(animated: Bool) { flags.append(animated) }
        func deleteTableRows(_ paths: [IndexPath]) {}
        func insertTableRows(_ paths: [IndexPath]) {}
        func reloadTableRows(_ paths: [IndexPath]) {}
        func endTableUpdates(animated: Bool) { flags.append(animated) }
      }
      let table = Animations()
      let adapter = StreamTableAdapter(table: table)
      adapter.notify(deleted: [], added: paths(0))
      adapter.streamDidFinishInitialLoad(nil)
      adapter.notify(deleted: [], added: paths(1))
      #expect(table.flags == [false, false, true, true])
    }

    @Test func theModelTableRejectsInvalidTableViewUpdates() {
      func problem(_ deleted: [IndexPath], _ added: [IndexPath], rowsAfter: Int) -> String? {
        var count = 2
        let table = ModelTable(sections: 1) { _ in
          count
        } key: {
          "\($0[1])"
        }
        table.reloadTable()
        count = rowsAfter
        table.beginTableUpdates(animated: true)
        if !deleted.isEmpty { table.deleteTableRows(deleted) }
        if !added.isEmpty { table.insertTableRows(added) }
        table.endTableUpdates(animated: true)
        return table.problem
      }
      #expect(problem(paths(0), paths(0), rowsAfter: 2) == nil)
      #expect(problem(paths(2), [], rowsAfter: 1) != nil)
      #expect(problem(paths(0, 0), [], rowsAfter: 1) != nil)
      #expect(problem([], paths(2, 4), rowsAfter: 4) != nil)
      #expect(problem([], paths(0), rowsAfter: 2) != nil)
      #expect(problem([], [], rowsAfter: 2) != nil)
    }

    @Test func fault21AStreamDoesNotRetainItsDelegate() {
      let stream = TransientStream()
      do {
        let recorder = StreamChangeRecorder()
        stream.delegate = recorder
        #expect(stream.delegate === recorder)
      }
      #expect(stream.delegate == nil)
    }

    @Test func operationsInProgressAreCounted() {
      let before = Inflight.count
      let one = Inflight()
      #expect(Inflight.count > before || Inflight.count > 0)
      withExtendedLifetime(one) {}
    }
  }
}
