// What an import says of a file that it cannot read.

import Foundation
import Testing

@Suite struct ImportMessageTests {
  private let dugout = Program("dugout")

  private func complaint(_ text: String) throws -> String {
    let folder = try TemporaryFolder()
    let outcome = try dugout.run(["import", folder.path, "-"], input: text)
    #expect(outcome.status == 65)
    #expect(!outcome.complaint.contains(".."), "\(outcome.complaint)")
    return outcome.complaint
  }

  private let good = #"{"path": "users/ada", "fields": {}}"# + "\n"

  @Test func theLineIsNamedAndWhatBecameOfTheOthers() throws {
    let second = try complaint(good + "\n" + #"{"path": "users", "fields": {}}"#)
    #expect(second.contains("standard input, line 3: The path \"users\" is not valid"))
    #expect(second.contains("All documents before it were imported. Mend it and repeat the command."))
    let first = try complaint(#"{"path": "users/a", "fields": {"a": 1}}"#)
    #expect(first.contains("line 1: in the field a: a value is an object"))
    #expect(first.contains("Nothing was imported. Mend it"))
  }

  @Test func otherKindsOfFilesAreRecognised() throws {
    #expect(try complaint("id,name\n1,Ada\n").contains("looks like CSV"))
    #expect(try complaint("{\n  \"path\": \"users/x\"\n}\n").contains("JSON over several lines"))
    #expect(try complaint("[\n" + good + "]").contains("list over several lines"))
    #expect(try complaint(#"[{"path": "users/x"}]"#).contains("The line is a list"))
    #expect(try !complaint(good + "id,name\n").contains("CSV"))
  }

  /// The story: a line that was mended had another length, and the import began anew.
  @Test func aLineThatWasMendedIsWhereItGoesOn() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/lines"
    let store = folder.path + "/store"
    let lines = (0..<700).map { #"{"path": "c/\#($0)"}"# }
    func write(_ last: String) throws {
      try Data((lines + [last, #"{"path": "c/end"}"#]).joined(separator: "\n").utf8)
        .write(to: URL(fileURLWithPath: path))
    }
    try write("no")
    let refused = try dugout.run("import", store, path)
    #expect(refused.complaint.contains("\(path), line 701: "), "\(refused.complaint)")
    #expect(refused.complaint.contains("Mend it and repeat the command: it goes on from there."))
    // The line is counted from the start of the file, also by a run that begins behind it.
    #expect(try dugout.run("import", store, path).complaint.contains("\(path), line 701: "))
    try write(#"{"path": "c/mended"}"#)
    #expect(try dugout.run("import", store, path).output == "2 documents imported, 700 by an earlier run.\n")
  }

  @Test func aFileThatIsNotThereLeavesNoStore() throws {
    let folder = try TemporaryFolder()
    #expect(try dugout.run("import", folder.path + "/store", folder.path + "/none").status == 74)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
  }
}
