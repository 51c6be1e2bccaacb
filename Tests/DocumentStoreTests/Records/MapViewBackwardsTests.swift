// The walk from the last value to the first one sees what the walk from the first one sees.

import ByteStore
import Harness
import Testing

@testable import DocumentStore

struct MapViewBackwardsTests {
  @Test(arguments: 0..<30)
  func fieldsComeInReverseOrder(seed: UInt64) {
    var documents = DocumentGenerator(seed: seed)
    let shapes = ShapeDictionary.ofNewStore()
    for _ in 0..<30 {
      let fields = documents.document().fields
      for _ in 0..<3 {
        let record = FieldsEncoder.record(of: fields, shapes: shapes)
        #expect(backwards(StoredMap(record))?.reversed() == forwards(StoredMap(record)))
      }
    }
  }

  @Test(arguments: 0..<30)
  func damagedRecordsAreRefusedOrReadWithinTheirBounds(seed: UInt64) throws {
    var random = SeededRandom(seed: seed)
    var documents = DocumentGenerator(seed: seed)
    let shapes = ShapeDictionary.ofNewStore()
    for _ in 0..<60 {
      let fields = documents.document().fields
      let record = FieldsEncoder.record(of: fields, shapes: shapes)
      var bytes = record.bytes
      for _ in 0...random.below(3) {
        bytes[9 + random.below(bytes.count - 9)] = UInt8(random.below(256))
      }
      let damaged = CheckedRecord(trusted: bytes, record.shapes, fieldsStart: 9, checkedSize: nil)
      let (forward, backward) = (forwards(StoredMap(damaged)), backwards(StoredMap(damaged)))
      if let forward, let backward { #expect(backward.reversed() == forward) }
      #expect((forward == nil) == (backward == nil))
    }
  }

  /// All names and scalars in order; nil at damage.
  private func forwards(_ fields: StoredMap) -> [String]? {
    var seen: [String] = []
    let isWhole = fields.withRecordFields { forwards($0, &seen) }
    return isWhole == true ? seen : nil
  }

  private func forwards(_ map: borrowing MapView, _ seen: inout [String]) -> Bool {
    var isWhole = true
    let isMap = map.forEachField { name, value in
      seen.append(name.string ?? "")
      isWhole = forwards(value, &seen) && isWhole
      seen.append("end")
    }
    return isMap && isWhole
  }

  private func forwards(_ value: borrowing ValueView, _ seen: inout [String]) -> Bool {
    seen.append(text(value))
    switch value.kind {
    case .map: return value.withMap { forwards($0, &seen) } ?? false
    case .array:
      var isWhole = true
      let isArray = value.forEachElement { isWhole = forwards($0, &seen) && isWhole }
      return isArray && isWhole
    default: return true
    }
  }

  private func backwards(_ fields: StoredMap) -> [String]? {
    var seen: [String] = []
    let isWhole = fields.withRecordFields { backwards($0, &seen) }
    return isWhole == true ? seen : nil
  }

  private func backwards(_ map: borrowing MapView, _ seen: inout [String]) -> Bool {
    var isWhole = true
    let isMap = map.forEachFieldBackwards { name, value in
      seen.append("end")
      isWhole = backwards(value, &seen) && isWhole
      seen.append(name.string ?? "")
    }
    return isMap && isWhole
  }

  private func backwards(_ value: borrowing ValueView, _ seen: inout [String]) -> Bool {
    defer { seen.append(text(value)) }
    switch value.kind {
    case .map: return value.withMap { backwards($0, &seen) } ?? false
    case .array:
      var isWhole = true
      let isArray = value.forEachElementBackwards { isWhole = backwards($0, &seen) && isWhole }
      return isArray && isWhole
    default: return true
    }
  }

  /// The value in a form that tells values apart.
  private func text(_ value: borrowing ValueView) -> String {
    let point = value.geoPoint.map { "\($0.latitude) \($0.longitude)" } ?? ""
    let vector = value.withVector { "\($0.byteCount)" } ?? ""
    let reference =
      value.withReference { "\($0.byteCount) \($1.byteCount) \(String(record: $2) ?? "")" } ?? ""
    let text = value.withText { $0.string } ?? nil
    return "\(value.kind) \(value.integer ?? 0) \(text ?? "") \(point)\(vector)\(reference)"
  }
}
