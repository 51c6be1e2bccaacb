// Messages of the Linux kernel about its network, as they come from a socket of NETLINK_ROUTE.
//
//   datagram  = message*                       each message begins at a multiple of 4 bytes
//   message   = length:4 type:2 flags:2 sequence:4 port:4 content
//   link      = family:1 pad:1 device:2 index:4 flags:4 change:4 attribute*
//   address   = family:1 prefix:1 flags:1 scope:1 index:4 attribute*
//   route     = family:1 destination:1 source:1 service:1 table:1 protocol:1 scope:1 type:1 flags:4
//               attribute*
//   attribute = length:2 type:2 value          each attribute begins at a multiple of 4 bytes
//
// Numbers have the byte order of the machine. A length includes its own header. A message or an attribute
// whose length does not fit ends the reading of what is around it.

/// A message of the kernel.
package enum NetlinkMessage: Equatable, Sendable {
  case link(Link)
  case address(Address)
  case route(Route)
  /// The end of a list.
  case done
  /// A request has failed with a number of `errno`.
  case failed(Int32)
  case other

  /// A network interface.
  package struct Link: Equatable, Sendable {
    package var index: UInt32
    package var name: String
    package var isLoopback: Bool
    /// Whether the interface is switched on, and its cable or radio has a connection.
    package var isRunning: Bool
  }

  /// An address of an interface.
  package struct Address: Equatable, Sendable {
    package var index: UInt32
    package var bytes: [UInt8]
    /// Whether connections can be made from the address: it is not one of a single link or machine, and no
    /// other device may have it.
    package var isUsable: Bool
  }

  /// A route.
  package struct Route: Equatable, Sendable {
    package var family: UInt8
    /// The interface; nil if the route has several, or none.
    package var index: UInt32?
    package var gateway: [UInt8]
    /// Routes with lower numbers come first.
    package var metric: UInt32
    /// Whether the route leads to all destinations, in the main table.
    package var isDefault: Bool
  }
}

extension NetlinkMessage {
  /// The numbers of the kernel's interface.
  package enum Kind {
    package static let failed: UInt16 = 2
    package static let done: UInt16 = 3
    package static let link: UInt16 = 16
    package static let address: UInt16 = 20
    package static let route: UInt16 = 24
    /// A request for all links, addresses or routes has the number of its messages and this.
    package static let listOffset: UInt16 = 2
  }

  private static let headBytes = 16
  private static let linkBytes = 16
  private static let addressBytes = 8
  private static let routeBytes = 12
  /// A flag of a list that has changed while it was sent.
  private static let interrupted: UInt16 = 0x10

  /// Reads the messages of a datagram. Returns nil if a list has changed while it was sent.
  package static func messages(in datagram: [UInt8]) -> [Self]? {
    var messages: [Self] = []
    var rest = NetlinkBytes(datagram[...])
    while let length = rest.number(UInt32.self, at: 0), length >= headBytes, length <= rest.count,
      let kind = rest.number(UInt16.self, at: 4), let flags = rest.number(UInt16.self, at: 6)
    {
      guard flags & interrupted == 0 || kind == Kind.failed else { return nil }
      messages.append(message(kind, rest.part(headBytes, Int(length))))
      rest = rest.part(NetlinkBytes.aligned(Int(length)), rest.count)
    }
    return messages
  }

  private static func message(_ kind: UInt16, _ content: NetlinkBytes) -> Self {
    switch kind {
    case Kind.done: .done
    case Kind.failed:
      content.number(UInt32.self, at: 0).map { .failed(Int32(truncatingIfNeeded: 0 &- $0)) } ?? .other
    case Kind.link: link(content) ?? .other
    case Kind.address: address(content) ?? .other
    case Kind.route: route(content) ?? .other
    default: .other
    }
  }

  // MARK: Contents

