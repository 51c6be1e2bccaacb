// The methods of Firestore's protocol, and what their answers must be.

import FirestoreService
import FirestoreWire
import OfflineSync

/// The methods, and the messages with which they answer.
enum ServiceMethods {
  /// How many messages a call that succeeds sends. A call that fails sends none, unless it is a stream.
  enum Count { case one, stream, none }

  struct Method {
    var name: String
    var count = Count.one
    /// The messages of the protocol, and those that a client of Dugout gets in their place.
    var answers: [any WireMessage.Type]

    /// Checks that an answer is a message of the method. A reader skips fields that it does not know, so the
    /// message must have the same bytes when it is written again.
    func check(_ bytes: [UInt8], _ format: WireFormat) throws(FuzzFinding) {
      var reason = "the method has no answers"
      for type in answers {
        do throws(RemoteError) {
          if try again(type, bytes, format) == bytes { return }
          reason = "it has other bytes as \(type)"
        } catch {
          reason = "\(error)"
        }
      }
      throw FuzzFinding("an answer of \(name) is not one of its messages: \(reason)")
    }

    func check(answers number: Int, _ error: RemoteError?) throws(FuzzFinding) {
      let isRight =
        switch count {
        case .one: number == (error == nil ? 1 : 0)
        case .stream: true
        case .none: number == 0 && error != nil
        }
      guard isRight else {
        throw FuzzFinding("\(name) has \(number) answers, and the status \(error, default: "OK")")
      }
    }

    private func again<Message: WireMessage>(
      _ type: Message.Type, _ bytes: [UInt8], _ format: WireFormat
    ) throws(RemoteError) -> [UInt8] {
      try format.encode(try format.decode(Message.self, bytes) as Message)
    }
  }

  static let all = [
    Method(name: "GetDocument", answers: [Wire.Document.self]),
    Method(name: "ListDocuments", answers: [Wire.ListDocumentsResponse.self]),
    Method(name: "CreateDocument", answers: [Wire.Document.self]),
    Method(name: "UpdateDocument", answers: [Wire.Document.self]),
    Method(name: "DeleteDocument", answers: [EmptyMessage.self]),
    Method(name: "BatchGetDocuments", count: .stream, answers: [Wire.BatchGetDocumentsResponse.self]),
    Method(name: "BeginTransaction", answers: [Wire.BeginTransactionResponse.self]),
    Method(name: "Commit", answers: [Wire.CommitResponse.self]),
    Method(name: "Rollback", answers: [EmptyMessage.self]),
    Method(
      name: "RunQuery", count: .stream,
      answers: [Wire.RunQueryResponse.self, Wire.ExplainedQueryResponse.self]),
    Method(
      name: "RunAggregationQuery", count: .stream,
      answers: [Wire.RunAggregationQueryResponse.self, Wire.ExplainedAggregationResponse.self]),
    Method(
      name: "Write", count: .stream, answers: [Wire.WriteResponse.self, Wire.IdentifiedWriteResponse.self]),
    Method(name: "Listen", count: .stream, answers: [Wire.ListenResponse.self]),
    Method(name: "ListCollectionIds", answers: [Wire.ListCollectionIdsResponse.self]),
    Method(name: "BatchWrite", answers: [Wire.BatchWriteResponse.self]),
    Method(name: "PartitionQuery", answers: [Wire.PartitionQueryResponse.self]),
    Method(name: "ExecutePipeline", count: .none, answers: []),
  ]
}

/// `google.protobuf.Empty`.
private struct EmptyMessage: WireMessage {
  mutating func visit(_ visitor: inout (some FieldVisitor & ~Escapable)) throws(WireError) {}
}
