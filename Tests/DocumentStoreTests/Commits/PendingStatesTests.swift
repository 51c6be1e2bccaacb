// The pending states of documents, compared with lists.

import Harness
import Testing

@testable import DocumentStore

@Suite struct PendingStatesTests {
  private struct Commit {
    var keys: [Int]
  }

  /// Few hashes, so that different keys have equal hashes and probes collide.
  private func hash(_ key: Int) -> UInt64 { UInt64(key % 5) * 0x1000_0000_0000_0001 }

  @Test(arguments: [1, 8, 60, 700])
  func statesMatchLists(keys: Int) {
    var rng = SeededRandom(seed: UInt64(keys))
    var states = PendingStates()
    var commits: [UInt64: Commit] = [:]
    var model: [Int: [UInt64]] = [:]
    func found(_ key: Int) -> [UInt64] {
      states.states(of: hash(key)) { commits[$0.number]?.keys[Int($0.place)] == key }.map(\.number)
    }
    var isRight = true
    for number in 1...2000 as ClosedRange<UInt64> {
      if Bool.random(using: &rng) || commits.isEmpty {
        let chosen = Array(Set((0..<3).map { _ in Int.random(in: 0..<keys, using: &rng) }))
        commits[number] = Commit(keys: chosen)
        states.reserve(chosen.count)
        for (place, key) in chosen.enumerated() {
          states.add(hash(key), number: number, place: place) {
            commits[$0.number]?.keys[Int($0.place)] == key
          }
          model[key, default: []].insert(number, at: 0)
        }
      } else if let number = commits.keys.sorted().randomElement(using: &rng), let commit = commits[number] {
        let succeeds = Bool.random(using: &rng)
        for (place, key) in commit.keys.enumerated() {
          states.remove(hash(key), number: number, place: place, andEarlier: succeeds)
          model[key]?.removeAll { succeeds ? $0 <= number : $0 == number }
        }
        commits[number] = nil
      }
      let key = Int.random(in: 0..<keys, using: &rng)
      isRight = isRight && found(key) == model[key] ?? []
      isRight = isRight && states.count == model.values.count { !$0.isEmpty }
    }
    #expect(isRight)
    var numbers: [UInt64] = []
    states.forEach { numbers.append($0.number) }
    #expect(numbers.sorted() == model.values.joined().sorted())
  }

  @Test func manyStatesComeAndGo() {
    var states = PendingStates()
    for round in 1...3 as ClosedRange<UInt64> {
      states.reserve(20_000)
      for place in 0..<20_000 {
        states.add(UInt64(place) &* 0x9E37_79B9_7F4A_7C15, number: round, place: place) { _ in true }
      }
      #expect(states.count == 20_000)
      for place in (0..<20_000).reversed() {
        states.remove(UInt64(place) &* 0x9E37_79B9_7F4A_7C15, number: round, place: place, andEarlier: true)
      }
      #expect(states.isEmpty)
    }
  }
}
