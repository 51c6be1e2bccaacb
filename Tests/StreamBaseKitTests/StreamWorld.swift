// A database in memory, its callback queue, and items to store in it.

import FirebaseFirestore
import Foundation
import Testing

@testable import StreamBaseKit

@Suite(.timeLimit(.minutes(5))) enum StreamBaseKitTests {}

/// An item with a text, a rank and a field that is not stored. `dictReads` counts the reads of `dict`.
class Note: BaseItem {
  nonisolated(unsafe) static var dictReads = 0

  var text: String?
  var rank: Int?
  var isHidden = false

  override func update(_ dict: [String: Any]?) {
    super.update(dict)
    text = dict?["text"] as? String
    rank = dict?["rank"] as? Int
  }

  override var dict: [String: Any] {
    Self.dictReads += 1
    var dict = super.dict
    dict["text"] = text
    dict["rank"] = rank
    return dict
  }

  convenience init(_ key: String, text: String? = nil, rank: Int? = nil) {
    self.init(key: key)
    self.text = text
    self.rank = rank
  }
}

/// A note with a time that the server may set.
final class Dated: Note {
  var date: Timestamp?

  override func update(_ dict: [String: Any]?) {
    super.update(dict)
    date = dict?["date"] as? Timestamp
  }

  override var dict: [String: Any] { super.dict.merging(["date": date as Any? ?? NSNull()]) { $1 } }
}

/// A database for streams. Streams must be used on the callback queue, on which `on` runs its block.
final class StreamWorld: @unchecked Sendable {
  // Unchecked, because mutable state is used only on the queue.
  static let queueKey = DispatchSpecificKey<Bool>()

  let firestore: Firestore
  let queue: DispatchQueue

  init(_ change: (FirestoreSettings) -> Void = { _ in }) {
    firestore = Firestore.memory()
    queue = DispatchQueue(label: "dugout.test.callbacks")
    queue.setSpecific(key: Self.queueKey, value: true)
    let settings = FirestoreSettings()
    settings.dispatchQueue = queue
    change(settings)
    firestore.settings = settings
  }

  var notes: CollectionReference { firestore.collection("notes") }

  func on<Value>(_ body: () throws -> Value) rethrows -> Value { try queue.sync(execute: body) }

  /// Waits until the condition holds on the queue.
  func wait(_ condition: () -> Bool) async {
    while !on(condition) { await Task.yield() }
  }

  /// Writes notes with these ranks in one commit.
  func put(_ notes: [(String, Int?)], in collection: String = "notes") async throws {
    let batch = firestore.batch()
    for (key, rank) in notes {
      var data: [String: Any] = ["text": key.uppercased()]
      data["rank"] = rank
      batch.setData(data, forDocument: firestore.collection(collection).document(key))
    }
    try await batch.commit()
  }

  func put(_ keys: String..., in collection: String = "notes") async throws {
    try await put(keys.map { ($0, nil) }, in: collection)
  }

  func delete(_ keys: String..., in collection: String = "notes") async throws {
    let batch = firestore.batch()
    for key in keys { batch.deleteDocument(firestore.collection(collection).document(key)) }
    try await batch.commit()
  }

  /// Returns a stream that has loaded and that reports changes without a delay, and the recorder of its
  /// changes.
  func stream(
    limit: Int? = nil, ascending: Bool = true, _ ordering: StreamBase.Ordering = .key,
    in collection: String = "notes",
    _ change: (StreamBase) -> Void = { _ in }
  ) async -> (stream: StreamBase, recorder: StreamChangeRecorder) {
    let (stream, recorder) = on {
      let stream = StreamBase(
        type: Note.self, ref: firestore.collection(collection), limit: limit, ascending: ascending,
        ordering: ordering)
      let recorder = StreamChangeRecorder()
      stream.batchDelay = nil
      stream.delegate = recorder
      change(stream)
      return (stream, recorder)
    }
    await wait { stream.kitLoad.isFinished && !stream.kitLoadIsDue }
    on { _ = recorder.take() }
    return (stream, recorder)
  }

  func keys(_ stream: StreamBase) -> [String] { on { stream.map { $0.key! } } }
}

func paths(_ rows: Int..., section: Int = 0) -> [IndexPath] {
  rows.map { IndexPath(row: $0, section: section) }
}

func path(_ section: Int, _ row: Int) -> IndexPath { IndexPath(row: row, section: section) }
