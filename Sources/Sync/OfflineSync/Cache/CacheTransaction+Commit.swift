// Turns the writes of a transaction into one commit, or into several if they do not fit in one.
//
// A user's write must become visible atomically, so its invisible entries are committed first. These are the
// parts of the write's batch, which readers ignore while the batch itself is missing, and the `__remote__`
// entries of the written documents, which still equal the documents at their own paths. All other entries
// form the last commit.
//
// All other steps use the following order, so that no entry refers to an entry that may be missing:
//
//   1. entries that protect documents from eviction, and the bases of pending writes
//   2. documents, each together with its `__remote__` entry
//   3. removals of entries that protect documents
//   4. batches that changed and rejections, then batches that were removed, and then the bases of removed
// batches
//   5. targets, with their versions and resume tokens
//   6. tokens and counters
//
// In both cases the first commit adds a marker that the last commit removes. LocalStore+Repair.swift repairs
// a step that a crash interrupted. Commits take effect in order, and a power loss can only lose the most
// recent ones.

internal import DocumentStore

extension CacheTransaction {
  var isEmpty: Bool { touched.isEmpty && notes.isEmpty }

  func commit(_ queue: WriteQueue, _ durability: StoreDurability?) throws(DocumentStoreError) {
    guard !isEmpty else { return }
    var mutations: [Mutation] = []
    mutations.reserveCapacity(notes.count + 2 * touched.count)
    for path in touched { appendWrites(of: path, queue, to: &mutations) }
    mutations += notes.values
    guard mutations.commitBytes > sizes.singleCommitBytesMax else {
      return try commit([mutations], durability)
    }
    if isAtomic {
      try commitAtOnce(mutations, durability)
    } else {
      try commit(parts(queue), durability)
    }
  }

  /// Runs the commits in order. Only the last commit has the requested durability, and its fsync also makes
  /// the earlier commits durable.
  private func commit(
    _ commits: [[Mutation]], _ durability: StoreDurability?
  ) throws(DocumentStoreError) {
    for (place, mutations) in commits.enumerated() {
      let isLast = place == commits.count - 1
      _ = try store.finish(try store.begin(mutations, durability: isLast ? durability : .buffered))
    }
  }

  /// Appends the writes of a document's own path and of its `__remote__` entry.
  private func appendWrites(of path: DocumentPath, _ queue: WriteQueue, to mutations: inout [Mutation]) {
    guard let entry = remotes[path] else { return }
    let isPending = queue.hasWrites(path)
    let visible = isPending ? entry.visible ?? queue.local(entry.document) : entry.document
    mutations.append(visible.stored.map { Mutation.place($0) } ?? .delete(path))
    if let note = RemoteNote.fields(entry.document, isPending: isPending) {
      mutations.append(Self.note(note, at: CacheKeys.remote(path)))
    } else if entry.hasNote {
      mutations.append(.delete(CacheKeys.remote(path)))
    }
  }

  /// The marker that lists the targets and batches of this step, for recovery after a crash.
  private var unfinished: Mutation {
    var targets = Set<Int64>()
    var batches = Set<String>()
    for path in notes.keys {
      switch path.segments[0] {
      case CacheKeys.targets.segments[0]: if let id = Int64(path.segments[1]) { targets.insert(id) }
      case CacheKeys.queue.segments[0]: if path.segments.count > 2 { batches.insert(path.segments[1]) }
      default: break
      }
    }
    let fields = StoredMap([
      ("b", .array(batches.sorted().map { .string($0) })),
      ("t", .array(targets.sorted().map { .integer($0) })),
    ])
    return Self.note(fields, at: CacheKeys.unfinished)
  }

  private static func sorted(_ paths: some Sequence<DocumentPath>) -> [DocumentPath] {
    paths.sorted { ValueOrder.compare($0, $1) == .before }
  }

  // MARK: In parts

