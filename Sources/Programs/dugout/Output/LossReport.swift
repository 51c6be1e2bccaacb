// The file that names what a salvage lost: one line of JSON for each loss, and a last line with the numbers.
//
//   {"lost":"document","path":P}         the value of a document
//   {"lost":"file","file":F}             the record of a file of the storage, by bucket and name
//   {"lost":"record","name":N}           another record of the store
//   {"lost":"undecodable","name":N}      a record that is only in the files that were set aside
//   {"lost":"unnamed","collection":C,"documentsAtMost":N}
//                                        names that cannot be read; an unknown collection or number is null
//   {"lost":"commits","first":A,"last":B}
//   {"lost":"log","file":F,"offset":O,"length":L,"reason":R}
//   {"lost":"nothing","possiblyOlder":P} a document whose value may have been replaced or deleted later
//   {"summary":…}
//
// The file is complete and on stable storage before the salvage changes the store. A salvage that is
// interrupted later therefore has its report.

import ByteStore
import DocumentStore
import Foundation
import ObjectStore
import StoreTools

final class LossReport {
  /// Only this many names are printed.
  static let namesMax = 20
  private static let bufferBytes = 64 << 10

  /// The path of the file; nil while there is nothing to report.
  private(set) var path: String?
  private(set) var names: [String] = []
  private(set) var documents = 0
  /// The number of lost documents by the id of their collection.
  private(set) var collections: [String: Int] = [:]
  private var olderDocuments = 0

  private let directory: String
  private let wanted: String?
  private var descriptor: Int32 = -1
  private var buffer: [UInt8] = []

  /// Creates no file yet. Without `wanted`, the file gets a name of its own next to the store.
  init(of directory: String, at wanted: String?) {
    self.directory = directory
    self.wanted = wanted
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  var observer: SalvageObserver {
    SalvageObserver(
      lost: { loss throws(ByteStoreError) in try self.add(loss) },
      gathered: { report throws(ByteStoreError) in try self.finish(report) })
  }

  /// Removes the file of a salvage that failed, because nothing was changed.
  func discard() {
    guard let path else { return }
    unlink(path)
    self.path = nil
  }

  // MARK: Losses

  private func add(_ loss: SalvageLoss) throws(ByteStoreError) {
    switch loss {
    case .entry(let key): try addEntry(SalvageLoss.path(of: key), key)
    case .undecodable(let name): try write(["lost": "undecodable", "name": name])
    case .possiblyOlder(let key):
      guard let path = SalvageLoss.path(of: key), !path.isReserved else { return }
      olderDocuments += 1
      try write(["lost": "nothing", "possiblyOlder": path.description])
    case .unreadableKeys(let keys):
      try write(["lost": "unnamed", "collection": keys.group, "documentsAtMost": keys.count])
    }
  }

  private func addEntry(_ path: DocumentPath?, _ key: [UInt8]) throws(ByteStoreError) {
    guard let path else { return try write(["lost": "record", "name": "a key of \(key.count) bytes"]) }
    if let object = ObjectPath(path) {
      let name = "\(object.bucket)/\(object.name)"
      note("file \(ShownText.escaped(name))")
      return try write(["lost": "file", "file": name])
    }
    guard !path.isReserved else { return try write(["lost": "record", "name": path.description]) }
    documents += 1
    collections[path.parent.id, default: 0] += 1
    note(PathText.printed(path.segments))
    try write(["lost": "document", "path": path.description])
  }

  private func note(_ name: String) { if names.count < Self.namesMax { names.append(name) } }

  private func finish(_ report: SalvageReport) throws(ByteStoreError) {
    for range in report.commitsMissing {
      try write(["lost": "commits", "first": range.lowerBound, "last": range.upperBound])
    }
    for gap in report.gaps {
      var object = gap.object
      object["lost"] = "log".json
      try write(object)
    }
    guard path != nil || SalvageCommand.hasLoss(report) else { return }
    try write(["summary": summary(of: report)])
    try flush()
    try call("fsync") { fsync(descriptor) }
    close(descriptor)
    descriptor = -1
  }

  private func summary(of report: SalvageReport) -> JSON {
    [
      "store": directory, "documents": documents, "collections": collections,
      "records": report.entriesLost, "unnamed": report.entriesUnnamed,
      "undecodable": report.undecodable.count, "possiblyOlder": report.keysPossiblyStale,
      "commits": report.commitsMissing.reduce(UInt64(0)) { $0 &+ ($1.upperBound &- $1.lowerBound &+ 1) },
      "gapsInLogs": report.gaps.count, "kept": report.keys,
    ]
  }

  // MARK: The file

  private func write(_ object: JSON) throws(ByteStoreError) {
    if descriptor < 0 { try create() }
    buffer += Array((object.description + "\n").utf8)
    if buffer.count >= Self.bufferBytes { try flush() }
  }

  private func create() throws(ByteStoreError) {
    let candidates = wanted.map { [$0] } ?? Self.names(for: directory)
    for candidate in candidates {
      descriptor = open(candidate, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
      if descriptor >= 0 {
        path = candidate
        return
      }
      // A report of an earlier salvage stays.
      guard errno == EEXIST, candidate != candidates.last else {
        throw .system(SystemFailure(operation: "open", path: candidate, code: errno))
      }
    }
  }

  /// The names to try, in order. The file is next to the store, because a store's directory may contain no
  /// other file.
  static func names(for directory: String) -> [String] {
    let place = URL(fileURLWithPath: directory).standardizedFileURL.path
    let isPlain = ![".", ".."].contains(directory.split(separator: "/").last ?? ".")
    var start = directory.hasPrefix("/") || !isPlain ? place : directory
    while start.count > 1, start.hasSuffix("/") { start.removeLast() }
    return [start + ".lost.jsonl"] + (2...999).map { "\(start).lost-\($0).jsonl" }
  }

  private func flush() throws(ByteStoreError) {
    var start = 0
    while start < buffer.count {
      let count = buffer.withUnsafeBytes { bytes in
        Foundation.write(descriptor, bytes.baseAddress?.advanced(by: start), bytes.count - start)
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else {
        throw .system(SystemFailure(operation: "write", path: path ?? directory, code: errno))
      }
      start += count
    }
    buffer = []
  }

  private func call(_ name: String, _ body: () -> Int32) throws(ByteStoreError) {
    guard body() == 0 else {
      throw .system(SystemFailure(operation: name, path: path ?? directory, code: errno))
    }
  }
}
