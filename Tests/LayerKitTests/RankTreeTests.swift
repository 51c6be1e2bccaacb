// Compares the rank tree with an array.

import LayerKit
import Testing

@testable import FirebaseCore

@Suite struct RankTreeTests {
  @Test(arguments: [1 as UInt64, 2, 3, 4]) func randomEditsMatchAnArray(seed: UInt64) {
    var rng = SeededRNG(seed: seed)
    var tree = RankTree<Int>()
    var array: [Int] = []
    var handles: [Int: RankTree<Int>.Handle] = [:]
    var wrong: [String] = []
    for step in 0..<3000 {
      if array.isEmpty || rng.roll(5) < 3 {
        let rank = rng.roll(array.count + 1)
        handles[step] = tree.insert(step, at: rank)
        array.insert(step, at: rank)
      } else {
        let value = array.remove(at: rng.roll(array.count))
        tree.remove(handles.removeValue(forKey: value)!)
      }
      if tree.count != array.count { wrong.append("step \(step): \(tree.count), not \(array.count)") }
      if step % 97 == 0 {
        tree.checkInvariants()
        let values = elements(tree)
        if values != array { wrong.append("step \(step): \(values), not \(array)") }
        let ranks = array.map { tree.rank(of: handles[$0]!) }
        if ranks != Array(array.indices) { wrong.append("step \(step): ranks \(ranks)") }
        let found = array.indices.map { tree.element(tree.handle(at: $0)) }
        if found != array { wrong.append("step \(step): by rank \(found), not \(array)") }
      }
    }
    #expect(wrong == [])
  }

  @Test func bulkConstructionYieldsAnEditableTree() {
    var wrong: [String] = []
    for count in Array(0..<40) + [1000] {
      var tree = RankTree(Array(0..<count))
      tree.checkInvariants()
      var array = Array(0..<count)
      let ranks = array.map { tree.rank(of: RankTree<Int>.Handle($0)) }
      let found = array.map { tree.element(tree.handle(at: $0)) }
      for values in [elements(tree), ranks, found] where values != array {
        wrong.append("count \(count): \(values)")
      }
      // The tree can still be edited.
      tree.insert(-1, at: count / 2)
      array.insert(-1, at: count / 2)
      if count > 0 {
        tree.remove(0)
        array.removeAll { $0 == 0 }
      }
      tree.checkInvariants()
      let edited = elements(tree)
      if edited != array { wrong.append("count \(count), after edits: \(edited), not \(array)") }
    }
    #expect(wrong == [])
  }

  @Test func partitionCountsTheElementsBeforeTheBound() {
    var tree = RankTree<Int>()
    for value in stride(from: 0, to: 200, by: 2) { tree.insert(value, at: tree.count) }
    let partitions = (-1...201).map { bound in tree.partition { $0 > bound } }
    let expected = (-1...201).map { bound in (0..<100).count { $0 * 2 <= bound } }
    #expect(partitions == expected)
  }

  @Test func editsDoNotAffectCopies() {
    var tree = RankTree<Int>()
    for value in 0..<10 { tree.insert(value, at: value) }
    let copy = tree
    tree.insert(99, at: 0)
    #expect(elements(copy) == Array(0..<10))
    #expect(elements(tree) == [99] + Array(0..<10))
  }

  @Test func theTreeStaysShallowUnderSequentialInsertions() {
    var tree = RankTree<Int>()
    for value in 0..<20_000 { tree.insert(value, at: tree.count) }
    var steps = 0
    _ = tree.partition { _ in
      steps += 1
      return false
    }
    #expect(steps < 60)
    tree.checkInvariants()
  }

  private func elements(_ tree: RankTree<Int>) -> [Int] {
    var elements: [Int] = []
    tree.forEach { elements.append($0) }
    return elements
  }
}

/// A random source with a fixed seed.
private struct SeededRNG {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func roll(_ sides: Int) -> Int {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int((state >> 33) % UInt64(sides))
  }
}
