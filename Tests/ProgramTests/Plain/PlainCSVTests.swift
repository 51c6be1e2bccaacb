// Imports of CSV files, as a user runs them.

import DocumentStore
import Foundation
import Testing

@testable import dugout

@Suite struct PlainCSVTests {
  private let dugout = Program("dugout")

  /// Imports a text as a file, and returns the outcome and the documents as plain JSON.
  private func load(
    _ bytes: [UInt8], _ options: [String] = [], name: String = "people.csv", pipe: Bool = false
  ) throws -> (outcome: Program.Outcome, documents: [String]) {
    let folder = try TemporaryFolder()
    let file = folder.path + "/" + name
    try Data(bytes).write(to: URL(fileURLWithPath: file))
    let store = folder.path + "/store"
    let outcome = try dugout.run(
      ["import", store, pipe ? "-" : file, "--into", "people", "--create"] + options,
      input: pipe ? String(decoding: bytes, as: UTF8.self) : nil)
    let exported = try dugout.run("export", store, "-", "people", "--plain").output
    let documents = exported.split(separator: "\n").map(String.init)
    return (outcome, documents)
  }

  private func load(_ text: String, _ options: String...) throws -> [String] {
    let (outcome, documents) = try load(Array(text.utf8), options)
    #expect(outcome.status == 0, "\(outcome.complaint)")
    return documents
  }

  /// Returns the message, which must be about data, and checks that nothing was imported.
  private func complaint(_ text: String, _ options: String..., status: Int32 = 65) throws -> String {
    let (outcome, documents) = try load(Array(text.utf8), options)
    #expect(outcome.status == status && documents.isEmpty, "\(outcome)")
    return outcome.complaint
  }