  /// The position of a note in the commit order. Documents are committed right after the `keeping` notes.
  private enum CommitPhase: CaseIterable {
    case keeping, leaving, queued, answered, forgotten, targets, numbers
  }

  private func phase(of path: DocumentPath) -> CommitPhase {
    // The end of the forgotten time is stored before anything is forgotten.
    if path == CacheKeys.imports { return .keeping }
    return switch path.segments[0] {
    case CacheKeys.bases.segments[0]: isPut(path) ? .keeping : .forgotten
    case CacheKeys.orphans.segments[0]: isPut(path) ? .keeping : .leaving
    case CacheKeys.queue.segments[0]: isPut(CacheKeys.batch(path.segments[1])) ? .queued : .answered
    case CacheKeys.rejections.segments[0], CacheKeys.answered.segments[0]: isPut(path) ? .queued : .numbers
    case CacheKeys.targets.segments[0]:
      path.segments.count == 2 ? .targets : isPut(path) ? .keeping : .leaving
    default: .numbers
    }
  }

  private func isPut(_ path: DocumentPath) -> Bool { notes[path]?.isPlacement ?? false }

  private func parts(_ queue: WriteQueue) -> [[Mutation]] {
    var parts = CommitParts(of: sizes.part)
    parts.append([unfinished])
    // The paths are sorted, so that a given step always produces the same commits.
    let phases = Dictionary(grouping: Self.sorted(notes.keys), by: phase(of:))
    for phase in CommitPhase.allCases {
      for group in groups(phases[phase] ?? []) { parts.append(group) }
      guard phase == .keeping else { continue }
      for path in Self.sorted(touched) {
        var writes: [Mutation] = []
        appendWrites(of: path, queue, to: &writes)
        parts.append(writes)
      }
    }
    parts.append([.delete(CacheKeys.unfinished)])
    return parts.commits
  }

  /// Returns the writes of these paths in groups. A batch and its parts form one group.
  private func groups(_ paths: [DocumentPath]) -> [[Mutation]] {
    var groups: [[Mutation]] = []
    for path in paths {
      guard let mutation = notes[path] else { continue }
      let isOfQueue = path.segments[0] == CacheKeys.queue.segments[0]
      if isOfQueue, let last = groups.last?.last?.path, last.segments.prefix(2) == path.segments.prefix(2) {
        groups[groups.count - 1].append(mutation)
      } else {
        groups.append([mutation])
      }
    }
    return groups
  }

  // MARK: At once

  private func commitAtOnce(
    _ mutations: [Mutation], _ durability: StoreDurability?
  ) throws(DocumentStoreError) {
    let unseen = mutations.filter(isInvisible).sorted { ValueOrder.compare($0.path, $1.path) == .before }
    guard !unseen.isEmpty else { return try commit([mutations], durability) }
    var parts = CommitParts(of: sizes.part)
    parts.append([unfinished])
    for mutation in unseen { parts.append([mutation]) }
    do throws(DocumentStoreError) {
      try commit(parts.commits + [mutations + [.delete(CacheKeys.unfinished)]], durability)
    } catch {
      // After `outcomeUnknown`, the next open finds out whether the commit exists. After any other error
      // the commit does not exist.
      if case .outcomeUnknown = error { throw error }
      var removals = CommitParts(of: sizes.part)
      for mutation in unseen { removals.append([.delete(mutation.path)]) }
      removals.append([.delete(CacheKeys.unfinished)])
      try? commit(removals.commits, .buffered)
      throw error
    }
  }

  private func isInvisible(_ mutation: Mutation) -> Bool {
    guard case .place(let fields, _, _) = mutation.change else { return false }
    let path = mutation.path
    switch path.segments[0] {
    case CacheKeys.queue.segments[0]: return path.segments.count > 2
    case CacheKeys.remotes.segments[0]:
      // An entry is visible if it has no fields or if it replaces an existing entry.
      return fields["f"] != nil && remotes[CacheKeys.path(path.id)]?.hasNote == false
    default: return false
    }
  }
}
