// The order of writes to one record.

/// Of the operations on one path, each begins when the one before has issued its write: a read that one of them begins
/// with sees what the one before has written. Operations on different paths do not wait for each other.
final class ResourceLanes {
  private var waiting: [String: [(_ leave: @escaping () -> Void) -> Void]] = [:]

  /// Runs `body`, at once if nothing else is on the path. It calls what it is given when the next one may begin.
  func enter(_ path: String, _ body: @escaping (_ leave: @escaping () -> Void) -> Void) {
    guard waiting[path] == nil else {
      waiting[path]?.append(body)
      return
    }
    waiting[path] = []
    run(path, body)
  }

  private func run(_ path: String, _ body: (_ leave: @escaping () -> Void) -> Void) {
    body { [self] in
      guard let next = waiting[path]?.first else {
        waiting[path] = nil
        return
      }
      waiting[path]?.removeFirst()
      run(path, next)
    }
  }
}
