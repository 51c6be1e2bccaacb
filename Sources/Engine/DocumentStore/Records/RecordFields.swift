// Lookups of fields in an encoded map, one after another.
//
// A decoder for a type looks up its fields in a fixed order, and documents with the same shape have their
// fields in the same positions. Therefore the first decoder that looks up at least half of a shape's fields
// records the positions of these fields. A later lookup tries the recorded position first, which usually
// takes one comparison. If the recorded position is wrong, the lookup tries the field after the last one
// found, and then does a binary search.

import ByteStore
import Synchronization

/// The names of a shape, and the recorded positions.
final class FieldNames: Sendable {
  private final class Places: Sendable {
    /// The positions in lookup order.
    let places: [UInt8]

    init(_ places: [UInt8]) { self.places = places }
  }

  let names: [String]
  private let known = LazyReference<Places>()
  /// Number of attempts to record positions.
  private let tries = Atomic<Int>(0)
  private static let triesMax = 8

  init(_ names: [String]) { self.names = names }

  fileprivate var places: [UInt8]? { known.load()?.places }

  /// Whether positions should be recorded. The number of attempts is limited, because there may be no type
  /// that has enough of the shape's fields.
  fileprivate var shouldBeRecorded: Bool {
    tries.load(ordering: .relaxed) < Self.triesMax
      && tries.add(1, ordering: .relaxed).oldValue < Self.triesMax
  }

  /// Sets the positions, which never change afterwards. Positions that were recorded for another type do no
  /// harm.
  fileprivate func record(_ places: [UInt8]) {
    if 2 * places.count >= names.count { _ = known.storeIfNil(Places(places)) }
  }
}

/// Looks up the fields of one map. Must be used by one thread at a time.
package final class RecordFields {
  package let map: RecordMap
  /// The expected positions, in lookup order, if they are recorded.
  private let places: [UInt8]?
  private var lookups = 0
  /// The positions that this object records. Nil if it does not record any.
  private var own: [UInt8]?
  /// The position after the field found last.
  private var next = 0

  package init(_ map: RecordMap) {
    self.map = map
    places = map.names?.places
    if places == nil, let names = map.names, names.shouldBeRecorded { own = [] }
  }

  deinit { if let own { map.names?.record(own) } }

  package func position(of name: String) -> Int? {
    guard let names = map.names?.names else { return search(name, map.compareName) }
    if let places, lookups < places.count {
      let place = Int(places[lookups])
      if names[place].isSameUTF8(as: name) {
        lookups += 1
        next = place + 1
        return place
      }
    }
    // If the field found last is looked up again as another type, the lookup is not recorded.
    if next > 0, names[next - 1].isSameUTF8(as: name) { return next - 1 }
    let found = search(name) { names[$0].comparedInUTF8(to: $1) }
    if let found { note(UInt8(truncatingIfNeeded: found)) }
    return found
  }

  private func note(_ place: UInt8) {
    // Continue after this field if the decoded type has skipped some fields.
    if let index = places?.firstIndex(of: place) { lookups = index + 1 }
    if let count = own?.count, count < Shape.namesMax { own?.append(place) }
  }

  private func search(_ name: String, _ compare: (Int, String) -> Int) -> Int? {
    let found = Self.place(among: map.count, after: next) { compare($0, name) }
    if let found { next = found + 1 }
    return found
  }

  /// Finds the name for which `compare` returns 0, among `count` sorted names. Tries `next` and its
  /// predecessor first.
  package static func place(among count: Int, after next: Int, _ compare: (Int) -> Int) -> Int? {
    if next < count, compare(next) == 0 { return next }
    if next > 0, compare(next - 1) == 0 { return next - 1 }
    var low = 0
    var high = count
    while low < high {
      let middle = (low + high) / 2
      let order = compare(middle)
      if order == 0 { return middle }
      if order < 0 { low = middle + 1 } else { high = middle }
    }
    return nil
  }

  // MARK: Common types

  // Each of these methods returns nil unless the field has exactly this type.

  package func string(_ name: String) -> String? { payload(name, .string) { String(record: $0) } }

  package func integer(_ name: String) -> Int64? { payload(name, .integer) { $0.signed } }

  package func double(_ name: String) -> Double? {
    payload(name, .double) { Double(bitPattern: $0.doubleBits) }
  }

  package func boolean(_ name: String) -> Bool? { position(of: name).flatMap { map.value(at: $0).boolean } }

  @inline(__always)
  private func payload<Found>(_ name: String, _ tag: RecordCodec.Tag, _ body: (RawSpan) -> Found?) -> Found? {
    guard let position = position(of: name) else { return nil }
    return map.withValue(at: position) { value in
      value.byte(at: 0) == tag.rawValue ? body(value.extracting(droppingFirst: 1)) : nil
    }
  }
}
