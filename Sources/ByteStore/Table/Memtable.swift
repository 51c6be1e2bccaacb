// All keys and values in memory: a hash table over the bodies of the commits that hold them.
//
// Invariants (`checkInvariants()` looks at all of them):
//   - A slot is 0, or a fingerprint of a key and the number of its ordinal plus one. Ordinals in use and
//     slots that are not 0 are one to one.
//   - An ordinal's location is the start of a put in a body; the put's key hashes to the slot.
//   - No slot between a key's home, which the fingerprint tells, and its slot is empty.
//   - A body counts the puts in it that are some ordinal's location, and is let go when there are none.
//
// A commit's body is kept as it is: nothing is copied on the way in. What later commits made obsolete is
// freed with the last live put of its body.

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

struct Memtable {
  /// Growing one of many small tables stalls nobody; growing one large table would.
  private static let partitionBits: UInt64 = 6

  private var partitions = [SlotTable](repeating: SlotTable(), count: 1 << Int(partitionBits))
  private var locations: [Location] = []
  private var freeOrdinals: [UInt32] = []
  private var bodies: [Body] = []
  private var freeBodies: [UInt32] = []

  private struct Location {
    var body: UInt32
    /// Of the operation in the body.
    var offset: UInt32
  }

  private struct Body {
    var commit: CommitBody
    var live: Int
  }

  // MARK: Reading

  var count: Int { locations.count - freeOrdinals.count }

  /// How many commits still have a live put.
  var bodiesHeld: Int { bodies.count - freeBodies.count }

  func value(for key: [UInt8]) -> [UInt8]? {
    guard case .found(let place) = find(key[...]) else { return nil }
    let location = locations[Int(ordinal(at: place))]
    return bodies[Int(location.body)].commit.value(ofPutAt: Int(location.offset))
  }

  // MARK: Writing

  /// Applies a commit's operations, in their order.
  mutating func apply(_ commit: CommitBody) {
    let number = freeBodies.popLast() ?? UInt32(bodies.count)
    // Held by one, so that the body does not go while its own later operations undo earlier ones.
    let body = Body(commit: commit, live: 1)
    if Int(number) == bodies.count { bodies.append(body) } else { bodies[Int(number)] = body }
    commit.forEachOperation { operation in
      switch operation {
      case .put(let offset, let key, _):
        put(commit.bytes[key], Location(body: number, offset: UInt32(offset)))
      case .remove(let key): remove(commit.bytes[key])
      }
    }
    release(number)
  }

  private mutating func put(_ key: ArraySlice<UInt8>, _ location: Location) {
    bodies[Int(location.body)].live += 1
    switch find(key) {
    case .found(let place):
      let ordinal = Int(ordinal(at: place))
      release(locations[ordinal].body)
      locations[ordinal] = location
    case .absent(let home):
      let ordinal = freeOrdinals.popLast() ?? UInt32(locations.count)
      if Int(ordinal) == locations.count {
        precondition(ordinal < .max - 1, "a store holds up to 2^32 - 2 keys")
        locations.append(location)
      } else {
        locations[Int(ordinal)] = location
      }
      partitions[home.partition].insert(Slot(home.fingerprint, ordinal))
    }
  }

  private mutating func remove(_ key: ArraySlice<UInt8>) {
    guard case .found(let place) = find(key) else { return }
    let ordinal = ordinal(at: place)
    partitions[place.partition].remove(at: place.index)
    release(locations[Int(ordinal)].body)
    freeOrdinals.append(ordinal)
  }

  private mutating func release(_ body: UInt32) {
    bodies[Int(body)].live -= 1
    guard bodies[Int(body)].live == 0 else { return }
    bodies[Int(body)].commit = .empty
    freeBodies.append(body)
  }

  // MARK: Finding

  private enum Search {
    case found(Place)
    case absent(Home)
  }

  private struct Place {
    var partition: Int
    var index: Int
  }

  private struct Home {
    var partition: Int
    var fingerprint: UInt32
  }

  private func find(_ key: ArraySlice<UInt8>) -> Search {
    let home = Self.home(of: key)
    let slots = partitions[home.partition].slots
    guard !slots.isEmpty else { return .absent(home) }
    let mask = slots.count - 1
    var index = Int(home.fingerprint) & mask
    while !slots[index].isEmpty {
      if slots[index].fingerprint == home.fingerprint, isKey(key, of: slots[index].ordinal) {
        return .found(Place(partition: home.partition, index: index))
      }
      index = (index + 1) & mask
    }
    return .absent(home)
  }

  private func isKey(_ key: ArraySlice<UInt8>, of ordinal: UInt32) -> Bool {
    let location = locations[Int(ordinal)]
    return bodies[Int(location.body)].commit.isKey(key, ofPutAt: Int(location.offset))
  }

  private func ordinal(at place: Place) -> UInt32 {
    partitions[place.partition].slots[place.index].ordinal
  }

  private static func home(of key: ArraySlice<UInt8>) -> Home {
    // Swift's hasher has a seed of the process: nobody can prepare keys that collide.
    var hasher = Hasher()
    unsafe key.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
    let hash = UInt64(bitPattern: Int64(hasher.finalize()))
    return Home(
      partition: Int(hash >> (64 - partitionBits)), fingerprint: UInt32(truncatingIfNeeded: hash))
  }

  // MARK: Checking

  func checkInvariants() {
    var seen = Set<UInt32>()
    var live = [Int](repeating: 0, count: bodies.count)
    for (number, partition) in partitions.enumerated() {
      partition.checkInvariants()
      for slot in partition.slots where !slot.isEmpty {
        precondition(seen.insert(slot.ordinal).inserted, "two slots have one ordinal")
        let location = locations[Int(slot.ordinal)]
        live[Int(location.body)] += 1
        let commit = bodies[Int(location.body)].commit
        let home = Self.home(of: commit.key(ofPutAt: Int(location.offset)))
        precondition(home.partition == number && home.fingerprint == slot.fingerprint, "a wrong slot")
      }
    }
    precondition(seen.count == count && seen.isDisjoint(with: freeOrdinals), "ordinals are lost")
    precondition(live == bodies.map(\.live), "a body counts its live puts wrongly")
  }
}
