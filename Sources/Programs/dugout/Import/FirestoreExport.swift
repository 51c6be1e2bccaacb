// An export of Firestore or its emulator: a folder with the files output-0, output-1, …
//
// Each file is a log of records, and each record is an entity. Offsets count the bytes of all files in
// the order of their names.

import DocumentStore
import Foundation

final class FirestoreExport: DocumentSource {
  let bytes: UInt64
  var files: [String] { logs.map(\.path) }
  private(set) var bytesDone: UInt64 = 0
  private(set) var start: UInt64 = 0
  var startText: String { "byte \(start)" }
  private let logs: [(path: String, start: UInt64, bytes: UInt64)]
  private var place = 0
  private var log: RecordLog?

  /// Opens a folder at any level above the files, or a single file.
  init(_ path: String) throws {
    var files: [(path: String, start: UInt64, bytes: UInt64)] = []
    var end: UInt64 = 0
    for file in Self.parts(of: EmulatorExport.firestoreFolder(in: path) ?? path) {
      let size = (try? FileManager.default.attributesOfItem(atPath: file)[.size] as? UInt64) ?? 0
      files.append((file, end, size))
      end += size
    }
    guard !files.isEmpty else {
      guard !StoreFinder.isStore(path) else {
        throw CommandFailure(
          code: .badData,
          message: "\(path) is a store. \"dugout export \(path) FILE\" writes a file that can be imported.")
      }
      throw CommandFailure(
        code: .badData,
        message: "\(path) is not a Firestore export: there is no file output-0 in it. "
          + "\"firebase emulators:export\" and \"gcloud firestore export\" make such folders.")
    }
    logs = files
    bytes = end
  }

  static func isPart(_ path: String) -> Bool {
    (path.split(separator: "/").last ?? "").wholeMatch(of: #/output-\d+/#) != nil
  }

  private static func parts(of path: String) -> [String] {
    guard !isPart(path) else { return [path] }
    let names = FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
    return names.filter(isPart).sorted { $0.compare($1, options: .numeric) == .orderedAscending }
      .map { path.hasSuffix("/") ? path + $0 : "\(path)/\($0)" }
  }

  /// The project of the first document; nil if there is no document, or if its key has no project.
  func project() throws -> String? {
    for part in logs {
      do {
        if let record = try RecordLog(part.path).next() { return try DatastoreEntity.project(record) }
      } catch let problem as ProtobufProblem {
        throw CommandFailure(code: .badData, message: "\(part.path): \(problem.message).")
      }
    }
    return nil
  }

  func skip(to offset: UInt64) throws {
    place = logs.lastIndex { $0.start <= offset } ?? 0
    log = nil
    let log = try open()
    log.skip(to: Int(offset - logs[place].start))
    bytesDone = offset
  }

  func next() throws -> (path: DocumentPath, fields: StoredMap)? {
    while place < logs.count {
      let log = try open()
      start = logs[place].start + UInt64(log.offset)
      do throws(ProtobufProblem) {
        if let record = try log.next() {
          bytesDone = logs[place].start + UInt64(log.offset)
          return try DatastoreEntity.document(record)
        }
      } catch {
        throw JSONProblem(message: error.message)
      }
      place += 1
      self.log = nil
    }
    return nil
  }

  private func open() throws -> RecordLog {
    if let log { return log }
    let log = try RecordLog(logs[place].path)
    self.log = log
    return log
  }
}
