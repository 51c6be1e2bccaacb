// A growing array of words in pages. Some pages may still be on disk.
//
// A copy shares all pages with the original until a page is changed in either array. The key directory is
// frozen this way for a checkpoint or a snapshot. Pages are grouped in chunks. The first write after a freeze
// therefore copies only the page list of one chunk, not the list of all pages.

/// An array of words in pages of 511 words. A page and its checksum take 4096 bytes on disk.
package struct PagedWords: Sendable {
  package static let wordsPerPage = 511
  /// The memory of a page, with the header of its array.
  static let bytesPerPage = 8 * wordsPerPage + 32
  private static let chunkBits = 7
  private static let pagesPerChunk = 1 << chunkBits
  private static let pageInChunkMask = pagesPerChunk - 1

  /// The pages of each chunk. A page that is still on disk is represented by an empty array.
  private var chunks: [[[UInt64]]] = []
  private(set) var pageCount = 0
  private(set) var loadedCount = 0

  /// Creates an array whose pages are all on disk. Until a page is loaded, its full chunks share one Swift
  /// array.
  init(pagesOnDisk count: Int = 0) {
    let chunk = [[UInt64]](repeating: [], count: Self.pagesPerChunk)
    chunks = Array(repeating: chunk, count: count / Self.pagesPerChunk)
    let rest = count % Self.pagesPerChunk
    if rest > 0 { chunks.append(Array(repeating: [], count: rest)) }
    pageCount = count
  }

  func isLoaded(_ page: Int) -> Bool { !chunks[page >> Self.chunkBits][page & Self.pageInChunkMask].isEmpty }

  subscript(page: Int, word: Int) -> UInt64 {
    get { chunks[page >> Self.chunkBits][page & Self.pageInChunkMask][word] }
    set { chunks[page >> Self.chunkBits][page & Self.pageInChunkMask][word] = newValue }
  }

  /// Changes the words of a page in place. A series of changes then finds the page only once.
  @inline(__always)
  mutating func change(page: Int, _ body: (inout [UInt64]) -> Void) {
    body(&chunks[page >> Self.chunkBits][page & Self.pageInChunkMask])
  }

  func words(ofPage page: Int) -> [UInt64] { chunks[page >> Self.chunkBits][page & Self.pageInChunkMask] }

  mutating func setWords(_ words: [UInt64], ofPage page: Int) {
    precondition(words.count == Self.wordsPerPage, "a page is whole")
    if !isLoaded(page) { loadedCount += 1 }
    chunks[page >> Self.chunkBits][page & Self.pageInChunkMask] = words
  }

  mutating func appendPage(_ words: [UInt64]) {
    if pageCount & Self.pageInChunkMask == 0 { chunks.append([]) }
    chunks[chunks.count - 1].append(words)
    pageCount += 1
    loadedCount += 1
  }

  mutating func appendPage() { appendPage([UInt64](repeating: 0, count: Self.wordsPerPage)) }
}

extension PagedWords {
  /// The word at an index in the whole array.
  subscript(index: Int) -> UInt64 {
    get { self[index / Self.wordsPerPage, index % Self.wordsPerPage] }
    set { self[index / Self.wordsPerPage, index % Self.wordsPerPage] = newValue }
  }

  /// The word at an index in the whole array; nil if its page is still on disk.
  func loadedWord(at index: Int) -> UInt64? {
    let (page, word) = index.quotientAndRemainder(dividingBy: Self.wordsPerPage)
    return isLoaded(page) ? self[page, word] : nil
  }

  func isLoaded(wordAt index: Int) -> Bool { isLoaded(index / Self.wordsPerPage) }

  /// The first page that is still on disk.
  var firstMissing: Int? { (0..<pageCount).first { !isLoaded($0) } }
}
