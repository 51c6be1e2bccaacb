// What each document of one collection, or of one collection group, is asked for.
//
// A question is most often answered with no, and where nothing of it is in the processor's caches, each instruction takes
// as long as many do elsewhere. So the answer comes twice: quickly, where fields lie where they lay in the document
// before, and values are numbers or short texts, without a call; else from the beginning, in whatever way there is.

import ByteStore

/// Fields lie beside each other, in memory of the `LiveSieveScope` that made these: they hold until that is changed or gone.
@safe
struct LiveQuestions {
  /// A field that is in no other, and that not every document has.
  struct Outermost {
    /// As the document before had it, or the query.
    var name: String
    /// Where it was in the document before.
    var place = 0
    var wanted: LiveWanted
  }

  var outermost: UnsafeMutablePointer<Outermost>?
  var count = 0
  var letsAllThrough = false
  /// There are other fields, which only the scope knows.
  var hasOthers = false

  /// Whether someone waits for what one of the outermost fields is or was.
  @inline(__always)
  func letsThrough(
    _ change: UnsafePointer<IndexChanges.Change>, _ marks: LiveMarks.View, _ key: inout [UInt8]
  ) -> Bool {
    if letsAllThrough { return true }
    if unsafe !change.pointee.before.isNone, unsafe letsBeforeThrough(change, marks, &key) { return true }
    guard let fields = unsafe change.pointee.after?.fields else { return false }
    return quickAnswer(fields, marks) ?? answer(fields, marks, &key)
  }

  @inline(never)
  private func letsBeforeThrough(
    _ change: UnsafePointer<IndexChanges.Change>, _ marks: LiveMarks.View, _ key: inout [UInt8]
  ) -> Bool {
    switch unsafe change.pointee.before {
    case .none: false
    case .document(let before): quickAnswer(before.fields, marks) ?? answer(before.fields, marks, &key)
    // Its values are not known.
    case .unknown: count > 0 || hasOthers
    }
  }

  /// Nil if that takes longer. What it reads is not counted as referred to, as nothing is called meanwhile.
  @inline(__always)
  private func quickAnswer(_ fields: StoredMap, _ marks: LiveMarks.View) -> Bool? {
    unsafe fields.entries.withUnsafeBufferPointer { entries in
      guard var asked = unsafe outermost else { return false }
      let end = unsafe asked + count
      while unsafe asked < end {
        let place = unsafe asked.pointee.place
        guard place < entries.count,
          unsafe entries.name(at: place).pointee.hasSameBits(as: asked.pointee.name)
        else { return nil }
        switch unsafe asked.pointee.wanted.quickAnswer(entries.value(at: place), marks) {
        case true?: return true
        case nil: return nil
        case false?: unsafe asked += 1
        }
      }
      return false
    }
  }

  @inline(never)
  private func answer(_ fields: StoredMap, _ marks: LiveMarks.View, _ key: inout [UInt8]) -> Bool {
    guard let outermost = unsafe outermost else { return false }
    return unsafe fields.entries.withUnsafeBufferPointer { entries in
      for number in 0..<count {
        guard unsafe fields.has(outermost[number].name, near: &outermost[number].place) else {
          continue
        }
        // Where it is long, the same text lies elsewhere in each document that its user made, and in the same place in
        // those that were read. This one is like the next, most often.
        unsafe outermost[number].name = entries.name(at: outermost[number].place).pointee
        let value = unsafe entries.value(at: outermost[number].place)
        if unsafe outermost[number].wanted.letsThrough(value, marks, &key) { return true }
      }
      return false
    }
  }
}
