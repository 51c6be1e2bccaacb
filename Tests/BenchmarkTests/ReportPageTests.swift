// The page of a report, and the table for the documentation.

import Foundation
import Testing

@Suite struct ReportPageTests {
  @Test func machineAndVersionsComeFirstThenSpeedThenGoals() throws {
    let page = ReportPage(SampleRun.results()).text
    let parts = ["0.9.24", "Sample CPU", "id=\"peers\"", "id=\"goals\"", "id=\"W1\"", "<h2>Method</h2>"]
    let places = try parts.map { part in try #require(page.range(of: part), "\(part)").lowerBound }
    #expect(places == places.sorted())
  }

  @Test func aSmallRunHasANoticeAboveAllNumbers() throws {
    let page = ReportPage(SampleRun.results(documents: 10_000, rounds: 1)).text
    let notice = try #require(page.range(of: "<p class=\"notice\">Small run: 10,000 documents, 1 round."))
    let numbers = try #require(page.range(of: "class=\"card\""))
    #expect(notice.lowerBound < numbers.lowerBound)
    #expect(!ReportPage(SampleRun.results()).text.contains("class=\"notice\""))
  }

  @Test func eachPeerHasAStripWithItsFactor() throws {
    let page = ReportPage(SampleRun.results()).text
    for words in ["38 × slower", "1.02 × faster", "2.0 × faster", "3.0 × faster", "5.0 × faster"] {
      #expect(page.contains(">\(words)</b>"), "\(words)")
    }
  }

  @Test func stripsAreWiderForLargerFactors() throws {
    let page = ReportPage(SampleRun.results()).text
    let pattern = try Regex(
      #"bar (?:better|worse|even)" style="left:[\d.]+%;width:([\d.]+)%"></i>[^\n]*?\n?.*?>([\d.]+) × (?:faster|slower)"#
    )
    let bars = page.matches(of: pattern).map {
      (factor: Double($0.output[2].substring ?? "") ?? 0, width: Double($0.output[1].substring ?? "") ?? 0)
    }.sorted { $0.factor < $1.factor }
    #expect(bars.count == 7)
    #expect(zip(bars, bars.dropFirst()).allSatisfy { $0.factor == $1.factor || $0.width < $1.width })
    #expect((bars.last?.width ?? 0) > 48)
  }

  @Test func theCardsCountOperationsAndGoals() {
    let page = ReportPage(SampleRun.results()).text
    #expect(page.contains("<b>2 of 4</b><span>operations ahead of every peer"))
    #expect(page.contains("<b>1 of 4</b><span>operations level with the best peer"))
    #expect(page.contains("<b>1 of 4</b><span>operations behind the best peer"))
    #expect(page.contains("<b>2 of 7</b><span>goals met"))
  }

  @Test func everyLinkInThePageHasATarget() throws {
    let page = ReportPage(SampleRun.results()).text
    let links = page.matches(of: try Regex(##"href="#([^"]+)""##)).map {
      String($0.output[1].substring ?? "")
    }
    #expect(!links.isEmpty)
    for link in Set(links) { #expect(page.contains("id=\"\(link)\""), "\(link)") }
  }

  @Test func textsAreEscaped() {
    let page = ReportPage(SampleRun.results()).text
    #expect(page.contains("NORDAHEAD &amp; NOTLS."))
  }

  @Test func aPageWithoutResultsHasOnlyTheMachine() {
    let page = ReportPage(RunResults(SampleRun.results().facts)).text
    #expect(page.contains("Sample CPU"))
    #expect(!page.contains("id=\"peers\"") && !page.contains("id=\"goals\""))
  }

  @Test func theTableHasTheNoticeAndALineForEachGoal() {
    let text = MarkdownTable.text(SampleRun.results(documents: 10_000, rounds: 5))
    #expect(text.contains("**Small run: 10,000 documents, 5 rounds."))
    #expect(text.contains("| W4 | bulk load | 1.00 k/s | rocksdb 38.0 k/s | 38.0 | 0.40 | no |"))
    #expect(text.contains("- LMDB: 0.9.24"))
  }

  @Test func aReportHasAPageATableAndAnImageForEachWorkload() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("report-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    try ReportFiles.write(SampleRun.results(), to: folder)
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    #expect(names == ["W1.svg", "W4.svg", "W5.svg", "index.html", "results.md"])
  }
}
