// The configuration of a server, with safe defaults.

/// How a server listens, whom it serves, and what it reports.
///
/// The defaults are safe: the server listens on this machine only and wants credentials there, too. It
/// refuses combinations that would expose data.
public struct ServerConfiguration: Sendable {
  /// The address to listen on, as a literal IPv4 or IPv6 address. `localhost` stands for `127.0.0.1`. An
  /// address that is not of this machine only needs `tls` or `isBehindProxy`.
  public var address = "127.0.0.1"
  /// The port to listen on; 0 lets the system choose one.
  public var port = 8080
  /// The certificate and the key of encrypted connections. Without them, connections are not encrypted.
  public var tls: TLSFiles?
  /// Whether a proxy in front of the server encrypts connections. Needs `allowedHosts`. Unless
  /// `trustedProxies` names the proxies, every connection is taken for one of a proxy.
  public var isBehindProxy = false
  /// The addresses from which proxies or load balancers connect, such as `10.0.0.5`, `10.0.0.0/8` or
  /// `2001:db8::/32`. The clients of a proxy share its address and its connections, so the limits of an
  /// address and of a connection do not apply to them. With `isBehindProxy`, proxies of this machine need not
  /// be named.
  public var trustedProxies: [String] = []
  /// Whether the server behaves as Google's emulator: requests need no credentials, databases are created
  /// when they are first used, and all documents of a database can be deleted.
  public var isEmulator = false
  /// Whether an emulator may listen on an address that is not of this machine only. Every client that reaches
  /// that address can then read and delete everything.
  public var allowsAnyAddress = false
  /// The secret of requests that may do everything: `Authorization: Bearer SECRET`. It has at least 16
  /// characters. Needed unless the server is an emulator.
  public var adminSecret: String?
  /// Origins of web pages that may call the server, such as `https://app.example`. Pages of this machine may
  /// always call it.
  public var allowedOrigins: [String] = []
  /// Names by which clients may address the server, besides the names of this machine and `address`. A port
  /// is not part of a name.
  public var allowedHosts: [String] = []
  /// The address of the admin listener.
  public var adminAddress = "127.0.0.1"
  /// The port of the admin listener, which answers `/healthz`, `/readyz` and `/metrics`. Nil if there is no
  /// admin listener.
  public var adminPort: Int?
  /// Where the server writes its log.
  public var log = ServerLog.none
  /// Open requests have this number of seconds to finish when the server shuts down.
  public var drainSeconds = 10
  /// The maximum number of databases of a server over a directory.
  public var databasesMax = 100

  /// Creates the default configuration. It lacks `adminSecret`, which a server needs unless it is an
  /// emulator.
  public init() {}
}

/// The files of a certificate in PEM form.
public struct TLSFiles: Sendable, Hashable {
  /// The path of the certificate, followed by the certificates that signed it.
  public var certificate: String
  /// The path of the private key.
  public var key: String

  /// Creates the pair of files.
  public init(certificate: String, key: String) {
    self.certificate = certificate
    self.key = key
  }
}

/// The ports at which a server listens.
public struct ServerAddresses: Sendable, Hashable {
  /// The port of the server.
  public var port: Int
  /// The port of the admin listener; nil if there is none.
  public var adminPort: Int?

  /// Creates a pair of ports.
  public init(port: Int, adminPort: Int? = nil) {
    self.port = port
    self.adminPort = adminPort
  }
}
