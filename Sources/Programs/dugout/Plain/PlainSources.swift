// Opens the source of a plain import.

import DocumentStore
import Foundation

enum PlainSources {
  /// Opens a file or standard input, and decides its format.
  static func open(_ path: String, _ options: PlainOptions) throws -> any PlainSource {
    var isDirectory: ObjCBool = false
    if path != "-" {
      guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) else {
        throw CommandFailure(code: .inputOutput, message: "\(path) cannot be read: there is no such file.")
      }
      guard !isDirectory.boolValue, !FirestoreExport.isPart(path) else {
        throw CommandFailure(
          code: .usage,
          message:
            "\(path) is an export of Firestore, which has its own collections: import it without --into.")
      }
    }
    let input = try InputBytes(path)
    let sample = try input.sample(sampleBytes)
    try PlainFormat.requireText(path, sample.bytes[...])
    let start = sample.bytes.starts(with: JSONReader.byteOrderMark) ? JSONReader.byteOrderMark.count : 0
    let content = sample.bytes[start...]
    guard content.contains(where: { !CSVScanner.isBlank($0) && $0 != 0x0A && $0 != 0x0D }) else {
      let name = path == "-" ? "standard input" : path
      throw CommandFailure(code: .badData, message: "\(name) is empty. Nothing was imported.")
    }
    switch options.format ?? PlainFormat.guess(path, content) {
    case .json: return JSONItemsSource(input, sample: sample, options: options)
    case .csv: return CSVSource(input, sample: sample, options: options)
    }
  }

  /// The number of bytes from which names and types of a pipe are taken.
  private static let sampleBytes = 1 << 20
}
