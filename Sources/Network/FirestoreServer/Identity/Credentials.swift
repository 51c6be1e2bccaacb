// The credentials of requests.

internal import HTTPTransport
internal import OfflineSync

/// Finds out who makes a request, from its `Authorization`.
struct Credentials: Sendable {
  private let secret: AdminSecret?
  private let isEmulator: Bool

  init(_ configuration: ServerConfiguration) {
    secret = configuration.adminSecret.map { AdminSecret($0) }
    isEmulator = configuration.isEmulator
  }

  /// The caller of a request. Throws `unauthenticated`, or in an emulator `invalidArgument`, if the
  /// credentials are missing or wrong. Only the admin may call a server that is no emulator, until there are
  /// access rules.
  func caller(of fields: HTTPFields) throws(RemoteError) -> Caller {
    guard let value = fields.bytes(of: "authorization") else {
      guard isEmulator else { throw Self.missing }
      return .anonymous
    }
    let token = Self.token(value)
    if let secret, let token, fields.count(of: "authorization") == 1, secret.isEqual(to: token) {
      return .admin
    }
    guard isEmulator else { throw Self.wrong }
    guard let token else { throw Self.invalidToken }
    if token.elementsEqual("owner".utf8) { return .admin }
    guard let parsed = EmulatorToken(token) else { throw Self.invalidToken }
    return parsed.user.map { .user($0) } ?? .anonymous
  }

  /// The caller of a request whose fields come in several lists. All credentials have to be right, and the
  /// last ones say who it is.
  func caller(ofLists lists: [HTTPFields]) throws(RemoteError) -> Caller {
    var caller: Caller?
    for fields in lists where Self.areNamed(in: fields) { caller = try self.caller(of: fields) }
    guard let caller else { return try self.caller(of: HTTPFields()) }
    return caller
  }

  static func areNamed(in fields: HTTPFields) -> Bool { fields.bytes(of: "authorization") != nil }

  /// Whether a request without credentials is refused.
  var areNeeded: Bool { !isEmulator }

  static let missing = RemoteError(
    .unauthenticated, "The request has no credentials. Send \"Authorization: Bearer SECRET\".")
  static let wrong = RemoteError(.unauthenticated, "The credentials of the request are not accepted.")
  /// The error of Google's emulator.
  static let invalidToken = RemoteError(.invalidArgument, "invalid jwt")

  /// The value of the field `www-authenticate`.
  static func challenge(_ error: RemoteError) -> String? {
    guard error.code == .unauthenticated else { return nil }
    return error == missing ? #"Bearer realm="dugout""# : #"Bearer realm="dugout", error="invalid_token""#
  }

  /// The text after `Bearer`; nil if the value has another form.
  private static func token(_ value: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
    let scheme = "bearer"
    guard value.prefix(scheme.utf8.count).map({ $0 | 0x20 }).elementsEqual(scheme.utf8) else { return nil }
    let rest = value.dropFirst(scheme.utf8.count)
    let token = rest.drop { $0 == UInt8(ascii: " ") }
    return token.count < rest.count && !token.isEmpty ? token : nil
  }
}

extension HTTPFields {
  /// The number of fields with a name.
  func count(of name: String) -> Int { (0..<count).count { self.name(at: $0).elementsEqual(name.utf8) } }
}
