// Writers that wait for their commits without blocking a thread.

@_spi(Measure) import DocumentStore
import Foundation

/// Each writer starts its next write in the completion of the previous one.
final class AsyncWriters: @unchecked Sendable {
  // Guarded by the lock.
  private var next = 0
  private let lock = NSLock()
  private let store: MeasuredDocumentStore
  private let writes: [Mutation]
  private let done = DispatchGroup()

  init(_ store: DocumentStore, _ writes: [Mutation]) {
    self.store = MeasuredDocumentStore(store)
    self.writes = writes
  }

  func run(_ writers: Int) {
    for _ in 0..<writers {
      done.enter()
      go()
    }
    done.wait()
  }

  private func go() {
    let number = lock.withLock {
      next += 1
      return next - 1
    }
    guard number < writes.count else { return done.leave() }
    store.write([writes[number]]) { result in
      if case .failure(let error) = result { fatalError("\(error)") }
      self.go()
    }
  }
}
