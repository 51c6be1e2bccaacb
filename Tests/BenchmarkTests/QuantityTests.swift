// Numbers and metrics in words.

import Testing

@Suite struct QuantityTests {
  @Test(arguments: [
    (1.004, "1.00 ×"), (1.5, "1.50 ×"), (1.951, "2.0 ×"), (2.44, "2.4 ×"), (9.96, "10 ×"), (38.2, "38 ×"),
  ])
  func factorsHaveTwoOrThreeDigits(factor: Double, text: String) {
    #expect(Quantity.times(factor) == text)
  }

  @Test(arguments: [(0, "0"), (999, "999"), (1000, "1,000"), (1_002_003, "1,002,003")])
  func countsHaveCommas(count: Int, text: String) {
    #expect(Quantity.grouped(count) == text)
  }

  @Test(arguments: [
    ("get_ns", "get"), ("get_dictionary_ns", "get, as a dictionary"),
    ("limit1000_structs_ns", "limit 1,000, as structs"), ("docs_per_s", "documents per second"),
    ("eighth_cache_limit20_ns", "limit 20, small cache"),
  ])
  func metricsAreNamedInWords(metric: String, text: String) {
    #expect(Quantity.name(of: metric) == text)
  }
}
