// The interfaces, addresses and routes of a machine, and the status of its network that follows from them.
//
//   1. An interface counts if it is running, is not the loopback interface, and has a usable address.
//   2. The path goes over the interfaces of the default routes: for each family of addresses, the route with
//      the lowest metric. Other interfaces, such as those of containers, do not matter then.
//   3. Without a default route, the path goes over all interfaces that count. The network has no exit then.
//   4. Without any of them, there is no network.
//
// The name of a path has its interfaces, their addresses and gateways. It has only the network part of an
// IPv6 address, because systems replace the rest from time to time. Linux does not know what a network costs.

package import OfflineSync

package struct NetworkTable {
  private struct Interface {
    var name: String
    var networks: Set<String> = []
  }

  private var interfaces: [UInt32: Interface] = [:]
  private var defaultRoutes: [NetlinkMessage.Route] = []

  package init(_ messages: [NetlinkMessage]) {
    for case .link(let link) in messages where link.isRunning && !link.isLoopback {
      interfaces[link.index] = Interface(name: link.name)
    }
    for case .address(let address) in messages where address.isUsable {
      interfaces[address.index]?.networks.insert(Self.network(of: address.bytes))
    }
    interfaces = interfaces.filter { !$0.value.networks.isEmpty }
    var best: [UInt8: NetlinkMessage.Route] = [:]
    for case .route(let route) in messages where route.isDefault {
      guard let index = route.index, interfaces[index] != nil else { continue }
      if let known = best[route.family], known.metric <= route.metric { continue }
      best[route.family] = route
    }
    defaultRoutes = best.values.sorted { $0.family < $1.family }
  }

  package var status: NetworkStatus {
    guard !interfaces.isEmpty else { return .unavailable }
    let chosen = defaultRoutes.isEmpty ? Set(interfaces.keys) : Set(defaultRoutes.compactMap(\.index))
    let names = chosen.sorted().compactMap { index in
      interfaces[index].map { "\($0.name) \($0.networks.sorted().joined(separator: " "))" }
    }
    let gateways = defaultRoutes.map { "via \(Self.hexadecimal($0.gateway[...]))" }
    return .available(NetworkPath((names + gateways).joined(separator: ", ")))
  }

  private static let networkBytesOfIPv6 = 8

  private static func network(of address: [UInt8]) -> String {
    hexadecimal(address.count == 16 ? address.prefix(networkBytesOfIPv6) : address[...])
  }

  private static func hexadecimal(_ bytes: ArraySlice<UInt8>) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}
