// Ways to damage the files of a store (docs/reliability.md, F7).

internal import ByteStore

/// A disk image with one kind of damage.
struct FileDamage: Sendable {
  /// The part of the store that is damaged. The summary counts by part.
  enum Part: String, CaseIterable, Sendable {
    case manifest
    case logHeader = "log header"
    case logFrames = "log frames"
    case log = "whole log"
    /// A file name that a store may use, but that no file of this store has.
    case name = "free name"
    case segment
    case checkpoint
  }

  enum Kind: String, CaseIterable, Sendable {
    case flipped, zeroed, truncated, appended, swapped, replaced, duplicated, deleted, older
    /// Pages that were moved to another position in their file.
    case misplaced
    /// The last commit, which was moved to another position that the reader examines.
    case moved
    /// Pages that were replaced by those at the same position of another store's file.
    case spliced
    /// Pages that were replaced by those at the same position of another file of this store.
    case mixed
    /// Bytes that the device cannot read.
    case unreadable
    /// A directory, link, pipe, socket or device that occupies the name of a file.
    case taken
  }

  var part: Part
  var kind: Kind
  var text: String
  var image: DiskImage
  /// Whether only the end of a log is missing and no record says where the log ended. A crash can have the
  /// same effect (C9).
  var looksUnwritten = false
  /// Whether the damage extends from the start of a frame into the header of the last frame. No later frame
  /// remains that confirms the lost ones, but the report must mention the bytes that remain.
  var coversLastHeader = false
  /// Whether the result counts as harm even if the store has every commit, because one commit is not at its
  /// position (P6).
  var movesCommit = false
  /// The range of the image that the device cannot read.
  var unreadable: SimulatedDisk.Unreadable?

  /// A disk with this damage, for a new process.
  var disk: SimulatedDisk {
    var options = SimulatedDisk.Options()
    options.unreadable = unreadable
    return SimulatedDisk(image, options: options)
  }
}

extension FileDamage {
  // MARK: All

  /// Calls `visit` with one damaged disk after another, for every kind of damage and for the requested number
  /// of flipped bits.
  static func forEach(
    in specimen: Specimen, _ other: Specimen, _ flips: CorruptionMatrix.Flips, _ random: inout SeededRandom,
    _ visit: (FileDamage) -> Void
  ) {
    flip(specimen, flips, &random, visit)
    // The distances between the starts of zeroed ranges, and between the lengths to which files are
    // truncated.
    let steps: (zeros: Int, lengths: Int)
    if case .all = flips { steps = (64, 1) } else { steps = (512, 512) }
    for path in specimen.paths {
      zeroed(path, in: specimen, step: steps.zeros).forEach(visit)
      lengths(of: path, in: specimen, step: steps.lengths).forEach {
        visit(truncate(path, to: $0, in: specimen))
      }
      unreadable(path, in: specimen).forEach(visit)
      if !path.contains("/log-") { pagesFromElsewhere(of: path, in: specimen, other).forEach(visit) }
    }
    for log in specimen.logs { pages(of: log, in: specimen, other).forEach(visit) }
    moved(in: specimen).forEach(visit)
    wholeFiles(of: specimen, other, &random).forEach(visit)
  }

  private static func flip(
    _ specimen: Specimen, _ flips: CorruptionMatrix.Flips, _ random: inout SeededRandom,
    _ visit: (FileDamage) -> Void
  ) {
    let paths = specimen.paths
    switch flips {
    case .all:
      for path in paths {
        for bit in 0..<specimen.contents(of: path).size * 8 { visit(flip(bit, of: path, in: specimen)) }
      }
    case .random(let count):
      flipAtRandom(count, specimen, &random, visit)
    case .eachKind(let bytes, let count):
      for path in paths {
        for byte in bytesOfEachPart(of: path, in: specimen, bytes: bytes) {
          for bit in 8 * byte..<8 * byte + 8 { visit(flip(bit, of: path, in: specimen)) }
        }
      }
      flipAtRandom(count, specimen, &random, visit)
    }
  }

