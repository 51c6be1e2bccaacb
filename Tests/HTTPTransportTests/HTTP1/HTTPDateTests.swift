// Times as HTTP writes them.

import Testing

@testable import HTTPTransport

@Suite struct HTTPDateTests {
  @Test(arguments: [
    (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"), (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
    (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"), (1_709_251_199, "Thu, 29 Feb 2024 23:59:59 GMT"),
    (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"), (-1, "Wed, 31 Dec 1969 23:59:59 GMT"),
  ])
  func aTimeHasTheFormOfMessages(seconds: Int, text: String) {
    #expect(HTTPDate.text(seconds) == text)
  }

  @Test func everyDayOfFourDecadesFollowsTheOneBefore() {
    var lengths = Set<Int>()
    var (length, month) = (0, "")
    for day in 0..<14_610 {
      let parts = HTTPDate.text(day * 86_400).split(separator: " ")
      #expect(["Thu,", "Fri,", "Sat,", "Sun,", "Mon,", "Tue,", "Wed,"][day % 7] == parts[0])
      if parts[2] == month {
        length += 1
      } else {
        if length > 0 { lengths.insert(length) }
        (length, month) = (1, String(parts[2]))
      }
      #expect(Int(parts[1]) == length)
    }
    #expect(lengths == [28, 29, 30, 31])
  }
}
