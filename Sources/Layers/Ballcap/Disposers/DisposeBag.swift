// Observations that end together.

private import ByteStore

/// A bag of disposables. Disposes of its contents when the bag is freed.
public final class DisposeBag: Sendable {
  private struct State: @unchecked Sendable {
    // Unchecked, because disposables need not be sendable. Each is disposed of once, by the thread that
    // frees the bag.
    var contents: [any ReferenceObservationDisposable] = []
    var isDisposed = false
  }

  private let state = Locked(State())

  /// Creates an empty bag.
  public init() {}

  deinit {
    let contents = state.withLock { state in
      state.isDisposed = true
      defer { state.contents = [] }
      return state.contents
    }
    for disposable in contents { disposable.dispose() }
  }

  /// Adds a disposable. Disposes of it at once if the bag is being freed.
  public func insert(_ disposable: any ReferenceObservationDisposable) {
    let arriving = State(contents: [disposable])
    let isLate = state.withLock { state in
      if !state.isDisposed { state.contents += arriving.contents }
      return state.isDisposed
    }
    if isLate { disposable.dispose() }
  }
}

extension Disposer {
  /// Puts the disposer into the bag.
  public func disposed(by bag: DisposeBag) { bag.insert(self) }
}