  private static func flipAtRandom(
    _ count: Int, _ specimen: Specimen, _ random: inout SeededRandom, _ visit: (FileDamage) -> Void
  ) {
    let paths = specimen.paths
    for _ in 0..<count {
      let path = paths[random.below(paths.count)]
      visit(flip(random.below(specimen.contents(of: path).size * 8), of: path, in: specimen))
    }
  }

  /// The number of specimens that contain the part that occurs in the fewest specimens.
  private static let specimensWithPart = 3

  /// Returns offsets in every part of a file. Their number is chosen so that all specimens together have
  /// `bytes` offsets of each part. Used blocks, spread over the file, come before unused blocks. A manifest
  /// has fewer bytes, and all of them are returned.
  static func bytesOfEachPart(of path: String, in specimen: Specimen, bytes: Int) -> [Int] {
    let contents = specimen.contents(of: path)
    let blocks = stride(from: 0, to: contents.size, by: frameAlignment)
      .map { $0..<min($0 + frameAlignment, contents.size) }
    let count = (bytes + specimensWithPart * frameAlignment - 1) / (specimensWithPart * frameAlignment)
    let parts = Dictionary(grouping: blocks) { part(of: path, at: $0.lowerBound) }.values
    let chosen = parts.flatMap { blocks -> [Range<Int>] in
      let used = blocks.filter(contents.hasNonZero)
      let some = min(count, used.count)
      let spread = (0..<some).map { used[$0 * used.count / some] }
      return spread + blocks.filter { !contents.hasNonZero(in: $0) }.prefix(count - some)
    }
    return chosen.flatMap { Array($0) }.sorted()
  }

  fileprivate static let pageBytes = 4096
  private static let headerBytes = pageBytes
  private static let frameAlignment = 64
  private static let headerBytesUsed = 128

  static func part(of path: String, at offset: Int) -> Part {
    if path.contains("/log-") { return offset < headerBytes ? .logHeader : .logFrames }
    return wholePart(path)
  }

  static func flip(_ bit: Int, of path: String, in specimen: Specimen) -> FileDamage {
    let offset = bit / 8
    var contents = specimen.contents(of: path)
    let byte = contents[offset] ^ 1 << UInt8(bit % 8)
    contents.replaceByte(at: offset, with: byte)
    return FileDamage(
      part: part(of: path, at: offset), kind: .flipped, text: "bit \(bit % 8) of byte \(offset) of \(path)",
      image: specimen.replacing(path, with: contents))
  }

  // MARK: Ranges

  /// Returns the damages that zero a range of a file or truncate the file.
  static func ranges(of path: String, in specimen: Specimen, step: Int) -> [FileDamage] {
    zeroed(path, in: specimen, step: step)
      + lengths(of: path, in: specimen, step: step).map { truncate(path, to: $0, in: specimen) }
  }

  private static func zeroed(_ path: String, in specimen: Specimen, step: Int) -> [FileDamage] {
    let contents = specimen.contents(of: path)
    let isManifest = path.hasSuffix("/MANIFEST")
    let starts = stride(from: 0, to: contents.size, by: isManifest ? 4 : step)
    let lengths = isManifest ? [4, 16, contents.size] : [64, 512, 4096, contents.size]
    return starts.flatMap { start in
      lengths.map { zero(start..<min(start + $0, contents.size), of: path, in: specimen) }
    }
  }

  private static func lengths(
    of path: String, in specimen: Specimen, step: Int
  ) -> StrideTo<Int> {
    stride(from: 0, to: specimen.contents(of: path).size, by: path.hasSuffix("/MANIFEST") ? 1 : step)
  }

