// Invariants that hold between two events.

package import DocumentStore

extension SyncEngine {
  /// Returns the target of a query that has a listener.
  package func target(of query: StructuredQuery) -> TargetID? { views[query.canonicalID]?.target }

  /// The limbo documents that have a target.
  package var activeLimbo: [DocumentPath: TargetID] { limbo.active }
  package var enqueuedLimbo: [DocumentPath] { limbo.enqueued.all }

  /// Returns a description of a violated invariant, or nil. Checks everything that listeners see and runs
  /// their queries again.
  package func brokenInvariant() throws(DocumentStoreError) -> String? {
    let queue = local.queue
    if let broken = queue.brokenInvariant() { return broken }
    let front = Array(queue.ids.prefix(writing.pipeline.count))
    if writing.pipeline.map(\.id) != front { return "the pipeline is not the front of the queue" }
    if writing.pipeline.count > WriteSide.pipelineMax { return "the pipeline is too long" }
    for path in queue.paths {
      let expected = try local.composedDocument(path)
      if try local.document(path) != expected { return "\(path) is not read as the queue makes it" }
      let seen = try local.store.document(at: path)
      if seen != expected.stored { return "\(path) is not what the queue makes of it" }
    }
    for (text, known) in views where textsOfTargets[known.target]?.contains(text) != true {
      return "the views of target \(known.target)"
    }
    for known in views.values {
      if let broken = known.view.brokenInvariant() { return broken }
    }
    return nil
  }
}
