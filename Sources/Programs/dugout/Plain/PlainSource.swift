// The sources of a plain import, and what both formats share.

import DocumentStore
import Foundation

protocol PlainSource: DocumentSource {
  /// Reads what is needed before the first document: names and types. Returns what the user should see of
  /// them.
  func prepare(_ line: ProgressLine) throws -> PlainSummary
  /// Sentences about all documents that were read, for the end of the import.
  var remarks: [String] { get }
}

extension PlainSource {
  /// The input's name for messages.
  var name: String { files.first ?? "standard input" }
}

/// The names and types of an input.
struct PlainSummary {
  struct Field {
    var name: String
    var type: String
    var remark: String?
  }

  /// The format, such as "CSV with 5 columns".
  var headline: String
  var fields: [Field]

  var text: String {
    let names = fields.map { ShownText.escaped($0.name).shortened(toColumns: 40) }
    let (nameWidth, typeWidth) = (names.map(\.columns).max() ?? 0, fields.map(\.type.columns).max() ?? 0)
    let rows = zip(names, fields).map { name, field in
      let start = "  " + name.filled(toColumns: nameWidth) + "  "
      guard let remark = field.remark else { return start + field.type }
      return start + field.type.filled(toColumns: typeWidth) + "  " + remark
    }
    return ([headline] + rows).joined(separator: "\n")
  }

  var object: JSON {
    .array(
      fields.map { field in
        ["name": field.name, "type": field.type, "remark": field.remark] as JSON
      })
  }
}

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
    case .json: return JSONItemsSource(input, sample, options)
    case .csv: return CSVSource(input, sample, options)
    }
  }

  /// The number of bytes from which names and types of a pipe are taken.
  static let sampleBytes = 1 << 20
}

/// Stored by an import for its next run: the options, and what the first run found out about the input. The
/// next run uses the same types, even if a later part of the file has changed.
struct PlainPlan: Codable {
  var options: PlainOptions
  /// The digest from which ids are computed.
  var head: [UInt8]
  /// Empty for JSON.
  var columns: [Column]

  var data: Data? {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return try? encoder.encode(self)
  }

  init(options: PlainOptions, head: [UInt8], columns: [Column]) {
    self.options = options
    self.head = head
    self.columns = columns
  }

  /// Returns nil if the data is not a plan with these options.
  init?(_ data: Data?, options: PlainOptions) {
    guard let data, let plan = try? JSONDecoder().decode(PlainPlan.self, from: data), plan.options == options
    else { return nil }
    self = plan
  }
}
