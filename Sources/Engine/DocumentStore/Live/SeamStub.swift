// SEAM
import ByteStore
package struct CommitOutcome: Sendable, Equatable {
  package struct Write: Sendable, Equatable { package var updateTime: StoredTimestamp?; package var previousUpdateTime: StoredTimestamp?; package var transformResults: [StoredValue] }
  package var time: StoredTimestamp; package var writes: [Write] }
package struct CommitRecord: Sendable { package var path: DocumentPath; package var fields: @Sendable (CommitOutcome) -> StoredMap }
extension DocumentStore {
  package func commit(_ mutations: [Mutation], recording: CommitRecord?) throws(DocumentStoreError) -> CommitOutcome { CommitOutcome(time: try commit(mutations), writes: []) }
  package func beginCommit(_ mutations: [Mutation], recording: CommitRecord?) throws(DocumentStoreError) -> CommitInProgress { try begin(mutations) }
  package func finishCommit(_ c: CommitInProgress) throws(DocumentStoreError) -> CommitOutcome { CommitOutcome(time: try finish(c), writes: []) }
}
extension StoreTransaction { package func commit(recording: CommitRecord?) throws(DocumentStoreError) -> CommitOutcome? { try commit().map { CommitOutcome(time: $0, writes: []) } }
  package func aggregate(_ aggregates: [Aggregate], over query: StructuredQuery) throws(DocumentStoreError) -> [StoredValue] { fatalError() } }
