// The progress of loading a bundle.

private import ByteStore
private import FirebaseCore
public import Foundation

/// The handle of an observer of a `LoadBundleTask`.
public typealias LoadBundleObserverHandle = Int

/// The state of a task that loads a bundle.
public enum LoadBundleTaskState: Int, Sendable {
  /// Loading has failed.
  case error = 0
  /// Loading is in progress.
  case inProgress = 1
  /// Loading has completed, and all contents of the bundle are stored.
  case success = 2
}

/// The progress of loading a bundle. Two progress objects with equal values are equal.
public final class LoadBundleTaskProgress: NSObject, Sendable, EqualByValue {
  /// The number of documents loaded.
  public let documentsLoaded: Int
  /// The number of documents in the bundle.
  public let totalDocuments: Int
  /// The number of bytes loaded.
  public let bytesLoaded: Int
  /// The number of bytes in the bundle.
  public let totalBytes: Int
  /// The state of the task.
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

/// A task that loads a bundle. Each observer is called on the callback queue: once for each document that is
/// read, and once at the end, before the completion runs.
public final class LoadBundleTask: NSObject, Sendable {
  private let state = Locked(State())

  private struct State {
    var observers: [Int: Callback<LoadBundleTaskProgress>] = [:]
    var nextHandle = 0
  }

  /// Adds an observer, which is called on the callback queue after each step of the task.
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

  /// Removes the observer with this handle.
  public func removeObserverWith(handle: LoadBundleObserverHandle) {
    state.withLock { $0.observers[handle] = nil }
  }

  /// Removes all observers.
  public func removeAllObservers() { state.withLock { $0.observers = [:] } }

  /// Calls the observers in the order in which they were added. Runs on the callback queue.
  func notifyObservers(of progress: LoadBundleTaskProgress) {
    let observers = state.withLock { $0.observers.sorted { $0.key < $1.key }.map(\.value) }
    for observer in observers { observer(progress) }
  }
}
