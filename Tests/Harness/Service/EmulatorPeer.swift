// Firestore's emulator as the peer of a comparison.

import Dispatch
package import FirestoreService

/// Sends requests to an emulator, with the rights of an administrator.
package struct EmulatorPeer: RESTPeer {
  /// The emulator does not answer some requests at all.
  private static let secondsMax = 10

  private let client: LoopbackHTTP

  package init(_ address: String) { client = LoopbackHTTP(address, secondsMax: Self.secondsMax) }

  /// Deletes all documents of a database.
  func clear(_ database: String) async {
    _ = await reply(
      to: RESTRequest(method: "DELETE", target: "/emulator/v1/\(database)/documents"))
  }

  package func reply(to request: RESTRequest) async -> RESTReply {
    // The client blocks its thread, which must not be one of the tasks of the tests.
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async { continuation.resume(returning: blockingReply(to: request)) }
    }
  }

  private func blockingReply(to request: RESTRequest) -> RESTReply {
    let headers = [("Content-Type", "application/json"), ("Authorization", "Bearer owner")]
    do {
      let (status, body) = try client.reply(
        request.method, request.target, headers: headers.map { (name: $0, value: $1) },
        body: request.body)
      return RESTReply(status: status, body: JSONTree(body))
    } catch {
      return RESTReply(status: 0, body: .string("\(error)"))
    }
  }
}
