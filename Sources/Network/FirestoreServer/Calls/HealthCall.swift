// The call grpc.health.v1.Health/Check.
//
//   HealthCheckRequest  { string service = 1; }
//   HealthCheckResponse { ServingStatus status = 1; }        1: SERVING, 2: NOT_SERVING

internal import ByteStore
internal import FirestoreWire
internal import HTTPTransport
internal import OfflineSync

/// Tells whether the server accepts calls.
final class HealthCall: GRPCReceiver, @unchecked Sendable {
  // Why `@unchecked Sendable` is correct: `isOver` is only used on the loop of the connection.

  private static let services: Set<String> = ["", "google.firestore.v1.Firestore"]
  private static let serving: [UInt8] = [0x08, 1]
  private static let notServing: [UInt8] = [0x08, 2]

  private let runner: CallRunner
  private let record: RequestRecord
  private let answer: GRPCAnswer
  private var isOver = false

  init(_ runner: CallRunner, _ record: RequestRecord, answer: GRPCAnswer) {
    self.runner = runner
    self.record = record
    self.answer = answer
  }

  func receive(_ message: [UInt8]) {
    guard !isOver else { return }
    record.received(message.count)
    guard let service = Self.service(message) else {
      return end(RemoteError(.invalidArgument, "The request cannot be read."))
    }
    guard Self.services.contains(service) else {
      return end(RemoteError(.notFound, "The server has no such service."))
    }
    let status = runner.streams.isDraining ? Self.notServing : Self.serving
    record.sent(status.count)
    answer.send(status)
    end(nil)
  }

  func finish() {
    if !isOver { end(RemoteError(.invalidArgument, "The call ended without a request.")) }
  }

  func cancel() {
    isOver = true
    record.end(code: answer.status?.code ?? RemoteError.Code.cancelled.rawValue)
  }

  private func end(_ error: RemoteError?) {
    isOver = true
    record.end(error)
    answer.end(GRPCStatus(error))
  }

  private static func service(_ message: [UInt8]) -> String? {
    var service = ""
    do throws(WireError) {
      var reader = try ProtobufReader(message.rawSpan)
      while let tag = try reader.tag() {
        if tag == ProtobufTag(1, .length) { service = try reader.string() } else { try reader.skip(tag) }
      }
    } catch {
      return nil
    }
    return service
  }
}
