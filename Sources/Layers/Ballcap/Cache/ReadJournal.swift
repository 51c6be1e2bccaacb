// The last snapshots that were read, in read order, until the cache is next used.
//
// A snapshot consists of several objects, and most readers release these objects at once, while they are in
// the CPU cache. If the journal kept the snapshots, each read would instead release the objects of a much
// earlier read, which are no longer in the CPU cache. So the journal copies snapshots into large pieces,
// which costs less. Large documents, and snapshots that cannot be copied, are kept as they are.
//
// Invariants:
// - `count` is the number of documents in `pieces[start...]` and `open`. The pieces before `start` are empty.
// - Without its oldest piece, the journal would have fewer than `countMax` documents.

import FirebaseFirestore

struct ReadJournal {
  /// Documents that are released together.
  private enum Piece {
    case packed(PackedSnapshots)
    case whole(DocumentSnapshot)

    var count: Int {
      switch self {
      case .packed(let snapshots): snapshots.count
      case .whole: 1
      }
    }
  }

  private static let pieceBytesMax = 32 << 10
  static let pieceCountMax = 128

  private let countMax: Int
  private var pieces: [Piece] = []
  private var start = 0
  /// The newest piece, to which documents are appended.
  private var open = PackedSnapshots()
  /// The memory of a released piece, for reuse.
  private var spare: PackedSnapshots?
  private(set) var count = 0
  /// The number of pieces, including empty ones.
  var slots: Int { pieces.count }

  init(countMax: Int) { self.countMax = countMax }

  mutating func add(_ snapshot: DocumentSnapshot) {
    count += 1
    if !pack(snapshot) {
      pieces.append(.whole(snapshot))
    } else if open.byteCount >= Self.pieceBytesMax || open.count >= Self.pieceCountMax {
      endPiece()
    }
    while start < pieces.count, count - pieces[start].count >= countMax { removeOldest() }
    guard start > pieces.count / 2 else { return }
    pieces.removeFirst(start)
    start = 0
  }

  /// Appends the snapshot to the open piece. If the snapshot cannot be packed, closes the open piece and
  /// returns false.
  private mutating func pack(_ snapshot: DocumentSnapshot) -> Bool {
    if open.append(snapshot) { return true }
    endPiece()
    // Try again with a new piece, because the snapshot may belong to another database than the previous
    // piece.
    return open.append(snapshot)
  }

  private mutating func endPiece() {
    guard open.count > 0 else { return }
    pieces.append(.packed(open))
    open = spare ?? PackedSnapshots()
    spare = nil
  }

  private mutating func removeOldest() {
    count -= pieces[start].count
    let piece = pieces[start]
    pieces[start] = .packed(PackedSnapshots())
    start += 1
    guard spare == nil, case .packed(var snapshots) = consume piece else { return }
    snapshots.removeAll()
    spare = snapshots
  }

  /// Returns all snapshots, the oldest first, and empties the journal.
  mutating func take() -> [DocumentSnapshot] {
    var all: [DocumentSnapshot] = []
    all.reserveCapacity(count)
    for piece in pieces[start...] {
      switch piece {
      case .packed(let snapshots): all += snapshots.snapshots
      case .whole(let snapshot): all.append(snapshot)
      }
    }
    all += open.snapshots
    (pieces, start, count) = ([], 0, 0)
    // Keep the memory of the piece for callers that alternate between reads and cache lookups.
    open.removeAll()
    return all
  }
}
