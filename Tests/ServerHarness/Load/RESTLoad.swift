// Clients of the REST API over HTTP/1.1.

#if Server
import ByteStore
import Dispatch
package import DocumentStore
import FirestoreWire
import Harness

package final class RESTLoad: ServedLoad {
  private static let unavailable = 503
  private static let overloaded = 429

  package let name = "rest"
  package let collections = ["rest"]
  package let tally = LoadTally()
  private let clients: Locked<[NumberedWrites]>

  package init(clients: Int) {
    self.clients = Locked([NumberedWrites](repeating: NumberedWrites(), count: clients))
  }

  package func run(_ client: FirestoreClient, port: Int) async {
    await withTaskGroup(of: Void.self) { tasks in
      for number in clients.withLock({ $0.indices }) {
        tasks.addTask { [self] in
          // The client blocks its thread, which must not be one of the tasks.
          await withCheckedContinuation { continuation in
            DispatchQueue.global().async { [self] in
              run(number, client, LoopbackHTTP("127.0.0.1:\(port)", secondsMax: 20))
              continuation.resume()
            }
          }
        }
      }
    }
  }

  private func run(_ client: Int, _ firestore: FirestoreClient, _ http: LoopbackHTTP) {
    let headers = [
      (name: "Content-Type", value: "application/json"), (name: "Authorization", value: "Bearer owner"),
    ]
    while true {
      let number = clients.withLock { $0[client].begin() }
      let body = commitBody(client, number, firestore.database.documentsName)
      do {
        let (status, answer) = try http.reply(
          "POST", "/v1/\(firestore.database.documentsName):commit", headers: headers, body: Array(body.utf8))
        switch status {
        case 200:
          tally.acknowledge()
          clients.withLock { $0[client].acknowledge(number) }
        case Self.overloaded: clients.withLock { $0[client].withdraw(number) }
        case Self.unavailable: return
        default:
          return tally.noteUnexpected(
            "REST answers with \(status): \(String(decoding: answer.prefix(300), as: UTF8.self))")
        }
      } catch {
        // The connection was refused or lost.
        _ = tally.note(GRPCEnd(code: 14, message: "\(error)", origin: .connection), of: "REST")
        return
      }
    }
  }

  private func commitBody(_ client: Int, _ number: Int, _ documents: String) -> String {
    let writes = ["a", "b"].map { part in
      #"{"update":{"name":"\#(documents)/rest/\#(client)-\#(part)","#
        + #""fields":{"n":{"integerValue":"\#(number)"}}}}"#
    }
    return #"{"writes":[\#(writes.joined(separator: ","))]}"#
  }

  package func judge(_ documents: [DocumentPath: StoredDocument]) throws {
    try clients.withLock { clients in
      for client in clients.indices {
        let found = ["a", "b"].map { documents[FirestoreClient.path("rest", "\(client)-\($0)")]?.number ?? 0 }
        guard found[0] == found[1] else { throw Violation("a commit by REST is half applied: \(found)") }
        try clients[client].adopt(found[0], of: "REST client \(client)")
      }
    }
  }
}
#endif
