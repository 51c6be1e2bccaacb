// Compares the states that listeners received with those that they should have received.

import ByteStore
import DocumentStore

extension LiveRun {
  /// The number of randomly chosen listeners to compare for each commit, in addition to the affected ones.
  private static let othersPerCommit = 10

  /// Applies the commits of the round to the model, in commit order. Returns the changes of each commit that
  /// has any.
  func replay() -> [[NaiveModel.Change]] {
    state.withLock { state in
      let commits = state.commits.sorted { $0.time < $1.time }
      state.commits = []
      return commits.map { state.world.commit($0.mutations, at: $0.time) }.filter { !$0.isEmpty }
    }
  }

  func compare(_ round: UInt64, all: Bool) {
    let listeners = state.withLock { $0.listeners }
    let commits = replay()
    var random = SeededRandom(seed: SeededRandom.seed(seed, round, 99))
    let others = Set((0..<Self.othersPerCommit * commits.count).map { _ in random.below(listeners.count) })
    let scopes = commits.map { self.scopes.numbers(around: $0.map(\.path)) }
    inParallel { [self] task in
      var comparisons = 0
      var concerned = 0
      for number in stride(from: task, to: listeners.count, by: 8) {
        let place = listeners[number]
        var states: [NaiveResult.Documents] = []
        place.answer.withLock { answer in
          for (changes, scopes) in zip(commits, scopes) where scopes.contains(place.scope) {
            let before = states.isEmpty ? answer.documents : nil
            guard let hasChanged = answer.take(changes) else { continue }
            if let before { states.append(before) }
            if hasChanged { states.append(answer.documents) }
          }
        }
        let isAffected = !states.isEmpty
        if isAffected { concerned += 1 }
        guard all || isAffected || others.contains(number) else { continue }
        comparisons += 1
        if states.isEmpty { states.append(place.answer.withLock(\.documents)) }
        if let difference = place.mirror.difference(from: states) {
          return fail("the listener \(number) to \(place.mirror.query.canonicalID): \(difference)")
        }
        if all, number % 50 == Int(round % 50), let last = states.last,
          !(try store.documents(place.mirror.query)).elementsEqual(last)
        {
          return fail(
            "the engine answers \(place.mirror.query.canonicalID) unlike the naive evaluator")
        }
      }
      state.withLock { [comparisons, concerned] in
        $0.summary.comparisons += comparisons
        $0.summary.counts[.concerned, default: 0] += concerned
      }
    }
    count(.others, others.count)
    if all { count(.comparisonsOfAll) }
  }
}

/// Numbers the scopes of queries. A change outside the scope of a query cannot affect its result, so most
/// queries can be skipped.
struct LiveScopes {
  private let numbers = Locked([String: Int]())

  func number(of scope: StructuredQuery.Scope) -> Int {
    let name =
      switch scope {
      case .collection(let collection): "in " + collection.segments.joined(separator: "/")
      case .collectionGroup(let id): "group " + id
      case .document(let path): "at " + path.segments.joined(separator: "/")
      }
    return numbers.withLock { numbers in
      if let number = numbers[name] { return number }
      numbers[name] = numbers.count
      return numbers.count - 1
    }
  }

  /// Returns the numbers of the scopes that contain at least one of the documents.
  func numbers(around paths: [DocumentPath]) -> Set<Int> {
    numbers.withLock { numbers in
      Set(paths.flatMap(Self.names).compactMap { numbers[$0] })
    }
  }

  private static func names(around path: DocumentPath) -> [String] {
    [
      "in " + path.segments.dropLast().joined(separator: "/"),
      "group " + path.segments[path.segments.count - 2],
      "at " + path.segments.joined(separator: "/"),
    ]
  }
}
