// The events of a loop over the changes of a data source.

import FirebaseFirestore
import Foundation
import LayerKit

/// One loop over `changes`. The loop has its own listener. It receives all events of its source, which
/// otherwise go to the callback queue. The source therefore belongs to the task of the loop.
final class ChangeLoop<T: Object & DataRepresentable> {
  enum Event: Sendable {
    case received(Result<QuerySnapshot, any Error>)
    /// The route has an event for the loop.
    case change
  }

  /// The snapshots that the loop has not returned yet.
  var snapshots: [DataSource<T>.Snapshot] = []
  private var events: AsyncStream<Event>.Iterator
  private let registration: any ListenerRegistration
  private let end: () -> Void

  init(
    _ query: FirebaseFirestore.Query, _ route: EventRoute<T>,
    _ toQueue: @escaping @Sendable (ChangeEvent<T>) -> Void
  ) {
    let (stream, continuation) = AsyncStream<Event>.makeStream()
    events = stream.makeAsyncIterator()
    let number = route.lead { continuation.yield(.change) }
    end = { route.leave(number, to: toQueue) }
    registration = query.listen(on: DispatchQueue(label: "dugout.ballcap.changes")) { result in
      continuation.yield(.received(result))
    } onEnd: {
      continuation.finish()
    }
  }

  deinit {
    registration.remove()
    end()
  }

  func nextEvent(isolation actor: isolated (any Actor)?) async -> Event? {
    await events.next(isolation: actor)
  }
}
