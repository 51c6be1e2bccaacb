// The events of the client's side of a session, and its actions.

internal import HTTPClient

/// Something that happens to a session. Requests and timers have numbers, which the session chooses.
enum ClientEvent: Sendable, Equatable {
  /// The program sends a message.
  case send([UInt8])
  /// The program ends the call.
  case close
  /// The program takes no further messages.
  case pause
  /// The program takes messages again.
  case resume
  /// An event of a request.
  case answer(request: UInt64, WebEvent)
  /// The time of a timer has passed.
  case timer(UInt64)
}

/// Something that the caller of a session has to do, in order.
enum ClientAction: Sendable, Equatable {
  /// Begins a request.
  case begin(request: UInt64, WebRequest)
  /// Cancels a request, whose events have no meaning any more.
  case cancel(request: UInt64)
  /// Reports `timer` after microseconds. A timer whose number is not the last one of its kind does nothing.
  case wake(UInt64, after: Int64)
  /// Passes an event to the program.
  case deliver(MessageEvent)
  /// Remembers that something on the way to the server holds streams back.
  case noteBuffering
}
