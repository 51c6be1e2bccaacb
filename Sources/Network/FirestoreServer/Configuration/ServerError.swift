// Errors of a server that cannot start, each with a sentence that says what to do.

/// The reason why a server cannot start or go on.
public enum ServerError: Error, Sendable, Hashable {
  // MARK: Unsafe configurations

  /// The server is no emulator and has no secret.
  case missingAdminSecret
  /// The secret is too short, or has characters that no header can carry.
  case unusableAdminSecret(reason: String)
  /// Other machines would reach the server without encryption.
  case unencryptedAddress(String)
  /// Other machines would reach an emulator, which wants no credentials.
  case exposedEmulator(String)
  /// `allowsAnyAddress` is only for emulators.
  case anyAddressWithoutEmulator
  /// A server behind a proxy needs to know the names by which clients address it.
  case missingAllowedHosts

  // MARK: Invalid configurations

  /// An address is not a literal IPv4 or IPv6 address.
  case invalidAddress(String)
  /// A port is not between 0 and 65535.
  case invalidPort(Int)
  /// An origin has another form than `https://app.example` or `http://app.example:3000`.
  case invalidOrigin(String)
  /// A trusted proxy has another form than `10.0.0.5` or `10.0.0.0/8`.
  case invalidTrustedProxy(String, reason: String)
  /// A trusted proxy cannot reach the address on which the server listens.
  case uselessTrustedProxy(String, address: String)
  /// A trusted proxy has another version of IP than every address on which the server listens.
  case unreachableTrustedProxy(String, isVersion6: Bool)
  /// A host is not a name or an address without a port.
  case invalidHost(String)
  /// A number is out of its range.
  case invalidNumber(option: String, value: Int)
  /// The name of a database has another form than `projects/PROJECT/databases/DATABASE`, or breaks a rule.
  case invalidDatabase(String, reason: String)

  // MARK: Stores

  /// The server has as many databases as it may have.
  case tooManyDatabases(max: Int)
  /// The directory of the databases cannot be used.
  case unusableDirectory(String, reason: String)
  /// Another process has opened the store of a database.
  case lockedDatabase(String, reason: String)
  /// The store of a database cannot be opened.
  case unusableDatabase(String, reason: String)

  // MARK: Network

  /// The program was built without this trait of the package.
  case missingTrait(String)
  /// The server cannot listen.
  case cannotListen(reason: String)
  /// The certificate or its key cannot be used.
  case unusableCertificate(reason: String)
  /// A server runs once.
  case alreadyRun
}

extension ServerError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .missingAdminSecret, .unusableAdminSecret, .unencryptedAddress, .exposedEmulator,
      .anyAddressWithoutEmulator, .missingAllowedHosts:
      unsafetyDescription
    case .invalidAddress(let text):
      "'\(text)' is not an address: use a literal IPv4 or IPv6 address, such as 127.0.0.1 or ::1, or localhost"
    case .invalidPort(let port): "\(port) is not a port: use a number from 0 to 65535"
    case .invalidOrigin(let text):
      "'\(text)' is not an origin (allowedOrigins, --allow-origin): use the form https://app.example or "
        + "http://app.example:3000, without a path"
    case .invalidTrustedProxy(let text, let reason):
      "'\(text)' is not a proxy's address (trustedProxies, --trusted-proxy): \(reason). Use the form 10.0.0.5 or "
        + "10.0.0.0/8"
    case .uselessTrustedProxy(let text, let address):
      "the proxy '\(text)' (trustedProxies, --trusted-proxy) cannot reach \(address), which is for this machine "
        + "only: set address (--address ADDRESS), or leave the proxy out"
    case .unreachableTrustedProxy(let text, let isVersion6):
      "the proxy '\(text)' (trustedProxies, --trusted-proxy) connects by \(isVersion6 ? "IPv6" : "IPv4"), and the "
        + "server listens on no such address: set address (--address ADDRESS), or leave the proxy out"
    case .invalidHost(let text):
      "'\(text)' is not a host (allowedHosts, --allow-host): use a name or an address without a port"
    case .invalidNumber(let option, let value): "\(value) is out of the range of \(option)"
    case .invalidDatabase(let name, let reason):
      "'\(name)' is not a database: \(Self.sentence(reason)) Use the form projects/my-project/databases/(default)"
    case .tooManyDatabases(let max):
      "the directory has \(max) databases, which is the limit: raise databasesMax"
    case .unusableDirectory(let path, let reason): "the directory \(path) cannot be used: \(reason)"
    case .lockedDatabase(let name, let reason):
      "the database \(name) is in use by another process: stop that one first. \(reason)"
    case .unusableDatabase(let name, let reason): "the database \(name) cannot be opened: \(reason)"
    case .missingTrait(let trait):
      "this program was built without the trait '\(trait)': build it with --traits Server,TLS"
    case .cannotListen(let reason), .unusableCertificate(let reason): reason
    case .alreadyRun: "the server has run already: create another one"
    }
  }

  /// A reason may already end with a full stop.
  private static func sentence(_ reason: String) -> String { reason.hasSuffix(".") ? reason : reason + "." }

  private var unsafetyDescription: String {
    switch self {
    case .missingAdminSecret:
      "the server needs an admin secret (adminSecret, --admin-secret-file), which every request has to carry. "
        + "Create one with: (umask 077; head -c 32 /dev/urandom | base64 > admin-secret). "
        + "For tests on this machine, isEmulator (--emulator) needs none"
    case .unusableAdminSecret(let reason):
      "the admin secret (adminSecret, --admin-secret-file) \(reason): create one with: "
        + "(umask 077; head -c 32 /dev/urandom | base64 > admin-secret)"
    case .unencryptedAddress(let address):
      "other machines can reach the address \(address), so secrets and documents would travel unencrypted: "
        + "set tls (--tls CERT KEY), or isBehindProxy (--behind-proxy) if a proxy encrypts, or listen on 127.0.0.1"
    case .exposedEmulator(let address):
      "other machines can reach the address \(address), and an emulator (isEmulator, --emulator) lets every "
        + "client read and delete everything: listen on 127.0.0.1, or set allowsAnyAddress "
        + "(--insecure-any-address)"
    case .anyAddressWithoutEmulator:
      "allowsAnyAddress (--insecure-any-address) is only for emulators (isEmulator, --emulator): use tls "
        + "(--tls CERT KEY) or isBehindProxy (--behind-proxy)"
    case .missingAllowedHosts:
      "a server behind a proxy (isBehindProxy, --behind-proxy) needs the names by which clients address it: "
        + "set allowedHosts (--allow-host NAME)"
    default: "the configuration is not safe"
    }
  }
}
