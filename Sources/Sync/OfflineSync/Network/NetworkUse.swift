// The networks that a client uses.

package enum NetworkUse: Sendable, Hashable {
  case any
  /// The client pauses on a metered network.
  case unmetered
}
