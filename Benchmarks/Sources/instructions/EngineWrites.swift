// W1, W3, W4 and W14 on the engine.

import DocumentStore
import InstructionCounts
import SampleDocuments

/// The rows that write. Each row writes some documents before its counted part, so that the shapes of the
/// documents are known, and so that trees and logs are not empty.
struct EngineWrites {
  private static let (warmUp, documents) = (2000, 10_000)

  private let stores: PreparedStores

  init(_ stores: PreparedStores) { self.stores = stores }

  func run() throws {
    // Both stores get the same documents, because creating a document takes as long as writing it.
    let warmUp = try PreparedStores.batches(0..<Self.warmUp)
    let batches = try PreparedStores.batches(Self.warmUp..<Self.warmUp + Self.documents)
    try load(warmUp, batches)
    try commit(warmUp, batches)
    try update()
  }

  private func load(_ warmUp: [[Mutation]], _ batches: [[Mutation]]) throws {
    let sample = try stores.open(stores.newStore("load"))
    for batch in warmUp { try sample.store.commit(batch) }
    try count(.loadCommits, Self.documents) { for batch in batches { try sample.store.commit(batch) } }
    try count(.loadIndexes, Self.warmUp + Self.documents) { try sample.makeIndexes() }
    try close(sample, documents: Self.warmUp + Self.documents)
  }

  private func commit(_ warmUp: [[Mutation]], _ batches: [[Mutation]]) throws {
    let sample = try stores.open(stores.newStore("commits"))
    try sample.makeIndexes()
    for batch in warmUp { try sample.store.commit(batch) }
    try count(.batch, Self.documents) { for batch in batches { try sample.store.commit(batch) } }

    let start = Self.warmUp + Self.documents
    let (first, alone) = (200, 2000)
    let writes = try (start..<start + first + alone).map { try SampleStore.writes([$0]) }
    for write in writes.prefix(first) { try sample.store.commit(write) }
    try count(.commit, alone) { for write in writes.dropFirst(first) { try sample.store.commit(write) } }
    try close(sample, documents: start + writes.count)
  }

  private func update() throws {
    let sample = try stores.open(stores.updateStore)
    let users = PreparedStores.documents / 2
    // Loads the documents and the index pages that the updates read.
    _ = try sample.scanUsers()
    _ = try sample.byScore(from: 0, limit: users)
    let batches = try stride(from: 0, to: 6000, by: 500).map { start in
      // Different users, spread over the whole store.
      try SampleStore.updates((start..<start + 500).map { $0 &* 15_485_863 % users * 2 }, revision: 1)
    }
    for batch in batches.prefix(2) { try sample.store.commit(batch) }
    let counted = batches.dropFirst(2)
    try count(.update, counted.count * 500) { for batch in counted { try sample.store.commit(batch) } }
    try sample.store.close()
  }

  private func close(_ sample: SampleStore, documents: Int) throws {
    guard sample.store.count == documents else {
      throw Failure("a store has \(sample.store.count) documents instead of \(documents)")
    }
    try sample.store.close()
  }
}
