// The end of a server that tests need: its clients. A program without the trait `Server` has none.

/// Tells whether this program has clients of servers.
package enum ServerHarness {
  /// Whether the program was built with the trait `Server`.
  package static var hasServer: Bool {
    #if Server
    true
    #else
    false
    #endif
  }
}
