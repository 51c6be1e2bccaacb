// Between identities on the wire and batches.

package import DocumentStore
package import OfflineSync

extension Wire.WriteIdentity {
  package init(_ write: RemoteWrite) {
    self.init()
    queue = write.id.queue
    run = Int64(bitPattern: write.id.run.value)
    batch = write.id.batch.value
    firstOpen = write.firstOpen.value
    registration = write.registration
    guardCount = Int32(clamping: write.guards.count)
  }

  /// Creates the batch from the mutations of its request, of which the first are the guards.
  package func write(_ mutations: [Mutation]) throws(RemoteError) -> RemoteWrite {
    let count = Int(guardCount)
    guard (0...mutations.count).contains(count) else {
      throw RemoteError(
        .invalidArgument, "The batch has \(count) guards, and its request has \(mutations.count) writes.")
    }
    var guards: [DocumentPath: Precondition] = [:]
    for mutation in mutations.prefix(count) {
      guard case .verify = mutation.change,
        guards.updateValue(mutation.precondition, forKey: mutation.path) == nil
      else { throw RemoteError(.invalidArgument, "A guard verifies a document, each a different one.") }
    }
    let id = WriteID(queue: queue, run: RunID(UInt64(bitPattern: run)), batch: BatchID(batch))
    var write = RemoteWrite(
      id: id, mutations: Array(mutations.dropFirst(count)), firstOpen: BatchID(firstOpen), guards: guards)
    write.registration = registration
    return write
  }
}

extension Wire.RunRegistrations {
  package init(_ registrations: [RunRegistration]) {
    self.init()
    runs = registrations.map { registration in
      var run = Run()
      run.queue = registration.queue
      run.run = Int64(bitPattern: registration.run.value)
      run.token = registration.token
      return run
    }
  }

  package var registrations: [RunRegistration] {
    runs.map { RunRegistration(queue: $0.queue, run: RunID(UInt64(bitPattern: $0.run)), token: $0.token) }
  }
}
