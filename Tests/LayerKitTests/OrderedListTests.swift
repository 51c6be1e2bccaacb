// Compares `OrderedList` with an array that is sorted after every update.

import LayerKit
import Testing

/// An item of a list. Items change in place.
private final class Item: CustomStringConvertible {
  let id: Int
  var rank: Int

  init(_ id: Int, _ rank: Int) { (self.id, self.rank) = (id, rank) }

  var description: String { "\(id):\(rank)" }
}

/// An item, and its rank when it was placed.
private struct Placed {
  let item: Item
  let rank: Int

  init(_ item: Item) { (self.item, rank) = (item, item.rank) }
}

/// Orders items by rank and then by id.
private struct RankOrder: ListOrder {
  struct Failure: Error {}
  /// If true, the order compares the present ranks of the items.
  var comparesPresentRanks = false
  var fails = false

  func key(of placed: Placed) -> Int { placed.item.id }

  func isBefore(_ placed: Placed, _ other: Placed) throws -> Bool {
    if fails { throw Failure() }
    if comparesPresentRanks {
      return (placed.item.rank, placed.item.id) < (other.item.rank, other.item.id)
    }
    return (placed.rank, placed.item.id) < (other.rank, other.item.id)
  }

  func isStale(_ placed: Placed) -> Bool { comparesPresentRanks && placed.rank != placed.item.rank }

  func placedAgain(_ placed: Placed) -> Placed { Placed(placed.item) }
}

@Suite struct OrderedListTests {
  private typealias List = OrderedList<Int, Placed>

  private func ids(_ list: List) -> [Int] { list.map(\.item.id) }

  @Test(arguments: [1 as UInt64, 2, 3]) func updatesMatchASortedArrayAndTellWhatChanged(seed: UInt64) {
    var random = SmallRandom(state: seed)
    var list = List(recordsEdits: true)
    var ranks: [Int: Int] = [:]
    var wrong: [String] = []
    for step in 0..<600 {
      let before = ids(list)
      let itemsBefore = list.map(\.item)
      let isFirst = step % 40 == 0
      let chosen = Set((0..<(isFirst ? 40 : random.below(6))).map { _ in random.below(60) })
      let removing = isFirst ? before : chosen.filter { _ in random.below(3) == 0 }
      let setting = chosen.subtracting(removing).map { Item($0, random.below(30)) }
      let change = list.update(removing: removing, setting: setting.map(Placed.init), in: RankOrder())
      for id in removing { ranks[id] = nil }
      for item in setting { ranks[item.id] = item.rank }
      let after = ids(list)
      let sorted = ranks.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.map(\.key)
      if after != sorted { wrong.append("step \(step): \(after), not \(sorted)") }
      let applied = applied(change, before, after)
      if applied != after { wrong.append("step \(step): the change gives \(applied), not \(after)") }
      let undone = ListEdit.undo(list.takeEdits(), in: list.map(\.item)) { $0.item }
      if undone.map(ObjectIdentifier.init) != itemsBefore.map(ObjectIdentifier.init) {
        wrong.append("step \(step): undone \(undone), not \(itemsBefore)")
      }
    }
    list.checkInvariants(in: RankOrder())
    #expect(wrong == [])
  }

  /// Returns `before` after removing the rows of the change, and inserting its keys in their rows of `after`.
  private func applied(_ change: ListChange<Int, Placed>, _ before: [Int], _ after: [Int]) -> [Int] {
    var rows = before
    let moved = change.movedReplacements.map { change.replacements[$0] }
    for removal in (change.removals + moved).sorted(by: { $0.row > $1.row }) {
      guard rows.remove(at: removal.row) == removal.key else { return [] }
    }
    let inserted = (change.insertions + moved.map(\.key)).map { (key: $0, row: after.firstIndex(of: $0)!) }
    for (key, row) in inserted.sorted(by: { $0.row < $1.row }) { rows.insert(key, at: row) }
    return rows
  }

