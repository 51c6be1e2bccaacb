// Fuzzes a document store's metadata: settings, change feed, shapes, records, and checkpointed index pages.
//
// All checksums are valid.
//
//   input := place:u8 bytes
//
// The bytes replace the value of a key, which `place` selects by its position among all keys. Higher
// positions select pages of an index or of the index catalog, whose payload the bytes replace.

internal import ByteStore
internal import DocumentStore

struct DocumentsTarget: FuzzTarget {
  static let name = "documents"
  private static let directory = SampleStore.directory
  private let image: DiskImage
  private let seed: UInt64
  private let entries: [(key: [UInt8], value: [UInt8])]
  private let checkpoint: String
  private let pages: [ForgedCheckpoint.Page]

  init(seed: UInt64) {
    self.seed = seed
    do throws(DocumentStoreError) {
      image = try Self.sample(seed)
    } catch {
      preconditionFailure("a store without faults works: \(error)")
    }
    entries = Self.entries(of: image, seed)
    checkpoint = image.paths.last { $0.contains("/checkpoint-") } ?? ""
    pages = ForgedCheckpoint(image.contents(of: checkpoint)?.bytes ?? []).pages { $0 >= 256 }
  }

  var seeds: [[UInt8]] {
    (entries.map(\.value) + pages.map(\.payload)).enumerated().map { [UInt8($0.offset)] + $0.element }
  }

  func run(_ input: [UInt8]) throws(FuzzFinding) -> String {
    let place = Int(input.first ?? 0) % (entries.count + pages.count)
    let bytes = Array(input.dropFirst())
    let page = place - entries.count
    let forgedImage = page < 0 ? image(with: bytes, at: place) : image(withPage: bytes, page)
    guard let forgedImage else { return "too large" }
    let answer = DocumentsExercise.run(SimulatedDisk(forgedImage).platform(seed: seed))
    // If the open fails because the store is locked, nothing was tested.
    guard !answer.contains("in use by another opener") else {
      throw FuzzFinding("the store of the sample is still locked")
    }
    return answer
  }

  // MARK: The store

  static func options() -> DocumentStore.Options {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    options.scanMax = 0
    return options
  }

  /// Creates a store with indexes, a consumer that has not read everything, a time to live, long index keys
  /// and nested documents. All commits except the last one are flushed.
  private static func sample(_ seed: UInt64) throws(DocumentStoreError) -> DiskImage {
    let disk = SimulatedDisk()
    let store = try DocumentStore.open(directory, options: options(), platform: disk.platform(seed: seed))
    try store.commit((0..<12).map { .set(path("c", "d\($0)"), fields($0)) })
    try store.commit([.set(path("c", "d1", "c", "below"), fields(3))])
    for field in ["n", "t"] {
      try store.createIndex(IndexDefinition("c", .collection, [IndexDefinition.Field(fieldPath(field))]))
    }
    try store.setTimeToLive(fieldPath("gone"), ofCollectionGroup: "other")
    let consumer = try store.feedConsumer("reader")
    try store.commit([.set(path("c", "d2"), fields(20))])
    try store.commit([.delete(path("c", "d3"))])
    _ = try consumer.read(max: 1)
    try consumer.acknowledge(FeedPosition(1))
    try store.compact()
    try store.commit([.set(path("c", "d4"), fields(21))])
    store.bytes.abandon()
    return disk.image
  }

  static func fieldPath(_ name: String) -> StoredFieldPath { StoredFieldPath(unchecked: [name]) }

  static func path(_ segments: String...) -> DocumentPath { DocumentPath(unchecked: segments) }

  static func fields(_ number: Int) -> StoredMap {
    StoredMap([
      ("n", number % 2 == 0 ? .integer(Int64(number)) : .double(Double(number))),
      ("t", .string(String(repeating: "t", count: 200 * (number % 5)))),
    ])
  }

  // MARK: What is made up

  private static func entries(of image: DiskImage, _ seed: UInt64) -> [(key: [UInt8], value: [UInt8])] {
    var entries: [(key: [UInt8], value: [UInt8])] = []
    do throws(ByteStoreError) {
      let store = try open(image, seed).store
      defer { store.abandon() }
      let snapshot = try store.snapshot()
      defer { snapshot.close() }
      try snapshot.forEach { _, key, value in entries.append((Array(copying: key), Array(copying: value))) }
    } catch {
      preconditionFailure("a store without faults works: \(error)")
    }
    return entries.sorted { $0.key.lexicographicallyPrecedes($1.key) }
  }

