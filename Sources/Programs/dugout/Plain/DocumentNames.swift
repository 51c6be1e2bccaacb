// The ids of the documents of a plain import: the values of a field, or ids computed from the input.
//
//   computed id := 20 letters and digits of SHA-256(head, ordinal, row)
//   head        := SHA-256(name of the file, beginning of its first line)
//
// So a repeated import writes the same documents again and adds none, also after a later row was corrected.
// Rows of files with different names have different ids. Two inputs with the same name and the same first
// line, such as two pipes, share the ids of equal rows in the same place.

import ByteStore
import DocumentStore

struct DocumentNames {
  /// The number of bytes of the first line that count.
  private static let headBytes = 1 << 10
  private static let idLetters = 20
  private static let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8)

  /// The segments of the collection's path.
  private let collection: [String]
  private(set) var head: [UInt8]
  /// The number of rows that were read, including those of earlier runs.
  private var ordinal: UInt64 = 0
  private(set) var repeated = RepeatedIDs()

  /// `content` is the beginning of the input.
  init(in collection: [String], of path: String, content: [UInt8]) {
    self.collection = collection
    let name = path.split(separator: "/").last ?? ""
    let line = content.prefix(Self.headBytes).prefix { $0 != 0x0A && $0 != 0x0D }
    let bytes = Array(name.utf8) + [0] + line
    var digest = SHA256Stream()
    digest.update(bytes.span.bytes)
    head = digest.digest
  }

  /// Continues after the rows of an earlier run.
  mutating func resume(after rows: Int, head: [UInt8]) {
    ordinal = UInt64(rows)
    self.head = head
  }

  /// Returns the path of a document with the id of a field.
  func path(id: String) throws(JSONProblem) -> DocumentPath {
    do throws(PathError) {
      return try DocumentPath(collection + [id])
    } catch {
      throw JSONProblem(
        message: "\"\(id.shortened(toColumns: 60))\" cannot be the id of a document: \(error.reason)")
    }
  }

  /// Remembers the id of a row in this line.
  mutating func see(_ id: String, line: @autoclosure () -> Int) { repeated.see(id, line: line) }

  /// Returns the path of a document with a computed id.
  mutating func path(ofRow row: ArraySlice<UInt8>) throws(JSONProblem) -> DocumentPath {
    ordinal += 1
    var digest = SHA256Stream()
    digest.update(head.span.bytes)
    let place = withUnsafeBytes(of: ordinal.littleEndian) { Array($0) }
    digest.update(place.span.bytes)
    digest.update(Array(row).span.bytes)
    let bytes = digest.digest
    let id = (0..<Self.idLetters).map { Self.letters[Int(bytes[$0]) % Self.letters.count] }
    do throws(PathError) {
      return try DocumentPath(collection + [String(decoding: id, as: UTF8.self)])
    } catch {
      throw JSONProblem(message: error.description)
    }
  }
}

/// Finds ids that occur twice in the input, because the second row replaces the document of the first.
struct RepeatedIDs {
  /// The number of ids that are remembered. Later ids are only compared with these.
  private static let idsMax = 2_000_000

  private var seen: Set<UInt64> = []
  private(set) var count = 0
  private(set) var first: (id: String, line: Int)?

  mutating func see(_ id: String, line: () -> Int) {
    var hasher = Hasher()
    id.utf8.withContiguousStorageIfAvailable { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
      ?? hasher.combine(id)
    let hash = UInt64(bitPattern: Int64(hasher.finalize()))
    let isNew = seen.count < Self.idsMax ? seen.insert(hash).inserted : !seen.contains(hash)
    guard !isNew else { return }
    count += 1
    if first == nil { first = (id, line()) }
  }

  /// A sentence for the summary; nil if no id was repeated.
  var remark: String? {
    guard let first else { return nil }
    return
      "\(Wording.count(count, "row has", plural: "rows have")) the id of an earlier row and replaced its document, "
      + "such as line \(first.line) with the id \(ShownText.escaped(first.id))."
  }
}