  private static func zero(_ range: Range<Int>, of path: String, in specimen: Specimen) -> FileDamage {
    var contents = specimen.contents(of: path)
    let isEnd = !contents.hasNonZero(in: range.upperBound..<contents.size)
    [UInt8](repeating: 0, count: range.count).withUnsafeBytes { contents.write($0, at: range.lowerBound) }
    let part = part(of: path, at: range.lowerBound)
    let isInOpenLog = range.lowerBound >= headerBytesUsed && specimen.isOpenLog(path)
    let coversLastHeader = specimen.lastFrame(of: path).map(range.contains) ?? false
    return FileDamage(
      part: part, kind: .zeroed, text: "\(range) of \(path)",
      image: specimen.replacing(path, with: contents), looksUnwritten: isEnd && isInOpenLog,
      coversLastHeader: coversLastHeader && isInOpenLog)
  }

  private static func truncate(_ path: String, to size: Int, in specimen: Specimen) -> FileDamage {
    var contents = PagedBytes()
    contents.take(0..<size, from: specimen.contents(of: path))
    return FileDamage(
      part: part(of: path, at: size), kind: .truncated, text: "\(path) to \(size) bytes",
      image: specimen.replacing(path, with: contents))
  }

  // MARK: Pages

  /// Returns the damages that make a sector of a page or the whole file unreadable.
  static func unreadable(_ path: String, in specimen: Specimen) -> [FileDamage] {
    let size = specimen.contents(of: path).size
    let sectors = stride(from: 0, to: size, by: pageBytes).map { $0..<min($0 + 512, size) }
    return (sectors + [0..<size]).map { range in
      FileDamage(
        part: part(of: path, at: range.lowerBound), kind: .unreadable, text: "bytes \(range) of \(path)",
        image: specimen.image, unreadable: SimulatedDisk.Unreadable(path: path, range: range))
    }
  }

  /// Returns the damages that replace pages of a segment or a checkpoint by pages from elsewhere: from the
  /// same file, from other files of the store, and from the file with this name in another store.
  static func pagesFromElsewhere(of path: String, in specimen: Specimen, _ other: Specimen) -> [FileDamage] {
    let own = specimen.contents(of: path)
    let part = wholePart(path)
    let pages = stride(from: 0, to: own.size - pageBytes + 1, by: pageBytes).map { $0..<$0 + pageBytes }
    let misplaced = pages.filter(own.hasNonZero).flatMap { from in
      pages.filter { $0 != from }.map { to in
        damage(.misplaced, of: path, in: specimen, "bytes \(from) at \(to.lowerBound)", part) { contents in
          own.bytes(in: from).withUnsafeBytes { contents.write($0, at: to.lowerBound) }
        }
      }
    }
    let files: [(Kind, String, PagedBytes)] =
      specimen.paths.filter { $0 != path }.map { (Kind.mixed, $0, specimen.contents(of: $0)) }
      + (other.image.contents(of: path).map { [(Kind.spliced, "another store", $0)] } ?? [])
    return misplaced
      + files.flatMap { kind, name, foreign in
        pages.filter { $0.upperBound <= foreign.size && foreign.hasNonZero(in: $0) }.map { range in
          damage(kind, of: path, in: specimen, "bytes \(range) of \(name) in those", part) {
            $0.take(range, from: foreign)
          }
        }
      }
  }

  static func pages(of log: String, in specimen: Specimen, _ other: Specimen) -> [FileDamage] {
    let own = specimen.contents(of: log)
    let pages = stride(from: headerBytes, to: own.size, by: pageBytes).map { $0..<$0 + pageBytes }
    let misplaced = pages.filter(own.hasNonZero).flatMap { from in
      pages.filter { $0 != from }.map { to in
        damage(.misplaced, of: log, in: specimen, "bytes \(from) at \(to.lowerBound)") { contents in
          own.bytes(in: from).withUnsafeBytes { contents.write($0, at: to.lowerBound) }
        }
      }
    }
    guard let foreign = other.image.contents(of: log), foreign.size == own.size else { return misplaced }
    return misplaced
      + (pages + [headerBytes..<own.size]).map { range in
        let isAll = range.upperBound == own.size && range.lowerBound == headerBytes
        return damage(
          .spliced, of: log, in: specimen, "bytes \(range)",
          looksUnwritten: isAll && specimen.isOpenLog(log)
        ) { $0.take(range, from: foreign) }
      }
  }

