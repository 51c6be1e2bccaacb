// The network of Linux: a socket on which the kernel reports changes, and lists of links, addresses and
// routes.

#if os(Linux) || os(Android)
internal import ByteStore
internal import Dispatch
internal import Libc
internal import OfflineSync

final class NetlinkSource: NetworkSource, @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: a source of Dispatch is usable from any thread.
  private let changes: any DispatchSourceRead
  let descriptor: Int32
  /// Left when the socket is closed.
  let ending = DispatchGroup()

  /// Returns nil if the system refuses the socket.
  init?(_ changed: @escaping @Sendable () -> Void) {
    guard let socket = NetlinkSocket(groups: NetlinkSocket.groups) else { return nil }
    descriptor = socket.descriptor
    ending.enter()
    let queue = DispatchQueue(label: "dugout.network.changes")
    changes = DispatchSource.makeReadSource(fileDescriptor: socket.descriptor, queue: queue)
    changes.setEventHandler { [weak self] in
      // Reports are only a sign. The status is read from lists, because the kernel may drop reports.
      if !socket.skipAll() { self?.close() }
      changed()
    }
    changes.setCancelHandler { [ending] in
      socket.end()
      ending.leave()
    }
    changes.activate()
  }

  deinit { close() }

  func close() { changes.cancel() }

  func status() -> NetworkStatus? {
    guard let socket = NetlinkSocket(groups: 0) else { return nil }
    defer { socket.end() }
    var messages: [NetlinkMessage] = []
    for kind in [NetlinkMessage.Kind.link, NetlinkMessage.Kind.address, NetlinkMessage.Kind.route] {
      guard let list = socket.list(kind) else { return nil }
      messages += list
    }
    return NetworkTable(messages).status
  }
}

/// A socket to the kernel. The bytes that come from it are not trusted.
struct NetlinkSocket: Sendable {
  // The numbers of the kernel's interface, for which not all C libraries have names in Swift.
  private static let family: UInt16 = 16
  private static let rawWithCloseOnExec: Int32 = 3 | 0o2000000
  private static let routeProtocol: Int32 = 0
  private static let withoutWaiting: Int32 = 0x40
  private static let listRequest: UInt16 = 0x301

  /// The groups of reports: links, and the addresses and routes of IPv4 and IPv6.
  static let groups: UInt32 = 0x1 | 0x10 | 0x40 | 0x100 | 0x400

  /// A list with more bytes belongs to a router.
  private static let listBytesMax = 8 << 20
  private static let datagramBytesMax = 64 << 10
  private static let waitSeconds = 1

  let descriptor: Int32

  /// Returns nil if the system refuses the socket.
  init?(groups: UInt32) {
    descriptor = socket(Int32(Self.family), Self.rawWithCloseOnExec, Self.routeProtocol)
    guard descriptor >= 0 else { return nil }
    // The family, the port that the kernel chooses, and the groups.
    let address = Self.bytes(Self.family) + [0, 0, 0, 0, 0, 0] + Self.bytes(groups)
    let isBound = unsafe address.withUnsafeBytes { bytes in
      unsafe bind(
        descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count)) == 0
    }
    var wait = timeval(tv_sec: Self.waitSeconds, tv_usec: 0)
    let size = socklen_t(MemoryLayout<timeval>.size)
    let isLimited = unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &wait, size) == 0
    guard isBound, isLimited else {
      end()
      return nil
    }
  }

  func end() { _ = close(descriptor) }

  private static func bytes<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    unsafe withUnsafeBytes(of: number) { unsafe Array($0) }
  }

  // MARK: Receiving

  /// Receives what has arrived, and drops it. Returns false if the socket has failed for good.
  func skipAll() -> Bool {
    var datagram = [UInt8](repeating: 0, count: Self.datagramBytesMax)
    while true {
      let count = unsafe recv(descriptor, &datagram, datagram.count, Self.withoutWaiting)
      if count > 0 { continue }
      guard count < 0 else { return false }
      switch errno {
      case EINTR, ENOBUFS: continue
      case EAGAIN: return true
      default: return false
      }
    }
  }

  /// Asks for all links, addresses or routes. Returns nil if the kernel does not send them.
  func list(_ kind: UInt16) -> [NetlinkMessage]? {
    // The content is a header without a filter, which has up to 16 bytes.
    let content = [UInt8](repeating: 0, count: 16)
    let request =
      Self.bytes(UInt32(16 + content.count)) + Self.bytes(kind + NetlinkMessage.Kind.listOffset)
      + Self.bytes(Self.listRequest) + Self.bytes(UInt32(1)) + Self.bytes(UInt32(0)) + content
    guard unsafe send(descriptor, request, request.count, 0) == request.count else { return nil }
    var messages: [NetlinkMessage] = []
    var datagram = [UInt8](repeating: 0, count: Self.datagramBytesMax)
    var byteCount = 0
    while byteCount < Self.listBytesMax {
      let count = unsafe recv(descriptor, &datagram, datagram.count, 0)
      if count < 0, errno == EINTR { continue }
      guard count > 0, let received = NetlinkMessage.messages(in: Array(datagram.prefix(count))) else {
        return nil
      }
      byteCount += count
      for message in received {
        switch message {
        case .done: return messages
        case .failed: return nil
        case .link, .address, .route: messages.append(message)
        case .other: break
        }
      }
    }
    return nil
  }
}
#endif