  private static func link(_ content: NetlinkBytes) -> Self? {
    guard let index = content.number(UInt32.self, at: 4), let flags = content.number(UInt32.self, at: 8),
      content.count >= linkBytes
    else { return nil }
    let (up, loopback, running): (UInt32, UInt32, UInt32) = (0x1, 0x8, 0x40)
    let name = content.attributes(from: linkBytes)[3]?.bytes.prefix { $0 != 0 } ?? []
    return .link(
      Link(
        index: index, name: String(decoding: name, as: UTF8.self), isLoopback: flags & loopback != 0,
        isRunning: flags & up != 0 && flags & running != 0))
  }

  private static func address(_ content: NetlinkBytes) -> Self? {
    guard let index = content.number(UInt32.self, at: 4), let shortFlags = content.byte(at: 2),
      let scope = content.byte(at: 3)
    else { return nil }
    let attributes = content.attributes(from: addressBytes)
    // On a link between two devices, the first attribute is the address of the other one.
    guard let bytes = attributes[2] ?? attributes[1] else { return nil }
    let flags = attributes[8]?.number(UInt32.self, at: 0) ?? UInt32(shortFlags)
    let (linkScope, tentative, refused): (UInt8, UInt32, UInt32) = (253, 0x40, 0x08)
    return .address(
      Address(
        index: index, bytes: Array(bytes.bytes),
        isUsable: scope < linkScope && flags & (tentative | refused) == 0))
  }

  private static func route(_ content: NetlinkBytes) -> Self? {
    guard content.count >= routeBytes, let family = content.byte(at: 0),
      let destinationBits = content.byte(at: 1), let shortTable = content.byte(at: 4),
      let type = content.byte(at: 7)
    else { return nil }
    let attributes = content.attributes(from: routeBytes)
    let table = attributes[15]?.number(UInt32.self, at: 0) ?? UInt32(shortTable)
    let (mainTable, unicast): (UInt32, UInt8) = (254, 1)
    return .route(
      Route(
        family: family, index: attributes[4]?.number(UInt32.self, at: 0),
        gateway: attributes[5].map { Array($0.bytes) } ?? [],
        metric: attributes[6]?.number(UInt32.self, at: 0) ?? 0,
        isDefault: destinationBits == 0 && table == mainTable && type == unicast))
  }
}

/// Bytes of a message. Reading outside of them gives nil.
struct NetlinkBytes {
  private static let attributeHeadBytes = 4
  /// Two bits of the type say how the value is encoded.
  private static let typeMask: UInt16 = 0x3FFF

  let bytes: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) { self.bytes = bytes }

  var count: Int { bytes.count }

  static func aligned(_ count: Int) -> Int { (count + 3) & ~3 }

  func byte(at offset: Int) -> UInt8? {
    offset >= 0 && offset < count ? bytes[bytes.startIndex + offset] : nil
  }

  func number<Number: FixedWidthInteger & UnsignedInteger>(_ type: Number.Type, at offset: Int) -> Number? {
    let size = MemoryLayout<Number>.size
    guard offset >= 0, size <= count, offset <= count - size else { return nil }
    var value: Number = 0
    for byte in bytes.dropFirst(offset).prefix(size).reversed() { value = value << 8 | Number(byte) }
    return Number(littleEndian: value)
  }

  /// The bytes between two offsets, as far as they exist.
  func part(_ start: Int, _ end: Int) -> NetlinkBytes {
    let end = min(max(end, 0), count)
    let start = min(max(start, 0), end)
    return NetlinkBytes(bytes[(bytes.startIndex + start)..<(bytes.startIndex + end)])
  }

  /// The values of the attributes by their types. Of several with one type, the first one counts.
  func attributes(from offset: Int) -> [UInt16: NetlinkBytes] {
    var attributes: [UInt16: NetlinkBytes] = [:]
    var rest = part(offset, count)
    while let length = rest.number(UInt16.self, at: 0), let type = rest.number(UInt16.self, at: 2),
      length >= Self.attributeHeadBytes, length <= rest.count
    {
      let value = rest.part(Self.attributeHeadBytes, Int(length))
      if attributes[type & Self.typeMask] == nil { attributes[type & Self.typeMask] = value }
      rest = rest.part(Self.aligned(Int(length)), rest.count)
    }
    return attributes
  }
}
