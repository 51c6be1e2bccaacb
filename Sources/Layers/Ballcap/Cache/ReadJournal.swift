// What was read last, in the order of reading, until somebody asks the cache.
//
// A document that was read is several objects, and most are let go of by the reader at once, while they are
// at hand. Were they kept here, each read would let go of those of a thousand reads ago instead, which
// nothing remembers but the memory itself. Copies in large pieces cost less; large documents, and those that
// cannot be copied, are kept as they are.
//
// Invariants:
//   - `count` is the number of documents in `pieces[start...]` and `open`; what is before `start` is gone.
//   - Without its oldest piece, the journal would have less than `countMax` documents.

import FirebaseFirestore

struct ReadJournal {
  /// Documents that are let go of together.
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
  /// The one that documents are added to; the last of all.
  private var open = PackedSnapshots()
  /// The memory of one that was let go of.
  private var spare: PackedSnapshots?
  private(set) var count = 0
  /// What is there and what is gone.
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

  /// If false, a piece ends here.
  private mutating func pack(_ snapshot: DocumentSnapshot) -> Bool {
    if open.append(snapshot) { return true }
    endPiece()
    // It may be the first of another database.
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

  /// All, the oldest first; the journal is empty afterwards.
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
    // Whoever reads and asks by turns has one piece of memory for all.
    open.removeAll()
    return all
  }
}
