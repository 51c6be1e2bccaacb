// The status of a store, as `dugout stat` prints it.

import ByteStore
import DocumentStore
import Foundation

struct StoreStatus {
  var directory: String
  var storeID: RandomID
  /// Nil if the records that contain the number of documents cannot be read.
  var documents: Int?
  var statistics: Statistics
  var memoryUse: MemoryUse
  var memoryBudget: MemoryBudget?
  var recovery: RecoveryReport
  /// For each collection id with a time to live, the number of expired documents that cannot be read.
  var unreadableExpired: [String: Int?]
  /// The statistics of the storage's files, which have their own folder; nil if the files cannot be read.
  var contents: ContentStatistics?
  var isCache: Bool
  /// Whether another process writes the store meanwhile. Its logs then have an open end, which is no loss.
  var hasWriter = false

  init(of store: DocumentStore) {
    directory = store.path
    storeID = store.storeID
    documents = try? store.documentCount()
    statistics = store.statistics
    memoryUse = store.memoryUse
    memoryBudget = store.memoryBudget
    recovery = store.recoveryReport
    unreadableExpired = store.unreadableExpired(ofFirst: Self.expiredMax)
    contents = try? store.contentStatistics()
    isCache = (try? StoreAccess.isCache(store)) ?? false
    if store.readerAge != nil, case .held = ByteStore.use(of: store.path) { hasWriter = true }
  }

  /// Shared by the help of all commands that count records.
  static let records =
    "A record is a document, or what the store keeps for them, such as names of fields and files of the storage."

  /// The number of expired documents to examine in each collection.
  private static let expiredMax = 1000

  /// An older snapshot was probably never closed.
  static let snapshotSecondsMax = 600.0

  // MARK: For the eye

  var text: String {
    let rows = [
      ("id", storeID.description),
      (
        "holds",
        (documents.map { Wording.count($0, "document") + "; " } ?? "")
          + "\(Wording.count(statistics.keys, "record")) in all, as of commit \(statistics.lastCommit.value)"
      ),
      ("files", files), ("contents", contentsText), ("segments", segments), ("logs", logs),
      ("last flush", lastFlush),
      ("memory", memory), ("snapshots", snapshots), ("writing", writing),
      ("durability", statistics.durability.description), ("this open", thisOpen),
    ]
    let lines = rows.map { "  " + $0.0.padding(toLength: 12, withPad: " ", startingAt: 0) + $0.1 }
    return ([Terminal.emphasised(directory)] + lines + warnings).joined(separator: "\n")
  }

  private var files: String {
    let checkpoints = statistics.checkpoint == nil ? 0 : 1
    let count = 1 + statistics.segments.count + statistics.logs.count + checkpoints
    return "\(count), the lock aside, with \(Wording.bytes(statistics.directoryBytes))"
  }

  private var contentsText: String {
    guard let contents else { return "cannot be looked at" }
    guard contents.contents > 0 || contents.files > 0 else { return "none" }
    return "\(contents.contents) of files of a storage, in \(Wording.count(contents.files, "file")) with "
      + Wording.bytes(contents.bytes)
  }

  private var segments: String {
    let segments = statistics.segments
    guard segments.count > 0 else { return "none" }
    return "\(segments.count), with \(Wording.bytes(segments.dataBytes)): "
      + "\(Wording.bytes(segments.liveBytes)) alive, \(Wording.bytes(segments.deadBytes)) dead"
  }

  private var logs: String {
    guard statistics.logs.count > 0 else { return "none" }
    return "\(statistics.logs.count), of which an open reads \(Wording.bytes(statistics.logs.bytes))"
  }

  private var lastFlush: String {
    let since = Wording.count(statistics.commitsSinceFlush, "commit")
    guard let checkpoint = statistics.checkpoint else { return "none yet, \(since) in logs" }
    return "through commit \(checkpoint.sequence.value), \(since) since; "
      + "its checkpoint has \(Wording.bytes(checkpoint.bytes))"
  }

  private var memory: String {
    let cache = statistics.cache
    let budget = memoryBudget.map { " of a budget of \(Wording.bytes(UInt64($0.bytesMax)))" } ?? ""
    return "\(Wording.bytes(UInt64(memoryUse.total)))\(budget); "
      + "\(Wording.bytes(UInt64(memoryUse.keyDirectory))) of the key directory, "
      + "\(Wording.bytes(UInt64(memoryUse.layer.fixedBytes + memoryUse.layer.evictableBytes))) of indexes, "
      + "\(Wording.bytes(UInt64(statistics.memtableBytes))) of commits since the flush; "
      + "cache \(Wording.bytes(UInt64(cache.bytesUsed))) of \(Wording.bytes(UInt64(cache.bytesMax))), "
      + "\(Wording.count(cache.hits, "hit")), \(Wording.count(cache.misses, "miss", plural: "misses"))"
  }

  private var snapshots: String {
    let snapshots = statistics.snapshots
    guard !snapshots.open.isEmpty else { return "none open" }
    let shown = snapshots.open.prefix(5).map {
      "of commit \($0.sequence.value) for \(Wording.duration(seconds: $0.ageSeconds))"
    }
    let more = snapshots.open.count > shown.count ? ", …" : ""
    return "\(snapshots.open.count) open, \(shown.joined(separator: ", "))\(more); "
      + "\(Wording.bytes(snapshots.deletedBytesHeld)) of deleted segments held"
  }

