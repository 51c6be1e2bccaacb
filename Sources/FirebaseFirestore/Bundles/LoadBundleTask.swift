// How the loading of a bundle gets on.

private import FirebaseCore
public import Foundation

/// Names an observer of a `LoadBundleTask`.
public typealias LoadBundleObserverHandle = Int

public enum LoadBundleTaskState: Int, Sendable {
  case error = 0
  case inProgress = 1
  case success = 2
}

/// How far the loading of a bundle has come; equal by value.
public final class LoadBundleTaskProgress: NSObject, Sendable, EqualByValue {
  public let documentsLoaded: Int
  public let totalDocuments: Int
  public let bytesLoaded: Int
  public let totalBytes: Int
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

  public func removeObserverWith(handle: LoadBundleObserverHandle) {
    state.withLock { $0.observers[handle] = nil }
  }

  public func removeAllObservers() { state.withLock { $0.observers = [:] } }

  /// On the callback queue, in the order in which they were added.
  func tell(_ progress: LoadBundleTaskProgress) {
    let observers = state.withLock { $0.observers.sorted { $0.key < $1.key }.map(\.value) }
    for observer in observers { observer(progress) }
  }
}
