// The types that are guessed for columns, and the values that text becomes.

import DocumentStore
import Foundation
import Testing

@testable import dugout

@Suite struct ColumnGuessTests {
  private func guess(_ cells: [String]) -> ColumnGuess {
    var guess = ColumnGuess()
    for (number, cell) in cells.enumerated() {
      let bytes = Array(cell.utf8)
      guess.see(CSVRecord.Cell(range: bytes.indices), in: bytes, line: number + 2)
    }
    return guess
  }

  @Test(
    arguments: [
      (["1", "-2", " 3 ", ""], .integer), (["9223372036854775807"], .integer), ([""], nil), ([], nil),
      (["1", "2.5"], .double), (["1e3", "-.5", "2E-3"], .double), (["NaN", "1.5", "-Infinity"], .double),
      (["-0"], .double),
      // Digits that a number would lose.
      (["007"], .string), (["1", "01234"], .string), (["9223372036854775808"], .string),
      (["9007199254740993", "0.5"], .string), (["1e999"], .string), (["+49"], .string), (["00.5"], .string),
      (["1,5"], .string), (["5."], .string), (["1 000"], .string), (["1-2"], .string), (["."], .string),
      (["true", "FALSE", "True"], .boolean), (["true", "1"], .string), (["truer"], .string), (["t"], .string),
      (["2026-03-01T12:00:00Z", "2026-03-01 12:00:00.5+01:00"], .timestamp), (["2026-03-01"], .string),
      (["2026-13-01T12:00:00Z"], .string), (["2026-03-01T12:00:00"], .string),
      (["[1,2]", "{\"a\":[]}"], .json), (["[[1]]"], .string), (["[1"], .string), (["[1]", "a"], .string),
      (["a", "1"], .string),
    ] as [([String], FieldType?)]) func aColumnHasTheTypeOfAllItsCells(cells: [String], type: FieldType?)
  {
    #expect(guess(cells).type == type)
  }

  @Test func aRareTextAmongNumbersIsReported() {
    let numbers = (1...30).map { "\($0)" }
    #expect(guess(numbers + ["n/a"]).remark == "line 32 has \"n/a\", the others are numbers")
    #expect(guess(numbers).remark == nil)
    #expect(guess(["n/a", "a"] + numbers.prefix(10)).remark == nil)
    #expect(guess(numbers + (0..<200).map { "text \($0)" }).remark == nil)
  }

  @Test(
    arguments: [
      (.integer, " 36 ", .integer(36)), (.integer, "036", .integer(36)), (.integer, "36.0", .integer(36)),
      (.integer, "36.5", nil), (.integer, "", nil), (.integer, "9223372036854775808", nil),
      (.double, "36", .double(36)), (.double, "inf", .double(.infinity)), (.double, "1e999", nil),
      (.double, "x", nil), (.boolean, "Yes", .boolean(true)), (.boolean, "0", .boolean(false)),
      (.boolean, "2", nil), (.string, " a ", .string(" a ")), (.bytes, "AP8=", .bytes([0, 255])),
      (.bytes, "?", nil), (.vector, "[1,0.5]", .vector([1, 0.5])), (.vector, "[\"a\"]", nil),
      (.json, "{\"a\": [1]}", .map(StoredMap([("a", .array([.integer(1)]))]))), (.json, "{", nil),
      (.timestamp, "2026-03-01", .timestamp(time(1_772_323_200))),
      (.timestamp, "2026-03-01 12:00", .timestamp(time(1_772_366_400))),
      (.timestamp, "2026-03-01 12:00:00 UTC", .timestamp(time(1_772_366_400))),
      (.timestamp, "2026-03-01 12:00:00+01", .timestamp(time(1_772_362_800))),
      (.timestamp, "2026-03-01T12:00:00-0130", .timestamp(time(1_772_371_800))),
      (.timestamp, "1.3.2026", nil), (.timestamp, "2026-03-01 ", .timestamp(time(1_772_323_200))),
      (.timestamp, "2026-02-29", nil), (.timestamp, "2026-03-01 12:00 CET", nil),
      (.seconds, "1772323200", .timestamp(time(1_772_323_200))),
      (.milliseconds, "1772323200000", .timestamp(time(1_772_323_200))),
      (.seconds, "1772323200.0", .timestamp(time(1_772_323_200))), (.seconds, "9223372036854775807", nil),
      (.geopoint, "48.1, 11.6", .geoPoint(point(48.1, 11.6))), (.geopoint, "91,0", nil),
      (.geopoint, "48.1", nil), (.reference, "users/ada", reference("users", "ada")),
      (.reference, "/users/ada", reference("users", "ada")), (.reference, "users", nil),
    ] as [(FieldType, String, StoredValue?)]) func textBecomesAValueOfTheType(
      type: FieldType, text: String, value: StoredValue?
    )
  {
    #expect(type.value(of: text) == value)
  }

  private static func time(_ seconds: Int64) -> StoredTimestamp {
    StoredTimestamp(seconds: seconds, nanoseconds: 0) ?? .epoch
  }

  private static func point(_ latitude: Double, _ longitude: Double) -> StoredGeoPoint {
    StoredGeoPoint(latitude: latitude, longitude: longitude)!
  }

  private static func reference(_ segments: String...) -> StoredValue {
    .reference(DocumentJSON.ownReference(DocumentPath(unchecked: segments)))
  }

  @Test(
    arguments: [
      ("age", ["age"]), ("address.city", ["address", "city"]), ("No.", ["No."]), (".a", [".a"]),
      ("a..b", ["a..b"]),
      ("e. g.", ["e. g."]), ("First name", ["First name"]), ("`a.b`", ["a.b"]), ("`a.b`.c", ["a.b", "c"]),
      ("a.`b.c`", ["a", "b.c"]), ("`", ["`"]), ("straße.größe", ["straße", "größe"]),
    ] as [(String, [String])]) func aHeaderNamesAField(header: String, path: [String])
  {
    #expect(FieldName.path(of: header) == path)
    #expect(FieldName.path(of: FieldName.text(of: path)) == path)
  }
}
