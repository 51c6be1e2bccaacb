// The kinds of attacks, and how a server has to take them.

#if Server
/// A kind of attack.
package enum AttackKind: String, CaseIterable, Sendable {
  // Floods of HTTP/2.
  case pings, settings, resets, brokenRules, emptyFrames, continuations, streams
  // Too much of something.
  case hugeFields, hugeMessages, heldMessages, pipelining, connections
  // Clients that do not read.
  case unread, unreadMany, unreadChannels
  // Bytes that are no request, or a bad one.
  case garbage, garbageFrames, garbagePaths, adminGarbage
  // Clients that go away.
  case deaths, halfClosed
  // TLS.
  case handshakeGarbage, handshakeDeaths, handshakes, hugeHello, plaintext
  // Clients that take their time.
  case silence, slowFields, slowBodies, slowHandshakes, slowReaders
  /// No attack: clients that ask for as much as those of `unread`, and read all of it.
  case greedyReaders
  /// No attack: threads that only use the processors, as the work of attackers does on the same machine.
  case idleBurn

  /// The reasons by which a server refuses an attack: one of them has to be counted. Empty if the server
  /// answers it, or closes the connection as the client wants.
  package var refusals: Set<String> {
    switch self {
    case .pings: ["ping_flood"]
    case .settings, .emptyFrames, .continuations: ["frame_flood"]
    case .resets: ["reset_flood"]
    case .brokenRules: ["reset_flood", "streams"]
    case .streams: ["streams"]
    case .hugeFields: ["header_size"]
    case .hugeMessages: ["message_size"]
    case .heldMessages: ["held_bytes"]
    case .garbage, .garbageFrames, .adminGarbage: ["malformed"]
    case .handshakeGarbage, .hugeHello, .plaintext, .slowHandshakes: ["tls_handshake"]
    case .silence: ["first_byte_timeout"]
    case .slowFields: ["header_timeout"]
    case .slowBodies: ["body_rate"]
    case .slowReaders: ["unread"]
    case .greedyReaders, .idleBurn, .pipelining, .connections, .unread, .unreadMany, .unreadChannels,
      .garbagePaths, .deaths, .halfClosed, .handshakeDeaths, .handshakes:
      []
    }
  }

  /// Further reasons that may be counted.
  package var possibleRefusals: Set<String> {
    switch self {
    case .unread, .unreadMany, .slowReaders, .greedyReaders: ["held_bytes", "unread"]
    case .unreadChannels: ["held_bytes", "unread", "channels", "channel_timeout"]
    case .garbagePaths:
      ["host", "origin", "malformed", "header_size", "database_name", "databases", "credentials"]
    case .garbage, .adminGarbage: ["header_size", "host", "header_timeout"]
    case .garbageFrames: ["frame_flood", "reset_flood", "header_size"]
    case .brokenRules: ["malformed"]
    case .hugeFields, .deaths: ["malformed"]
    case .handshakeDeaths, .handshakes: ["tls_handshake"]
    case .streams: ["reset_flood"]
    case .pipelining: ["held_bytes", "malformed"]
    default: []
    }
  }

  /// Whether the attack asks for work that the server also does for clients that read their answers. Others
  /// then wait as they wait beside those clients.
  package var isWork: Bool {
    switch self {
    case .unread, .unreadMany, .unreadChannels, .pipelining, .heldMessages: true
    default: false
    }
  }

  /// Whether the attack needs more than ten seconds to be refused.
  package var isSlow: Bool {
    switch self {
    case .silence, .slowFields, .slowBodies, .slowHandshakes, .slowReaders: true
    default: false
    }
  }

  /// The time after which the server has to have refused the attack.
  package var secondsUntilRefusal: Double { self == .slowReaders ? 66 : isSlow ? 26 : 0 }

  /// Whether it is no attack, but the work of others that attacks are compared with.
  package var isControl: Bool { self == .greedyReaders || self == .idleBurn }

  /// Whether the attack is one of TLS, or one that TLS excludes.
  package func isPossible(isEncrypted: Bool) -> Bool {
    switch self {
    case .handshakeGarbage, .handshakeDeaths, .handshakes, .hugeHello, .plaintext, .slowHandshakes:
      isEncrypted
    case .garbage, .adminGarbage: !isEncrypted
    default: true
    }
  }

  /// Connections that one attacker has at the same time.
  package var connectionsMax: Int {
    switch self {
    case .unreadMany, .unreadChannels: 500
    case .connections: 300
    case .unread, .greedyReaders, .silence, .slowFields, .slowBodies, .slowHandshakes, .slowReaders: 50
    default: 10
    }
  }
}
#endif
