// Captures a consistent state between two commits.

/// One committed state: the key directory and the upper layer's pages, both as of the same commit.
package struct FrozenState {
  package var table: KeyDirectory
  package var pages: (any CheckpointPages)?
}

extension ByteStore {
  /// Waits until `isTime` is true, then blocks commits as a leader would and runs `body`. No commit is in
  /// progress while `body` runs.
  func betweenCommits<Result>(
    evenIfPoisoned: Bool = false, when isTime: (borrowing State) -> Bool = { !$0.isLeading },
    _ body: (inout Writer) throws(WriteFailure) -> Result
  ) throws(ByteStoreError) -> Result {
    try state.withLock(when: isTime) { state throws(ByteStoreError) in
      if let end = state.end, !(evenIfPoisoned && end.isPoison) { throw end }
      state.startLeading()
    }
    let result = Swift.Result { () throws(WriteFailure) in
      try writer.withLock { writer throws(WriteFailure) in try body(&writer) }
    }
    state.withLock { state in
      if case .failure(let failure) = result { fail([], failure, state: &state) }
      state.stopLeading()
    }
    state.wakeAll()
    do throws(WriteFailure) {
      return try result.get()
    } catch {
      sendPoison()
      switch error {
      case .refused(let cause): throw .system(cause)
      case .unknown(let cause): throw .outcomeUnknown(cause)
      }
    }
  }

  /// Captures the current state. Call this between two commits.
  func freeze() -> FrozenState { FrozenState(table: table.frozen(), pages: options.upperLayer?.freeze()) }
}

extension ByteStoreError {
  /// Whether the store refuses writes after this error but still accepts reads.
  var isPoison: Bool {
    if case .outcomeUnknown = self { true } else { false }
  }
}
