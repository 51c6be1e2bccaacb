// Bodies of WebChannel, also hostile ones.

import OfflineSync
import Testing

@testable import FirestoreServer
@testable import HTTPTransport

@Suite struct FormBodyTests {
  private func form(_ text: String) throws(RemoteError) -> FormBody { try FormBody(Array(text.utf8)) }

  private func numbers(_ text: String) throws -> [UInt64] { try form(text).requests.map(\.number) }

  @Test func readsRequestsAndHeaders() throws {
    let form = try form(
      "headers=Authorization%3ABearer%20x%0D%0AA%3Ab&count=2&ofs=7&req0___data__=%7B%22a%22%3A%221%2B+2%22%7D"
        + "&req1___data__=%F0%9F%98%80")
    #expect(form.requests.map(\.number) == [7, 8])
    #expect(form.requests.map { String(decoding: $0.message, as: UTF8.self) } == [#"{"a":"1+ 2"}"#, "😀"])
    let fields = try HTTPFields(headerList: try #require(form.headers))
    #expect(fields["authorization"] == "Bearer x")
    #expect(fields["a"] == "b")
  }

  @Test func requestsNeedNoOrderAndMayHaveGaps() throws {
    #expect(try numbers("count=3&ofs=10&req5___data__=a&req0___data__=b&req101___data__=c") == [10, 15, 111])
  }

  @Test func aBodyWithoutRequestsNeedsNoOffset() throws {
    #expect(try numbers("count=0") == [])
    #expect(try numbers("&&count=0&ofs=3&other=x&") == [])
  }

  @Test(arguments: [
    "", "ofs=0", "count=1&ofs=0", "count=0&ofs=0&req0___data__=a", "count=2&ofs=0&req0___data__=a",
    "count=1&req0___data__=a", "count=1&ofs=0&req0___data__=a&req0___data__=a", "count=1&count=1&ofs=0",
    "count=0&ofs=1&ofs=1", "headers=a&headers=b&count=0", "count=-1&ofs=0", "count=01&ofs=0&req0___data__=a",
    "count=99999999999999999999", "count=9007199254740991&ofs=0", "count=&ofs=0", "count=0x0",
    "count=1&ofs=9007199254740991&req1___data__=a", "count=1&ofs=0&req___data__=a",
    "count=1&ofs=0&req-1___data__=a", "count=1&ofs=0&req00___data__=a", "count=1&ofs=0&req0_type=a",
    "count=1&ofs=0&req0___data__=%", "count=1&ofs=0&req0___data__=%4", "count=1&ofs=0&req0___data__=%ZZ",
    "count=1&ofs=0&req0___data__=a&req1___data=b", "count=%ff&ofs=0", "\u{0}\u{0}\u{0}", "%00=%00",
  ])
  func refusesEverythingElse(_ text: String) {
    #expect { try form(text) } throws: { ($0 as? RemoteError)?.code == .invalidArgument }
  }

  @Test func aBodyHasAThousandRequestsAtMost() throws {
    func text(_ count: Int) -> String {
      "count=\(count)&ofs=0" + (0..<count).map { "&req\($0)___data__=x" }.joined()
    }
    #expect(try numbers(text(1000)).count == 1000)
    #expect(throws: RemoteError.self) { try form(text(1001)) }
  }

  /// Two million bytes of each kind are read in one pass.
  @Test(arguments: ["&", "=", "%41", "a", "+", "%0", "req1___data__=&", "a=b&"])
  func hostileBodiesTakeLinearTime(_ part: String) {
    let text = String(repeating: part, count: 2_000_000 / part.utf8.count)
    #expect(throws: RemoteError.self) { try form(text) }
    #expect(throws: RemoteError.self) { try form("count=1&ofs=0&req1" + text) }
  }

  @Test(arguments: ["a", ":b", "a b:c", "a:b\u{1}", "a\u{0}:b", "é:b", "a:b\rc"])
  func listsOfHeadersAreStrict(_ list: String) {
    #expect(throws: RemoteError.self) { try HTTPFields(headerList: Array(list.utf8)) }
  }

  @Test func namesOfHeadersHaveNoCase() throws {
    let fields = try HTTPFields(
      headerList: Array("X-Goog-Api-Client:  gl-js/ \nAUTHORIZATION:x\r\n\r\n".utf8))
    #expect(fields["x-goog-api-client"] == "gl-js/")
    #expect(fields["authorization"] == "x")
    #expect(throws: RemoteError.self) {
      try HTTPFields(headerList: Array("a:".utf8) + [UInt8](repeating: 0x61, count: 16 * 1024))
    }
  }
}
