// A folder that Google's tools import: gcloud, and Firestore's emulator.
//
//   NAME/NAME.overall_export_metadata                                          a log of two records
//   NAME/all_namespaces/all_kinds/all_namespaces_all_kinds.export_metadata     a message
//   NAME/all_namespaces/all_kinds/output-0, output-1, …                        logs of documents
//
//   record 1 of the overall metadata: "3"
//   record 2: 1: { 1: { 1: 2, 3: 3 }, 2: path of the other metadata, 3: documents, 4: bytes }
//   the other metadata: 1: { 1: NAME, 2: start, 3: end }, and for each file 2: { 1: "", 2: its name }
//
// Times are microseconds since 1970. The folder is written under a temporary name, as `ExportFile` does, and
// gets its name when it is complete.

import DocumentStore
import Foundation

final class FirestoreFolder: DocumentSink {
  private static let kinds = "all_namespaces/all_kinds"
  private static let kindMetadata = "all_namespaces/all_kinds/all_namespaces_all_kinds.export_metadata"
  /// A file that has reached this size is followed by another one.
  static let fileBytes = 256 << 20

  private let target: String
  private let part: ExportFolder
  private let writer: DatastoreEntityWriter
  private let fileBytes: Int
  private let start: Int64
  private let interruption = Interruption(by: [SIGINT, SIGTERM, SIGHUP], waits: false)
  private var log: RecordLogWriter?
  private var logs = 0
  private var documents = 0
  private var byteCount = 0

  init(
    _ path: String, project: String, fileBytes: Int = FirestoreFolder.fileBytes
  ) throws(DocumentStoreError) {
    part = try ExportFolder(path)
    target = part.target
    writer = DatastoreEntityWriter(project: project)
    self.fileBytes = fileBytes
    start = Self.now()
    try part.makeFolder(Self.kinds)
  }

  private static func now() -> Int64 { Int64(Date().timeIntervalSince1970 * 1_000_000) }

  let examinesFirst = false
  func examine(_ document: StoredDocument) {}
  func begin() throws(DocumentStoreError) { try nextLog() }

  func checkNotInterrupted() throws(DocumentStoreError) {
    guard interruption.isSignaled else { return }
    throw .aborted("ended by a signal. Its output was removed.")
  }

  func write(_ document: StoredDocument) throws(DocumentStoreError) {
    if let log, log.byteCount >= fileBytes { try nextLog() }
    try log?.append(writer.entity(of: document))
    documents += 1
  }

  private func nextLog() throws(DocumentStoreError) {
    try endLog()
    log = try RecordLogWriter(part.path(of: "\(Self.kinds)/output-\(logs)"))
    logs += 1
  }

  private func endLog() throws(DocumentStoreError) {
    try log?.finish()
    byteCount += log?.byteCount ?? 0
    log = nil
  }

  func finish() throws(DocumentStoreError) {
    try checkNotInterrupted()
    try endLog()
    let name = String(target.split(separator: "/").last ?? "export")
    try part.write(kindMetadata(name), to: Self.kindMetadata)
    let overall = try RecordLogWriter(part.path(of: "\(name).overall_export_metadata"))
    try overall.append(Array("3".utf8))
    try overall.append(overallMetadata)
    try overall.finish()
    try part.finish()
  }

  private func kindMetadata(_ name: String) -> [UInt8] {
    ProtobufWriter.message { metadata in
      metadata.message(1) { export in
        export.text(1, name)
        export.varint(2, UInt64(bitPattern: start))
        export.varint(3, UInt64(bitPattern: Self.now()))
      }
      for number in 0..<logs {
        metadata.message(2) { file in
          file.bytes(1, [])
          file.text(2, "output-\(number)")
        }
      }
    }
  }

  private var overallMetadata: [UInt8] {
    ProtobufWriter.message { metadata in
      metadata.message(1) { export in
        export.message(1) { version in
          version.varint(1, 2)
          version.varint(3, 3)
        }
        export.text(2, Self.kindMetadata)
        export.varint(3, UInt64(documents))
        export.varint(4, UInt64(byteCount))
      }
    }
  }
}
