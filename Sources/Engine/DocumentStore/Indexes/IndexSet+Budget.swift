// How much the indexes that queries made may take, in number and in memory. Above that, those go that were not of use
// for the longest time, and those that live queries fill up from last. What was asked for stays, and counts for nothing
// here.

import ByteStore

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

extension IndexSet {
  static let automaticMax = 64

  /// A quarter of the machine's memory, but at least 64 MiB.
  static func standardBytesMax() -> Int {
    // Either is -1 if the system does not tell: then it is the least.
    max(sysconf(Int32(_SC_PHYS_PAGES)) / 4 * sysconf(Int32(_SC_PAGESIZE)), 64 << 20)
  }

  /// Lets go of automatic indexes until the others take no more than the budget. The one that was used last stays,
  /// and so do those that are spared, since a query waits for all of them together. Which have gone.
  @discardableResult
  func keepWithinBudget(sparing spared: [IndexDefinition] = []) -> Set<UInt32> {
    let (bytesMax, indexes) = state.withLock { state in
      (state.automaticBytesMax, state.lastToGo)
    }
    // What is not loaded takes nothing. These are copies: nobody waits while they are gone through.
    var bytes = 0
    var gone = Set<UInt32>()
    for (place, index) in indexes.enumerated() {
      let own = index.tree.memory.bytes
      guard place == 0 || bytes + own <= bytesMax || spared.contains(index.definition) else {
        gone.insert(index.id)
        continue
      }
      bytes += own
    }
    if !gone.isEmpty { state.withLock { state in state.indexes.removeAll { gone.contains($0.id) } } }
    return gone
  }
}

extension IndexSet.State {
  /// The automatic indexes, those first that stay the longest.
  fileprivate var lastToGo: [ManagedIndex] {
    let automatic = indexes.filter(\.isAutomatic).sorted { $0.lastUse > $1.lastUse }
    return automatic.filter { pins[$0.definition] != nil } + automatic.filter { pins[$0.definition] == nil }
  }

  /// Adds an index that is complete, and lets go of another one if there are too many.
  mutating func add(_ index: ManagedIndex, sparing spared: [IndexDefinition]) {
    indexes.removeAll { $0.definition == index.definition }
    lost.removeAll { $0.definition == index.definition }
    indexes.append(index)
    uses += 1
    indexes[indexes.count - 1].lastUse = uses
    let others = lastToGo.filter { $0.id != index.id }
    guard others.count >= IndexSet.automaticMax else { return }
    let oldest = others.last { !spared.contains($0.definition) } ?? others.last
    indexes.removeAll { $0.id == oldest?.id }
  }
}
