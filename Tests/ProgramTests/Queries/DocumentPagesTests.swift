import DocumentStore
import Foundation
import Testing

@testable import dugout

@Suite struct DocumentPagesTests {
  /// Regression: a page had a thousand documents, whatever their size.
  @Test(arguments: ["c", "c order by n desc", "c limit 30", "c order by n limit last 30"])
  func pagesOfLargeDocumentsAreShort(query: String) throws {
    let folder = try TemporaryFolder()
    let text = String(repeating: "x", count: 900_000)
    try folder.changeStore { store in
      for number in 0..<40 {
        let fields = StoredMap([("n", .integer(Int64(number))), ("text", .string(text))])
        try store.commit([.set(DocumentPath(["c", "d\(number + 10)"]), fields)])
      }
    }
    var pages: [Int] = []
    var numbers: [String] = []
    try TemporaryFolder.open(folder.path) { store in
      let pagesOfQuery = DocumentPages(store: store, query: try QueryText.query(query))
      try pagesOfQuery.forEach(checkNotInterrupted: {}, skipped: { #expect($0 == []) }) { page in
        pages.append(page.count)
        numbers += page.map(\.path.id)
      }
      let expected = try store.documents(try QueryText.query(query)).map(\.path.id)
      #expect(numbers == expected)
    }
    #expect(
      pages.count > 1 && pages.allSatisfy { $0 * text.utf8.count < DocumentPages.pageBytes + text.utf8.count }
    )
  }
}
