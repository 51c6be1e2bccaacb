// A growing array of words in pages, of which some may still be on disk.
//
// A copy shares all pages with the original, until one of the two writes to a page: that is how the table
// is frozen for a checkpoint or a snapshot. Pages hang on chunks, so that the first write after a freeze
// copies a chunk's list and not the list of all pages.

/// 511 words a page: with its checksum a page takes 4096 bytes on disk.
package struct PagedWords: Sendable {
  package static let wordsPerPage = 511
  private static let chunkBits = 7
  private static let pagesPerChunk = 1 << chunkBits
  private static let placeMask = pagesPerChunk - 1

  /// A page that is still on disk is empty.
  private var chunks: [[[UInt64]]] = []
  private(set) var pageCount = 0

  /// All pages still on disk. Chunks of such pages are one and the same, until one of them gets a page.
  init(pagesOnDisk count: Int = 0) {
    let chunk = [[UInt64]](repeating: [], count: Self.pagesPerChunk)
    chunks = Array(repeating: chunk, count: count / Self.pagesPerChunk)
    let rest = count % Self.pagesPerChunk
    if rest > 0 { chunks.append(Array(repeating: [], count: rest)) }
    pageCount = count
  }

  func isLoaded(_ page: Int) -> Bool { !chunks[page >> Self.chunkBits][page & Self.placeMask].isEmpty }

  subscript(page: Int, word: Int) -> UInt64 {
    get { chunks[page >> Self.chunkBits][page & Self.placeMask][word] }
    set { chunks[page >> Self.chunkBits][page & Self.placeMask][word] = newValue }
  }

  func words(ofPage page: Int) -> [UInt64] { chunks[page >> Self.chunkBits][page & Self.placeMask] }

  mutating func setWords(_ words: [UInt64], ofPage page: Int) {
    precondition(words.count == Self.wordsPerPage, "a page is whole")
    chunks[page >> Self.chunkBits][page & Self.placeMask] = words
  }

  mutating func appendPage(_ words: [UInt64]) {
    if pageCount & Self.placeMask == 0 { chunks.append([]) }
    chunks[chunks.count - 1].append(words)
    pageCount += 1
  }

  mutating func appendPage() { appendPage([UInt64](repeating: 0, count: Self.wordsPerPage)) }
}

extension PagedWords {
  /// The word as if the pages were one array.
  subscript(index: Int) -> UInt64 {
    get { self[index / Self.wordsPerPage, index % Self.wordsPerPage] }
    set { self[index / Self.wordsPerPage, index % Self.wordsPerPage] = newValue }
  }

  func isLoaded(wordAt index: Int) -> Bool { isLoaded(index / Self.wordsPerPage) }

  /// The first page that is still on disk.
  var firstMissing: Int? { (0..<pageCount).first { !isLoaded($0) } }
}
