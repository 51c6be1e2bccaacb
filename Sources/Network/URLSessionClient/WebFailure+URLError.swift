// Errors of URLSession.

internal import Foundation
internal import HTTPClient

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

extension WebFailure {
  init(_ error: any Error) {
    let message = error.localizedDescription
    guard let code = (error as? URLError)?.code else {
      self.init(message)
      return
    }
    switch code {
    case .badURL, .unsupportedURL, .cannotFindHost, .cannotConnectToHost, .dnsLookupFailed,
      .notConnectedToInternet, .internationalRoamingOff, .dataNotAllowed, .callIsActive,
      .appTransportSecurityRequiresSecureConnection:
      self.init(message, isUnsent: true)
    case .secureConnectionFailed, .serverCertificateHasBadDate, .serverCertificateUntrusted,
      .serverCertificateHasUnknownRoot, .serverCertificateNotYetValid, .clientCertificateRejected,
      .clientCertificateRequired:
      self.init("TLS has failed: \(message)", isUnsent: true)
    default:
      // FoundationNetworking has no codes for most failures of TLS, but the description of libcurl.
      let isTLS = message.contains("SSL") || message.contains("certificate")
      self.init(
        isTLS ? "TLS has failed: \(message)" : message, isUnsent: message.contains("certificate problem"))
    }
  }
}