  private static func open(
    _ image: DiskImage, _ seed: UInt64
  ) throws(ByteStoreError) -> (store: ByteStore, disk: SimulatedDisk) {
    let disk = SimulatedDisk(image)
    var options = ByteStore.Options()
    options.maintenance = .manual
    return (try ByteStore.open(directory, options: options, platform: disk.platform(seed: seed)), disk)
  }

  /// Returns the disk after a valid commit of the forged value; nil if the commit fails, for example because
  /// the value is too large.
  private func image(with value: [UInt8], at place: Int) -> DiskImage? {
    do throws(ByteStoreError) {
      let (store, disk) = try Self.open(image, seed)
      defer { store.abandon() }
      var batch = Batch(stamp: store.lastStamp &+ 1)
      try batch.put(value, for: entries[place].key)
      try store.commit(batch)
      // The kill releases the lock of the process that wrote the value.
      return disk.image.after(.kill)
    } catch {
      return nil
    }
  }

  private func image(withPage payload: [UInt8], _ place: Int) -> DiskImage? {
    var forged = ForgedCheckpoint(image.contents(of: checkpoint)?.bytes ?? [])
    forged.setPayload(payload, of: pages[place])
    var forgedImage = image
    forgedImage.replace(checkpoint, with: PagedBytes(forged.encoded(withCorrectChecksums: true)))
    return forgedImage
  }
}

/// Runs typical operations on a document store. Each operation must return a result or throw a store error.
struct DocumentsExercise {
  private var answers: [String] = []

  static func run(_ platform: Platform) -> String {
    var exercise = DocumentsExercise()
    for round in 0..<2 { exercise.run(platform, round) }
    return exercise.answers.joined(separator: "; ")
  }

  private mutating func run(_ platform: Platform, _ round: Int) {
    var opened: DocumentStore?
    step("open") { () throws(DocumentStoreError) in
      opened = try DocumentStore.open(
        SampleStore.directory, options: DocumentsTarget.options(), platform: platform)
    }
    guard let store = opened else { return }
    defer { store.bytes.abandon() }
    query(store)
    feed(store)
    step("write") { () throws(DocumentStoreError) in
      try store.commit([.set(DocumentsTarget.path("c", "new\(round)"), DocumentsTarget.fields(6))])
    }
    for number in 0..<12 {
      step("remove") { () throws(DocumentStoreError) in
        try store.commit([.delete(DocumentsTarget.path("c", "d\(number)"))])
      }
    }
    step("remove") { () throws(DocumentStoreError) in
      try store.commit([.delete(DocumentsTarget.path("c", "d1", "c", "below"))])
    }
    step("compact") { () throws(DocumentStoreError) in try store.compact() }
    query(store)
    feed(store)
    step("compact") { () throws(DocumentStoreError) in try store.compact() }
  }

  private mutating func query(_ store: DocumentStore) {
    for field in ["n", "t", "other"] {
      step("query") { () throws(DocumentStoreError) in
        let query = try Self.all.ordered(by: OrderBy(DocumentsTarget.fieldPath(field)))
        _ = try store.documents(query)
        _ = try store.count(query)
        _ = try store.aggregate([.sum(DocumentsTarget.fieldPath(field))], over: query)
        try store.forEach(query) { $0.forEachField { _, _ in } }
      }
    }
    step("count") { () throws(DocumentStoreError) in
      _ = try store.count(Self.all)
      _ = try store.count(StructuredQuery(.collectionGroup("c")))
      _ = try store.collectionGroups()
    }
  }

  private static let all = StructuredQuery(.collection(CollectionPath(unchecked: ["c"])))

  private mutating func feed(_ store: DocumentStore) {
    step("feed") { () throws(DocumentStoreError) in
      let consumer = try store.feedConsumer("reader")
      consumer.skipToStart()
      let commits = try consumer.read(max: 10)
      try consumer.acknowledge(commits.last?.position ?? consumer.position)
      try store.feedConsumer("another").unregister()
    }
  }

  private mutating func step(_ what: String, _ body: () throws(DocumentStoreError) -> Void) {
    do throws(DocumentStoreError) {
      try body()
      answers.append(what)
    } catch {
      answers.append("\(what): \("\(error)".withoutNumbers)")
    }
  }
}
