// The writes of one user that a remote has not answered, in their order.
//
// Invariants:
//   - `order` ascends, and has the keys of `batches`.
//   - `chains` has, for each path, the batches that are about it, in their order, and no empty one.

package import DocumentStore

package struct WriteQueue: Sendable {
  private var batches: [BatchID: PendingBatch] = [:]
  private var order: [BatchID] = []
  /// Those before it have left.
  private var start = 0
  /// What is laid over each document: nobody goes through the whole queue for one of them.
  private var chains: [DocumentPath: [BatchID]] = [:]

  package init() {}

  package var count: Int { order.count - start }
  package var isEmpty: Bool { count == 0 }
  package var last: PendingBatch? { isEmpty ? nil : order.last.flatMap { batches[$0] } }
  package var first: PendingBatch? { isEmpty ? nil : batches[order[start]] }
  package var ids: ArraySlice<BatchID> { order[start...] }
  package var all: [PendingBatch] { ids.compactMap { batches[$0] } }
  package var paths: some Collection<DocumentPath> { chains.keys }

  package subscript(id: BatchID) -> PendingBatch? { batches[id] }

  package func isAbout(_ path: DocumentPath) -> Bool { chains[path] != nil }

  /// The first one behind another, or of all.
  package func next(after id: BatchID?) -> PendingBatch? {
    guard let id else { return first }
    let place = place(of: id)
    let next = place < order.count && order[place] == id ? place + 1 : place
    return next < order.count ? batches[order[next]] : nil
  }

  /// The first place whose batch is not before this one.
  private func place(of id: BatchID) -> Int {
    var low = start
    var high = order.count
    while low < high {
      let middle = (low + high) / 2
      if order[middle] < id { low = middle + 1 } else { high = middle }
    }
    return low
  }

  package mutating func append(_ batch: PendingBatch) {
    precondition(order.last.map { $0 < batch.id } ?? true, "numbers of batches grow")
    order.append(batch.id)
    batches[batch.id] = batch
    for path in batch.paths { chains[path, default: []].append(batch.id) }
  }

  @discardableResult
  package mutating func remove(_ id: BatchID) -> PendingBatch? {
    guard let batch = batches.removeValue(forKey: id) else { return nil }
    let place = place(of: id)
    if place == start {
      start += 1
      if start > 64, start > order.count / 2 {
        order.removeFirst(start)
        start = 0
      }
    } else {
      order.remove(at: place)
    }
    for path in batch.paths {
      chains[path]?.removeAll { $0 == id }
      if chains[path]?.isEmpty == true { chains[path] = nil }
    }
    return batch
  }

  /// The document with all that is pending of it.
  package func local(_ remote: SyncedDocument) -> SyncedDocument {
    guard let chain = chains[remote.path] else { return remote }
    // What comes before a batch that decides everything need not be looked at.
    let first = chain.lastIndex { batches[$0]?.decidesAll(of: remote.path) ?? false } ?? 0
    return chain[first...].reduce(remote) { document, id in batches[id]?.applied(to: document) ?? document }
  }

  /// Nil if all is as it should be.
  package func brokenInvariant() -> String? {
    let ids = Array(ids)
    if ids != ids.sorted() || Set(ids) != Set(batches.keys) { return "the order of the queue" }
    var expected: [DocumentPath: [BatchID]] = [:]
    for batch in all { for path in batch.paths { expected[path, default: []].append(batch.id) } }
    return expected == chains ? nil : "the chains of the queue"
  }
}
