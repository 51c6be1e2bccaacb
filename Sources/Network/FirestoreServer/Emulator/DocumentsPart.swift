// The part of a database that a request deletes.

internal import FirestoreWire
internal import OfflineSync

/// The documents below a path.
struct DocumentsPart: Sendable, Equatable {
  let database: DatabaseName
  /// The ids of a collection or a document; empty for all documents.
  let segments: [String]

  private static let prefix = ["emulator", "v1", "projects"]

  /// Parses `/emulator/v1/projects/P/databases/D/documents/PATH`. Each part is decoded by itself, so an
  /// encoded slash does not separate parts.
  init(_ path: Substring) throws(RemoteError) {
    var parts: [String] = []
    for part in path.utf8.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false) {
      parts.append(try Self.decoded(part))
    }
    guard parts.count >= 7, parts.prefix(3).elementsEqual(Self.prefix), parts[4] == "databases",
      parts[6] == "documents"
    else { throw RemoteError(.notFound, "Not Found") }
    database = DatabaseName(projectID: parts[3], databaseID: parts[5])
    var segments = Array(parts[7...])
    // A slash at the end of "documents/" means all documents, as in Google's emulator.
    if segments == [""] { segments = [] }
    guard !segments.contains("") else {
      throw RemoteError(.invalidArgument, "The path has an empty segment.")
    }
    self.segments = segments
  }

  private static func decoded(_ text: Substring.UTF8View.SubSequence) throws(RemoteError) -> String {
    var bytes: [UInt8] = []
    var rest = text
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        bytes.append(byte)
        continue
      }
      guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else {
        throw RemoteError(.invalidArgument, "The request has a % without two hexadecimal digits.")
      }
      bytes.append(high << 4 | low)
    }
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw RemoteError(.invalidArgument, "The request is not UTF-8.")
    }
    return text
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    Character(Unicode.Scalar(byte)).isASCII
      ? Character(Unicode.Scalar(byte)).hexDigitValue.map(UInt8.init) : nil
  }
}
