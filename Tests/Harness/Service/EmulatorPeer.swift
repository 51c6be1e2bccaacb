// Firestore's emulator as the peer of a comparison.

package import FirestoreService
import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Sends requests to an emulator, with the rights of an administrator.
package struct EmulatorPeer: RESTPeer {
  /// The emulator does not answer some requests at all.
  private static let secondsMax = 10.0

  private let address: String
  private let session: URLSession

  package init(_ address: String) {
    self.address = address
    let configuration = URLSessionConfiguration.ephemeral
    configuration.timeoutIntervalForRequest = Self.secondsMax
    session = URLSession(configuration: configuration)
  }

  /// Deletes all documents of a database.
  func clear(_ database: String) async {
    _ = await reply(
      to: RESTRequest(method: "DELETE", target: "/emulator/v1/\(database)/documents"))
  }

  package func reply(to request: RESTRequest) async -> RESTReply {
    guard let url = URL(string: "http://\(address)\(request.target)") else {
      return RESTReply(status: 0, body: .string("no address: \(request.target)"))
    }
    var message = URLRequest(url: url)
    message.httpMethod = request.method
    if !request.body.isEmpty { message.httpBody = Data(request.body) }
    message.setValue("application/json", forHTTPHeaderField: "Content-Type")
    message.setValue("Bearer owner", forHTTPHeaderField: "Authorization")
    do {
      let (data, response) = try await session.data(for: message)
      let status = (response as? HTTPURLResponse)?.statusCode ?? 0
      return RESTReply(status: status, body: JSONTree([UInt8](data)))
    } catch {
      return RESTReply(status: 0, body: .string("\(error)"))
    }
  }
}