  @Test func aReplacedElementStaysInItsRowIfItFits() {
    var list = List([Placed(Item(1, 10)), Placed(Item(2, 20)), Placed(Item(3, 30))], in: RankOrder())
    let change = list.update(
      removing: [2], setting: [Placed(Item(1, 25)), Placed(Item(3, 1))], in: RankOrder())
    // Without 2, nothing is between 1 and 3.
    #expect(ids(list) == [3, 1])
    #expect(change.removals.map(\.row) == [1] && change.replacements.map(\.row) == [0, 2])
    #expect(change.movedReplacements == [1] && change.insertions == [])
    let fitting = [Item(1, 99), Item(1, 0), Item(7, 0)].map {
      list.replaceInPlace(Placed($0), in: RankOrder())
    }
    #expect(fitting == [true, false, false] && list.element(1)?.rank == 99)
  }

  @Test func aSearchPlacesStaleElementsAgain() {
    let order = RankOrder(comparesPresentRanks: true)
    let items = (0..<9).map { Item($0, $0 * 10) }
    var list = List(items.map(Placed.init), in: order)
    items[4].rank = 100
    let change = list.update(removing: [], setting: [Placed(Item(9, 45))], in: order)
    #expect(change.placedAgain == [4] && list.element(4)?.rank == 100)
    #expect(ids(list) == [0, 1, 2, 3, 9, 5, 6, 7, 8, 4])
  }

  @Test func sortingMovesAsFewElementsAsPossible() {
    let sorted = [Placed(Item(1, 10)), Placed(Item(2, 20)), Placed(Item(3, 30))]
    var list = List(sorted, recordsEdits: true, in: RankOrder())
    list.remove(3, in: RankOrder())
    list.append(sorted[2], in: RankOrder())
    list.append(Placed(Item(4, 15)), in: RankOrder())
    #expect(list.sort(in: RankOrder()) == [4])
    #expect(ids(list) == [1, 4, 2, 3] && list.takeEdits().isEmpty)
    list.append(Placed(Item(5, 1)), in: RankOrder())
    #expect(list.sort(in: RankOrder(fails: true)) == [] && ids(list) == [1, 4, 2, 3, 5])
  }

  @Test func anOrderThatThrowsAppendsAndKeepsRows() {
    var list = List([Placed(Item(1, 10)), Placed(Item(2, 20))], in: RankOrder())
    list.update(removing: [], setting: [Placed(Item(1, 99)), Placed(Item(3, 0))], in: RankOrder(fails: true))
    #expect(ids(list) == [1, 2, 3] && list.element(1)?.rank == 99)
  }

  @Test func removingAKeyRemovesItsDuplicates() {
    var list = List([Placed(Item(1, 10)), Placed(Item(2, 20)), Placed(Item(1, 30))], in: RankOrder())
    #expect(list.hasDuplicateKeys && list.element(1)?.rank == 30)
    let isReplaced = list.replaceInPlace(Placed(Item(1, 30)), in: RankOrder())
    #expect(!isReplaced)
    #expect(list.remove(1, in: RankOrder())?.element.rank == 30)
    #expect(ids(list) == [2] && !list.hasDuplicateKeys)
  }

  // MARK: The longest increasing subsequence

  @Test func theLongestRiseIsFound() {
    #expect(LongestRise.places(in: []) == [])
    #expect(LongestRise.places(in: [1, 2, 3]) == [0, 1, 2])
    #expect(LongestRise.places(in: [3, 2, 1]).count == 1)
    #expect(LongestRise.places(in: [5, 1, 2, 0, 3, 4]) == [1, 2, 4, 5])
    // Compares the result with a search over all subsets.
    var random = SmallRandom(state: 7)
    var wrong: [String] = []
    for _ in 0..<50 {
      var numbers = Array(0..<9)
      for place in numbers.indices { numbers.swapAt(place, random.below(9)) }
      var longest = 0
      for choice in 0..<512 {
        let chosen: [Int] = numbers.indices.filter { (choice >> $0) % 2 == 1 }.map { numbers[$0] }
        if chosen == chosen.sorted() { longest = max(longest, chosen.count) }
      }
      let places = LongestRise.places(in: numbers)
      let kept = places.map { numbers[$0] }
      if places.count != longest || places != places.sorted() || kept != kept.sorted() {
        wrong.append("\(numbers): \(places), and the longest has \(longest)")
      }
    }
    #expect(wrong == [])
  }
}
