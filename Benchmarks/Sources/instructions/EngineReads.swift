// W5, W6, W7 and W9 on the engine.

import DocumentStore
import InstructionCounts
import SampleDocuments

struct EngineReads {
  private let stores: PreparedStores
  private let documents = PreparedStores.documents

  init(_ stores: PreparedStores) { self.stores = stores }

  func run() throws {
    let sample = try stores.open(stores.readStore)
    try scan(sample)
    try get(sample)
    try orderedQueries(sample)
    try equalityQueries(sample)
    try sample.store.close()
  }

  private func scan(_ sample: SampleStore) throws {
    try countSecondRun(.scan, documents) { try sample.scan() }
  }

  private func get(_ sample: SampleStore) throws {
    let keys = try (0..<documents).map { index in
      try SampleStore.key(SampleDocument.parameter(index, below: documents))
    }
    try countSecondRun(.get, keys.count) { try keys.reduce(0) { try $0 &+ sample.get($1) } }
  }

  private func orderedQueries(_ sample: SampleStore) throws {
    /// The sum of `queries` queries. More than a thousand users have scores above 58,000.
    func sum(_ queries: Int, limit: Int) throws -> Int {
      try (0..<queries).reduce(0) { sum, index in
        let score = Double(SampleDocument.parameter(index, below: 58_000))
        return try sum &+ sample.byScore(from: score, limit: limit)
      }
    }
    try countSecondRun(.orderedQuery20, 500) { try sum(500, limit: 20) }
    try countSecondRun(.orderedQuery1000, 10 * 1000) { try sum(10, limit: 1000) }
  }

  private func equalityQueries(_ sample: SampleStore) throws {
    let queries = 5 * SampleDocument.towns
    try countSecondRun(.equalityQuery, queries) {
      try (0..<queries).reduce(0) { sum, index in
        try sum &+ sample.usersInTown("Town \(index % SampleDocument.towns)", limit: 20)
      }
    }
  }
}
