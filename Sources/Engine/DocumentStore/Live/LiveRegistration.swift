// The handle with which a caller ends listening.

/// The registration of a listener. Call `remove` to end listening. Without this call, listening continues
/// until the store is closed.
public final class LiveRegistration: Sendable {
  private let listener: LiveListener
  private let id: String
  private let queries: WeakLiveQueries

  init(_ listener: LiveListener, _ id: String, queries: LiveQueries) {
    self.listener = listener
    self.id = id
    self.queries = WeakLiveQueries(queries)
  }

  /// Ends listening. After this method returns, no new call of the handler is scheduled, but a running call
  /// may still finish. Further calls of this method do nothing.
  ///
  /// If another thread runs the handler or is about to run it, this method waits until the handler has ended.
  /// The wait is limited to a few milliseconds, because the handler may itself wait for the caller of this
  /// method. If the other thread is delayed for longer, the handler can still start. If this method is called
  /// from the handler, it does not wait.
  public func remove() {
    listener.remove()
    queries.queries?.remove(listener, id)
    listener.waitForHandler()
  }
}
