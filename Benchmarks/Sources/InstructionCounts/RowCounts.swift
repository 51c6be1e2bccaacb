// The counts of one row, for each operation.

package struct RowCounts: Equatable, Sendable {
  package var name: String
  package var instructions: Double
  package var mallocs: Double
  package var retains: Double
  package var locks: Double

  package init(name: String, instructions: Double, mallocs: Double, retains: Double, locks: Double) {
    self.name = name
    self.instructions = instructions
    self.mallocs = mallocs
    self.retains = retains
    self.locks = locks
  }

  /// Divides the counts of a profile by the number of operations that it covers.
  package init(name: String, _ profile: CallgrindProfile, operations: Int) {
    func each(_ count: Int) -> Double { Double(count) / Double(operations) }
    self.init(
      name: name, instructions: each(profile.instructions),
      mallocs: each(profile.calls(of: Self.allocators)), retains: each(profile.calls(of: Self.retains)),
      locks: each(profile.calls(of: Self.locks)))
  }

  private static let allocators: Set<String> = [
    "malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc",
  ]
  private static let retains: Set<String> = [
    "swift_retain", "swift_retain_n", "swift_bridgeObjectRetain", "swift_bridgeObjectRetain_n",
  ]
  private static let locks: Set<String> = ["pthread_mutex_lock"]
}