  /// Moves the last commit of an open log to the position directly after the previous commit, where a further
  /// commit of the previous commit's group would be.
  static func moved(in specimen: Specimen) -> [FileDamage] {
    guard let log = specimen.logs.last, specimen.isOpenLog(log), specimen.unconfirmedCommits > 0 else {
      return []
    }
    var contents = specimen.contents(of: log)
    let used = stride(from: headerBytes, to: contents.size, by: frameAlignment)
      .map { $0..<$0 + frameAlignment }.filter(contents.hasNonZero)
    guard let end = used.last?.upperBound else { return [] }
    let start = (end - 1) / pageBytes * pageBytes
    guard let place = used.last(where: { $0.upperBound <= start })?.upperBound,
      place + end - start <= start
    else { return [] }
    let frame = contents.bytes(in: start..<end)
    frame.withUnsafeBytes { contents.write($0, at: place) }
    [UInt8](repeating: 0, count: frame.count).withUnsafeBytes { contents.write($0, at: start) }
    return [
      FileDamage(
        part: .logFrames, kind: .moved, text: "bytes \(start..<end) of \(log) to \(place)",
        image: specimen.replacing(log, with: contents), movesCommit: true)
    ]
  }

  private static func damage(
    _ kind: Kind, of path: String, in specimen: Specimen, _ text: String, _ part: Part = .logFrames,
    looksUnwritten: Bool = false, _ change: (inout PagedBytes) -> Void
  ) -> FileDamage {
    var contents = specimen.contents(of: path)
    change(&contents)
    return FileDamage(
      part: part, kind: kind, text: "\(text) of \(path)",
      image: specimen.replacing(path, with: contents), looksUnwritten: looksUnwritten)
  }

  // MARK: Whole files

  static func wholeFiles(of specimen: Specimen, _ other: Specimen, _ random: inout SeededRandom)
    -> [FileDamage]
  {
    specimen.paths.flatMap { path in
      appended(to: path, in: specimen, &random) + [deleted(path, in: specimen)]
        + duplicated(path, in: specimen) + replaced(path, in: specimen, other)
        + older(path, in: specimen)
    } + swapped(in: specimen) + taken(in: specimen)
  }

  /// Returns the damages that put an entry of another kind at the name of an existing or a possible file.
  private static func taken(in specimen: Specimen) -> [FileDamage] {
    let free = [
      "LOCK", "MANIFEST.new", "SPARE", "RESERVE", "BACKUP", "log-0000000099", "segment-0000000099",
      "checkpoint-0000000099", "salvaged-MANIFEST",
    ].map { "\(Life.path)/\($0)" }
    return (specimen.paths + free).flatMap { path in
      EntryKind.allCases.filter { $0 != .file }.map { kind in
        var image = specimen.image
        image.putEntry(kind, at: path)
        return FileDamage(
          part: free.contains(path) ? .name : wholePart(path), kind: .taken, text: "\(path) by \(kind)",
          image: image)
      }
    }
  }

  private static func wholePart(_ path: String) -> Part {
    if path.contains("/log-") { return .log }
    if path.contains("/segment-") { return .segment }
    return path.contains("/checkpoint-") ? .checkpoint : .manifest
  }

  private static func appended(
    to path: String, in specimen: Specimen, _ random: inout SeededRandom
  ) -> [FileDamage] {
    let old = specimen.contents(of: path).bytes
    return [1, 64, 4096].flatMap { count in
      [random.bytes(count), [UInt8](repeating: 0, count: count)].map { tail in
        FileDamage(
          part: wholePart(path), kind: .appended, text: "\(count) bytes to \(path)",
          image: specimen.replacing(path, with: PagedBytes(old + tail)))
      }
    }
  }

  private static func deleted(_ path: String, in specimen: Specimen) -> FileDamage {
    var image = specimen.image
    image.delete(path)
    return FileDamage(part: wholePart(path), kind: .deleted, text: path, image: image)
  }

