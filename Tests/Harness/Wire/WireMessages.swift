// All messages, for tests and campaigns that treat them alike.

package import FirestoreWire

package enum WireMessages {
  /// The messages that only clients and servers of Dugout know.
  package static let own: [any WireMessage.Type] = [
    Wire.IdentifiedWriteResponse.self, Wire.WriteIdentity.self, Wire.RunRegistrations.self,
    Wire.ExplainedQueryResponse.self, Wire.ExplainedAggregationResponse.self,
  ]

  /// The messages of Firestore.
  package static let all: [any WireMessage.Type] = [
    Wire.AggregationResult.self,
    Wire.ArrayValue.self,
    Wire.BatchGetDocumentsRequest.self,
    Wire.BatchGetDocumentsResponse.self,
    Wire.BatchWriteRequest.self,
    Wire.BatchWriteResponse.self,
    Wire.BeginTransactionRequest.self,
    Wire.BeginTransactionResponse.self,
    Wire.BitSequence.self,
    Wire.BloomFilter.self,
    Wire.CommitRequest.self,
    Wire.CommitResponse.self,
    Wire.CreateDocumentRequest.self,
    Wire.Cursor.self,
    Wire.DeleteDocumentRequest.self,
    Wire.Document.self,
    Wire.DocumentChange.self,
    Wire.DocumentDelete.self,
    Wire.DocumentMask.self,
    Wire.DocumentRemove.self,
    Wire.DocumentTransform.self,
    Wire.DocumentTransform.FieldTransform.self,
    Wire.ExistenceFilter.self,
    Wire.ExplainOptions.self,
    Wire.GetDocumentRequest.self,
    Wire.ListCollectionIdsRequest.self,
    Wire.ListCollectionIdsResponse.self,
    Wire.ListDocumentsRequest.self,
    Wire.ListDocumentsResponse.self,
    Wire.ListenRequest.self,
    Wire.ListenResponse.self,
    Wire.PartitionQueryRequest.self,
    Wire.PartitionQueryResponse.self,
    Wire.Precondition.self,
    Wire.RequestOptions.self,
    Wire.RollbackRequest.self,
    Wire.RunAggregationQueryRequest.self,
    Wire.RunAggregationQueryResponse.self,
    Wire.RunQueryRequest.self,
    Wire.RunQueryResponse.self,
    Wire.StructuredAggregationQuery.self,
    Wire.StructuredAggregationQuery.Aggregation.self,
    Wire.StructuredAggregationQuery.Aggregation.Avg.self,
    Wire.StructuredAggregationQuery.Aggregation.Count.self,
    Wire.StructuredAggregationQuery.Aggregation.Sum.self,
    Wire.StructuredQuery.self,
    Wire.StructuredQuery.CollectionSelector.self,
    Wire.StructuredQuery.CompositeFilter.self,
    Wire.StructuredQuery.FieldFilter.self,
    Wire.StructuredQuery.FieldReference.self,
    Wire.StructuredQuery.Filter.self,
    Wire.StructuredQuery.FindNearest.self,
    Wire.StructuredQuery.Order.self,
    Wire.StructuredQuery.Projection.self,
    Wire.StructuredQuery.UnaryFilter.self,
    Wire.Target.self,
    Wire.Target.DocumentsTarget.self,
    Wire.Target.QueryTarget.self,
    Wire.TargetChange.self,
    Wire.TransactionOptions.self,
    Wire.TransactionOptions.ReadOnly.self,
    Wire.TransactionOptions.ReadWrite.self,
    Wire.UpdateDocumentRequest.self,
    Wire.Write.self,
    Wire.WriteRequest.self,
    Wire.WriteResponse.self,
    Wire.WriteResult.self,
    Wire.Status.self,
  ]

  /// The name of a message or an enum in the protocol.
  package static func name<Type>(of type: Type.Type) -> String {
    let name = String(reflecting: type)
    let prefix = "FirestoreWire.Wire."
    let short = name.hasPrefix(prefix) ? String(name.dropFirst(prefix.count)) : name
    switch short {
    case "Status": return "google.rpc.Status"
    case "Timestamp": return "google.protobuf.Timestamp"
    default: return "google.firestore.v1." + short
    }
  }
}
