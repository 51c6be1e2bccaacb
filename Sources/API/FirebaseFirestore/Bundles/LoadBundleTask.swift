// How the loading of a bundle gets on.

private import FirebaseCore
public import Foundation

/// Names an observer of a `LoadBundleTask`.
public typealias LoadBundleObserverHandle = Int

/// How a bundle's loading goes.
public enum LoadBundleTaskState: Int, Sendable {
  /// It failed.
  case error = 0
  /// It goes on.
  case inProgress = 1
  /// It is over, and everything is stored.
  case success = 2
}

/// How far the loading of a bundle has come; equal by value.
public final class LoadBundleTaskProgress: NSObject, Sendable, EqualByValue {
  /// How many documents are loaded.
  public let documentsLoaded: Int
  /// How many documents the bundle has.
  public let totalDocuments: Int
  /// How many bytes are loaded.
  public let bytesLoaded: Int
  /// How many bytes the bundle has.
  public let totalBytes: Int
  /// Whether it goes on, has failed, or is over.
  public let state: LoadBundleTaskState

  init(
    documentsLoaded: Int, totalDocuments: Int, bytesLoaded: Int, totalBytes: Int,
    state: LoadBundleTaskState
  ) {
    self.documentsLoaded = documentsLoaded
    self.totalDocuments = totalDocuments
    self.bytesLoaded = bytesLoaded
    self.totalBytes = totalBytes
    self.state = state
  }

  var identity: [Int] { [documentsLoaded, totalDocuments, bytesLoaded, totalBytes, state.rawValue] }

  public override func isEqual(_ object: Any?) -> Bool { isSame(as: object) }

  public override var hash: Int { identity.hashValue }
}

/// The loading of a bundle. Observers are told on the callback queue: once for each document that was read, and
/// once at the end, before the completion.
public final class LoadBundleTask: NSObject, Sendable {
  private let state = Guarded(State())

  private struct State {
    var observers: [Int: Callback<LoadBundleTaskProgress>] = [:]
    var nextHandle = 0
  }

  /// Calls the observer at each step, on the callback queue.
  @discardableResult
  public func addObserver(
    _ observer: @escaping (LoadBundleTaskProgress) -> Void
  ) -> LoadBundleObserverHandle {
    let callback = Callback(observer)
    return state.withLock { state in
      state.nextHandle += 1
      state.observers[state.nextHandle] = callback
      return state.nextHandle
    }
  }

  /// The observer of this handle is told nothing any more.
  public func removeObserverWith(handle: LoadBundleObserverHandle) {
    state.withLock { $0.observers[handle] = nil }
  }

  /// Nobody is told anything any more.
  public func removeAllObservers() { state.withLock { $0.observers = [:] } }

  /// On the callback queue, in the order in which they were added.
  func tell(_ progress: LoadBundleTaskProgress) {
    let observers = state.withLock { $0.observers.sorted { $0.key < $1.key }.map(\.value) }
    for observer in observers { observer(progress) }
  }
}
