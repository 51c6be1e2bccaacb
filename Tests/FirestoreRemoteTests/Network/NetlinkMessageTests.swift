// Messages of the kernel about its network, right and wrong ones.

import Harness
import Testing

@testable import FirestoreRemote

/// Builds the bytes of messages.
enum Netlink {
  static func bytes<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    withUnsafeBytes(of: number) { Array($0) }
  }

  private static func padded(_ bytes: [UInt8]) -> [UInt8] {
    bytes + [UInt8](repeating: 0, count: (4 - bytes.count % 4) % 4)
  }

  static func message(_ kind: UInt16, flags: UInt16 = 2, _ content: [UInt8]) -> [UInt8] {
    let length = UInt32(16 + content.count)
    return padded(bytes(length) + bytes(kind) + bytes(flags) + bytes(UInt32(1)) + bytes(UInt32(7)) + content)
  }

  static func attribute(_ type: UInt16, _ value: [UInt8]) -> [UInt8] {
    padded(bytes(UInt16(4 + value.count)) + bytes(type) + value)
  }

  static func link(_ index: UInt32, _ name: String, flags: UInt32 = 0x1 | 0x40) -> [UInt8] {
    let head: [UInt8] = [0, 0] + bytes(UInt16(1)) + bytes(index) + bytes(flags) + bytes(UInt32(0))
    return message(16, head + attribute(1, [1, 2, 3, 4, 5, 6]) + attribute(3, Array(name.utf8) + [0]))
  }

  static func address(
    _ index: UInt32, _ address: [UInt8], scope: UInt8 = 0, flags: UInt32 = 0x80
  ) -> [UInt8] {
    let head: [UInt8] = [address.count == 4 ? 2 : 10, 24, UInt8(truncatingIfNeeded: flags), scope]
    return message(20, head + bytes(index) + attribute(1, address) + attribute(8, bytes(flags)))
  }

  static func route(
    _ index: UInt32, via gateway: [UInt8], metric: UInt32 = 0, destinationBits: UInt8 = 0,
    table: UInt32 = 254, type: UInt8 = 1
  ) -> [UInt8] {
    let family: UInt8 = gateway.count == 4 ? 2 : 10
    let head: [UInt8] = [family, destinationBits, 0, 0, UInt8(truncatingIfNeeded: table), 3, 0, type]
    return message(
      24,
      head + bytes(UInt32(0)) + attribute(15, bytes(table)) + attribute(6, bytes(metric))
        + attribute(5, gateway) + attribute(4, bytes(index)))
  }

  static let done = message(3, bytes(UInt32(0)))
}

@Suite struct NetlinkMessageTests {
  @Test func messagesOfOneDatagramAreReadInOrder() throws {
    let datagram =
      Netlink.link(2, "eth0") + Netlink.link(1, "lo", flags: 0x49) + Netlink.link(3, "usb0", flags: 0x1)
      + Netlink.address(2, [192, 0, 2, 7]) + Netlink.address(2, [127, 0, 0, 1], scope: 254)
      + Netlink.address(2, [UInt8](repeating: 1, count: 16), flags: 0x40)
      + Netlink.route(2, via: [192, 0, 2, 1], metric: 600)
      + Netlink.route(2, via: [192, 0, 2, 1], destinationBits: 24)
      + Netlink.route(2, via: [192, 0, 2, 1], table: 1000) + Netlink.route(1, via: [0, 0, 0, 0], type: 7)
      + Netlink.message(2, Netlink.bytes(Int32(-16))) + Netlink.message(99, [1]) + Netlink.done
    let gateway: [UInt8] = [192, 0, 2, 1]
    func route(_ index: UInt32, _ gateway: [UInt8], _ metric: UInt32, _ isDefault: Bool) -> NetlinkMessage {
      .route(.init(family: 2, index: index, gateway: gateway, metric: metric, isDefault: isDefault))
    }
    #expect(
      NetlinkMessage.messages(in: datagram) == [
        .link(.init(index: 2, name: "eth0", isLoopback: false, isRunning: true)),
        .link(.init(index: 1, name: "lo", isLoopback: true, isRunning: true)),
        .link(.init(index: 3, name: "usb0", isLoopback: false, isRunning: false)),
        .address(.init(index: 2, bytes: [192, 0, 2, 7], isUsable: true)),
        .address(.init(index: 2, bytes: [127, 0, 0, 1], isUsable: false)),
        .address(.init(index: 2, bytes: [UInt8](repeating: 1, count: 16), isUsable: false)),
        route(2, gateway, 600, true), route(2, gateway, 0, false), route(2, gateway, 0, false),
        route(1, [0, 0, 0, 0], 0, false), .failed(16), .other, .done,
      ])
  }

  /// The local address of a link between two devices comes beside that of the other device.
  @Test func theOwnAddressOfALinkBetweenTwoDevicesCounts() {
    let head: [UInt8] = [2, 32, 0x80, 0] + Netlink.bytes(UInt32(4))
    let content = head + Netlink.attribute(1, [10, 0, 0, 1]) + Netlink.attribute(2, [10, 0, 0, 2])
    #expect(
      NetlinkMessage.messages(in: Netlink.message(20, content))
        == [.address(.init(index: 4, bytes: [10, 0, 0, 2], isUsable: true))])
  }

  @Test func aListThatHasChangedMeanwhileIsNotUsed() {
    #expect(NetlinkMessage.messages(in: Netlink.link(2, "a") + Netlink.message(16, flags: 0x12, [])) == nil)
  }

  @Test func lengthsThatDoNotFitEndTheReading() {
    let good = Netlink.link(2, "eth0")
    for length in [0, 4, 15, UInt32(good.count) + 1, .max] as [UInt32] {
      var bad = good
      bad.replaceSubrange(0..<4, with: Netlink.bytes(length))
      #expect(NetlinkMessage.messages(in: good + bad)?.count == 1, "\(length)")
    }
    // An attribute that does not fit ends the attributes.
    for length in [0, 3, 200, .max] as [UInt16] {
      let head = good.prefix(32)
      let datagram = Array(head) + Netlink.bytes(length) + good.dropFirst(34)
      #expect(
        NetlinkMessage.messages(in: datagram)
          == [.link(.init(index: 2, name: "", isLoopback: false, isRunning: true))], "\(length)")
    }
  }

  @Test func noBytesEndTheProcess() {
    let datagram =
      Netlink.link(2, "eth0") + Netlink.address(2, [192, 0, 2, 7]) + Netlink.route(2, via: [192, 0, 2, 1])
      + Netlink.message(2, []) + Netlink.done
    for count in datagram.indices {
      let messages = NetlinkMessage.messages(in: Array(datagram.prefix(count)))
      #expect((messages?.count ?? 0) < 5)
    }
    var random = SeededRandom(seed: 1)
    var readCount = 0
    for _ in 0..<20_000 {
      var bytes = datagram
      for _ in 0...random.below(4) { bytes[random.below(bytes.count)] = UInt8(random.below(256)) }
      guard let messages = NetlinkMessage.messages(in: bytes) else { continue }
      readCount += messages.count
      _ = NetworkTable(messages).status
    }
    #expect(readCount > 20_000)
  }
}
