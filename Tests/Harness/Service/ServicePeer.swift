// Our service as the peer of a comparison.

import Authority
import ByteStore
import DocumentStore
package import FirestoreService
import FirestoreWire
import OfflineSync

/// A service over stores in memory, called in JSON. Each database is created when it is first named.
package final class ServicePeer: RESTPeer {
  private let service: FirestoreService

  package init() {
    service = FirestoreService { _ throws(RemoteError) in
      do throws(DocumentStoreError) {
        return try Authority.of(try DocumentStore.openInMemory())
      } catch {
        throw RemoteError(error)
      }
    }
  }

  package func reply(to request: RESTRequest) async -> RESTReply {
    let answer = answer(to: request)
    return RESTReply(status: answer.status, body: JSONTree(answer.body))
  }

  /// The messages of an answer, each as JSON.
  func messages(of request: RESTRequest) throws -> [[UInt8]] {
    let call = try RESTCall(request)
    return events(of: call).compactMap { if case .message(let bytes) = $0 { bytes } else { nil } }
  }

  private func events(of call: RESTCall) -> [ServiceEvent] {
    let events = Locked<[ServiceEvent]>([])
    let handle = service.handle(call.method, metadata: CallMetadata(), format: .json) { event in
      events.withLock { $0.append(event) }
    }
    handle.send(call.request)
    handle.finish()
    return events.withLock { $0 }
  }

  private func answer(to request: RESTRequest) -> RESTAnswer {
    do throws(RemoteError) {
      let call = try RESTCall(request)
      return RESTAnswer(to: call, events(of: call))
    } catch {
      return RESTAnswer(error)
    }
  }
}
