// The state of the device's network.

/// The state of the network of a device.
public enum NetworkStatus: Hashable, Sendable {
  /// There is no network. A client counts as offline, and still tries to connect.
  case unavailable
  /// There is a network.
  case available(NetworkPath)

  /// The path to the network; nil if there is no network.
  public var path: NetworkPath? {
    switch self {
    case .unavailable: nil
    case .available(let path): path
    }
  }
}

/// A device's path to the network: the interface that carries its connections, and what they cost.
public struct NetworkPath: Hashable, Sendable {
  /// The cost of a connection.
  public enum Cost: Hashable, Sendable {
    /// Bytes cost nothing, as in most Wi-Fi networks.
    case unmetered
    /// Each byte counts, as in most mobile networks.
    case metered
  }

  /// A text that identifies the path, such as "Wi-Fi" or "eth0 192.0.2.7". A client opens its connections
  /// again when the text changes, because connections of another path are lost.
  public var name: String
  /// The cost of connections by this path.
  public var cost: Cost

  /// Creates a path with the text that identifies it.
  public init(_ name: String, _ cost: Cost = .unmetered) {
    self.name = name
    self.cost = cost
  }
}
