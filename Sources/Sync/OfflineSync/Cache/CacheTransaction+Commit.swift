// From what is to be written to a commit, or to several if it is too much for one.
//
// A write of a user is seen as a whole or not at all. What nobody sees yet is written first: the parts of its batch,
// which are nothing without it, and what the remote has of its documents, which is what stands at their own paths until
// then. The rest is one commit.
//
// Anything else comes in this order, so that nothing vouches for what may be missing:
//
//   1. what documents are kept for, and what the writes of them were made on
//   2. documents, each with what the remote has of it
//   3. what they are kept for no more
//   4. batches as they are now, those that have left, and then what those were made on
//   5. targets, with how far they are known
//   6. tokens and numbers
//
// Of either, the first commit puts a note that the last one removes: LocalStore+Mending.swift says what becomes of a
// step that a crash has cut off. Commits happen in their order, also where a power loss takes some of them back.

internal import DocumentStore

extension CacheTransaction {
  var isEmpty: Bool { touched.isEmpty && notes.isEmpty }

  func commit(_ queue: WriteQueue, _ durability: StoreDurability?) throws(DocumentStoreError) {
    guard !isEmpty else { return }
    var mutations: [Mutation] = []
    mutations.reserveCapacity(notes.count + 2 * touched.count)
    for path in touched { appendWrites(of: path, queue, to: &mutations) }
    mutations += notes.values
    guard mutations.commitBytes > sizes.wholeMax else { return try commit([mutations], durability) }
    if isSeenAtOnce {
      try commitAtOnce(mutations, durability)
    } else {
      try commit(parts(queue), durability)
    }
  }

  /// The last one takes those before it along to stable storage.
  private func commit(
    _ commits: [[Mutation]], _ durability: StoreDurability?
  ) throws(DocumentStoreError) {
    for (place, mutations) in commits.enumerated() {
      let isLast = place == commits.count - 1
      _ = try store.finish(try store.begin(mutations, durability: isLast ? durability : .buffered))
    }
  }

  /// What stands at its own path, and beside it.
  private func appendWrites(of path: DocumentPath, _ queue: WriteQueue, to mutations: inout [Mutation]) {
    guard let entry = remotes[path] else { return }
    let isPending = queue.isAbout(path)
    let visible = isPending ? entry.visible ?? queue.local(entry.document) : entry.document
    mutations.append(visible.stored.map { Mutation.place($0) } ?? .delete(path))
    if let note = RemoteNote.fields(entry.document, isPending: isPending) {
      mutations.append(Self.note(note, at: CacheKeys.remote(path)))
    } else if entry.hasNote {
      mutations.append(.delete(CacheKeys.remote(path)))
    }
  }

  /// What this step is about, for who finds only a part of it.
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

  /// When a note is written. Documents come behind the first ones.
  private enum Turn: CaseIterable { case keeping, leaving, queued, answered, forgotten, targets, numbers }

  private func turn(of path: DocumentPath) -> Turn {
    switch path.segments[0] {
    case CacheKeys.bases.segments[0]: isPut(path) ? .keeping : .forgotten
    case CacheKeys.orphans.segments[0]: isPut(path) ? .keeping : .leaving
    case CacheKeys.queue.segments[0]: isPut(CacheKeys.batch(path.segments[1])) ? .queued : .answered
    case CacheKeys.targets.segments[0]:
      path.segments.count == 2 ? .targets : isPut(path) ? .keeping : .leaving
    default: .numbers
    }
  }

  private func isPut(_ path: DocumentPath) -> Bool { notes[path]?.isPlacement ?? false }

  private func parts(_ queue: WriteQueue) -> [[Mutation]] {
    var parts = CommitParts(of: sizes.part)
    parts.append([unfinished])
    // Sorted, so that the same step is the same commits each time.
    let turns = Dictionary(grouping: Self.sorted(notes.keys), by: turn(of:))
    for turn in Turn.allCases {
      for group in groups(turns[turn] ?? []) { parts.append(group) }
      guard turn == .keeping else { continue }
      for path in Self.sorted(touched) {
        var writes: [Mutation] = []
        appendWrites(of: path, queue, to: &writes)
        parts.append(writes)
      }
    }
    parts.append([.delete(CacheKeys.unfinished)])
    return parts.commits
  }

  /// A batch goes with its parts.
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
    let unseen = mutations.filter(isUnseen).sorted { ValueOrder.compare($0.path, $1.path) == .before }
    guard !unseen.isEmpty else { return try commit([mutations], durability) }
    var parts = CommitParts(of: sizes.part)
    parts.append([unfinished])
    for mutation in unseen { parts.append([mutation]) }
    do throws(DocumentStoreError) {
      try commit(parts.commits + [mutations + [.delete(CacheKeys.unfinished)]], durability)
    } catch {
      // Whether that commit is there, the next opening tells; any other error says that it is not.
      if case .outcomeUnknown = error { throw error }
      var removals = CommitParts(of: sizes.part)
      for mutation in unseen { removals.append([.delete(mutation.path)]) }
      removals.append([.delete(CacheKeys.unfinished)])
      try? commit(removals.commits, .buffered)
      throw error
    }
  }

  private func isUnseen(_ mutation: Mutation) -> Bool {
    guard case .place(let fields, _, _) = mutation.change else { return false }
    let path = mutation.path
    switch path.segments[0] {
    case CacheKeys.queue.segments[0]: return path.segments.count > 2
    case CacheKeys.remotes.segments[0]:
      // Others say what a document cannot say already.
      return fields["f"] != nil && remotes[CacheKeys.path(path.id)]?.hasNote == false
    default: return false
    }
  }
}
