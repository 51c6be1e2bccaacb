// The address of a server, as users and environment variables need it.

import DugoutServer

struct ServeAddress {
  private let configuration: ServerConfiguration
  private let addresses: ServerAddresses

  init(_ configuration: ServerConfiguration, _ addresses: ServerAddresses) {
    self.configuration = configuration
    self.addresses = addresses
  }

  /// Such as `Serving http://127.0.0.1:8080` and, for an emulator, the variable of Google's clients.
  var text: String {
    let scheme = configuration.tls == nil ? "http" : "https"
    var text = "Serving \(scheme)://\(Self.host(configuration.address)):\(addresses.port)"
    if let adminPort = addresses.adminPort {
      text += ", with health and metrics at http://\(Self.host(configuration.adminAddress)):\(adminPort)"
    }
    guard configuration.isEmulator else { return text }
    return text
      + "\nexport FIRESTORE_EMULATOR_HOST=\(Self.reachable(configuration.address)):\(addresses.port)"
  }

  private static func host(_ address: String) -> String {
    address.contains(":") && !address.hasPrefix("[") ? "[\(address)]" : address
  }

  /// An address that a client of this machine can connect to.
  private static func reachable(_ address: String) -> String {
    switch address {
    case "0.0.0.0": "127.0.0.1"
    case "::", "[::]": "[::1]"
    default: host(address)
    }
  }
}
