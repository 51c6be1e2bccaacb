// Compares `KeyedList` with an array and a dictionary.

import LayerKit
import Testing

@Suite struct KeyedListTests {
  @Test(arguments: [1 as UInt64, 2, 3]) func randomEditsMatchAnArray(seed: UInt64) {
    var random = SmallRandom(state: seed)
    var list = KeyedList<Int, Int>()
    var model: [Int] = []
    var wrong: [String] = []
    for step in 0..<2000 {
      let key = random.below(80)
      switch (model.firstIndex(of: key), random.below(3)) {
      case (let row?, 0):
        let removed = list.remove(key)
        if removed?.row != row || removed?.element != key {
          wrong.append("step \(step): removed \(String(describing: removed)), not \(key) in row \(row)")
        }
        model.remove(at: row)
      case (let row?, _):
        if list.row(key) != row || list[row] != key {
          wrong.append("step \(step): \(key) in row \(String(describing: list.row(key))), not \(row)")
        }
      case (nil, _):
        if list.contains(key) || list.element(key) != nil || list.remove(key) != nil {
          wrong.append("step \(step): the list contains \(key)")
        }
        let row = list.partition { $0 > key }
        let expected = model.firstIndex { $0 > key } ?? model.count
        if row != expected { wrong.append("step \(step): \(key) belongs in row \(expected), not \(row)") }
        list.insert(key, for: key, atRow: row)
        model.insert(key, at: row)
      }
      if step % 101 == 0 {
        list.checkInvariants(areInOrder: <)
        let elements = list.map { $0 }
        if elements != model { wrong.append("step \(step): \(elements), not \(model)") }
      }
    }
    #expect(wrong == [])
  }

  @Test func fitsChecksTheNeighboursOfAnElement() {
    let list = KeyedList([10, 20, 30]) { $0 }
    #expect([9, 19].allSatisfy { list.fits($0, atRow: 0, areInOrder: <) })
    #expect(!list.fits(21, atRow: 0, areInOrder: <))
    #expect(list.fits(25, atRow: 1, areInOrder: <) && !list.fits(31, atRow: 1, areInOrder: <))
    #expect(!list.fits(9, atRow: 1, areInOrder: <) && list.fits(99, atRow: 2, areInOrder: <))
  }

  @Test func lookupFindsTheLastElementWithADuplicateKey() {
    var list = KeyedList(["a1", "b1", "a2"]) { $0.prefix(1) }
    #expect(list.hasDuplicates && list.element("a") == "a2" && list.row("a") == 2)
    let removed = list.remove(list.handle(atRow: 0))
    #expect(removed.row == 0 && removed.element == "a1")
    #expect(!list.hasDuplicates && list.map { $0 } == ["b1", "a2"])
    list.replace("b", with: "b2")
    list.insert("b3", for: "b", atRow: 0)
    #expect(list.hasDuplicates && list.element("b") == "b3" && list.map { $0 } == ["b3", "b2", "a2"])
  }

  @Test func editsDoNotAffectACopy() {
    var list = KeyedList([1, 2, 3]) { $0 }
    let copy = list
    list.remove(2)
    #expect(copy.map { $0 } == [1, 2, 3] && copy.row(3) == 2 && list.row(3) == 1)
  }
}
