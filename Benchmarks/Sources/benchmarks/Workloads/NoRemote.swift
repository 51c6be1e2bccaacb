// W21: the cost of OfflineSync for an app without a remote. The times of W1's commits and W5's gets through
// the local view are divided by the times of the same operations directly on the store. The view and the
// store are measured in alternating blocks on one open store, so that other load on the machine affects both.
// The ratio compares medians.

import BenchmarkReports
import DocumentStore
import Foundation
import OfflineSync
import SampleDocuments

enum NoRemote: Workload {
  static let name = "W21"
  static let title = "the local view without a remote, over the store"
  static var engines: [any Engine] { [ViewOverStore()] }
  static let goals = [
    Goal(
      title: "W1 through the sync view, relative to the store", metric: "commit_ratio", measure: .absolute,
      bound: 1.02),
    Goal(
      title: "W5 through the sync view, relative to the store", metric: "get_ratio", measure: .absolute,
      bound: 1.02),
  ]
}

private struct ViewOverStore: Engine {
  private static let commitsPerBlock = 10
  private static let getsPerBlock = 1000

  let name = "dugout"

  func round(in directory: URL, _ context: RunContext) throws -> [String: Double] {
    try commits(in: directory, context).merging(try gets(context)) { $1 }
  }

  private func commits(in directory: URL, _ context: RunContext) throws -> [String: Double] {
    let count = min(context.options.documents, 5000)
    let writes = try (0..<count).map { try DugoutDocuments.writes([$0]) }
    let engine = try DugoutDocuments(directory, EngineSetup(cacheBytes: context.options.cacheBytes))
    let view = LocalView(over: engine.store)
    let times = try Turns.measure(count, perBlock: Self.commitsPerBlock) {
      try engine.store.commit(writes[$0])
    } and: {
      try view.write(writes[$0])
    }
    let blocks = count - count % (2 * Self.commitsPerBlock)
    let expected = (0..<blocks).reduce(0) { $0 &+ SampleDocument($1).weight }
    guard try engine.scan() == expected else {
      throw BenchmarkFailure("\(name) does not hold the written data")
    }
    try engine.close()
    return times.results("commit")
  }

  private func gets(_ context: RunContext) throws -> [String: Double] {
    let directory = try context.stores.directory(of: DugoutDocuments.self)
    let engine = try DugoutDocuments(directory, EngineSetup(cacheBytes: context.options.cacheBytes))
    let view = LocalView(over: engine.store)
    let count = ReadQuery.get.times
    let keys = try (0..<count).map { index in
      try DugoutDocuments.key(ReadQuery.number(index, below: context.options.documents))
    }
    for number in ReadQuery.warmUpNumbers(context.options.documents) {
      _ = try engine.store.document(at: DugoutDocuments.key(number))
    }
    for key in keys { _ = try engine.store.document(at: key) }
    var found = (store: 0, view: 0)
    let times = try Turns.measure(count, perBlock: Self.getsPerBlock) { index in
      found.store += try engine.store.document(at: keys[index]) == nil ? 0 : 1
    } and: { index in
      found.view += try view.document(at: keys[index]).document == nil ? 0 : 1
    }
    try engine.close()
    guard found.store + found.view == count - count % (2 * Self.getsPerBlock) else {
      throw BenchmarkFailure("\(name) does not find every document")
    }
    return times.results("get")
  }
}

/// The times of two ways to do one operation, measured in alternating blocks.
private struct Turns {
  private var first: [Double] = []
  private var second: [Double] = []

  static func measure(
    _ count: Int, perBlock size: Int, _ first: (Int) throws -> Void, and second: (Int) throws -> Void
  ) throws -> Turns {
    let clock = ContinuousClock()
    var turns = Turns()
    for (number, start) in stride(from: 0, to: count - count % (2 * size), by: 2 * size).enumerated() {
      let blocks = [start..<start + size, start + size..<start + 2 * size]
      for turn in number % 2 == 0 ? [0, 1] : [1, 0] {
        let time = try clock.measure {
          for index in blocks[turn] { if turn == 0 { try first(index) } else { try second(index) } }
        }
        let nanoseconds = time / .nanoseconds(1) / Double(size)
        if turn == 0 { turns.first.append(nanoseconds) } else { turns.second.append(nanoseconds) }
      }
    }
    return turns
  }

  func results(_ name: String) -> [String: Double] {
    let (store, view) = (Self.median(first), Self.median(second))
    return ["\(name)_store_ns": store, "\(name)_view_ns": view, "\(name)_ratio": view / store]
  }

  private static func median(_ values: [Double]) -> Double {
    let sorted = values.sorted()
    return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
  }
}
