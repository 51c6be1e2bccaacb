// Errors of a server that cannot start.

internal import Libc

/// The reason why a server could not be started.
package enum TransportError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The program was built without this trait of the package.
  case missingTrait(String)
  /// The address is in use, or is not one of this machine.
  case address(String, port: Int, error: Int32)
  case system(call: String, error: Int32)
  /// A certificate or a key cannot be used.
  case certificate(file: String, reason: String)

  package var description: String {
    switch self {
    case .missingTrait(let trait):
      "this program was built without the trait '\(trait)': build it with --traits Server,TLS"
    case .address(let address, let port, let error):
      "cannot listen on \(address):\(port): \(Self.text(error))"
    case .system(let call, let error): "\(call) failed: \(Self.text(error))"
    case .certificate(let file, let reason): "cannot use the certificate or key in \(file): \(reason)"
    }
  }

  private static func text(_ error: Int32) -> String {
    unsafe strerror(error).map { unsafe String(cString: $0) } ?? "error \(error)"
  }
}