  @Test func columnsHaveTypesAndTheIDIsTheDocumentsName() throws {
    let text = """
      id,name,age,zip,address.city,born,active,score
      ada,"Ada, Countess",36,01234,London,1815-12-10T00:00:00Z,true,1.5
      bob,Bob,,90210,,2000-01-01T12:00:00+01:00,FALSE,2
      cy,"",7,00000,Paris,,,

      """
    let (outcome, documents) = try load(Array(text.utf8), ["--id", "id"])
    #expect(
      documents == [
        #"{"id":"ada","active":true,"address":{"city":"London"},"age":36,"born":"1815-12-10T00:00:00.000000Z","name":"Ada, Countess","score":1.5,"zip":"01234"}"#,
        #"{"id":"bob","active":false,"born":"2000-01-01T11:00:00.000000Z","name":"Bob","score":2.0,"zip":"90210"}"#,
        #"{"id":"cy","address":{"city":"Paris"},"age":7,"name":"","zip":"00000"}"#,
      ])
    #expect(outcome.output == "3 documents imported.\n")
    let shown = outcome.complaint.split(separator: "\n").map {
      $0.split(separator: "  ").joined(separator: "|")
    }
    #expect(
      shown.first?.hasSuffix("people.csv: CSV with 8 columns, separated by commas, types from 3 rows") == true
    )
    #expect(
      shown.dropFirst().map { $0.replacing(" ", with: "") } == [
        "id|thedocument'sid", "name|string", "age|integer", "zip|string", "address.city|string",
        "born|timestamp",
        "active|boolean", "score|double",
      ])
  }

  @Test func givenTypesReplaceTheGuessedOnes() throws {
    #expect(
      try load(
        "id,n,day,at,tags,First name\n1,5,2026-03-01,1772323200,\"[1,2]\",x\n", "--id", "id", "--type",
        "n=string",
        "--time", "day", "--type", "at=seconds", "--type=tags=string", "--type", "First name=string") == [
          #"{"id":"1","First name":"x","at":"2026-03-01T00:00:00.000000Z","day":"2026-03-01T00:00:00.000000Z","n":"5","tags":"[1,2]"}"#
        ])
    #expect(try load("id,tags\n1,\"[1,2]\"\n", "--id", "id") == [#"{"id":"1","tags":[1,2]}"#])
  }

  @Test func separatorsLineBreaksAndMarksAreRecognised() throws {
    let expected = [#"{"id":"1","n":"a\nb"}"#]
    #expect(try load("id;n\r\n1;\"a\nb\"\r\n", "--id", "id") == expected)
    #expect(try load("id\tn\n1\t\"a\nb\"\n", "--id", "id") == expected)
    #expect(try load("id#n\n1#\"a\nb\"\n", "--id", "id", "--separator", "#") == expected)
    #expect(try load("\u{FEFF}\"id\",n\n1,\"a\nb\"", "--id", "id") == expected)
    #expect(try load("\n id , n \n\n1,\"a\nb\"\n\n", "--id", "id") == expected)
    let (tabs, documents) = try load(Array("id\tn\n1\ta,b,c\n".utf8), ["--id", "id"], name: "a.tsv")
    #expect(tabs.status == 0 && documents == [#"{"id":"1","n":"a,b,c"}"#])
    // Spreadsheet programs write such columns.
    #expect(try load("id,n,,\n1,5,,\n", "--id", "id") == [#"{"id":"1","n":5}"#])
  }

  @Test func problemsAreFoundBeforeAnythingIsWritten() throws {
    var wrong: [String] = []
    for (text, part) in [
      ("a,b\n1,2\n3\n", "line 3: the row has 1 value, and the first line names 2 columns."),
      (
        "a,b\n1,\"x\n\"\n3,4,5\n", "line 4: the row has 3 values, and the first line names 2 columns: a value"
      ),
      ("a,a\n1,2\n", "line 1: the columns 1 and 2 are both named \"a\": rename one of them."),
      ("a,a.b\n1,2\n", "line 1: the columns \"a\" and \"a.b\" are a field and a field inside it"),
      ("1,2\n3,4\n", "line 1: the first line has the names of the columns, and \"1,2\" looks like a row"),
      ("a,b\n1,2\n\"x,2\n3,4\n", "line 3: a quote opens in column 1 and does not end."),
      ("a,b\n1,2\n\"x\"y,2\n", "line 3: in column 1, text follows the quote that ends the value"),
      (",b\n1,2\n", "line 2: column 1 has a value here and no name in the first line."),
      ("", "people.csv is empty."), ("\n\n", "people.csv is empty."),
    ] {
      let said = try complaint(text)
      if !said.contains(part) || !said.contains("Nothing was imported.") { wrong.append("\(part): \(said)") }
    }
    #expect(wrong == [])
    let id = try complaint("id,n\n1,2\na/b,3\n", "--id", "id")
    #expect(
      id.contains("line 3: \"a/b\" cannot be the id of a document: a name must not contain a slash"), "\(id)")
    #expect(try complaint("id,n\n1,2\n,3\n", "--id", "id").contains("line 3: the column \"id\" is empty"))
    let type = try complaint("id,age\n1,2\n2,old\n", "--type", "age=integer")
    #expect(
      type.contains(
        "line 3: in the field age: \"old\" is not an integer of 64 bits. Nothing was imported. Correct it"),
      "\(type)")
    #expect(type.contains("'--type=age=string'"), "\(type)")
  }

  @Test func filesOfOtherFormatsAreNamed() throws {
    func complaint(_ bytes: [UInt8]) throws -> String {
      let (outcome, _) = try load(bytes)
      #expect(outcome.status == 65)
      return outcome.complaint
    }
    #expect(
      try complaint([0x1F, 0x8B, 8, 0]).contains("\"gunzip -c FILE | dugout import DIR - --into COLLECTION\"")
    )
    #expect(try complaint([0x50, 0x4B, 3, 4]).contains("is a zip archive or a spreadsheet"))
    #expect(try complaint([0xFF, 0xFE, 0x61, 0]).contains("\"iconv -f UTF-16 -t UTF-8 FILE |"))
    let wide = Array("id,name\n1,ada\n".utf16).flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] }
    #expect(try complaint(wide).contains("\"iconv -f UTF-16LE -t UTF-8 FILE |"))
    let latin = try complaint(Array("id,name\n1,".utf8) + [0xE4, 0x0A])
    #expect(latin.contains("line 2: the value in column 2 is not UTF-8."), "\(latin)")
    #expect(latin.contains("iconv -f WINDOWS-1252"), "\(latin)")
  }

  @Test func wrongOptionsAreRefused() throws {
    let text = "id,name\n1,ada\n"
    #expect(
      try complaint(text, "--id", "nr", status: 2).contains(
        "there is no column nr. The columns are id, name."))
    #expect(try complaint(text, "--type", "nmae=string", status: 2).contains("Did you mean name?"))
    #expect(
      try complaint(text, "--type", "name=text", status: 2).contains("The types are string, integer, double"))
    #expect(try complaint(text, "--type", "name", status: 2).contains("--type zip=string, not \"name\""))
    #expect(
      try complaint(text, "--time", "name", "--type", "name=string", status: 2).contains("has two types"))
    #expect(
      try complaint(text, "--format", "xml", status: 2).contains("The formats are json, jsonl, csv and tsv."))
    #expect(try complaint(text, "--separator", "ab", status: 2).contains("--separator needs one character"))
    #expect(try complaint(text, "--keep-id", status: 2).contains("--keep-id needs --id FIELD"))
    let alone = try dugout.run("import", "/nowhere", "x.csv", "--id", "id")
    #expect(alone.status == 2 && alone.complaint.contains("--id is about plain data and needs --into"))
    let document = try dugout.run("import", "/nowhere", "x.csv", "--into", "users/ada")
    #expect(document.status == 2 && document.complaint.contains("--into needs a collection"), "\(document)")
    #expect(try dugout.run("import", "/nowhere", "/nowhere/x.csv", "--into", "c").status == 74)
  }

  @Test func aDryRunWritesNothing() throws {
    let (outcome, documents) = try load(Array("id,n\na,5\n".utf8), ["--id", "id", "--dry-run"])
    #expect(outcome.status == 0 && documents.isEmpty)
    #expect(
      outcome.output.hasSuffix("The first document is people/a:\n  {\"n\":5}\n\nNothing was imported.\n"))
    let json = try load(Array("id,n\na,5\n".utf8), ["--id", "id", "--dry-run", "--json"]).outcome.output
    #expect(json.contains(#""fields":[{"name":"id","remark":null,"type":"the document's id"}"#), "\(json)")
  }

  @Test func repeatedIDsAreReported() throws {
    let (outcome, documents) = try load(Array("id,n\na,1\nb,2\na,3\na,4\n".utf8), ["--id", "id"])
    #expect(documents == [#"{"id":"a","n":4}"#, #"{"id":"b","n":2}"#])
    #expect(
      outcome.output
        == "4 documents imported.\n2 rows have the id of an earlier row and replaced its document, such as line 4 with "
        + "the id a.\n")
  }

  // MARK: Pipes

  @Test func aPipeIsReadOnceAndItsBeginningDecides() throws {
    let whole = try load(Array("id,zip\n1,5\n2,06\n".utf8), ["--id", "id"], pipe: true)
    #expect(whole.documents == [#"{"id":"1","zip":"5"}"#, #"{"id":"2","zip":"06"}"#])
    // The text is longer than the part from which the types are taken.
    let folder = try TemporaryFolder()
    let (store, file) = (folder.path + "/store", folder.path + "/numbers")
    let filler = String(repeating: "x", count: 100)
    let rows = (0..<15_000).map { "\($0),\(filler)\n" }.joined()
    try Data(("n,t\n" + rows + "none,end\n").utf8).write(to: URL(fileURLWithPath: file))
    let script = "'\(dugout.path)' import '\(store)' - --into c < '\(file)'"
    let outcome = try Program(path: "/bin/sh").run("-c", script)
    #expect(outcome.status == 65)
    #expect(
      outcome.complaint.contains(
        "standard input, line 15002: in the field n: \"none\" is not an integer of 64 bits, as "
          + "the values in the first"), "\(outcome.complaint)")
    #expect(outcome.complaint.contains("'--type=n=string'"), "\(outcome.complaint)")
    #expect(try dugout.run("query", store, "c", "--count").output == "count  15000\n")
    // A file is read as a whole before.
    let other = folder.path + "/other"
    let read = try dugout.run("import", other, file, "--into", "c")
    #expect(
      read.status == 0 && read.complaint.contains("line 15002 has \"none\", the others are numbers"),
      "\(read)")
  }

  /// Regression: values of a column that was empty before were dropped without a word.
  @Test func aValueInAColumnWithoutATypeEndsThePipe() throws {
    // More than the first megabyte, which decides about the types.
    let pad = String(repeating: "x", count: 200)
    let rows = (0..<8000).map { "\($0),\(pad),,\n" }.joined()
    for late in ["late,x,IMPORTANT,\n", "late,x,\"\",\n", "late,x,,unnamed\n"] {
      let folder = try TemporaryFolder()
      let (store, file) = (folder.path + "/store", folder.path + "/a.csv")
      try Data("id,pad,note,\n\(rows)\(late)".utf8).write(to: URL(fileURLWithPath: file))
      let outcome = try Program(path: "/bin/bash").run(
        "--norc", "-c", "cat '\(file)' | '\(dugout.path)' import '\(store)' - --into c --id id")
      #expect(outcome.status == 65 && outcome.complaint.contains("line 8002"), "\(outcome)")
      #expect(try dugout.run("query", store, "c", "--count").output == "count  8000\n")
    }
  }

  @Test func decimalsThatADoubleCannotKeepAreStrings() throws {
    #expect(
      try load("id,a,b,c\n1,12345678901234567.89,1e-400,0.30000000000000004\n", "--id", "id") == [
        #"{"id":"1","a":"12345678901234567.89","b":"1e-400","c":0.30000000000000004}"#
      ])
  }

  /// Regression: the columns became nested maps by recursion, and names were compared with each other.
  @Test func largeHeadersAreReadOrRefused() throws {
    let deep = "id," + Array(repeating: "a", count: 80_000).joined(separator: ".") + "\n1,2\n"
    #expect(try complaint(deep, "--id", "id").contains("at most 20 levels"))
    let names = (0..<20_000).map { "c\($0).x" }.joined(separator: ",")
    let cells = String(repeating: ",", count: 20_000)
    #expect(try load("id,\(names)\n1\(cells)\n", "--id", "id") == [#"{"id":"1"}"#])
  }

  @Test func blanksAroundAnIDBetweenQuotesBelongToIt() throws {
    #expect(try load("id\n\" a\"\n a \n", "--id", "id") == [#"{"id":" a"}"#, #"{"id":"a"}"#])
  }

  @Test func blankLinesInFrontOfTheHeaderDoNotHideTheSeparator() throws {
    #expect(try load("\nid;b\n1;2\n", "--id", "id") == [#"{"id":"1","b":2}"#])
  }
}
