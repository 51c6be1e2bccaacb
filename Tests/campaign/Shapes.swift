// Compares the cost of documents whose field names are all different with the cost of documents that have the
// same field names.
//
// Shapes must not be expensive where they cannot help. A shape stores once the field names that many maps
// have in common. If the field names of all maps differ, no new shapes may be created after a few thousand.

import DocumentStore
import Foundation
import Harness

enum Shapes: Campaign {
  static let name = "shapes"
  static let summary = "writes documents with all different field names, and as many with the same"
  static let amount = (option: "--documents", standard: Optional(20_000))

  /// The maximum ratio of a time to the same time for documents with one shape. Documents with one shape are
  /// also smaller.
  private static let timesMax = 4.0

  private struct Measures {
    var write = Duration.zero
    var open = Duration.zero
    var get = Duration.zero
    var bytes = 0
    var shapes = 0
    var wrong: String?
  }

  static func run(_ options: CampaignOptions) async throws -> CampaignResult {
    let count = max(options.amount ?? 1_000_000, 2000)
    // A warm-up runs first, so that no measurement includes the cost of cold caches.
    _ = try measure(2000, options.seed) { _ in "field" }
    let one = try measure(count, options.seed) { _ in "field" }
    let many = try measure(count, options.seed) { "field\($0)" }
    var result = CampaignResult(run: 2 * count, failed: 0)
    func percent(_ part: Duration, _ whole: Duration) -> Int { Int(100 * (part / whole)) }
    result.details = [
      ("writeMsOfOneShape", one.write.milliseconds), ("writeMsOfMany", many.write.milliseconds),
      ("bytesOfOneShape", one.bytes), ("bytesOfMany", many.bytes),
      ("openUsOfOneShape", Int(one.open / .microseconds(1))),
      ("openUsOfMany", Int(many.open / .microseconds(1))),
      ("getNsOfOneShape", Int(one.get / .nanoseconds(1))), ("getNsOfMany", Int(many.get / .nanoseconds(1))),
      ("shapesOfMany", many.shapes),
    ]
    var problems = [one.wrong, many.wrong].compactMap { $0 }
    if many.write / one.write > timesMax {
      problems.append("writes take \(percent(many.write, one.write)) % of those with one shape")
    }
    if many.get > one.get * timesMax + .microseconds(20) {
      problems.append("gets take \(percent(many.get, one.get)) %")
    }
    // An open reads up to four thousand shapes, whatever the number of documents.
    if many.open > one.open * timesMax + .milliseconds(100) {
      problems.append("an open takes \(percent(many.open, one.open)) %")
    }
    // With fewer shapes, the test would not cover a full shape table.
    if one.shapes != 2 || many.shapes < min(count, 1000) {
      problems.append("\(one.shapes) and \(many.shapes) shapes")
    }
    result.failed = problems.count
    result.firstFailure = problems.first
    return result
  }

  private static func measure(
    _ count: Int, _ seed: UInt64, _ field: (Int) -> String
  ) throws -> Measures {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(
      "dugout-shapes-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appendingPathComponent("store").path
    func fields(_ number: Int, _ turn: Int = 1) -> StoredMap {
      let name = field(number)
      return StoredMap([
        ("\(name)a", .integer(Int64(number + turn))), ("\(name)b", .string("text of number \(number)")),
        ("\(name)c", .map(StoredMap([("\(name)d", .double(Double(number) / 3))]))),
      ])
    }
    func place(_ number: Int) throws -> DocumentPath { try DocumentPath(["c", "d\(number)"]) }
    let clock = ContinuousClock()
    var measures = Measures()
    let store = try DocumentStore.open(path)
    // Each document is written twice in quick succession, because names that occur a second time may become a
    // shape.
    measures.write = try clock.measure {
      for start in stride(from: 0, to: count, by: 100) {
        for turn in 0..<2 {
          try store.commit(
            try (start..<min(start + 100, count)).map { .set(try place($0), fields($0, turn)) })
        }
      }
    }
    measures.shapes = store.shapeCount
    try store.compact()
    try store.close()
    var opened: DocumentStore?
    measures.open = try clock.measure { opened = try DocumentStore.open(path) }
    guard let again = opened else { return measures }
    measures.bytes = Int(again.documentByteCount)
    var random = SeededRandom(seed: seed)
    let numbers = (0..<2000).map { _ in Int(random.next() % UInt64(count)) }
    for turn in 0..<2 {
      let time = try clock.measure {
        for number in numbers where try again.document(at: place(number))?.fields != fields(number) {
          measures.wrong = measures.wrong ?? "document \(number) is another one"
        }
      }
      if turn == 1 { measures.get = time / numbers.count }
    }
    if again.count != count { measures.wrong = "\(again.count) documents of \(count)" }
    try again.close()
    return measures
  }
}
