// A process that runs an object workload and records what was acknowledged as durable.

import ByteStore
import DocumentStore
import ObjectStore

final class BlobLife {
  static let path = "/store"

  static var options: DocumentStore.Options {
    var options = DocumentStore.Options()
    options.maintenance = .manual
    options.blobs.packedBytesMax = 2000
    options.blobs.packBytesMax = 16 << 10
    options.blobs.syncBytes = 256 << 10
    return options
  }

  static func platform(_ disk: SimulatedDisk, _ rule: Rule?) -> Platform {
    var platform = disk.platform(seed: UInt64(disk.counters.operations) &+ 1)
    platform.brokenRule = rule
    return platform
  }

  let disk: SimulatedDisk
  private let workload: BlobWorkload
  private let rule: Rule?
  private var store: DocumentStore?
  /// The last acknowledged content of each name.
  private var acknowledged: [String: Int] = [:]
  /// The other allowed states of a name after an error with unknown outcome.
  private var open: [String: Set<Int?>] = [:]
  /// Staged parts that have to survive.
  private var parts: [StagedNumber: BlobPart] = [:]
  /// The allowed states over time. Each entry applies from its disk call until the disk call of the next
  /// entry.
  private var expectations: [(call: Int, expected: BlobExpectation)] = []
  private(set) var problem: String?

  init(
    _ workload: BlobWorkload, on image: DiskImage, recordsHistory: Bool, _ rule: Rule?,
    _ fault: FaultPlan? = nil
  ) {
    var options = SimulatedDisk.Options()
    options.recordsHistory = recordsHistory
    options.fault = fault
    disk = SimulatedDisk(image, options: options)
    self.workload = workload
    self.rule = rule
  }

  /// Returns the states that are allowed after a crash before the given disk call.
  func candidates(at call: Int) -> BlobExpectation {
    expectations.last { $0.call <= call }?.expected ?? BlobExpectation()
  }

  func run() {
    for step in workload.steps {
      note(during: step)
      do throws(DocumentStoreError) {
        try perform(step)
      } catch {
        failed(step, error)
      }
      note(during: nil)
    }
    try? store?.close()
    store = nil
  }

  private func note(during step: BlobWorkload.Step?) {
    var expected = BlobExpectation()
    for name in BlobWorkload.names {
      var allowed: Set<Int?> = open[name] ?? []
      allowed.insert(acknowledged[name])
      if let step, step.name == name, let outcome = step.outcome { allowed.insert(outcome) }
      expected.objects[name] = allowed
    }
    expected.parts = parts
    expectations.append((disk.counters.operations, expected))
  }

  private func opened() throws(DocumentStoreError) -> DocumentStore {
    if let store { return store }
    let opened = try DocumentStore.open(Self.path, options: Self.options, platform: Self.platform(disk, rule))
    store = opened
    return opened
  }

  // MARK: Steps

  private func perform(_ step: BlobWorkload.Step) throws(DocumentStoreError) {
    let objects = try opened().objects
    let path = ObjectPath(bucket: "bucket", name: try ObjectName(step.name))
    let source = UploadSource(file: nil, byteCount: UInt64(step.bytes.count), modified: 0)
    switch step.kind {
    case .put:
      let upload = objects.upload(to: path, from: source, attributes: ObjectAttributes())
      try finish(upload, step.bytes, step)
    case .staged:
      let upload = objects.upload(to: path, from: source, attributes: ObjectAttributes())
      let part = Array(step.bytes.prefix(step.bytes.count / 2))
      try fill(upload, part)
      try cancellingOnError(upload) { () throws(DocumentStoreError) in try upload.persist() }
      upload.leave()
      parts[upload.number] = BlobPart(content: step.content, bytesMin: (part.count >> 18) << 18)
    case .resumed: try resume(objects)
    case .cancelled:
      let upload = objects.upload(to: path, from: source, attributes: ObjectAttributes())
      try fill(upload, step.bytes)
      upload.cancel()
    case .delete:
      let wasThere = try objects.delete(path)
      if wasThere != (acknowledged[step.name] != nil), open[step.name] == nil {
        problem = "a delete of \(step.name) did not know whether it was there"
      }
      // A poisoned store does not delete an object that it does not show, but the next open may show that
      // object again.
      if wasThere || open[step.name] == nil { recordAcknowledged(step.name, nil) }
    case .update:
      _ = try objects.update(path) { $0.contentType = "text/\(step.content)" }
    case .sweep:
      try objects.sweep(.everything)
    case .reopen:
      let store = try opened()
      self.store = nil
      try store.close()
    }
  }

  /// Resumes a staged upload and finishes it with the rest of its content.
  private func resume(_ objects: ObjectStore) throws(DocumentStoreError) {
    guard let stored = try objects.uploads().first else { return }
    parts[stored.number] = nil
    var staged: [UInt8] = []
    guard let upload = try objects.resume(stored, { staged += $0 }) else { return }
    let contents = BlobWorkload.contents.indices.filter {
      BlobWorkload.content($0).count == Int(stored.source.byteCount)
    }
    guard let content = contents.first, BlobWorkload.content(content).starts(with: staged) else {
      problem = "a staged part differs from the upload"
      return upload.cancel()
    }
    let step = BlobWorkload.Step(kind: .put, name: stored.path.name.text, content: content)
    note(during: step)
    do throws(DocumentStoreError) {
      try finish(upload, Array(step.bytes.dropFirst(staged.count)), step)
    } catch {
      failed(step, error)
    }
  }

  private func fill(_ upload: ObjectUpload, _ bytes: [UInt8]) throws(DocumentStoreError) {
    try cancellingOnError(upload) { () throws(DocumentStoreError) in
      for start in stride(from: 0, to: bytes.count, by: 100_000) {
        try upload.append(Array(bytes[start..<min(bytes.count, start + 100_000)]))
      }
    }
  }

  private func finish(
    _ upload: ObjectUpload, _ bytes: [UInt8], _ step: BlobWorkload.Step
  ) throws(DocumentStoreError) {
    try fill(upload, bytes)
    try cancellingOnError(upload) { () throws(DocumentStoreError) in _ = try upload.finish(token: "token") }
    recordAcknowledged(step.name, step.content)
  }

  private func cancellingOnError(
    _ upload: ObjectUpload, _ body: () throws(DocumentStoreError) -> Void
  ) throws(DocumentStoreError) {
    do throws(DocumentStoreError) { try body() } catch {
      upload.cancel()
      throw error
    }
  }

  private func recordAcknowledged(_ name: String, _ content: Int?) {
    acknowledged[name] = content
    open[name] = nil
  }

  /// Checks that a failed step has changed nothing, unless its outcome is unknown.
  private func failed(_ step: BlobWorkload.Step, _ error: DocumentStoreError) {
    // After a failed close, the store is unusable.
    if case .outcomeUnknown = error, let outcome = step.outcome {
      open[step.name, default: []].insert(outcome)
    }
    if disk.counters.faults == 0 { problem = "\(step.kind) failed without a fault: \(error)" }
  }
}

extension BlobWorkload.Step {
  var bytes: [UInt8] { BlobWorkload.content(content) }

  /// The object's content after the step, where `.some(nil)` means that the object is absent. Nil if the step
  /// does not change the object.
  fileprivate var outcome: Int?? {
    switch kind {
    case .put: .some(content)
    case .delete: .some(nil)
    case .staged, .resumed, .cancelled, .update, .sweep, .reopen: nil
    }
  }
}
