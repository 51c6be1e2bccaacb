// The sources of an import: files of several formats that can be read from any document boundary.

import DocumentStore
import Foundation

protocol DocumentSource: AnyObject {
  /// The total size; 0 if unknown.
  var bytes: UInt64 { get }
  /// The files in reading order; empty for standard input.
  var files: [String] { get }
  /// The offset after the last document that was returned. An interrupted import resumes at such an offset.
  var bytesDone: UInt64 { get }
  /// The offset of the last document that `next` returned or threw a problem about.
  var start: UInt64 { get }
  /// The start position as text for messages.
  var startText: String { get }
  /// The number of skipped records that no import can write. They describe storage files, and the source does
  /// not contain the contents of those files.
  var recordsSkipped: Int { get }
  /// Stored with the progress of an import for the run that resumes; nil if that run needs nothing.
  var plan: Data? { get }
  func skip(to offset: UInt64) throws
  /// Continues after the documents of an earlier run, which stored `plan`. Returns false, and skips nothing,
  /// if this run does not read the same documents as that run.
  func resume(at offset: UInt64, after documents: Int, plan: Data?) throws -> Bool
  /// Returns nil at the end. A `JSONProblem` is about the document at `start`; any other error is about
  /// the file.
  func next() throws -> (path: DocumentPath, fields: StoredMap)?
}

extension DocumentSource {
  var recordsSkipped: Int { 0 }

  var plan: Data? { nil }

  func resume(at offset: UInt64, after documents: Int, plan: Data?) throws -> Bool {
    guard plan == nil else { return false }
    try skip(to: offset)
    return true
  }

  /// Whether an import can resume at an offset, which a pipe does not allow.
  var readsFiles: Bool { !files.isEmpty && files.allSatisfy(FilePrefix.isFile) }
}

enum DocumentSources {
  /// Whether the path is a name of standard input. An import from there cannot store its progress beside
  /// a file.
  static func isStandardInput(_ path: String) -> Bool {
    ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].contains(path)
  }

  /// Opens a directory as a Firestore export. Opens a file as a part of such an export, or as lines of JSON.
  static func open(_ path: String) throws -> any DocumentSource {
    guard path != "-" else { return try JSONLines(path) }
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
      throw CommandFailure(code: .inputOutput, message: "\(path) cannot be read: there is no such file.")
    }
    if isDirectory.boolValue || FirestoreExport.isPart(path) { return try FirestoreExport(path) }
    return try JSONLines(path)
  }
}

/// One document per line.
final class JSONLines: DocumentSource {
  private let reader: LineReader
  private var hasRead = false

  let files: [String]
  private(set) var recordsSkipped = 0

  init(_ path: String) throws {
    reader = try LineReader(path)
    files = path == "-" ? [] : [path]
  }

  var bytes: UInt64 { reader.bytes }
  var bytesDone: UInt64 { reader.bytesDone }
  var start: UInt64 { reader.lineStart }
  var startText: String { "line \(reader.lineNumber)" }

  func skip(to offset: UInt64) throws {
    try reader.skip(to: offset)
    hasRead = true
  }

  func next() throws -> (path: DocumentPath, fields: StoredMap)? {
    while let line = try reader.next() {
      // The byte order mark stays in the line, so that offsets match the file.
      let content = line.starts(with: JSONReader.byteOrderMark) ? line.dropFirst(3) : line
      let isBlank = content.allSatisfy { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
      guard !isBlank else { continue }
      do throws(JSONProblem) {
        let document = try DocumentJSON.document(line)
        hasRead = true
        if let document { return document }
        recordsSkipped += 1
      } catch {
        var problem = error
        let isEnded = reader.bytesDone - reader.lineStart > UInt64(line.count)
        if !isEnded, Self.isCutOff(content) {
          problem.hint =
            "The file ends in the middle of this line: write or download it again, and repeat the command."
        } else if !hasRead {
          // A file of another format fails at its first line, so the hint guesses the format from that line.
          problem.hint = Self.hint(content, at: reader.lineStart)
        }
        throw problem
      }
    }
    return nil
  }

  /// Whether the line is a JSON object that ends too early.
  private static func isCutOff(_ line: Data) -> Bool {
    guard line.first(where: { $0 != 0x20 && $0 != 0x09 }) == UInt8(ascii: "{") else { return false }
    do throws(JSONError) {
      _ = try JSONReader.read(line)
      return false
    } catch {
      return error.offset >= line.count
    }
  }

  private static let gzipMark: [UInt8] = [0x1F, 0x8B]
  private static let utf16Marks: [[UInt8]] = [[0xFF, 0xFE], [0xFE, 0xFF]]

  /// Guesses the actual format of the file; `start` is the offset of the line.
  private static func hint(_ line: Data, at start: UInt64) -> String? {
    if line.starts(with: gzipMark) {
      return
        "The file is compressed with gzip: \"gunzip -c FILE | dugout import DIR -\" imports its contents."
    }
    if utf16Marks.contains(where: { line.starts(with: $0) }) {
      return "The file is in UTF-16, and lines of JSON are in UTF-8: "
        + "\"iconv -f UTF-16 -t UTF-8 FILE | dugout import DIR -\" imports its contents."
    }
    if let encoding = UTF16Guess.encoding(of: line, at: start) {
      return "The file looks like UTF-16 without a byte order mark, and lines of JSON are in UTF-8: "
        + "\"iconv -f \(encoding) -t UTF-8 FILE | dugout import DIR -\" imports its contents."
    }
    let text = String(decoding: line, as: UTF8.self).trimmingCharacters(in: .whitespaces)
    switch text.first {
    case "[" where text.last == "]":
      return
        "The line is a list. \(plain("of plain objects")), and \"jq -c '.[]' FILE\" makes a line of each of its "
        + "elements."
    case "[":
      return
        "The file looks like a list over several lines. \(plain("of plain objects")), and \"jq -c '.[]' FILE\" makes "
        + "a line of each of its elements."
    case "{" where text.last != "}":
      return "The file looks like JSON over several lines; \"jq -c . FILE\" makes one line of each object."
    // Typed lines always have a path.
    case "{" where text.contains("\"path\"") || text.contains("\"projects/"): return nil
    case "{":
      return "Lines of plain JSON have no types. \(plain("of plain objects"))."
    case nil: return nil
    case _ where text.contains(",") || text.contains(";") || text.contains("\t"):
      return "The file looks like CSV. \(plain("with names in its first line"))."
    default: return nil
    }
  }

  private static func plain(_ what: String) -> String {
    "With --into COLLECTION, \"dugout import\" reads a file \(what)"
  }
}
