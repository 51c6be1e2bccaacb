// The status of a network that follows from the interfaces, addresses and routes of a machine.

import OfflineSync
import Testing

@testable import FirestoreRemote

@Suite struct NetworkTableTests {
  private let loopback =
    Netlink.link(1, "lo", flags: 0x49) + Netlink.address(1, [127, 0, 0, 1], scope: 254)
  private let wired =
    Netlink.link(2, "eth0") + Netlink.address(2, [192, 0, 2, 7])
    + Netlink.route(2, via: [192, 0, 2, 1], metric: 100)
  private let wireless =
    Netlink.link(3, "wlan0") + Netlink.address(3, [198, 51, 100, 9])
    + Netlink.route(3, via: [198, 51, 100, 1], metric: 600)
  /// An interface of a container and its bridge.
  private let container =
    Netlink.link(9, "docker0") + Netlink.address(9, [172, 17, 0, 1]) + Netlink.link(10, "veth1")
    + Netlink.address(10, [0xFE, 0x80] + [UInt8](repeating: 7, count: 14), scope: 253)
    + Netlink.route(9, via: [], destinationBits: 16)

  private func status(_ parts: [UInt8]...) throws -> NetworkStatus {
    NetworkTable(try #require(NetlinkMessage.messages(in: parts.flatMap { $0 }))).status
  }

  private func ipv6(_ network: UInt8, _ device: UInt8) -> [UInt8] {
    [0x20, 0x01, 0x0D, 0xB8, 0, 0, 0, network] + [UInt8](repeating: device, count: 8)
  }

  @Test func thePathNamesTheInterfaceItsAddressAndItsGateway() throws {
    #expect(try status(loopback, wired) == .available(NetworkPath("eth0 c0000207, via c0000201")))
  }

  @Test func withoutARunningInterfaceThatHasAnAddressThereIsNoNetwork() throws {
    #expect(try status(loopback) == .unavailable)
    #expect(try status() == .unavailable)
    #expect(try status(loopback, Netlink.link(2, "eth0")) == .unavailable)
    let address = Netlink.address(2, [192, 0, 2, 7])
    #expect(try status(loopback, Netlink.link(2, "eth0", flags: 0x1), address) == .unavailable)
    #expect(try status(loopback, address, Netlink.route(2, via: [192, 0, 2, 1])) == .unavailable)
    let linkLocal = Netlink.address(2, [0xFE, 0x80] + [UInt8](repeating: 0, count: 14), scope: 253)
    #expect(try status(loopback, Netlink.link(2, "eth0"), linkLocal) == .unavailable)
  }

  @Test func theRouteWithTheLowestMetricCounts() throws {
    let both = try status(loopback, wireless, wired)
    #expect(both == (try status(loopback, wired)))
    #expect(try status(loopback, wireless) != both, "the cable was pulled")
    // A default route over an interface that is down is none.
    let dead = Netlink.link(2, "eth0", flags: 0x1) + wired.dropFirst(Netlink.link(2, "eth0").count)
    #expect(try status(loopback, dead, wireless) == (try status(loopback, wireless)))
  }

  @Test func interfacesOfContainersDoNotChangeThePath() throws {
    #expect(try status(loopback, wired, container) == (try status(loopback, wired)))
  }

  @Test func anotherAddressOrGatewayIsAnotherPath() throws {
    let link = Netlink.link(2, "eth0")
    let first = try status(link, Netlink.address(2, [192, 0, 2, 7]), Netlink.route(2, via: [192, 0, 2, 1]))
    let moved = try status(link, Netlink.address(2, [192, 0, 2, 8]), Netlink.route(2, via: [192, 0, 2, 1]))
    let other = try status(link, Netlink.address(2, [192, 0, 2, 7]), Netlink.route(2, via: [192, 0, 2, 2]))
    #expect(Set([first, moved, other]).count == 3)
  }

  @Test func aTemporaryAddressInTheSameNetworkIsTheSamePath() throws {
    let link = Netlink.link(2, "eth0") + Netlink.route(2, via: ipv6(0, 1))
    let first = try status(link, Netlink.address(2, ipv6(1, 7)))
    #expect(try status(link, Netlink.address(2, ipv6(1, 7)), Netlink.address(2, ipv6(1, 8))) == first)
    #expect(try status(link, Netlink.address(2, ipv6(2, 7))) != first)
  }

  @Test func aNetworkWithoutAnExitIsANetwork() throws {
    let local = Netlink.link(2, "eth0") + Netlink.address(2, [192, 0, 2, 7])
    #expect(try status(loopback, local) == .available(NetworkPath("eth0 c0000207")))
  }
}
