// Encodes a single record for tests. A commit encodes all of its records into one buffer.

@testable import DocumentStore

extension RecordEncoder {
  mutating func encode(_ document: StoredDocument) -> [UInt8] {
    let place = append(document)
    return Array(bytes[place])
  }
}
