// The rows whose instructions are counted. Rows with the number of a benchmark measure what that benchmark
// measures.

package enum InstructionRow: String, CaseIterable, Sendable {
  case commit = "W1"
  case batch = "W3"
  case loadCommits = "W4-commits"
  case loadIndexes = "W4-indexes"
  case get = "W5"
  case orderedQuery20 = "W6-20"
  case orderedQuery1000 = "W6-1000"
  case equalityQuery = "W7"
  case scan = "W9"
  case update = "W14"
  case setDictionary = "setData-dictionary"
  case setCodable = "setData-Codable"
  case readCodable = "read(as:)"
  case readDictionary = "data()"
  case storeGet = "W21-store"
  case viewGet = "W21-view"
  case watchedCommit = "W16"
  case ballcapRead = "Ballcap-read"
  case ballcapSave = "Ballcap-save"

  package var name: String { rawValue }

  package var title: String {
    switch self {
    case .commit: "a commit of one document, three indexes"
    case .batch: "a document of a batch of 500, three indexes"
    case .loadCommits: "a document of a batch of 500, no index"
    case .loadIndexes: "a document, while three indexes are built"
    case .get: "a get, every field visited"
    case .orderedQuery20: "a query in order of a field, limit 20"
    case .orderedQuery1000: "a document of a query in order of a field, limit 1000"
    case .equalityQuery: "a query with an equality and an order, limit 20"
    case .scan: "a document of a scan"
    case .update: "an update of an indexed field, in a batch of 500"
    case .setDictionary: "WriteBatch.setData of a dictionary, without the commit"
    case .setCodable: "WriteBatch.setData of a Codable struct, without the commit"
    case .readCodable: "a get as a Codable struct"
    case .readDictionary: "a get as a dictionary"
    case .storeGet: "a get of a decoded document from the store"
    case .viewGet: "a get of a decoded document through the local view"
    case .watchedCommit: "W1 beside 1,000 live queries that it does not concern"
    case .ballcapRead: "a get as a Ballcap document"
    case .ballcapSave: "Batch.save of a Ballcap document, without the commit"
    }
  }
}
