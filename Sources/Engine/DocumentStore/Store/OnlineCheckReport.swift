// The result and the progress of an online check.

package import ByteStore
import StoreTools

/// The step that an online check is in, and how much of it is done.
package struct OnlineCheckProgress: Sendable, Equatable {
  package enum Step: Sendable {
    /// Reads all files.
    case files
    /// Compares the documents with the indexes.
    case indexes
    /// Reads every document by its name, because damage was found.
    case documents
  }

  package var step: Step
  package var done: UInt64
  /// The amount of work of this step; an estimate.
  package var total: UInt64
}

/// The result of an online check.
package struct OnlineCheckReport: Sendable, Equatable {
  /// The data that a finding concerns.
  package enum Loss: Sendable {
    case documents
    /// Commits in the WAL, which the open store still has in memory.
    case recentWrites
    case contents
    /// The whole store, from the next open on.
    case database
    /// Data that is derived from documents and can be rebuilt.
    case nothing
  }

  package struct Finding: Sendable, Equatable {
    package var loss: Loss
    /// The file and the offset of the damage; nil if an index disagrees with the documents.
    package var file: String?
    package var offset: UInt64?
    package var message: String
  }

  /// The maximum number of names in a list. Further names are only counted.
  package static let namesMax = 1000

  package private(set) var findings: [Finding] = []
  package private(set) var findingsOmitted = 0
  /// The documents that cannot be read, by name.
  package private(set) var lostDocuments: [String] = []
  package private(set) var lostDocumentsOmitted = 0
  package private(set) var files: Int
  /// Files that a flush removed or recycled before they were checked.
  package private(set) var filesSkipped: Int
  package private(set) var bytesVerified: UInt64
  package private(set) var lastCommit: SequenceNumber
  /// The number of user documents that were compared with the indexes; nil if damage prevented the
  /// comparison.
  package private(set) var documents: Int?
  package private(set) var indexes = 0

  init(_ report: CheckReport) {
    findings = report.findings.map {
      Finding(loss: Self.loss(of: $0), file: $0.file, offset: $0.offset, message: $0.description)
    }
    findingsOmitted = report.findingsOmitted
    files = report.files
    filesSkipped = report.filesSkipped
    bytesVerified = report.bytesVerified
    lastCommit = report.lastCommit
  }

  /// Whether all findings concern contents, which are verified last. The documents can be read in this case.
  var isReadable: Bool { findings.allSatisfy { $0.loss == .contents } }

  var hasLostContents: Bool { findings.contains { $0.loss == .contents } }

  mutating func add(_ agreement: StoreAgreement) {
    findings += agreement.contradictions.map {
      Finding(loss: .nothing, file: nil, offset: nil, message: $0)
    }
    findingsOmitted += agreement.contradictionsOmitted
    documents = agreement.documents
    indexes = agreement.indexes
  }

  mutating func addLostDocument(_ name: String) {
    guard lostDocuments.count < Self.namesMax else {
      lostDocumentsOmitted += 1
      return
    }
    lostDocuments.append(name)
  }

  private static func loss(of damage: Damage) -> Loss {
    // An entry with valid checksums that is not a valid record.
    if damage.expected == "a record" { return .documents }
    let names = damage.file.split(separator: "/").map(String.init)
    let name = names.last ?? ""
    if names.dropLast().last == BlobName.folder { return .contents }
    if StoreFile.segmentNumber(of: name) != nil { return .documents }
    if StoreFile.isCheckpoint(name) { return .nothing }
    return StoreFile.logNumber(of: name) != nil ? .recentWrites : .database
  }
}
