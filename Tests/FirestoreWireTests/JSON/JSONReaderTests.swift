import ByteStore
import OfflineSync
import Testing

@testable import FirestoreWire

@Suite struct JSONReaderTests {
  // MARK: Strings

  @Test func escapesAreReplaced() throws {
    #expect(try string(#""\"\\\/\b\f\n\r\t""#) == "\"\\/\u{8}\u{C}\n\r\t")
    #expect(try string(#""\u0041\u00e9\u00E9\u0000""#) == "A\u{E9}\u{E9}\0")
    #expect(try string(#""a\ud83d\ude00b""#) == "a\u{1F600}b")
    #expect(try string(#""\uDBFF\uDFFF""#) == "\u{10FFFF}")
  }

  @Test(arguments: [
    #""\ud83d""#, #""\ude00""#, #""\ud83d\u0041""#, #""\ud83dx\ude00""#, #""\ude00\ud83d""#, #""\u12""#,
    #""\u12g4""#,
    #""\u 123""#, #""\x""#, #""\""#, #"""#, "\"\n\"", "\"\0\"", "'a'", "a",
  ])
  func invalidStringsAreRefused(text: String) {
    #expect(throws: WireError.self) { try string(text) }
  }

  @Test func stringsAreUTF8() {
    for bytes in [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80]] as [[UInt8]] {
      #expect(throws: WireError("The message is not valid JSON: a string is not UTF-8, at byte 1.")) {
        let text = [0x22] + bytes + [0x22]
        var reader = try JSONReader(text.rawSpan)
        _ = try reader.string()
      }
    }
  }

  // MARK: Numbers

  @Test(
    arguments: [
      ("0", 0), ("-0", 0), ("9223372036854775807", .max), ("-9223372036854775808", .min),
      ("9007199254740993", 9_007_199_254_740_993), ("1.0", 1), ("1e3", 1000), ("1.5E+1", 15), ("1200e-2", 12),
      ("0e99999999999", 0), ("0.000", 0), ("-1.50e1", -15), ("922337203685477580.7e1", .max),
      (#""42""#, 42), (#""-1e2""#, -100),
    ] as [(String, Int64)])
  func integersAreExact(text: String, number: Int64) throws {
    let bytes = Array(text.utf8)
    var reader = try JSONReader(bytes.rawSpan)
    #expect(try reader.int64() == number)
    try reader.finish()
  }

  @Test(arguments: [
    "9223372036854775808", "-9223372036854775809", "1.5", "1e-1", "1e19", "1e99999999999", "01", "-01", "+1",
    ".5", "5.",
    "1e", "1e+", "-", "--1", "1-1", "0x10", "NaN", "Infinity", #""NaN""#, #""""#, #"" 1""#, #""1 ""#, "true",
    "null", "[]",
  ])
  func otherIntegersAreRefused(text: String) {
    #expect(throws: WireError.self) {
      let bytes = Array(text.utf8)
      var reader = try JSONReader(bytes.rawSpan)
      _ = try reader.int64()
      try reader.finish()
    }
  }

  @Test(
    arguments: [
      ("1", 1), ("-0.0", -0.0), ("5e-324", .leastNonzeroMagnitude),
      ("1.7976931348623157e308", .greatestFiniteMagnitude),
      ("1e-999", 0),
      (#""NaN""#, .nan), (#""Infinity""#, .infinity), (#""-Infinity""#, -.infinity), (#""1.5""#, 1.5),
      ("9007199254740993", 9_007_199_254_740_992),
    ] as [(String, Double)])
  func doublesAreRead(text: String, number: Double) throws {
    let bytes = Array(text.utf8)
    var reader = try JSONReader(bytes.rawSpan)
    #expect(try reader.double().bitPattern == number.bitPattern)
    try reader.finish()
  }

  @Test(arguments: [
    "1e309", "-1e309", "NaN", "Infinity", "nan", #""nan""#, #""inf""#, #""0x1p3""#, #""+Infinity""#, #"" 1""#,
    "1.", "1e",
  ])
  func otherDoublesAreRefused(text: String) {
    #expect(throws: WireError.self) {
      let bytes = Array(text.utf8)
      var reader = try JSONReader(bytes.rawSpan)
      _ = try reader.double()
      try reader.finish()
    }
  }

  @Test func numbersOf32BitsHaveTheirRange() throws {
    #expect(try Wire.BitSequence(json: Array(#"{"padding": 2147483647}"#.utf8)).padding == .max)
    #expect(throws: WireError.self) { try Wire.BitSequence(json: Array(#"{"padding": 2147483648}"#.utf8)) }
  }

  // MARK: Structure

  @Test(arguments: [
    "", " ", "{", "}", "[", "{}}", "{} {}", "{}x", "{,}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#,
    #"{"a":1 "b":2}"#, "{a:1}",
    #"{"a":[1,]}"#, #"{"a":[,1]}"#, #"{"a":[1 2]}"#, #"{"a":[1}"#, #"{"a":tru}"#, #"{"a":nul}"#,
    #"{"a":True}"#, "[]",
    "null", "1", #""a""#, "\u{FEFF}{}", #"{"a":1/**/}"#, #"{"a":{"b":1]}"#, #"{"a":trux}"#,
  ])
  func invalidTextsAreRefused(text: String) {
    #expect(throws: WireError.self) { try Wire.Status(json: Array(text.utf8)) }
  }

  @Test func spaceIsAllowedBetweenTokens() throws {
    let text = " \t\r\n{ \"code\" :\t7 , \"x\" : [ 1 , { } , [ ] , null , true , false , -1.5e-3 ] } \n"
    #expect(try Wire.Status(json: Array(text.utf8)).code == 7)
  }

  @Test func valuesInsideEachOtherHaveALimit() throws {
    func nested(_ depth: Int) -> [UInt8] {
      Array(#"{"unknown":"#.utf8) + [UInt8](repeating: 0x5B, count: depth)
        + [UInt8](repeating: 0x5D, count: depth) + [0x7D]
    }
    #expect(try Wire.Status(json: nested(99)) == Wire.Status())
    #expect(throws: WireError.tooDeep) { try Wire.Status(json: nested(100)) }
    // Without the limit, this many levels would overflow the stack.
    #expect(throws: WireError.tooDeep) { try Wire.Status(json: nested(2_000_000)) }
  }

  @Test func repeatedElementsHaveALimit() throws {
    var limits = WireLimits()
    limits.countMax = 2 * (MemoryLayout<Wire.Write>.stride / WireLimits.bytesPerElement)
    #expect(
      try Wire.CommitRequest(json: Array(#"{"writes":[{},{}]}"#.utf8), limits: limits).writes.count == 2)
    #expect(throws: WireError.tooManyElements) {
      try Wire.CommitRequest(json: Array(#"{"writes":[{},{},{}]}"#.utf8), limits: limits)
    }
    limits.bytesMax = 5
    #expect(throws: WireError(.resourceExhausted, "The message has 6 bytes, and at most 5 are allowed.")) {
      try Wire.CommitRequest(json: Array("{    }".utf8), limits: limits)
    }
  }

  private func string(_ text: String) throws -> String {
    let bytes = Array(text.utf8)
    var reader = try JSONReader(bytes.rawSpan)
    let string = try reader.string()
    try reader.finish()
    return string
  }
}