  private var writing: String {
    switch statistics.writing {
    // A command opens the store for reading, which says nothing about the writes of the app.
    case .possible, .readOnly: "possible"
    case .diskFull(let cause): "refused, except for deletes, because the disk is full: \(cause)"
    case .flushImpossible(let error): "refused until a flush succeeds: \(error)"
    case .poisoned(let cause): "ended by a failure, until the store is opened again: \(cause)"
    case .closed: "closed"
    }
  }

  private var thisOpen: String {
    if hasWriter {
      return "beside the writer; \(Wording.count(recovery.logsRead, "log")) read, "
        + "\(Wording.count(recovery.commitsReplayed, "commit")) replayed"
    }
    let before = recovery.wasClosedCleanly ? "was closed cleanly" : "was not closed cleanly"
    let dropped = recovery.losses.isEmpty ? "nothing dropped" : "the dropped data is listed below"
    return "\(before) before; \(Wording.count(recovery.logsRead, "log")) read, "
      + "\(Wording.count(recovery.commitsReplayed, "commit")) replayed, \(dropped)"
  }

  /// Conditions that the user should know about, with advice where it exists.
  private var warnings: [String] {
    var lines = (hasWriter ? [] : recovery.losses).map { "Dropped by this open: \($0.line)." }
    if isCache {
      lines.append(
        "This is the cache of a remote, with the writes that the remote has not accepted yet: only the app may "
          + "write here.")
    }
    if let oldest = statistics.snapshots.oldest, oldest.ageSeconds >= Self.snapshotSecondsMax {
      lines.append(
        "The snapshot of commit \(oldest.sequence.value) has been open for "
          + "\(Wording.duration(seconds: oldest.ageSeconds)). If it was forgotten, close it: its data "
          + "keeps its space in memory and on disk.")
    }
    if let failure = statistics.flushFailure {
      lines.append("The last flush failed, and will be tried again: \(failure)")
    }
    lines += statistics.damagedSegments.map {
      "\($0.file) cannot be read: \($0.error) \"dugout check\" lists all damage."
    }
    for (id, count) in unreadableExpired.sorted(by: { $0.key < $1.key }) {
      guard let count, count > 0 else { continue }
      lines.append(
        "\(Wording.count(count, "document")) of \(id) cannot be read and cannot be deleted, although they expired. "
          + "Run `dugout check`, and delete or rewrite them.")
    }
    if statistics.durability.verdict == .notDurable {
      lines.append(
        "Data stored here does not survive a power loss. Use another file system for data that must.")
    }
    return lines
  }

  // MARK: For programs

  var object: JSON {
    [
      "directory": directory, "storeID": storeID.description, "documents": documents,
      "keys": statistics.keys,
      "lastCommit": statistics.lastCommit.value, "directoryBytes": statistics.directoryBytes,
      "segments": [
        "count": statistics.segments.count, "dataBytes": statistics.segments.dataBytes,
        "liveBytes": statistics.segments.liveBytes, "deadBytes": statistics.segments.deadBytes,
      ] as JSON,
      "logs": ["count": statistics.logs.count, "bytes": statistics.logs.bytes] as JSON,
      "checkpoint": statistics.checkpoint.map { ["sequence": $0.sequence.value, "bytes": $0.bytes] as JSON },
      "commitsSinceFlush": statistics.commitsSinceFlush, "memtableBytes": statistics.memtableBytes,
      "cache": [
        "bytesUsed": statistics.cache.bytesUsed, "bytesMax": statistics.cache.bytesMax,
        "hits": statistics.cache.hits, "misses": statistics.cache.misses,
      ] as JSON,
      "memory": [
        "budgetBytes": memoryBudget?.bytesMax, "budgetOrigin": memoryBudget?.origin.rawValue,
        "bytes": memoryUse.total, "keyDirectoryBytes": memoryUse.keyDirectory,
        "indexBytes": memoryUse.layer.fixedBytes, "automaticIndexBytes": memoryUse.layer.evictableBytes,
      ] as JSON,
      "snapshots": [
        "open": statistics.snapshots.open.map {
          ["ageSeconds": $0.ageSeconds, "sequence": $0.sequence.value] as JSON
        }, "deletedBytesHeld": statistics.snapshots.deletedBytesHeld,
      ] as JSON,
      "flushFailure": statistics.flushFailure?.description,
      "damagedSegments": statistics.damagedSegments.map(\.object), "writing": writing,
      "durability": statistics.durability.object,
      "contents": contents.map {
        ["contents": $0.contents, "files": $0.files, "bytes": $0.bytes] as JSON
      }, "cacheOfRemote": isCache,
      "unreadableExpired": unreadableExpired.compactMapValues { $0 },
      "recovery": [
        "wasClosedCleanly": recovery.wasClosedCleanly, "logsRead": recovery.logsRead,
        "commitsReplayed": recovery.commitsReplayed, "losses": recovery.losses.map(\.object),
      ] as JSON,
    ]
  }
}

extension Statistics.DamagedSegment {
  var object: JSON { ["file": file, "error": error.description] }
}
