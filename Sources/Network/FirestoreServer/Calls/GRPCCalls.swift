// The calls of gRPC.

internal import FirestoreService
internal import HTTPTransport
internal import OfflineSync

/// Answers calls of google.firestore.v1.Firestore and of grpc.health.v1.Health.
struct GRPCCalls: GRPCHandler {
  let runner: CallRunner

  func begin(_ call: GRPCRequest, _ answer: GRPCAnswer) -> any GRPCReceiver {
    let method = ServerMethod(path: call.method)
    let record = RequestRecord(runner.journal, call.connection, by: .grpc, method: method)
    do throws(RemoteError) {
      // A client that asks for the health of the server has no credentials.
      if method == .healthCheck { return HealthCall(runner, record, answer: answer) }
      let caller = try caller(call)
      guard !runner.streams.isDraining else {
        runner.journal.metrics.refused(.draining)
        throw CallRunner.draining
      }
      let metadata = runner.metadata(caller, call.connection, with: call.fields)
      switch method {
      case .unknown:
        throw RemoteError(.unimplemented, "Method not found: \(call.method.drop { $0 == "/" })")
      case .listen, .write:
        return try StreamCall(runner, method, metadata: metadata, record: record, answer: answer)
      default: return SingleCall(runner, method, metadata: metadata, record: record, answer: answer)
      }
    } catch {
      record.end(error)
      answer.end(GRPCStatus(error))
      return EndedCall()
    }
  }

  private func caller(_ call: GRPCRequest) throws(RemoteError) -> Caller {
    do throws(RemoteError) { return try runner.credentials.caller(of: call.fields) } catch {
      runner.journal.refused(.credentials, call.connection)
      throw error
    }
  }
}

/// A call that has ended at its beginning.
private final class EndedCall: GRPCReceiver {
  func receive(_ message: [UInt8]) {}
  func finish() {}
  func cancel() {}
}
