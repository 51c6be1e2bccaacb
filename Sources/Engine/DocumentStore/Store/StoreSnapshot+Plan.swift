// The plan of a query in a snapshot, without running the query.

extension StoreSnapshot {
  /// The indexes that a query reads, each once; nil stands for the names of all documents. Builds no index.
  package func indexesUsed(by query: StructuredQuery) throws(DocumentStoreError) -> [IndexDefinition?] {
    try run(query, createsIndexes: false) { run throws(DocumentStoreError) in
      var used: [IndexDefinition?] = []
      for access in run.plan.branches.flatMap(\.accesses) {
        let index: IndexDefinition? =
          if case .index(let definition) = access.source { definition } else { nil }
        if !used.contains(index) { used.append(index) }
      }
      return used
    }
  }
}
