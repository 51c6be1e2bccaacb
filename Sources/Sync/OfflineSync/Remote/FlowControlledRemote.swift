// Flow control of a watch stream: the client says what it has handled.

/// A remote that can hold back its server while a client has not handled the changes of its watch stream. An
/// app's own remote around this one does not conform: it may drop events, which the client then never
/// handles.
package protocol FlowControlledRemote: Remote {
  /// Opens a watch stream for a user, like `openWatchStream`, with flow control.
  func openFlowControlledWatchStream(
    as user: String?, _ handler: @escaping @Sendable (WatchStreamEvent) -> Void
  ) -> any FlowControlledWatchStream
}

/// A watch stream with flow control.
package protocol FlowControlledWatchStream: WatchStream {
  /// Reports that the client has handled an event `changed`. Called once for each of them, in their order,
  /// from any thread.
  func noteHandled()
}
