// Random commits to a store and to a dictionary model: both agree after each commit and each reopening.

import DocumentStore
import Harness
import Testing

@Suite struct DocumentStoreModelTests {
  private struct Expected {
    var createTime: Int64
    var updateTime: Int64
    var fields: StoredMap
  }

  /// A model of the contract: a dictionary of documents by the bytes of their names.
  private struct Model {
    var documents: [[[UInt8]]: Expected] = [:]

    mutating func apply(_ mutation: Mutation, at time: Int64) {
      let key = mutation.path.segments.map { Array($0.utf8) }
      guard case .set(var fields, let transforms) = mutation.change else {
        documents[key] = nil
        return
      }
      for transform in transforms { fields[transform.field.names[0]] = .timestamp(timestamp(time)) }
      let before = documents[key]
      let updateTime = before?.fields == fields ? before?.updateTime : nil
      documents[key] = Expected(
        createTime: before?.createTime ?? time, updateTime: updateTime ?? time, fields: fields)
    }
  }

  @Test(arguments: [41, 42, 43, 44] as [UInt64])
  func aStoreIsADictionaryThatSurvivesReopening(seed: UInt64) throws {
    let directory = TemporaryDirectory()
    var rng = SeededRNG(seed: seed)
    let clock = HandClock(1_700_000_000_000_000)
    var paths = (0..<6).map { _ in DocumentPath.any(&rng) }
    paths += paths.map { $0.neighbour(&rng) }
    var model = Model()
    var last: Int64 = 0
    var times: [Int64] = []
    var expectedTimes: [Int64] = []
    var store: DocumentStore? = try DocumentStore.open(directory, clock)
    for step in 0..<120 {
      let now = 1_700_000_000_000_000 + Int64(rng.roll(2000)) - 1000
      clock.set(now)
      let mutations = (0..<rng.roll(6)).map { _ in mutation(paths, &rng) }
      let time = try #require(try store?.commit(mutations)).microseconds
      times.append(time)
      expectedTimes.append(max(now, last + 1))
      last = time
      for mutation in mutations { model.apply(mutation, at: time) }
      if rng.oneIn(10) {
        if rng.oneIn(2) { try store?.close() }
        store = try DocumentStore.abandonAndOpen(&store, directory, clock)
      }
      try compare(#require(store), with: model, paths, "seed \(seed), step \(step)")
    }
    try store?.close()
    #expect(times == expectedTimes, "seed \(seed)")
  }

  private func mutation(_ paths: [DocumentPath], _ rng: inout SeededRNG) -> Mutation {
    let path = rng.pick(paths)
    if rng.oneIn(4) { return .delete(path) }
    let transforms = (0..<rng.roll(3)).map { _ in
      FieldTransform(field(rng.pick(["at", "\u{E9}", "e\u{301}"])), .serverTimestamp)
    }
    return .set(path, Values.fields(&rng).storable, transforms: transforms)
  }

  private func compare(
    _ store: DocumentStore, with model: Model, _ paths: [DocumentPath], _ place: Comment
  ) throws {
    try #require(store.count == model.documents.count, place)
    for path in paths {
      let document = try store.document(at: path)
      let expected = model.documents[path.segments.map { Array($0.utf8) }]
      try #require(document?.createTime.microseconds == expected?.createTime, place)
      try #require(document?.updateTime.microseconds == expected?.updateTime, place)
      try #require(document?.fields == expected?.fields, place)
    }
  }
}
