// Memory sizes as text.

import Harness
import Testing

@testable import ByteStore

@Suite struct MemorySizeTests {
  private static let sizes: [(String, Int)] = [
    ("0", 0), ("1", 1), ("268435456", 268_435_456), ("007", 7),
    ("1k", 1024), ("1K", 1024), ("3m", 3_145_728), ("3M", 3_145_728), ("2g", 2_147_483_648),
    ("2G", 2_147_483_648), ("1kB", 1000), ("1KB", 1000), ("3MB", 3_000_000), ("2GB", 2_000_000_000),
    ("1KiB", 1024), ("3MiB", 3_145_728), ("2GiB", 2_147_483_648), ("256 MiB", 268_435_456), ("1 k", 1024),
    ("1.5GiB", 1_610_612_736), ("0.5k", 512), ("1.25 MB", 1_250_000), ("2.0g", 2_147_483_648),
    // The result is rounded down to a whole byte.
    ("0.001k", 1), ("0.0001k", 0), ("1.9999KB", 1999), ("0.99999999999999999999999999999g", 1_073_741_823),
  ]

  @Test(arguments: sizes)
  func sizesAreParsed(text: String, bytes: Int) {
    #expect(MemorySize.parse(text) == bytes)
  }

  @Test(arguments: [
    "", " ", "k", "MiB", "-1", "+1", "-1k", "1.5", "1.", ".5g", "1.g", "1..5g", "1.5.5g", "1,5g", "1 ", " 1",
    "1  k", "1k ", "1\tk", "1k\n", "1kb", "1mb", "1gb", "1kib", "1mib", "1T", "1TiB", "1B", "1b", "1 bytes",
    "1e3", "0x10", "1_000", "٣", "1½", "1k1", "kk", "max", "unlimited", "50%", "1.5 ", "1m\u{301}", "1\0",
  ])
  func otherTextsAreNoSizes(text: String) {
    #expect(MemorySize.parse(text) == nil)
  }

  @Test func sizesBeyondTheLargestNumberAreRefused() {
    #expect(MemorySize.parse("\(Int.max)") == .max)
    #expect(MemorySize.parse("\(UInt(Int.max) + 1)") == nil)
    #expect(MemorySize.parse("18446744073709551616") == nil)
    #expect(MemorySize.parse("9223372036854775807k") == nil)
    // These are 2^64 + 1024 and 2^64 + 284.
    #expect(MemorySize.parse("18014398509481985k") == nil)
    #expect(MemorySize.parse("18446744073709551.9KB") == nil)
    #expect(MemorySize.parse(String(repeating: "9", count: 10_000) + "g") == nil)
    #expect(MemorySize.parse("0." + String(repeating: "9", count: 10_000) + "g") == (1 << 30) - 1)
  }

  @Test func randomTextsNeverStopTheProcess() {
    let letters = Array("0123456789..  kKMGiB-+e\u{0}é".unicodeScalars)
    var random = SeededRandom(seed: 3)
    for _ in 0..<20_000 {
      var text = ""
      for _ in 0...random.below(24) { text.unicodeScalars.append(letters[random.below(letters.count)]) }
      #expect(MemorySize.parse(text) ?? 0 >= 0)
    }
  }

  private static let texts: [(Int, String)] = [
    (0, "0 bytes"), (1, "1 byte"), (1023, "1023 bytes"), (1024, "1 KiB"), (1536, "1.5 KiB"),
    (1100, "1.1 KiB"),
    (201_326_592, "192 MiB"), (1_610_612_736, "1.5 GiB"), (549_755_813_888, "512 GiB"),
    (5_497_558_138_880, "5 TiB"),
    (1_048_575, "1 MiB"), (1_073_741_823, "1 GiB"), (1_048_476, "1023.9 KiB"),
    (10_485_761, "10 MiB"),
    (.max, "8 EiB"), (.min, "-8 EiB"), (-1536, "-1.5 KiB"), (-1, "-1 byte"),
  ]

  @Test(arguments: texts)
  func sizesAreFormattedInTheLargestUnit(bytes: Int, text: String) {
    #expect(MemorySize.text(bytes) == text)
  }

  @Test func wholeNumbersOfUnitsAreParsedBack() {
    for shift in [10, 20, 30] {
      for count in [1, 3, 1000] {
        #expect(MemorySize.parse(MemorySize.text(count << shift)) == count << shift)
      }
    }
  }
}