  private static func duplicated(_ path: String, in specimen: Specimen) -> [FileDamage] {
    let names: [String] =
      switch wholePart(path) {
      case .segment: ["\(Life.path)/segment-0000000099"]
      case .checkpoint: ["\(Life.path)/checkpoint-0000000099"]
      case .manifest: ["\(Life.path)/MANIFEST.new"]
      case .log, .logHeader, .logFrames: [specimen.nextLog, "\(Life.path)/log-0000000099"]
      case .name: []
      }
    return names.map { name in
      FileDamage(
        part: wholePart(path), kind: .duplicated, text: "\(path) as \(name)",
        image: specimen.replacing(name, with: specimen.contents(of: path)))
    }
  }

  /// Replaces a file by another file of the store, or by the file with this name in another store.
  private static func replaced(
    _ path: String, in specimen: Specimen, _ other: Specimen
  ) -> [FileDamage] {
    let own = specimen.paths.filter { $0 != path }.map { ($0, specimen.contents(of: $0)) }
    let foreign = ([other.image] + other.earlier).compactMap { $0.contents(of: path) }
    let versions = Set(foreign.map(\.bytes)).sorted { $0.lexicographicallyPrecedes($1) }
      .map { ("one of another store, \($0.count) bytes", PagedBytes($0)) }
    return (own + versions).map { name, contents in
      FileDamage(
        part: wholePart(path), kind: .replaced, text: "\(path) by \(name)",
        image: specimen.replacing(path, with: contents))
    }
  }

  private static func swapped(in specimen: Specimen) -> [FileDamage] {
    let paths = specimen.paths
    return paths.indices.flatMap { first in
      paths[(first + 1)...].map { second in
        var image = specimen.image
        image.replace(paths[first], with: specimen.contents(of: second))
        image.replace(second, with: specimen.contents(of: paths[first]))
        return FileDamage(
          part: wholePart(second), kind: .swapped, text: "\(paths[first]) and \(second)", image: image)
      }
    }
  }

  /// Replaces a file by an earlier version of it, as a restored backup copy would.
  private static func older(_ path: String, in specimen: Specimen) -> [FileDamage] {
    var seen: Set<[UInt8]> = [specimen.contents(of: path).bytes]
    return specimen.earlier.enumerated().compactMap { call, image in
      guard let contents = image.contents(of: path), seen.insert(contents.bytes).inserted else { return nil }
      let isWhole = contents.size == specimen.contents(of: path).size
      return FileDamage(
        part: wholePart(path), kind: .older, text: "\(path) as of call \(call)",
        image: specimen.replacing(path, with: contents),
        looksUnwritten: isWhole && specimen.isOpenLog(path))
    }
  }
}

extension Specimen {
  func contents(of path: String) -> PagedBytes {
    guard let contents = image.contents(of: path) else { preconditionFailure("no file \(path)") }
    return contents
  }

  func replacing(_ path: String, with contents: PagedBytes) -> DiskImage {
    var image = image
    image.replace(path, with: contents)
    return image
  }

  /// Returns whether this is the last log of a store that was not closed. Only the log itself records the end
  /// of such a log.
  func isOpenLog(_ path: String) -> Bool { isUnclean && path == logs.last }

  /// Returns the start of the last group of a log. In specimens, each group has a single frame, which starts
  /// at the start of a page.
  func lastFrame(of log: String) -> Int? {
    let contents = contents(of: log)
    return stride(from: FileDamage.pageBytes, to: contents.size, by: FileDamage.pageBytes).reversed()
      .first { contents.bytes(in: $0..<$0 + 3) == Array("DGF".utf8) }
  }

  /// The name of the next log.
  var nextLog: String {
    let last = logs.compactMap { Int($0.suffix(10)) }.max() ?? 0
    let digits = String(last + 1)
    return "\(Life.path)/log-" + String(repeating: "0", count: 10 - digits.count) + digits
  }
}

extension PagedBytes {
  mutating func replaceByte(at offset: Int, with byte: UInt8) {
    [byte].withUnsafeBytes { write($0, at: offset) }
  }
}
