// Where an import has its documents from: files of several forms, read from any place where one ended.

import DocumentStore
import Foundation

protocol DocumentSource: AnyObject {
  /// Of everything; 0 if nobody knows.
  var bytes: UInt64 { get }
  /// What is read, one behind the other; nothing for standard input.
  var files: [String] { get }
  /// Behind the last document that was handed out. An import that was cut off goes on from such a place.
  var bytesDone: UInt64 { get }
  /// Of what `next` handed out, or threw a problem about.
  var start: UInt64 { get }
  /// The same for people.
  var startText: String { get }
  /// What was left out because no import can write it: records of a storage, whose files are elsewhere.
  var recordsSkipped: Int { get }
  func skip(to offset: UInt64) throws
  /// Nil at the end. A `JSONProblem` is about the document at `start`; anything else is about the file.
  func next() throws -> (path: DocumentPath, fields: StoredMap)?
}

extension DocumentSource {
  var recordsSkipped: Int { 0 }

  /// Whether a place in it can be found again: not in what comes through a pipe.
  var isOfFiles: Bool { !files.isEmpty && files.allSatisfy(FilePrefix.isFile) }
}

enum DocumentSources {
  /// Under any of its names: beside none of them is a place for a mark.
  static func isStandardInput(_ path: String) -> Bool {
    ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].contains(path)
  }

  /// A directory is an export of Firestore; a file has lines of JSON, or is one file of such an export.
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

/// A document in each line.
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
      // It stays in the line: places in it are those of the file.
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
            "The file ends in the midst of this line: write or fetch it anew, and repeat the command."
        } else if !hasRead {
          // Whoever has another kind of file sees it in its first line.
          problem.hint = Self.hint(content, at: reader.lineStart)
        }
        throw problem
      }
    }
    return nil
  }

  /// Whether it is an object as far as it goes.
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

  /// What the file seems to be instead; `start` is where the line begins in it.
  private static func hint(_ line: Data, at start: UInt64) -> String? {
    if line.starts(with: gzipMark) {
      return
        "The file is compressed with gzip: \"gunzip -c FILE | dugout import DIR -\" imports what is in it."
    }
    if utf16Marks.contains(where: { line.starts(with: $0) }) {
      return "The file is in UTF-16, and lines of JSON are in UTF-8: "
        + "\"iconv -f UTF-16 -t UTF-8 FILE | dugout import DIR -\" imports what is in it."
    }
    if let encoding = UTF16Guess.encoding(of: line, at: start) {
      return "The file looks like UTF-16 without a mark of the byte order, and lines of JSON are in UTF-8: "
        + "\"iconv -f \(encoding) -t UTF-8 FILE | dugout import DIR -\" imports what is in it."
    }
    let text = String(decoding: line, as: UTF8.self).trimmingCharacters(in: .whitespaces)
    switch text.first {
    case "[" where text.last == "]":
      return "The line is a list; \"jq -c '.[]' FILE\" makes a line of each of its elements."
    case "[":
      return
        "The file looks like a list over several lines; \"jq -c '.[]' FILE\" makes a line of each of its elements."
    case "{" where text.last != "}":
      return "The file looks like JSON over several lines; \"jq -c . FILE\" makes one line of each object."
    case "{", nil: return nil
    case _ where text.contains(",") || text.contains(";") || text.contains("\t"):
      return
        "The file looks like CSV, which has no types: write a line of JSON for each row, as \"dugout import --help\" "
        + "shows it."
    default: return nil
    }
  }
}
