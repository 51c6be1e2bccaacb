// One record for itself, as tests read it. A commit encodes all of its records behind each other.

@testable import DocumentStore

extension RecordEncoder {
  mutating func encode(_ document: StoredDocument) -> [UInt8] {
    let place = append(document)
    return Array(bytes[place])
  }
}
