// A document as JSON text, and a walk that visits every field without allocating.

import Foundation
import SampleDocuments

enum SampleJSON {
  static func text(_ document: SampleDocument) -> String { text(document.fields) }

  static func text(_ fields: [SampleDocument.Field]) -> String {
    var text = ""
    text.reserveCapacity(450)
    append(fields, to: &text)
    return text
  }

  private static func append(_ fields: [SampleDocument.Field], to text: inout String) {
    text += "{"
    for (index, field) in fields.enumerated() {
      text += index == 0 ? "\"\(field.name)\":" : ",\"\(field.name)\":"
      append(field.value, to: &text)
    }
    text += "}"
  }

  private static func append(_ value: SampleDocument.Value, to text: inout String) {
    switch value {
    // The sample texts contain no character that JSON escapes.
    case .text(let content): text += "\"\(content)\""
    case .integer(let number), .timestamp(let number): text += "\(number)"
    case .real(let number): text += "\(number)"
    case .boolean(let flag): text += flag ? "true" : "false"
    case .list(let values):
      text += "["
      for (index, value) in values.enumerated() {
        if index > 0 { text += "," }
        append(value, to: &text)
      }
      text += "]"
    case .map(let fields): append(fields, to: &text)
    }
  }

  // MARK: Reading

  /// Returns `SampleDocument.weight`. `text` ends with a zero byte, as SQLite's texts do.
  static func weight(_ text: UnsafePointer<UInt8>) -> Int {
    var place = text
    return weight(valueAt: &place)
  }

  private static func weight(valueAt place: inout UnsafePointer<UInt8>) -> Int {
    switch place.pointee {
    case UInt8(ascii: "{"):
      return weight(partsAt: &place, until: UInt8(ascii: "}")) { place in
        skipText(at: &place)
        place += 1
      }
    case UInt8(ascii: "["): return weight(partsAt: &place, until: UInt8(ascii: "]")) { _ in }
    case UInt8(ascii: "\""):
      let first = place[1]
      let count = skipText(at: &place)
      return count &+ (count > 0 ? Int(first) : 0)
    case UInt8(ascii: "t"):
      place += 4
      return 1
    case UInt8(ascii: "f"):
      place += 5
      return 0
    default: return weight(numberAt: &place)
    }
  }

  private static func weight(
    partsAt place: inout UnsafePointer<UInt8>, until end: UInt8,
    before: (inout UnsafePointer<UInt8>) -> Void
  ) -> Int {
    place += 1
    var sum = 0
    while place.pointee != end && place.pointee != 0 {
      before(&place)
      sum &+= weight(valueAt: &place)
      if place.pointee == UInt8(ascii: ",") { place += 1 }
    }
    place += 1
    return sum
  }

  @discardableResult
  private static func skipText(at place: inout UnsafePointer<UInt8>) -> Int {
    place += 1
    let start = place
    while place.pointee != UInt8(ascii: "\"") && place.pointee != 0 {
      place += place.pointee == UInt8(ascii: "\\") ? 2 : 1
    }
    defer { place += 1 }
    return place - start
  }

  private static func weight(numberAt place: inout UnsafePointer<UInt8>) -> Int {
    let start = place
    var number = 0
    while place.pointee &- UInt8(ascii: "0") < 10 {
      number = number &* 10 &+ Int(place.pointee &- UInt8(ascii: "0"))
      place += 1
    }
    guard [UInt8(ascii: "."), UInt8(ascii: "e"), UInt8(ascii: "-")].contains(place.pointee) else {
      return number
    }
    var end: UnsafeMutablePointer<CChar>?
    let real = start.withMemoryRebound(to: CChar.self, capacity: 1) { strtod($0, &end) }
    guard let end else { return 0 }
    place = UnsafeRawPointer(end).assumingMemoryBound(to: UInt8.self)
    return Int(real)
  }
}
