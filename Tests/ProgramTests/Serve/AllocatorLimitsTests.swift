import Testing

@testable import dugout

@Suite struct AllocatorLimitsTests {
  #if canImport(Glibc)
  @Test func glibcTakesAllSettings() {
    #expect(
      AllocatorLimits.set([:]) == [
        "MALLOC_ARENA_MAX", "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_",
      ])
  }

  @Test func theEnvironmentDecidesFirst() {
    #expect(
      AllocatorLimits.set(["MALLOC_ARENA_MAX": "8"])
        == ["MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"])
    #expect(AllocatorLimits.set(["GLIBC_TUNABLES": "glibc.malloc.arena_max=4"]).isEmpty)
  }
  #endif
}
